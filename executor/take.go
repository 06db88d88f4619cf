package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// hand is what an evaluation holds while it runs.
type hand struct {
	lease  *claim.Lease
	places []quotaPlace
	uses   []inUse
	money  *claim.Reservation // nil = there is no ceiling
}

// leastUSD is what is reserved where nothing is known of a cost: it takes a tranche.
const leastUSD = 1e-6

// take gets what a turn needs among launchers, in the order in which it is cheap to
// give back: places, money, the repeat. Nil = it does not start; the schedule knows.
func (r *runner) take(ctx context.Context, t *turn) (*hand, error) {
	want := r.want(t.Slot)
	if decided := r.decide(t, r.shared.member.Peek(want)); decided {
		return nil, nil
	}
	h := &hand{}
	short, err := r.takePlaces(ctx, t, h)
	if err == nil && short == "" && r.shared.budget != nil {
		short, err = r.takeMoney(ctx, t, h)
	}
	if err != nil || short != "" {
		r.putDown(ctx, h, true)
		if err == nil {
			r.sc.drawBack(t, short)
		}
		return nil, err
	}
	var answers []claim.Answer
	err = r.patiently(ctx, func() (err error) {
		answers, err = r.shared.member.Claim(ctx, want)
		return err
	})
	if err != nil || r.decide(t, answers[0]) {
		r.putDown(ctx, h, false)
		return nil, err
	}
	h.lease = answers[0].Won
	if h.lease.Before == nil {
		return h, nil
	}
	run := ""
	err = r.patiently(ctx, func() (err error) {
		if run, err = r.succeed(ctx, t.Slot, h.lease); err == nil && run != "" {
			err = h.lease.Done(ctx, run)
		}
		return err
	})
	if err != nil || run != "" {
		r.putDown(ctx, h, false)
	}
	if errors.Is(err, claim.ErrLost) {
		r.sc.setAside(t)
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, h.lease.Release(context.WithoutCancel(ctx), "what its predecessor left could not be read"))
	}
	if run != "" {
		r.decide(t, claim.Answer{Done: run})
		return nil, nil
	}
	return h, nil
}

// decide says whether a repeat is somebody else's, and tells the schedule so.
func (r *runner) decide(t *turn, a claim.Answer) bool {
	switch {
	case a.Held != nil:
		r.sc.setAside(t)
	case a.Done != "":
		r.abroad(t.Slot, a.Done)
		r.Observer.Elsewhere(t.Slot)
		r.sc.leaveOut(t)
	default:
		return false
	}
	return true
}

// takeMoney reserves what a turn may cost. Short says that others have reserved the rest.
// Of a model whose cost nobody knows, one launcher at a time learns it.
func (r *runner) takeMoney(ctx context.Context, t *turn, h *hand) (short string, err error) {
	if !t.money.known {
		name := fmt.Sprintf("learning-%.16s", r.parent.Info.RunID)
		of := r.shared.holds(name, spec.Quota{AtOnce: 1})
		err := r.patiently(ctx, func() error { return r.takePlace(ctx, name, of, h) })
		var full *claim.Full
		if errors.As(err, &full) {
			return moneyShort, nil
		}
		if err == nil {
			err = r.priceOfOthers(ctx, t)
		}
		if err != nil {
			return "", err
		}
		if last := len(h.places) - 1; t.money.known { // there is nothing to be learnt
			of.push(h.places[last].lease)
			h.places = h.places[:last]
			r.tidyPlaces(ctx)
		}
	}
	var none *claim.Ceiling
	for try := 0; ; try++ {
		err = r.patiently(ctx, func() (err error) {
			h.money, err = r.shared.budget.Reserve(ctx, max(t.money.price, leastUSD))
			return err
		})
		if !errors.As(err, &none) {
			return "", err
		}
		if try > 0 {
			break
		}
		if err := r.patiently(ctx, func() error { return r.shared.budget.Return(ctx) }); err != nil {
			return "", err
		}
		if none.DeadUSD > 0 {
			if err := r.inherit(ctx); err != nil {
				return "", err
			}
		}
	}
	r.sc.change(func() {
		b := r.sc.queue.budget
		b.spent = max(b.spent, none.SpentUSD-none.HeldUSD-b.reserved) // others have spent it
		b.over = none.HeldUSD == 0
	})
	return moneyShort, nil
}

// priceOfOthers prices a turn by what other launchers of the batch have paid meanwhile: for
// its model or, where that is still unknown, for the dearest one.
func (r *runner) priceOfOthers(ctx context.Context, t *turn) error {
	var all []ledger.Entry
	err := r.patiently(ctx, func() (err error) {
		all, err = r.Ledger.Children(ctx, r.parent)
		return err
	})
	r.sc.change(func() {
		b := r.sc.queue.budget
		b.learnFrom(all)
		t.money.cancel()
		t.money = b.reserve(t.Cell)
	})
	return err
}

// openBudget shares the batch's ceiling.
func (r *runner) openBudget(ctx context.Context) error {
	ceiling := r.Resolved.Spec.Budget.CeilingUSD
	if ceiling == nil || r.shared == nil {
		return nil
	}
	var err error
	if r.shared.budget, err = r.shared.member.Budget(r.parent.Info.RunID, *ceiling, *ceiling/tranches); err != nil {
		return err
	}
	if err := r.inherit(ctx); err != nil {
		return err
	}
	spent := newBudget(ceiling, nil, r.Plan, r.parent.Info.RunID).spent
	return r.shared.budget.Include(ctx, spent)
}

// tranches is in how many parts a ceiling is taken at most, where evaluations are cheap.
const tranches = 50

// inherit settles what launchers that died had taken, by what their runs cost, also those
// that were logged since this launcher has planned.
func (r *runner) inherit(ctx context.Context) error {
	estates, err := r.shared.budget.Inherit(ctx)
	if err != nil || len(estates) == 0 {
		return err
	}
	all, err := r.Ledger.Children(ctx, r.parent)
	if err != nil {
		return err
	}
	for _, e := range estates {
		cut, kept := r.cutOf(all, e.Launcher)
		spent := costOf(r.Plan, all, e.Launcher) + cut - e.SettledUSD
		if err := r.shared.budget.SettleEstate(ctx, e, max(0, spent)); err != nil {
			return err
		}
		if err := kept(); err != nil {
			return err
		}
	}
	return nil
}

// succeed looks at what predecessors left who ended without saying how. A run that
// they logged fills the slot, and is returned; one that is RUNNING is closed.
func (r *runner) succeed(ctx context.Context, s planner.Slot, l *claim.Lease) (logged string, err error) {
	all, err := r.Ledger.OfSlot(ctx, s.Cell.Identity.Cell, s.Slot)
	if err != nil {
		return "", err
	}
	for _, e := range all {
		id := e.Info.RunID
		switch {
		case e.Identity.Cell != s.Cell.Identity.Cell || r.known[id]:
			continue
		case e.Live() && (e.Generation == 0 || e.Generation >= l.Generation()):
			continue
		case e.Live() && LauncherGone(e.Launcher):
			_, err = closeGone(ctx, r.Ledger, &e, r.EndLeft)
		case e.Live():
			_, err = closeLeft(ctx, r.Ledger, &e, "its launcher lost its claim")
		}
		if err != nil {
			return "", err
		}
		if e.State.Counts() || e.State == batch.StateIncomplete && e.Batch == r.parent.Info.RunID {
			logged = id
		}
	}
	return logged, nil
}

// letGo settles what an evaluation held beside its claim. Cost is in USD; nil = unknown.
// Settled is the part of it that stands on the ledger run already.
func (r *runner) letGo(ctx context.Context, t *turn, h *hand, cost *float64, settled float64) {
	late := context.WithoutCancel(ctx)
	if h.money != nil {
		rest := cost
		if cost != nil {
			left := max(0, *cost-settled)
			rest = &left
		}
		_ = h.money.Settle(rest) // a cost that is no amount of money is told where it is logged
		if cost != nil && *cost > t.money.price {
			r.cover(late)
		}
	}
	if cost != nil {
		r.mu.Lock()
		r.paid += *cost
		r.mu.Unlock()
	}
	r.putDown(late, &hand{places: h.places, uses: h.uses}, false)
}

// cover has this launcher's tranches hold what its evaluations cost beyond what was
// reserved, so that others know. Beyond the ceiling they can't.
func (r *runner) cover(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	if m, err := r.shared.budget.Reserve(limited, leastUSD); err == nil {
		var nothing float64
		_ = m.Settle(&nothing)
	}
}

// tend looks now and then at what others do, until done: slots that they measure, and
// places and money that they have.
func (r *runner) tend(ctx context.Context, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tick := time.NewTicker(r.look())
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if r.shared == nil {
			continue
		}
		r.tidyPlaces(ctx)
		some, all := r.sc.waits()
		if !some {
			continue
		}
		if r.shared.member.Beat(ctx) != nil { // away: the next look may do better
			continue
		}
		holders := map[string]bool{}
		still := r.sc.recall(func(s planner.Slot) bool {
			a := r.shared.member.Peek(r.want(s))
			if a.Held != nil {
				holders[a.Held.Launcher] = true
			}
			return a.Held != nil
		}, func(s planner.Slot) bool {
			a := r.shared.member.Peek(r.want(s))
			if a.Done != "" {
				r.abroad(s, a.Done)
				r.Observer.Elsewhere(s)
			}
			return a.Done == ""
		})
		if names := slices.Sorted(maps.Keys(holders)); all && len(still) > 0 && fmt.Sprint(names) != said {
			said = fmt.Sprint(names)
			r.Observer.Waiting(len(still), names)
		}
	}
}
