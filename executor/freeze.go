package executor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// freeze plans anew and, where every slot has its fate, stores the result. Where
// another launcher of the batch was first, its result is the batch's. A batch of
// which no model answered stays open: there is nothing to freeze.
func (r *runner) freeze(ctx context.Context, report *Report) error {
	in := r.Input
	in.Join, in.Confirm = r.parent.Info.RunID, true
	p, err := planner.Make(ctx, r.Ledger, in)
	if err != nil {
		return err
	}
	report.Plan = p
	if p.Finished != nil {
		return r.adopt(ctx, *p.Finished, report)
	}
	result, err := planner.Freeze(p, r.parent, r.Ledger.ExperimentName(), r.fates, time.Now())
	if err != nil {
		return err
	}
	if c := result.Counts; c.NotStarted > 0 || c.Skipped == c.Planned {
		return nil
	}
	body, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	at := result.Frozen.UnixMilli()
	won, err := r.Ledger.FinishBatch(ctx, &r.parent, body, batchMetrics(p, result, at))
	if err != nil {
		return err
	}
	if !won {
		return r.adopt(ctx, r.parent, report)
	}
	report.Parent, report.Result = r.parent, result
	return nil
}

// adopt takes the result that another launcher has frozen.
func (r *runner) adopt(ctx context.Context, parent ledger.Parent, report *Report) error {
	result, _, err := r.Ledger.ReadResult(ctx, parent)
	report.Parent, report.Result = parent, result
	return err
}

// batchMetrics are the parent's metrics, named apart from those of evaluations.
func batchMetrics(p *planner.Plan, r *batch.Result, at int64) []mlflow.Metric {
	c := r.Counts
	var out []mlflow.Metric
	for _, m := range []struct {
		name string
		n    int
	}{{"planned", c.Planned}, {"reused", c.Reused}, {"done", c.Done}, {"failed", c.Failed}, {"skipped", c.Skipped}, {"not_started", c.NotStarted}} {
		out = append(out, mlflow.Metric{Key: "batch/" + m.name, Value: float64(m.n), Timestamp: at})
	}
	var spent float64
	known := false
	for _, e := range append(append([]ledger.Entry(nil), p.Valid...), p.Ended...) {
		if e.Batch == r.Batch && e.CostUSD != nil {
			spent += *e.CostUSD
			known = true
		}
	}
	if known {
		out = append(out, mlflow.Metric{Key: "batch/cost_usd", Value: round6(spent), Timestamp: at})
	}
	return out
}
