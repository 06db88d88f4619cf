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
	stopped bool
}

func newSchedule(queue []planner.Slot, s *spec.Spec) *schedule {
	sc := &schedule{queue: queue, quotaOf: map[string]string{}, quotas: s.Quotas, running: map[string]int{}, last: map[string]time.Time{}}
	sc.wake = sync.NewCond(&sc.mu)
	for _, m := range s.Models {
		sc.quotaOf[m.ID] = m.Quota
	}
	return sc
}

// next waits for a slot that may start; false when there is none left, or after stop.
func (sc *schedule) next() (planner.Slot, bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for {
		if sc.stopped || len(sc.queue) == 0 {
			return planner.Slot{}, false
		}
		i, wait := sc.pick(time.Now())
		if i >= 0 {
			s := sc.queue[i]
			sc.queue = append(sc.queue[:i:i], sc.queue[i+1:]...)
			q := sc.quotaOf[s.Cell.Model]
			sc.running[q]++
			sc.last[q] = time.Now()
			return s, true
		}
		if wait > 0 {
			time.AfterFunc(wait, sc.wake.Broadcast)
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
		if q.AtOnce > 0 && sc.running[name] >= q.AtOnce {
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

// done gives a slot's place in its quota back.
func (sc *schedule) done(s planner.Slot) {
	sc.mu.Lock()
	sc.running[sc.quotaOf[s.Cell.Model]]--
	sc.mu.Unlock()
	sc.wake.Broadcast()
}

// stop lets nothing new start.
func (sc *schedule) stop() {
	sc.mu.Lock()
	sc.stopped = true
	sc.mu.Unlock()
	sc.wake.Broadcast()
}
