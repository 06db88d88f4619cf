package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// findBatch joins the unfinished batch with this key, or names the finished one. One
// whose plan is damaged is passed over; it is an error only where there is no other
// and none is asked for.
func (p *Plan) findBatch(ctx context.Context, l *ledger.Ledger, batches []ledger.Parent, in Input) error {
	for _, b := range batches {
		if b.Key == p.Doc.Key.Short() {
			p.Batches = append(p.Batches, b.Info.RunID)
		}
	}
	var first error
	for _, b := range p.candidates(batches, in) {
		err := p.adopt(ctx, l, b)
		var damaged *ledger.PlanError
		switch {
		case err == nil && b.Frozen():
			p.Finished = &b
			return nil
		case err == nil:
			p.Joined = &b
			return p.checkFresh(b, in)
		case !errors.As(err, &damaged) || in.Join != "":
			return err
		}
		p.Ignored = append(p.Ignored, batch.Ignored{RunID: b.Info.RunID, Reason: "a batch that can't be continued: " + err.Error()})
		if first == nil {
			first = fmt.Errorf("batch %s can't be continued: %w\n  `benchbatch run --new` starts another one; or delete run %s in MLflow", b.Name(), err, b.Info.RunID)
		}
	}
	if first != nil && !in.New {
		return first
	}
	return p.lookBack(ctx, l)
}

// candidates are the batches with this key that may be taken up: the unfinished ones
// first, whatever the clocks of their launchers say, then the finished ones.
func (p *Plan) candidates(batches []ledger.Parent, in Input) []ledger.Parent {
	var open, frozen []ledger.Parent
	for _, b := range batches {
		switch {
		case b.Key != p.Doc.Key.Short(), in.Join != "" && b.Info.RunID != in.Join:
		case !b.Frozen():
			open = append(open, b)
		case in.Join != "" || (!in.New && len(in.Fresh) == 0):
			frozen = append(frozen, b)
		}
	}
	return append(open, frozen...)
}

// checkFresh refuses --fresh for a batch that began without it: its plan is frozen,
// so the launcher that continues it would count again what this one does not.
func (p *Plan) checkFresh(b ledger.Parent, in Input) error {
	late := slices.DeleteFunc(slices.Clone(in.Fresh), func(v string) bool { return slices.Contains(p.Doc.Fresh, v) })
	if len(late) == 0 {
		return nil
	}
	return &LateFresh{Batch: b.Name(), Run: b.Info.RunID, Variants: late}
}

// LateFresh says that --fresh was asked for in the middle of a batch.
type LateFresh struct {
	Batch, Run string
	Variants   []string
}

func (e *LateFresh) Error() string {
	return fmt.Sprintf("batch %s is unfinished, and it did not begin with --fresh %s\n"+
		"  finish it with `benchbatch run` first: --fresh then begins another one; or delete run %s in MLflow",
		e.Batch, strings.Join(e.Variants, ","), e.Run)
}

// lookBack notes the frozen batches that asked the same question before.
func (p *Plan) lookBack(ctx context.Context, l *ledger.Ledger) error {
	looks, calibrated, err := l.Looks(ctx, p.Doc.Benchmark, p.Doc.DecisionDigest, p.resolved.Recipe)
	p.uncalibrated = !calibrated
	for _, look := range looks {
		p.Doc.Earlier = append(p.Doc.Earlier, look.Info.RunID)
	}
	return err
}

// adopt takes over what an existing batch has frozen. A parent that died before
// its plan was stored is completed: seed and start come from the run itself.
func (p *Plan) adopt(ctx context.Context, l *ledger.Ledger, b ledger.Parent) error {
	if b.Plan == "" && b.Frozen() {
		return &ledger.PlanError{Run: b.Info.RunID, Err: fmt.Errorf("run %s is frozen without a plan", b.Info.RunID)}
	}
	if b.Plan == "" {
		p.Doc.Seed, p.Doc.Created = b.Seed, b.Started()
		return p.lookBack(ctx, l)
	}
	doc, _, err := l.ReadPlan(ctx, b)
	if err != nil {
		return err
	}
	if doc.Key != p.Doc.Key {
		return &ledger.PlanError{Run: b.Info.RunID, Err: fmt.Errorf("%s of run %s has key %s, but its tag says %s", batch.FilePlan, b.Info.RunID, doc.Key, b.Key)}
	}
	p.Doc = *doc
	return nil
}
