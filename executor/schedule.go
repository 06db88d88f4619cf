package executor

import (
	"math/rand/v2"
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
	mu      sync.Mutex
	wake    *sync.Cond
	queue   *queue
	paused  bool // nothing starts for now
	stopped bool
	// exhausted says why slots are left although nothing stopped the schedule.
	exhausted string
}

func newSchedule(q *queue) *schedule {
	sc := &schedule{queue: q}
	sc.wake = sync.NewCond(&sc.mu)
	return sc
}

// next waits for a slot that may start; false when there is none left, or after
// stop. The caller hands the evaluation's cost (nil = unknown) to the function it gets.
func (sc *schedule) next() (planner.Slot, func(cost *float64), bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for {
		if sc.stopped || sc.queue.size == 0 {
			return planner.Slot{}, nil, false
		}
		if sc.paused {
			sc.wake.Wait()
			continue
		}
		now := time.Now()
		l, wait := sc.queue.pick(now)
		if l != nil {
			s, end := sc.queue.start(l, now)
			return s, func(cost *float64) { sc.change(func() { end(cost) }) }, true
		}
		if wait == 0 && sc.queue.active == 0 {
			sc.exhausted = sc.queue.budget.why(sc.queue.size) // only the budget holds slots back for good
			sc.stopped = true
			sc.wake.Broadcast()
			continue
		}
		if wait > 0 {
			time.AfterFunc(wait, sc.rouse)
		}
		sc.wake.Wait()
	}
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
	sc.change(func() { out = sc.queue.drop(model) })
	return out
}

// rouse wakes whoever waits. It takes the lock, so that a waiter between its look
// at the queue and its wait is not missed.
func (sc *schedule) rouse() { sc.change(func() {}) }
