package ledger

import (
	"context"
	"fmt"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Batches lists the newest batches: of this experiment or, where the ledger has
// none, of all experiments.
func (l *Ledger) Batches(ctx context.Context) ([]Parent, error) {
	ids := []string{l.experiment.ID}
	if l.experiment.ID == "" {
		all, err := l.client.SearchExperiments(ctx, "")
		if err != nil {
			return nil, err
		}
		ids = ids[:0]
		for _, e := range all {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return l.parents(ctx, ids, 200, condition{key: TagKind, value: KindBatch})
}

// parents lists the newest parents that meet the conditions.
func (l *Ledger) parents(ctx context.Context, experiments []string, limit int, c ...condition) ([]Parent, error) {
	filter, err := where(c...)
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: experiments, Filter: filter, OrderBy: mlflow.NewestFirst, Limit: limit})
	if err != nil {
		return nil, err
	}
	var out []Parent
	for _, r := range runs {
		out = append(out, parentOf(r))
	}
	return out, nil
}

// Looks lists the frozen batches of a benchmark that were decided by the same
// rule: each was an earlier look at the same question. Newest first.
func (l *Ledger) Looks(ctx context.Context, benchmark string, decision batch.Digest) ([]Parent, error) {
	if l.experiment.ID == "" {
		return nil, nil
	}
	all, err := l.parents(ctx, []string{l.experiment.ID}, 1000, condition{key: TagDecision, value: decision.Short()})
	var out []Parent
	for _, p := range all {
		if p.Benchmark == benchmark && p.Frozen() {
			out = append(out, p)
		}
	}
	return out, err
}

// LabelHolder is the first valid repeat of another recipe under a version label.
type LabelHolder struct {
	Entry  Entry
	Recipe batch.Digest
}

// Label finds who took a version label: the earliest valid repeat that carries it
// with another recipe. Nil where it is free. The label "draft" is never taken.
func (l *Ledger) Label(ctx context.Context, benchmark, version string, recipe batch.Digest) (*LabelHolder, error) {
	if l.experiment.ID == "" || version == draftLabel {
		return nil, nil
	}
	filter, err := where(condition{key: TagVersion, value: version}, condition{TagRecipe, recipe.Short(), true}, condition{key: TagKind, value: KindEvaluation})
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: filter, PageSize: 200, Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		id, err := readIdentity(r)
		if err != nil || r.Tag(TagBenchmark) != benchmark || r.Info.Status != mlflow.StatusFinished {
			continue
		}
		e, err := entryOf(r, id.Recipe)
		if err == nil && e.State.Counts() {
			return &LabelHolder{Entry: e, Recipe: id.Recipe}, nil
		}
	}
	return nil, nil
}

// OtherSchemes counts evaluations that were recorded under another identity
// scheme (at most 1,000 are looked at), and names one such scheme.
func (l *Ledger) OtherSchemes(ctx context.Context) (n int, scheme string, err error) {
	if l.experiment.ID == "" {
		return 0, "", nil
	}
	filter, err := where(condition{TagScheme, fmt.Sprint(batch.Scheme), true}, condition{key: TagKind, value: KindEvaluation})
	if err != nil {
		return 0, "", err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: filter, PageSize: 1000, Limit: 1000})
	if err != nil || len(runs) == 0 {
		return 0, "", err
	}
	return len(runs), runs[0].Tag(TagScheme), nil
}

// Children lists the evaluations that a batch has started, whatever became of them.
func (l *Ledger) Children(ctx context.Context, p Parent) ([]Entry, error) {
	filter, err := where(condition{key: TagBatch, value: p.Info.RunID}, condition{key: TagKind, value: KindEvaluation})
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{p.Info.ExperimentID}, Filter: filter, PageSize: 5000})
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, r := range runs {
		if id, err := readIdentity(r); err == nil {
			if e, err := entryOf(r, id.Recipe); err == nil {
				out = append(out, e)
			}
		}
	}
	return out, nil
}
