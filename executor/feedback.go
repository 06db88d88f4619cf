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
	red := evaluation.NewRedactor(s, r.Lookup, r.MLflowEnv)
	f, lines, err := feedbackOf(ctx, r.Ledger, tracedRuns(p, result), red)
	if err != nil && (ctx.Err() != nil || errors.Is(err, mlflow.ErrUnreachable)) {
		return nil, err
	}
	if err != nil {
		why := red.Text(err.Error())
		if f, _, err = batch.NewFeedback(time.Now(), 0, nil); err != nil {
			return nil, err
		}
		f.Unread = why
	}
	result.Feedback = f
	if f.Rows == 0 {
		return nil, nil
	}
	return []ledger.Document{{Name: batch.FileFeedback, Body: lines}}, nil
}

// FeedbackOn reads what people say now of the evaluations of a frozen batch, with the lines of
// its feedback.jsonl. Secrets are redacted as far as lookup knows those that the spec names.
func FeedbackOn(ctx context.Context, l *ledger.Ledger, p ledger.Parent, result *batch.Result, s *spec.Spec, lookup func(string) (string, bool)) (*batch.Feedback, []byte, error) {
	runs, err := l.Traced(ctx, p, result.Evaluations)
	if err != nil {
		return nil, nil, err
	}
	return feedbackOf(ctx, l, runs, evaluation.NewRedactor(s, lookup, nil))
}

func feedbackOf(ctx context.Context, l *ledger.Ledger, runs []ledger.TracedRun, red *evaluation.Redactor) (*batch.Feedback, []byte, error) {
	asOf := time.Now() // what was said before is there, what is said meanwhile may be
	said, n, err := l.ReadAssessments(ctx, runs, traces.Ours)
	if err != nil {
		return nil, nil, err
	}
	for i := range said {
		red.Assessment(&said[i])
	}
	return batch.NewFeedback(asOf, n, said)
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
