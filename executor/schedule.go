package executor

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/planner"
)

// order shuffles the plan's slots by the batch's seed and keeps the missing ones,
// so that a continued batch goes on in the same random order.
func order(p *planner.Plan) []planner.Slot {
	all := append([]planner.Slot(nil), p.Slots...)
	r := rand.New(rand.NewPCG(p.Doc.Seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var missing []planner.Slot
	for _, s := range all {
		if s.Entry == nil {
			missing = append(missing, s)
		}
	}
	return missing
}

// schedule hands the slots of a queue to workers.
type schedule struct {
	mu       sync.Mutex
	wake     *sync.Cond
	queue    *queue
	deciding int     // turns that were handed out, of which it is not known yet whether they start
	aside    []*turn // slots that other launchers measure
	paused   bool    // nothing starts for now
	stopped  bool
	// exhausted says why slots are left although nothing stopped the schedule.
	exhausted string
}

func newSchedule(q *queue) *schedule {
	sc := &schedule{queue: q}
	sc.wake = sync.NewCond(&sc.mu)
	return sc
}

// next waits for a slot that may start; false when there is none left, or after stop.
// The caller says what came of it: begun and then done, or one of setAside, drawBack
// and leaveOut.
func (sc *schedule) next() (*turn, bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for {
		switch {
		case sc.stopped, sc.queue.size == 0 && sc.deciding == 0 && len(sc.aside) == 0:
			sc.wake.Broadcast()
			return nil, false
		case sc.paused, sc.queue.size == 0:
			sc.wake.Wait()
			continue
		}
		now := time.Now()
		l, wait := sc.queue.pick(now)
		if l != nil {
			sc.deciding++
			return sc.queue.start(l, now), true
		}
		if wait == 0 && sc.queue.active == 0 && !sc.queue.blocked() {
			sc.exhaust()
			continue
		}
		if wait > 0 {
			time.AfterFunc(wait, sc.rouse)
		}
		sc.wake.Wait()
	}
}

// exhaust ends the schedule where only the budget holds slots back, for good.
func (sc *schedule) exhaust() {
	sc.exhausted = sc.queue.budget.why(sc.queue.size)
	sc.stopped = true
	sc.wake.Broadcast()
}

// begun says that a turn's evaluation starts.
func (sc *schedule) begun() { sc.change(func() { sc.deciding-- }) }

// done says that it has ended, and what it cost in USD; nil = unknown.
func (sc *schedule) done(t *turn, cost *float64) {
	sc.change(func() {
		t.end(cost)
		if b := sc.queue.budget; b != nil {
			b.waits = false // it may have cost less than was reserved
		}
	})
}

// setAside says that another launcher measures the slot: see recall.
func (sc *schedule) setAside(t *turn) {
	sc.change(func() { sc.deciding--; t.void(); sc.aside = append(sc.aside, t) })
}

// leaveOut says that the slot needs no evaluation.
func (sc *schedule) leaveOut(t *turn) { sc.change(func() { sc.deciding--; t.void() }) }

// drawBack puts a slot back that can't start now: others have all places of a quota,
// or the money (moneyShort). That is tried again after recall.
func (sc *schedule) drawBack(t *turn, quota string) {
	sc.change(func() { sc.deciding--; t.void(); t.again(); sc.queue.block(quota) })
}

// recall looks at the slots that others measure: keep says which still are, and again
// which of the rest are put back. It returns those that are still set aside.
func (sc *schedule) recall(keep, again func(planner.Slot) bool) (still []planner.Slot) {
	sc.change(func() {
		var rest []*turn
		for _, t := range sc.aside {
			switch {
			case keep(t.Slot):
				rest, still = append(rest, t), append(still, t.Slot)
			case again(t.Slot):
				t.again()
			}
		}
		sc.aside = rest
		sc.queue.unblock()
	})
	return still
}

// waits says whether anything waits for other launchers, and whether that is all that
// is left to be started.
func (sc *schedule) waits() (some, all bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	some = len(sc.aside) > 0 || sc.queue.blocked()
	return some, len(sc.aside) > 0 && sc.queue.size == 0
}

// change does something under the lock and wakes whoever waits.
func (sc *schedule) change(f func()) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	f()
	sc.wake.Broadcast()
}

// stop lets nothing new start.
func (sc *schedule) stop() { sc.change(func() { sc.stopped = true }) }

// pause lets nothing new start for now; resume goes on.
func (sc *schedule) pause() { sc.change(func() { sc.paused = true }) }

func (sc *schedule) resume() { sc.change(func() { sc.paused = false }) }

// hold keeps a model's slots back, or no longer.
func (sc *schedule) hold(model string, held bool) {
	sc.change(func() { sc.queue.held[model] = held })
}

// drop takes a model's slots out of the queue and returns them.
func (sc *schedule) drop(model string) (out []planner.Slot) {
	sc.change(func() {
		out = sc.queue.drop(model)
		sc.aside = slices.DeleteFunc(sc.aside, func(t *turn) bool {
			if t.Cell.Model == model {
				out = append(out, t.Slot)
			}
			return t.Cell.Model == model
		})
	})
	return out
}

// rouse wakes whoever waits. It takes the lock, so that a waiter between its look
// at the queue and its wait is not missed.
func (sc *schedule) rouse() { sc.change(func() {}) }

// needs says whether anything under a quota is still to be started.
func (sc *schedule) needs(quota string) bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return !sc.stopped && sc.queue.needs(quota)
}
