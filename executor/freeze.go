package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// freeze plans anew and, where every slot has its fate, stores the result. Where
// another launcher of the batch was first, its result is the batch's. A batch of
// which no model answered stays open: there is nothing to freeze. It returns slots that
// others have ended without filling them, if they are to be measured here.
func (r *runner) freeze(ctx context.Context, report *Report) (again []planner.Slot, err error) {
	tried, err := r.triedElsewhere(ctx) // before the plan, which shows what has ended since
	if err != nil {
		return nil, err
	}
	p, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	report.Plan = p
	if p.Finished != nil {
		if _, err := r.State.logCut(ctx, r.Ledger, nil); err != nil {
			return nil, err
		}
		return nil, r.adopt(ctx, *p.Finished, report)
	}
	if again = r.unfilled(p); len(again) > 0 {
		return again, nil
	}
	r.part(ctx)
	result, err := planner.Freeze(p, r.parent, r.Ledger.ExperimentName(), r.fates, time.Now())
	if err != nil {
		return nil, err
	}
	c := result.Counts
	if c.Skipped > 0 && r.shared != nil {
		if report.Others, err = r.shared.member.Others(ctx); err != nil {
			return nil, err
		}
	}
	for _, s := range result.Slots {
		who := tried[planner.SlotKey{Cell: s.Cell, Slot: s.Slot}]
		if s.State == batch.SlotFailed && who != "" && !slices.Contains(report.Others, who) {
			report.Others = append(report.Others, who)
		}
	}
	if c.NotStarted > 0 || c.Skipped == c.Planned || len(report.Others) > 0 {
		return nil, nil
	}
	if n, err := r.State.logCut(ctx, r.Ledger, nil); err != nil || n > 0 { // nobody goes on with that any more: it is on the bill
		if err != nil {
			return nil, err
		}
		return r.freeze(ctx, report)
	}
	beside, err := r.readFeedback(ctx, p, result)
	if err != nil {
		return nil, err
	}
	body, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return nil, err
	}
	at := result.Frozen.UnixMilli()
	won, err := r.Ledger.FinishBatch(ctx, &r.parent, body, batchMetrics(p, result, at), beside...)
	if err != nil {
		return nil, err
	}
	if !won {
		return nil, r.adopt(ctx, r.parent, report)
	}
	report.Parent, report.Result = r.parent, result
	return nil, nil
}

// triedElsewhere says of slots who is measuring them, as of one that failed here before
// another launcher had planned: that one does not know it as a failure of its own.
func (r *runner) triedElsewhere(ctx context.Context) (map[planner.SlotKey]string, error) {
	out := map[planner.SlotKey]string{}
	if r.shared == nil || len(r.fates)+len(r.elsewhere) == 0 {
		return out, nil
	}
	if err := r.shared.member.Refresh(ctx); err != nil {
		return nil, err
	}
	for _, s := range r.Plan.Missing() {
		if a := r.shared.member.Peek(r.want(s)); a.Held != nil {
			out[keyOf(s)] = cmp.Or(a.Held.Launcher, "another launcher")
		}
	}
	return out, nil
}

// unfilled are the slots that another launcher has ended and that are missing all the
// same, without a fate, in the batch's random order.
func (r *runner) unfilled(p *planner.Plan) []planner.Slot {
	var out []planner.Slot
	if r.stopped() || r.asked != "" || r.exhausted != "" {
		return nil
	}
	for _, s := range order(p) {
		if _, has := r.fates[keyOf(s)]; r.elsewhere[keyOf(s)] && !has {
			out = append(out, s)
		}
	}
	clear(r.elsewhere)
	return out
}

// adopt takes the result that another launcher has frozen, or this one before an error.
// What that left undone is done.
func (r *runner) adopt(ctx context.Context, parent ledger.Parent, report *Report) error {
	if parent.Info.Status != mlflow.StatusFinished {
		if err := r.Ledger.EndBatch(ctx, &parent); err != nil {
			return err
		}
	}
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
