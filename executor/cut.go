package executor

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// keepCut keeps an evaluation for the next one of its slot, if a launcher was ended
// after some of its tasks were finished. Its run is closed as interrupted, at no cost
// of its own: what was paid stands with the evaluation that goes on.
func (s *State) keepCut(ctx context.Context, l *ledger.Ledger, e entry) (bool, error) {
	if e.RunID == "" && len(e.Continues) == 0 {
		return false, nil // nothing was started
	}
	left, err := evaluation.LookAtLeft(s.of(e))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && left.Finished == 0) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	run := e.RunID
	if run == "" && len(e.Continues) > 0 {
		run = e.Continues[len(e.Continues)-1].RunID
	}
	if at, err := l.StandingOf(ctx, run); err != nil || !at.Here || at.Counts {
		return false, err // of another server: it is kept for that one; or it was logged since
	}
	if e.RunID != "" {
		err := l.CloseCut(ctx, e.RunID, "its launcher was ended; what it had finished goes on in the next evaluation of its slot", time.Now())
		if err != nil && !gone(err) {
			return false, err
		}
		e.Continues = append(e.Continues, origin{e.UUID, e.RunID})
	}
	e.RunID, e.Cut = "", true
	if err := s.write(e); err != nil {
		return false, err
	}
	s.cut = append(s.cut, e)
	return true, nil
}

// LogCut logs what was kept for slots that are not missing any more, as interrupted,
// with its cost.
func LogCut(ctx context.Context, l *ledger.Ledger, s *State, p *planner.Plan) error {
	missing := map[planner.SlotKey]bool{}
	for _, slot := range p.Missing() {
		missing[keyOf(slot)] = true
	}
	_, err := s.logCut(ctx, l, missing)
	return err
}

// logCut logs what was kept, but for those slots, and says how much that was.
func (s *State) logCut(ctx context.Context, l *ledger.Ledger, but map[planner.SlotKey]bool) (n int, err error) {
	h := newHeir(l)
	defer h.leave(context.WithoutCancel(ctx))
	var rest []entry
	for i, e := range s.cut {
		if but[planner.SlotKey{Cell: e.Cell.Identity.Cell, Slot: e.Slot}] {
			rest = append(rest, e)
			continue
		}
		var r Recovered
		if err := r.recover(ctx, l, s, h, &e); err != nil {
			s.cut = append(rest, s.cut[i:]...)
			return n, err
		}
		n++
	}
	s.cut = rest
	return n, nil
}

// takeCut gives a slot what is kept for it.
func (r *runner) takeCut(s planner.Slot) (entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.State.cut, func(e entry) bool { return e.Cell.Identity.Cell == s.Cell.Identity.Cell && e.Slot == s.Slot })
	if i < 0 {
		return entry{}, false
	}
	e := r.State.cut[i]
	r.State.cut = slices.Delete(r.State.cut, i, i+1)
	return e, true
}

// cutCost is what the evaluations kept for later have cost the batch so far, in USD
// with the worst case for what is unknown.
func (s *State) cutCost(batchRun string) float64 {
	sum := 0.0
	for _, e := range s.cut {
		if e.Batch == batchRun {
			sum += s.paidFor(e)
		}
	}
	return sum
}

// cutOf is what a launcher paid for those that it has left, in USD, beyond what stands on
// the ledger run: their runs were closed at no cost. Settled notes that it stands there.
func (r *runner) cutOf(all []ledger.Entry, launcher string) (usd float64, settled func() error) {
	of := map[string]float64{} // by folder
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.State.cut {
		last := e.Continues[len(e.Continues)-1].RunID
		if e.Batch == r.parent.Info.RunID && slices.ContainsFunc(all, func(one ledger.Entry) bool { return one.Info.RunID == last && one.Launcher == launcher }) {
			of[e.folder()] = max(e.Settled, r.State.paidFor(e))
			usd += of[e.folder()] - e.Settled
		}
	}
	return usd, func() (err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, e := range r.State.cut {
			if paid, ok := of[e.folder()]; ok {
				r.State.cut[i].Settled = paid
				err = errors.Join(err, r.State.write(r.State.cut[i]))
			}
		}
		return err
	}
}

// paidFor is what a cut evaluation has cost so far.
func (s *State) paidFor(e entry) float64 {
	left, err := evaluation.LookAtLeft(s.of(e))
	if err != nil {
		return 0 // it can't be read: then it is not gone on with either
	}
	if worst := billOf(evaluation.Measured{Attempts: left.Attempts}).worst; worst != nil {
		return *worst
	}
	return 0
}
