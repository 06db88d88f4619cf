package executor

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/spec"
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

// schedule hands out slots: at most total at once, and at most a quota's at_once
// with its spacing between starts. A slot whose quota is full is passed over, so
// that no worker waits while another quota has work.
type schedule struct {
	mu      sync.Mutex
	wake    *sync.Cond
	queue   []planner.Slot
	quotaOf map[string]string // by model
	quotas  map[string]spec.Quota
	running map[string]int // by quota
	last    map[string]time.Time
	budget  *budget // nil = no ceiling
	active  int     // evaluations at work
	stopped bool
	// exhausted says why slots are left although nothing stopped the schedule.
	exhausted string
}

func newSchedule(queue []planner.Slot, s *spec.Spec, b *budget) *schedule {
	sc := &schedule{queue: queue, budget: b, quotaOf: map[string]string{}, quotas: s.Quotas, running: map[string]int{}, last: map[string]time.Time{}}
	sc.wake = sync.NewCond(&sc.mu)
	for _, m := range s.Models {
		sc.quotaOf[m.ID] = m.Quota
	}
	return sc
}

// next waits for a slot that may start; false when there is none left, or after
// stop. The caller hands the evaluation's cost (nil = unknown) to the function it gets.
func (sc *schedule) next() (planner.Slot, func(cost *float64), bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for {
		if sc.stopped || len(sc.queue) == 0 {
			return planner.Slot{}, nil, false
		}
		i, wait := sc.pick(time.Now())
		if i >= 0 {
			s := sc.queue[i]
			sc.queue = append(sc.queue[:i:i], sc.queue[i+1:]...)
			return s, sc.start(s), true
		}
		if wait == 0 && sc.active == 0 {
			sc.exhausted = sc.budget.why(len(sc.queue)) // only the budget holds slots back for good
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

// pick finds the first slot that may start now, or how long spacing makes us wait
// (0 = until an evaluation ends).
func (sc *schedule) pick(now time.Time) (int, time.Duration) {
	var wait time.Duration
	for i, s := range sc.queue {
		name := sc.quotaOf[s.Cell.Model]
		q := sc.quotas[name]
		if (q.AtOnce > 0 && sc.running[name] >= q.AtOnce) || !sc.budget.admits(s) {
			continue
		}
		due := sc.last[name].Add(q.Spacing)
		if q.Spacing == 0 || !now.Before(due) {
			return i, 0
		}
		if d := due.Sub(now); wait == 0 || d < wait {
			wait = d
		}
	}
	return -1, wait
}

// start books a slot and returns what to call when its evaluation has ended.
func (sc *schedule) start(s planner.Slot) func(cost *float64) {
	q := sc.quotaOf[s.Cell.Model]
	sc.running[q]++
	sc.active++
	sc.last[q] = time.Now()
	settle := sc.budget.reserve(s)
	return func(cost *float64) {
		sc.mu.Lock()
		sc.running[q]--
		sc.active--
		settle(cost)
		sc.mu.Unlock()
		sc.wake.Broadcast()
	}
}

// stop lets nothing new start.
func (sc *schedule) stop() {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.stopped = true
	sc.wake.Broadcast()
}

// rouse wakes whoever waits. It takes the lock, so that a waiter between its look
// at the queue and its wait is not missed.
func (sc *schedule) rouse() {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.wake.Broadcast()
}
