package executor

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// slotsOf plans n repeats of one agent on each model, all missing.
func slotsOf(n int, models ...string) *planner.Plan {
	p := &planner.Plan{}
	for _, m := range models {
		c := cellOf(m)
		p.Doc.Cells = append(p.Doc.Cells, c)
		for i := 1; i <= n; i++ {
			p.Slots = append(p.Slots, planner.Slot{Cell: c, Slot: i})
		}
	}
	return p
}

func cellOf(model string) batch.Cell {
	c := batch.Cell{Variant: batch.Variant{Agent: "a", Model: model}}
	c.Identity.Cell = batch.Sum([]byte(model))
	return c
}

func specOf(quotas map[string]spec.Quota, models ...string) *spec.Spec {
	s := &spec.Spec{Quotas: quotas}
	for _, m := range models {
		s.Models = append(s.Models, spec.Model{ID: m, Quota: "q-" + m})
	}
	return s
}

// drain takes slots with so many workers until none is left, and returns what was
// started; cost is what each evaluation turns out to cost (nil = unknown).
func drain(sc *schedule, workers int, cost func(planner.Slot) *float64) []planner.Slot {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var started []planner.Slot
	for range workers {
		wg.Go(func() {
			for {
				turn, ok := sc.next()
				if !ok {
					return
				}
				mu.Lock()
				started = append(started, turn.Slot)
				mu.Unlock()
				sc.begun()
				sc.done(turn, cost(turn.Slot))
			}
		})
	}
	wg.Wait()
	return started
}

// scheduleOf is a schedule for eight workers without a history.
func scheduleOf(slots []planner.Slot, s *spec.Spec, b *budget) *schedule {
	return newSchedule(newQueue(slots, LimitsOf(s, 8), nil, b))
}

func usd(v float64) func(planner.Slot) *float64 { return func(planner.Slot) *float64 { return &v } }

func TestOrderIsTheSeedsAndLeavesOutWhatIsThere(t *testing.T) {
	p := slotsOf(20, "m", "n")
	p.Doc.Seed = 7
	first := order(p)
	assert.Len(t, first, 40)
	assert.Equal(t, first, order(p), "the same seed gives the same order")
	assert.NotEqual(t, p.Slots, first, "the order of the plan is not the order of starts")

	p.Slots[3].Entry, p.Slots[25].Entry = &ledger.Entry{}, &ledger.Entry{}
	var want []planner.Slot
	for _, s := range first {
		if s != (planner.Slot{Cell: p.Slots[3].Cell, Slot: 4}) && s != (planner.Slot{Cell: p.Slots[25].Cell, Slot: 6}) {
			want = append(want, s)
		}
	}
	assert.Equal(t, want, order(p), "a continued batch goes on in the same order")

	p = slotsOf(20, "m", "n")
	p.Doc.Seed = 8
	assert.NotEqual(t, first, order(p))
}

func TestQuotasBoundWhatRunsAtOnce(t *testing.T) {
	sc := scheduleOf(order(slotsOf(30, "m", "n")), specOf(map[string]spec.Quota{"q-m": {AtOnce: 2}}, "m", "n"), nil)
	var running, most [2]atomic.Int32
	var mu sync.Mutex
	got := drain(sc, 8, func(s planner.Slot) *float64 {
		i := 0
		if s.Cell.Model == "n" {
			i = 1
		}
		n := running[i].Add(1)
		mu.Lock()
		most[i].Store(max(most[i].Load(), n))
		mu.Unlock()
		time.Sleep(time.Millisecond)
		running[i].Add(-1)
		return nil
	})
	assert.Len(t, got, 60)
	assert.LessOrEqual(t, most[0].Load(), int32(2), "the quota of m")
	assert.LessOrEqual(t, most[1].Load(), int32(8))
	assert.Empty(t, sc.exhausted)
}

func TestAFullQuotaDoesNotHoldBackTheOthers(t *testing.T) {
	queue := append(slotsOf(2, "m").Slots, slotsOf(1, "n").Slots...)
	sc := scheduleOf(queue, specOf(map[string]spec.Quota{"q-m": {AtOnce: 1}}, "m", "n"), nil)
	first, ok := sc.next()
	require.True(t, ok)
	assert.Equal(t, "m", first.Cell.Model, "what has the most left for its places goes first")
	second, ok := sc.next()
	require.True(t, ok)
	assert.Equal(t, "n", second.Cell.Model, "m is full: n goes first")
	sc.done(first, nil)
	third, ok := sc.next()
	require.True(t, ok)
	assert.Equal(t, "m", third.Cell.Model)
}

func TestSpacingWaitsBetweenStarts(t *testing.T) {
	q := newQueue(slotsOf(3, "m").Slots, LimitsOf(specOf(map[string]spec.Quota{"q-m": {Spacing: time.Minute}}, "m"), 8), nil, nil)
	now := time.Now()
	l, wait := q.pick(now)
	require.NotNil(t, l)
	assert.Zero(t, wait)
	q.start(l, now)
	l, wait = q.pick(now.Add(20 * time.Second))
	assert.Nil(t, l)
	assert.Equal(t, 40*time.Second, wait)
	l, _ = q.pick(now.Add(time.Minute))
	assert.NotNil(t, l)
}

func TestStopStartsNothingNew(t *testing.T) {
	sc := scheduleOf(slotsOf(100, "m").Slots, specOf(nil, "m"), nil)
	n := 0
	got := drain(sc, 1, func(planner.Slot) *float64 {
		if n++; n == 3 {
			sc.stop()
		}
		return nil
	})
	assert.Len(t, got, 3)
	assert.Empty(t, sc.exhausted)
}

// Each costs 0.30, the ceiling is 1.00, eight workers: three are started.
func TestTheCeilingIsKeptWithManyWorkers(t *testing.T) {
	for _, models := range [][]string{{"m"}, {"m", "n", "o", "p"}} {
		t.Run(fmt.Sprint(len(models)), func(t *testing.T) {
			ceiling := 1.0
			p := slotsOf(10, models...)
			b := newBudget(&ceiling, nil, p, "parent")
			sc := scheduleOf(order(p), specOf(nil, models...), b)
			got := drain(sc, 8, func(planner.Slot) *float64 {
				time.Sleep(time.Millisecond)
				return usd(0.30)(planner.Slot{})
			})
			assert.LessOrEqual(t, b.spent, 1.0)
			assert.Zero(t, b.reserved)
			assert.Len(t, got, 3)
			assert.Contains(t, sc.exhausted, "raise budget.ceiling_usd")
		})
	}
}

func TestTheBudgetStartsFromWhatTheBatchSpent(t *testing.T) {
	ceiling, cost := 1.0, 0.4
	p := slotsOf(5, "m")
	id := p.Doc.Cells[0].Identity
	p.Valid = []ledger.Entry{{Identity: id, WorstUSD: &cost, Batch: "parent"}, {Identity: id, WorstUSD: &cost, Batch: "another"}}
	p.Ended = []ledger.Entry{{Identity: id, WorstUSD: &cost, Batch: "parent"}, {Identity: id, Batch: "another"}}
	b := newBudget(&ceiling, nil, p, "parent")
	assert.InDelta(t, 0.8, b.spent, 1e-9, "failed evaluations included, those of other batches not")
	assert.False(t, b.admits(p.Slots[0].Cell), "0.8 + 0.4 is above the ceiling")
	ceiling = 1.2
	b = newBudget(&ceiling, nil, p, "parent")
	assert.True(t, b.admits(p.Slots[0].Cell))

	p.Ended = append(p.Ended, ledger.Entry{Identity: id, Batch: "parent", State: batch.StateInterrupted})
	b = newBudget(&ceiling, nil, p, "parent")
	assert.InDelta(t, 1.2, b.spent, 1e-9, "what a killed launcher spent is not known: the dearest is assumed")
}

// What a part of an evaluation cost is spent, but it is not the price of a whole one.
func TestACostThatWasCutShortIsNoPrice(t *testing.T) {
	ceiling := 1.0
	for _, state := range []batch.EvaluationState{batch.StateInterrupted, batch.StateSuperseded} {
		p := slotsOf(5, "m")
		p.Ended = []ledger.Entry{{Identity: p.Doc.Cells[0].Identity, WorstUSD: usd(0.1)(p.Slots[0]), Batch: "parent", State: state}}
		b := newBudget(&ceiling, nil, p, "parent")
		assert.InDelta(t, 0.1, b.spent, 1e-9)
		booked := b.reserve(p.Slots[1].Cell)
		assert.False(t, b.admits(p.Slots[2].Cell), "one evaluation learns what a whole one costs")
		booked.cut = true
		booked.settle(usd(0.1)(p.Slots[1]))
		assert.InDelta(t, 0.2, b.spent, 1e-9)
		b.reserve(p.Slots[2].Cell).settle(usd(0.3)(p.Slots[2]))
		assert.True(t, b.admits(p.Slots[3].Cell))
		price, known := b.price(p.Slots[3].Cell)
		assert.True(t, known)
		assert.InDelta(t, 0.3, price, 1e-9)
	}
}

func TestAnUnknownCostEndsABatchWithACeiling(t *testing.T) {
	ceiling := 1.0
	p := slotsOf(5, "m")
	b := newBudget(&ceiling, nil, p, "parent")
	sc := scheduleOf(p.Slots, specOf(nil, "m"), b)
	got := drain(sc, 4, func(planner.Slot) *float64 { return nil })
	assert.Len(t, got, 1)
	assert.Contains(t, sc.exhausted, "the cost of a+m is unknown")
	assert.Contains(t, sc.exhausted, "$1.00")
}

// A cost that is known but not reported this once is taken as the dearest known.
func TestACostThatIsNotReportedIsTheDearestKnown(t *testing.T) {
	ceiling := 1.0
	p := slotsOf(5, "m")
	b := newBudget(&ceiling, nil, p, "parent")
	b.reserve(p.Slots[0].Cell).settle(usd(0.2)(p.Slots[0]))
	b.reserve(p.Slots[1].Cell).settle(usd(0.1)(p.Slots[1]))
	b.reserve(p.Slots[2].Cell).settle(nil)
	assert.InDelta(t, 0.5, b.spent, 1e-9)
	assert.Empty(t, b.unknown)
}

func TestNoCeilingAdmitsEverything(t *testing.T) {
	p := slotsOf(5, "m")
	b := newBudget(nil, nil, p, "parent")
	assert.True(t, b.admits(p.Slots[0].Cell))
	b.reserve(p.Slots[0].Cell).settle(nil)
	assert.True(t, b.admits(p.Slots[1].Cell))
}
