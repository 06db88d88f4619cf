package executor

import (
	"time"

	"github.com/benchbatch/benchbatch/planner"
)

// Forecast is how long some slots take under limits, in seconds, by what a history
// says of each: the queue is played through. A budget is not looked at. Nil = the
// time of some is unknown.
func Forecast(slots []planner.Slot, limits Limits, h *planner.History) *float64 {
	took := make(map[planner.SlotKey]time.Duration, len(slots))
	for _, slot := range slots {
		v := h.WallS(slot.Cell)
		if v == nil {
			return nil
		}
		took[keyOf(slot)] = time.Duration(*v * float64(time.Second))
	}
	q := newQueue(slots, limits, h, nil)
	end := q.play(func(s planner.Slot) time.Duration { return took[keyOf(s)] })
	v := end.Seconds()
	return &v
}

// play runs a queue through on a clock of its own and returns when the last
// evaluation ends. took is how long each really takes.
func (q *queue) play(took func(planner.Slot) time.Duration) time.Duration {
	epoch := time.Unix(0, 0)
	now := epoch
	type running struct {
		ends time.Time
		turn *turn
	}
	var active []running
	for {
		var wait time.Duration
		for len(active) < q.workers {
			var l *line
			if l, wait = q.pick(now); l == nil {
				break
			}
			t := q.start(l, now)
			active = append(active, running{now.Add(took(t.Slot)), t})
		}
		next := -1
		for i, r := range active {
			if next < 0 || r.ends.Before(active[next].ends) {
				next = i
			}
		}
		switch {
		case wait > 0 && (next < 0 || now.Add(wait).Before(active[next].ends)):
			now = now.Add(wait)
		case next < 0:
			return now.Sub(epoch)
		default:
			now = active[next].ends
			active[next].turn.end(nil)
			active = append(active[:next], active[next+1:]...)
		}
	}
}
