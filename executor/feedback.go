package executor

import (
	"context"
	"errors"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/executor/traces"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// readFeedback notes in a result what people have said of its evaluations in MLflow, and
// gives the document that holds it. Where MLflow refuses to say, the result says why:
// nothing else depends on it. Without traces nothing is asked.
func (r *runner) readFeedback(ctx context.Context, p *planner.Plan, result *batch.Result) ([]ledger.Document, error) {
	s := r.Resolved.Spec
	if s.Traces == spec.TracesNone || s.Traces == "" {
		return nil, nil
	}
	said, n, err := r.Ledger.ReadAssessments(ctx, tracedRuns(p, result), traces.Ours)
	if err != nil && (ctx.Err() != nil || errors.Is(err, mlflow.ErrUnreachable)) {
		return nil, err
	}
	red := evaluation.NewRedactor(s, r.Lookup, r.MLflowEnv)
	for i := range said {
		red.Assessment(&said[i])
	}
	f, lines, failed := batch.NewFeedback(time.Now(), n, said)
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		f.Unread = red.Text(err.Error())
	}
	result.Feedback = f
	if f.Rows == 0 {
		return nil, nil
	}
	return []ledger.Document{{Name: batch.FileFeedback, Body: lines}}, nil
}

// tracedRuns are the result's evaluations with the experiments that they stand in.
func tracedRuns(p *planner.Plan, result *batch.Result) []ledger.TracedRun {
	in := map[string]string{}
	for _, e := range p.Valid {
		in[e.Info.RunID] = e.Info.ExperimentID
	}
	for _, e := range p.Ended {
		in[e.Info.RunID] = e.Info.ExperimentID
	}
	out := make([]ledger.TracedRun, len(result.Evaluations))
	for i, e := range result.Evaluations {
		out[i] = ledger.TracedRun{RunID: e.RunID, ExperimentID: in[e.RunID]}
	}
	return out
}
