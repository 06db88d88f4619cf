package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TracedRun is a run whose traces are looked at.
type TracedRun struct {
	RunID        string
	ExperimentID string // "" = that of the ledger
}

// feedbackAtOnce is how many runs' traces are read at once: the server works them off one after another.
const feedbackAtOnce = 4

// metaTask is the metadata of a trace that names its task.
const metaTask = "benchbatch.task"

// ReadAssessments reads what people say of the outcomes of runs: the assessments of their own
// traces whose source is HUMAN, as they stand now. Left out are those that others have
// replaced, and those that ours says benchbatch wrote itself. It is one call a run, and
// another for each 500 traces of it. The number of traces that were looked at is given too.
func (l *Ledger) ReadAssessments(ctx context.Context, runs []TracedRun, ours func(mlflow.Trace, mlflow.Assessment) bool) (said []batch.Assessment, traces int, err error) {
	found := make([][]mlflow.Trace, len(runs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(feedbackAtOnce)
	for i, r := range runs {
		g.Go(func() (err error) {
			found[i], err = l.client.SearchTraces(ctx, cmp.Or(r.ExperimentID, l.experiment.ID), r.RunID)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	for i, r := range runs {
		for _, t := range found[i] {
			if t.Metadata["mlflow.sourceRun"] != r.RunID { // a trace of another run that was linked to this one
				continue
			}
			traces++
			for _, a := range t.Assessments {
				if a.SourceType != "HUMAN" || a.Replaced || ours(t, a) {
					continue
				}
				one, err := assessmentOf(r.RunID, t, a)
				if err != nil {
					return nil, 0, err
				}
				said = append(said, one)
			}
		}
	}
	return said, traces, nil
}

func assessmentOf(run string, t mlflow.Trace, a mlflow.Assessment) (batch.Assessment, error) {
	out := batch.Assessment{RunID: run, Task: t.Metadata[metaTask], Name: a.Name, Kind: batch.KindFeedback, Rationale: a.Rationale, Who: a.SourceID,
		Created: a.Created, Updated: a.Updated, Trace: t.ID, ID: a.ID}
	value := a.Value
	if a.Expectation != nil {
		out.Kind, value = batch.KindExpectation, a.Expectation
	}
	if value == nil {
		return out, nil
	}
	var err error
	out.Value, err = json.Marshal(value)
	return out, err
}

// Traced are the evaluations of a frozen batch with the experiments that they stand in. Runs
// of other batches are looked up, a call each; those that are gone for good took their traces along.
func (l *Ledger) Traced(ctx context.Context, p Parent, evaluations []batch.Evaluation) ([]TracedRun, error) {
	var out []TracedRun
	for _, e := range evaluations {
		r := TracedRun{RunID: e.RunID, ExperimentID: p.Info.ExperimentID}
		if e.Batch != p.Info.RunID {
			found, err := l.client.GetRun(ctx, e.RunID)
			if errors.Is(err, mlflow.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			r.ExperimentID = found.Info.ExperimentID
		}
		out = append(out, r)
	}
	return out, nil
}
