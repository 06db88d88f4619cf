package executor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// queue decides what starts next. It has no clock and no goroutines, so that a
// forecast can play it through. It is not safe for concurrent use.
//
// A slot that may not start is passed over, so that no worker waits while another
// quota has work. Of those that may, one goes first whose quota has the most work
// left for its places: what takes longest begins early. Where the workers are the
// bound, and within a quota, the batch's random order decides; at the end, when less
// is left than one evaluation takes, the longest goes first.
type queue struct {
	lines   []*line // one a cell
	size    int     // slots in them
	workers int     // evaluations at once over all quotas
	quotas  []*quota
	of      map[string][]*quota // by model
	history *planner.History
	budget  *budget         // nil = no ceiling
	held    map[string]bool // models that are being asked whether they answer
	active  int             // evaluations at work
	left    float64         // expected seconds of what is not started
}

// line is what a cell is missing. Its slots are alike.
type line struct {
	cell  batch.Cell
	slots []placed
}

// placed is a slot with its place in the batch's random order.
type placed struct {
	planner.Slot
	at int
}

// Limits bound what runs at once.
type Limits struct {
	AtOnce int // over all quotas, at least 1
	Quotas map[string]spec.Quota
	Models map[string][]string // the quotas of a model
}

// LimitsOf are those of a spec.
func LimitsOf(s *spec.Spec, atOnce int) Limits {
	l := Limits{AtOnce: max(1, atOnce), Quotas: s.Quotas, Models: map[string][]string{}}
	for _, m := range s.Models {
		if names := s.QuotasOf(m); len(names) > 0 {
			l.Models[m.ID] = names
		}
	}
	return l
}

func newQueue(slots []planner.Slot, limits Limits, h *planner.History, b *budget) *queue {
	q := &queue{size: len(slots), workers: max(1, limits.AtOnce), of: map[string][]*quota{}, history: h, budget: b, held: map[string]bool{}}
	byName := map[string]*quota{}
	for _, model := range slices.Sorted(maps.Keys(limits.Models)) {
		for _, name := range limits.Models[model] {
			if byName[name] == nil {
				byName[name] = &quota{Quota: limits.Quotas[name], name: name}
				q.quotas = append(q.quotas, byName[name])
			}
			q.of[model] = append(q.of[model], byName[name])
		}
	}
	lines := map[batch.Digest]*line{}
	for i, s := range slots {
		l := lines[s.Cell.Identity.Cell]
		if l == nil {
			l = &line{cell: s.Cell}
			lines[s.Cell.Identity.Cell] = l
			q.lines = append(q.lines, l)
		}
		l.slots = append(l.slots, placed{s, i})
	}
	return q
}

// seconds is how long a cell's evaluation probably takes; 1 where nothing is known,
// so that evaluations are counted instead.
func (q *queue) seconds(c batch.Cell) float64 {
	if v := q.history.WallS(c); v != nil {
		return *v
	}
	return 1
}

// survey sums up what the workers and each quota still have to do.
func (q *queue) survey() {
	q.left = 0
	for _, quota := range q.quotas {
		quota.left, quota.waits = 0, false
	}
	for _, l := range q.lines {
		left := q.seconds(l.cell) * float64(len(l.slots))
		q.left += left
		for _, quota := range q.of[l.cell.Model] {
			quota.left += left
			quota.waits = quota.waits || (len(l.slots) > 0 && l.cell.Model == quota.loaded)
		}
	}
}

// pick finds the cell whose next slot starts now (nil = none), or how long spacing
// makes all wait (0 = until an evaluation ends).
func (q *queue) pick(now time.Time) (*line, time.Duration) {
	q.survey()
	l, wait := q.best(true, now)
	if l == nil && wait == 0 && q.active == 0 {
		return q.best(false, now) // an exclusive group's model has work, but may not start
	}
	return l, wait
}

func (q *queue) best(stay bool, now time.Time) (*line, time.Duration) {
	var found *line
	var most float64
	var soonest time.Duration
	for _, l := range q.lines {
		if len(l.slots) == 0 {
			continue
		}
		ok, wait := q.admits(l.cell, stay, now)
		if wait > 0 && (soonest == 0 || wait < soonest) {
			soonest = wait
		}
		if !ok {
			continue
		}
		p := q.pressure(l.cell)
		if found == nil || p > most || (p == most && l.slots[0].at < found.slots[0].at) {
			found, most = l, p
		}
	}
	if found != nil {
		return found, 0
	}
	return nil, soonest
}

// admits says whether an evaluation may start now, or else how long spacing makes it wait.
func (q *queue) admits(c batch.Cell, stay bool, now time.Time) (bool, time.Duration) {
	if q.held[c.Model] || !q.budget.admits(c) {
		return false, 0
	}
	var longest time.Duration
	for _, quota := range q.of[c.Model] {
		ok, wait := quota.admits(c.Model, q.history.TokensPerMinute(c), stay, now)
		if !ok && wait == 0 {
			return false, 0
		}
		longest = max(longest, wait)
	}
	return longest == 0, longest
}

// pressure is the time, in seconds, that the workers or the cell's busiest quota
// still need, or one evaluation alone where that takes longer.
func (q *queue) pressure(c batch.Cell) float64 {
	most := max(q.left/float64(q.workers), q.seconds(c))
	for _, quota := range q.of[c.Model] {
		most = max(most, quota.left/float64(quota.places(q.workers)))
	}
	return most
}

// turn is a slot that was taken out of the queue, as it is booked.
type turn struct {
	planner.Slot
	queue  *queue
	line   *line
	at     int
	rate   *float64 // tokens a minute; nil = unknown
	quotas []func(void bool)
	money  booked
}

// start takes the next slot of a cell and books it.
func (q *queue) start(l *line, now time.Time) *turn {
	t := &turn{Slot: l.slots[0].Slot, queue: q, line: l, at: l.slots[0].at, rate: q.history.TokensPerMinute(l.cell), money: q.budget.reserve(l.cell)}
	l.slots = l.slots[1:]
	q.size--
	q.active++
	for _, quota := range q.of[l.cell.Model] {
		t.quotas = append(t.quotas, quota.start(l.cell.Model, t.rate, now))
	}
	return t
}

// end books that its evaluation has ended, and what that cost in USD (nil = unknown).
func (t *turn) end(cost *float64) {
	t.free(false)
	t.money.settle(cost)
}

// void books that it did not start after all.
func (t *turn) void() {
	t.free(true)
	t.money.cancel()
}

func (t *turn) free(void bool) {
	t.queue.active--
	for _, end := range t.quotas {
		end(void)
	}
}

// again puts the slot back in its place, after void.
func (t *turn) again() {
	i, _ := slices.BinarySearchFunc(t.line.slots, t.at, func(p placed, at int) int { return cmp.Compare(p.at, at) })
	t.line.slots = slices.Insert(slices.Clone(t.line.slots), i, placed{t.Slot, t.at})
	t.queue.size++
}

// drop takes out a model's slots, in the batch's random order.
func (q *queue) drop(model string) []planner.Slot {
	var all []placed
	for _, l := range q.lines {
		if l.cell.Model == model {
			all = append(all, l.slots...)
			l.slots = nil
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	q.size -= len(all)
	out := make([]planner.Slot, len(all))
	for i, p := range all {
		out[i] = p.Slot
	}
	return out
}

// moneyShort stands for the money below the ceiling where a quota is named.
const moneyShort = "$"

// block holds back what stands under a quota, or what costs money, until unblock.
func (q *queue) block(quota string) {
	if quota == moneyShort {
		q.budget.waits = true
	}
	for _, one := range q.quotas {
		one.full = one.full || one.name == quota
	}
}

func (q *queue) unblock() {
	if q.budget != nil {
		q.budget.waits, q.budget.over = false, false
	}
	for _, one := range q.quotas {
		one.full = false
	}
}

// blocked says whether anything is held back that others may give back.
func (q *queue) blocked() bool {
	return q.budget != nil && q.budget.waits && !q.budget.over || slices.ContainsFunc(q.quotas, func(one *quota) bool { return one.full })
}

// needs says whether anything under a quota is not started.
func (q *queue) needs(name string) bool {
	for _, l := range q.lines {
		if len(l.slots) > 0 && slices.ContainsFunc(q.of[l.cell.Model], func(one *quota) bool { return one.name == name }) {
			return true
		}
	}
	return false
}
