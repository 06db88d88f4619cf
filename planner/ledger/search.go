package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Batches lists the newest batches: of this experiment or, where the ledger has
// none, of all experiments.
func (l *Ledger) Batches(ctx context.Context) ([]Parent, error) {
	ids, err := l.everywhere(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return l.parents(ctx, ids, 200, condition{key: TagKind, value: KindBatch})
}

// everywhere is this experiment or, where the ledger has none, all experiments.
func (l *Ledger) everywhere(ctx context.Context) ([]string, error) {
	if l.experiment.ID != "" {
		return []string{l.experiment.ID}, nil
	}
	all, err := l.client.SearchExperiments(ctx, "")
	var ids []string
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids, err
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

// Looks lists the frozen batches of a benchmark that were decided by the same rule,
// or by whatever rule with the same recipe: each was an earlier look at the same
// question, and another margin doesn't make it a first one. A calibration decides
// nothing and is none; calibrated says whether there are any. Newest first.
func (l *Ledger) Looks(ctx context.Context, benchmark string, decision, recipe batch.Digest) (looks []Parent, calibrated bool, err error) {
	if l.experiment.ID == "" {
		return nil, false, nil
	}
	all, err := l.parents(ctx, []string{l.experiment.ID}, 1000, condition{key: TagKind, value: KindBatch}, condition{key: TagBenchmark, value: benchmark})
	for _, p := range all {
		switch {
		case p.Role == batch.RoleCalibration:
			calibrated = true
		case p.Frozen() && (p.Decision == decision.Short() || p.Recipe == recipe.Short()):
			looks = append(looks, p)
		}
	}
	return looks, calibrated, err
}

// LabelHolder is what took a version label for another recipe.
type LabelHolder struct {
	Run      string         // the first valid repeat under the label, or else the first frozen batch
	Batch    string         // the batch that it belongs to, or is; "" = none of ours
	Frozen   bool           // Run is a batch, whose repeats were measured under other labels
	Identity batch.Identity // of the repeat; of a batch it is not known here
}

// Label finds who took a version label for another recipe: the earliest valid repeat
// that carries it or, where all were measured under other labels, the earliest frozen
// batch with a repeat. Nil where it is free. "draft" and "calibration" are never taken.
func (l *Ledger) Label(ctx context.Context, benchmark, version string, recipe batch.Digest) (*LabelHolder, error) {
	if l.experiment.ID == "" || version == draftLabel || version == batch.CalibrationLabel {
		return nil, nil
	}
	filter, err := where(condition{key: TagVersion, value: version}, condition{key: TagBenchmark, value: benchmark}, condition{TagRecipe, recipe.Short(), true})
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: filter, PageSize: labelled, Limit: labelled})
	if err != nil {
		return nil, err
	}
	var frozen *LabelHolder
	for _, r := range runs {
		if r.Tag(TagKind) == KindBatch {
			if frozen == nil && parentOf(r).Frozen() && hasRepeat(r) {
				frozen = &LabelHolder{Run: r.Info.RunID, Batch: r.Info.RunID, Frozen: true}
			}
			continue
		}
		e, ok, err := l.countsForLabel(ctx, r)
		if err != nil {
			return nil, err
		}
		if ok {
			return &LabelHolder{Run: r.Info.RunID, Batch: e.Batch, Identity: e.Identity}, nil
		}
	}
	return frozen, nil
}

// labelled is how many runs with a label are looked at, oldest first.
const labelled = 1000

// hasRepeat says whether a frozen batch counts a repeat, as far as its metrics say.
func hasRepeat(r mlflow.Run) bool {
	done, known := r.Metric("batch/done")
	reused, _ := r.Metric("batch/reused")
	return !known || done+reused > 0
}

// countsForLabel says whether a run is a valid repeat of the recipe that it names.
func (l *Ledger) countsForLabel(ctx context.Context, r mlflow.Run) (Entry, bool, error) {
	e, err := entryOf(r, "")
	if err != nil || e.Info.Status != mlflow.StatusFinished {
		return e, false, nil
	}
	if !e.Foreign {
		return e, e.State.Counts(), nil
	}
	ok, err := l.holdsRecord(ctx, e)
	return e, ok, err
}

// holdsRecord says whether a run that benchbatch did not log has a record with
// scores. The panel of its recipe is not known here, so it is not compared.
func (l *Ledger) holdsRecord(ctx context.Context, e Entry) (bool, error) {
	b, err := l.read(ctx, e.Info, batch.FileOutcomes, maxRecord)
	if errors.Is(err, mlflow.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	outcomes, err := readRecord(b, outcome.TimeoutFail)
	ok := err == nil && meanScore(outcomes) != nil && (e.Outcomes == "" || e.Outcomes == batch.Sum(b))
	return ok, nil
}

// finished lists FINISHED evaluations that meet the conditions, oldest first.
func (l *Ledger) finished(ctx context.Context, limit int, c ...condition) ([]mlflow.Run, error) {
	tags, err := where(append(c, condition{key: TagKind, value: KindEvaluation})...)
	if err != nil {
		return nil, err
	}
	status, err := mlflow.AttributeEquals("status", string(mlflow.StatusFinished))
	if err != nil {
		return nil, err
	}
	return l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: mlflow.And(status, tags), PageSize: limit, Limit: limit})
}

// Calibrated lists the newest finished evaluations of a benchmark's calibrations, at
// most 1,000 of them, oldest first, whatever the recipe of their slice.
func (l *Ledger) Calibrated(ctx context.Context, benchmark string) ([]Entry, error) {
	if l.experiment.ID == "" {
		return nil, nil
	}
	filter, err := where(condition{key: TagRole, value: batch.RoleCalibration}, condition{key: TagBenchmark, value: benchmark}, condition{key: TagKind, value: KindEvaluation})
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: filter, OrderBy: mlflow.NewestFirst, Limit: 1000})
	var out []Entry
	for _, r := range runs {
		if e, err := entryOf(r, ""); err == nil && e.Info.Status == mlflow.StatusFinished && e.State.Counts() {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, byStart)
	return out, err
}

// OtherSchemes counts finished evaluations that were recorded under another
// identity scheme (at most 1,000 are looked at), and names one such scheme.
func (l *Ledger) OtherSchemes(ctx context.Context) (n int, scheme string, err error) {
	if l.experiment.ID == "" {
		return 0, "", nil
	}
	runs, err := l.finished(ctx, 1000, condition{TagScheme, fmt.Sprint(batch.Scheme), true})
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
	var out []Entry
	err = l.client.EachRun(ctx, mlflow.Search{ExperimentIDs: []string{p.Info.ExperimentID}, Filter: filter, PageSize: glance}, func(r mlflow.Run) {
		out = appendEntry(out, r)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, byStart)
	return out, nil
}

// glance is how many evaluations are read at once where a launcher looks at its batch
// while it works: a page of them is about 1 MB.
const glance = 100

// OfSlot lists the evaluations of a slot in this experiment, whatever batch started
// them and whatever became of them.
func (l *Ledger) OfSlot(ctx context.Context, cell batch.Digest, slot int) ([]Entry, error) {
	filter, err := where(condition{key: TagCell, value: cell.Short()}, condition{key: TagSlot, value: fmt.Sprint(slot)}, condition{key: TagKind, value: KindEvaluation})
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: filter})
	return entriesOf(runs), err
}

// entriesOf reads evaluations; runs that are none are left out.
func entriesOf(runs []mlflow.Run) []Entry {
	var out []Entry
	for _, r := range runs {
		out = appendEntry(out, r)
	}
	slices.SortStableFunc(out, byStart)
	return out
}

// appendEntry reads a run and appends it where it is an evaluation.
func appendEntry(out []Entry, r mlflow.Run) []Entry {
	e, err := entryOf(r, "")
	if err != nil {
		return out
	}
	return append(out, e)
}
