package executor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// uneven is a batch of 12 variants × 5 repeats: 3 agents on 4 models, one of them
// alone on a local engine, one with two places, one with three, one without bound.
type uneven struct {
	spec    *spec.Spec
	plan    *planner.Plan
	history *planner.History
	took    map[planner.SlotKey]time.Duration
	workers int
}

func newUneven(seed uint64) *uneven {
	r := rand.New(rand.NewPCG(seed, 1))
	u := &uneven{spec: &spec.Spec{Quotas: map[string]spec.Quota{"one": {AtOnce: 1}, "two": {AtOnce: 2}, "three": {AtOnce: 3}}},
		plan: &planner.Plan{}, history: planner.NewHistory(10, nil, nil), took: map[planner.SlotKey]time.Duration{}, workers: 8}
	u.plan.Doc.Seed = seed
	for _, m := range []spec.Model{{ID: "local", Quota: "one"}, {ID: "small", Quota: "two"}, {ID: "large", Quota: "three"}, {ID: "free"}} {
		u.spec.Models = append(u.spec.Models, m)
		for _, agent := range []string{"a", "b", "c"} {
			c := batch.Cell{Variant: batch.Variant{Agent: agent, Model: m.ID}}
			c.Identity.Cell, c.Identity.Model = batch.Sum([]byte(agent+m.ID)), batch.Sum([]byte(m.ID))
			usual := math.Exp(r.NormFloat64()*0.7) * 300 // seconds, from about 70 to 1200
			for range 5 {
				was := usual * (0.8 + 0.4*r.Float64())
				u.history.Add(c.Identity, nil, &was, nil)
			}
			for n := 1; n <= 5; n++ {
				s := planner.Slot{Cell: c, Slot: n}
				u.plan.Slots = append(u.plan.Slots, s)
				u.took[keyOf(s)] = time.Duration(usual * (0.8 + 0.4*r.Float64()) * float64(time.Second))
			}
		}
	}
	return u
}

// bound is the least time that any order could take.
func (u *uneven) bound() time.Duration {
	var all, longest time.Duration
	byQuota := map[string]time.Duration{}
	quotaOf := map[string]string{}
	for _, m := range u.spec.Models {
		quotaOf[m.ID] = m.Quota
	}
	for _, s := range u.plan.Slots {
		d := u.took[keyOf(s)]
		all += d
		longest = max(longest, d)
		byQuota[quotaOf[s.Cell.Model]] += d
	}
	least := max(longest, all/time.Duration(u.workers))
	for name, q := range u.spec.Quotas {
		least = max(least, byQuota[name]/time.Duration(q.AtOnce))
	}
	return least
}

func TestTheOrderOfStartsIsNearTheBestPossible(t *testing.T) {
	worst := map[bool]float64{}
	for seed := range uint64(50) {
		for _, known := range []bool{true, false} {
			u := newUneven(seed)
			h := u.history
			if !known {
				h = nil
			}
			q := newQueue(order(u.plan), LimitsOf(u.spec, u.workers), h, nil)
			got := q.play(func(s planner.Slot) time.Duration { return u.took[keyOf(s)] })
			ratio := got.Seconds() / u.bound().Seconds()
			worst[known] = max(worst[known], ratio)
			assert.GreaterOrEqual(t, ratio, 1.0, "seed %d", seed)
			if known {
				assert.LessOrEqual(t, ratio, 1.10, "seed %d", seed)
			}
		}
	}
	t.Logf("time to the lower bound, the worst of 50 batches: %.3f with a history, %.3f without", worst[true], worst[false])
}

// No worker waits while a slot could start.
func TestNoPlaceIsIdleWhileThereIsWork(t *testing.T) {
	u := newUneven(3)
	q := newQueue(order(u.plan), LimitsOf(u.spec, u.workers), u.history, nil)
	running, left := map[string]int{}, map[string]int{}
	for _, s := range u.plan.Slots {
		left[s.Cell.Model]++
	}
	places := map[string]int{"local": 1, "small": 2, "large": 3, "free": 100}
	ends := map[string][]*turn{}
	for q.size > 0 {
		for q.active < u.workers {
			l, _ := q.pick(time.Unix(0, 0))
			if l == nil {
				break
			}
			s := q.start(l, time.Unix(0, 0))
			running[s.Cell.Model]++
			left[s.Cell.Model]--
			ends[s.Cell.Model] = append(ends[s.Cell.Model], s)
		}
		for m, n := range places {
			idle := q.active < u.workers && running[m] < n && left[m] > 0
			assert.False(t, idle, "%s: %d run, %d are left, %d workers are at work", m, running[m], left[m], q.active)
		}
		for _, m := range []string{"free", "large", "small", "local"} {
			if running[m] > 0 {
				ends[m][0].end(nil)
				ends[m] = ends[m][1:]
				running[m]--
				break
			}
		}
	}
}

func TestForecastPlaysTheQueue(t *testing.T) {
	p := slotsOf(4, "m", "n")
	s := specOf(map[string]spec.Quota{"q-m": {AtOnce: 1}}, "m", "n")
	h := planner.NewHistory(10, nil, nil)
	assert.Nil(t, Forecast(p.Slots, LimitsOf(s, 4), h), "nothing is known")
	took := 10.0
	for _, c := range []*batch.Cell{&p.Doc.Cells[0], &p.Doc.Cells[1]} {
		c.Identity.Model = c.Identity.Cell
	}
	for i := range p.Slots {
		p.Slots[i].Cell = p.Doc.Cells[i/4]
	}
	h.Add(p.Doc.Cells[0].Identity, nil, &took, nil)
	assert.Nil(t, Forecast(p.Slots, LimitsOf(s, 4), h), "n is not known")
	assert.InDelta(t, 40, *Forecast(p.Slots[:4], LimitsOf(s, 4), h), 1e-9, "one after another")
	took = 8
	h.Add(p.Doc.Cells[1].Identity, nil, &took, nil)
	assert.InDelta(t, 40, *Forecast(p.Slots, LimitsOf(s, 4), h), 1e-9, "n runs beside m")
	assert.InDelta(t, 72, *Forecast(p.Slots, LimitsOf(s, 1), h), 1e-9)
	s.Quotas["q-n"] = spec.Quota{Spacing: time.Minute}
	assert.InDelta(t, 188, *Forecast(p.Slots, LimitsOf(s, 4), h), 1e-9, "three spaces and one evaluation")
}

func TestAnExclusiveGroupStaysOnItsModel(t *testing.T) {
	p := slotsOf(3, "m", "n", "o")
	p.Doc.Seed = 5
	s := specOf(map[string]spec.Quota{"engine": {AtOnce: 2, Exclusive: true}}, "m", "n", "o")
	for i := range s.Models {
		s.Models[i].Quota = "engine"
	}
	var models []string
	q := newQueue(order(p), LimitsOf(s, 8), nil, nil)
	at := map[string]int{}
	q.play(func(s planner.Slot) time.Duration {
		models = append(models, s.Cell.Model)
		at[s.Cell.Model]++
		return time.Duration(at[s.Cell.Model]) * time.Second
	})
	require.Len(t, models, 9)
	switches := 0
	for i := 1; i < len(models); i++ {
		if models[i] != models[i-1] {
			switches++
		}
	}
	assert.Equal(t, 2, switches, "each model is loaded once: %v", models)
	assert.Equal(t, order(p)[0].Cell.Model, models[0], "the first is the seed's")
}

// A model that may not start does not keep its group's engine.
func TestAnExclusiveGroupLeavesAModelThatIsHeld(t *testing.T) {
	p := slotsOf(2, "m", "n")
	s := specOf(map[string]spec.Quota{"engine": {Exclusive: true}}, "m", "n")
	s.Models[0].Quota, s.Models[1].Quota = "engine", "engine"
	q := newQueue(p.Slots, LimitsOf(s, 8), nil, nil)
	l, _ := q.pick(time.Unix(0, 0))
	require.Equal(t, "m", l.cell.Model)
	started := q.start(l, time.Unix(0, 0))
	q.held["m"] = true
	l, _ = q.pick(time.Unix(0, 0))
	assert.Nil(t, l, "m still runs")
	started.end(nil)
	l, _ = q.pick(time.Unix(0, 0))
	require.NotNil(t, l)
	assert.Equal(t, "n", l.cell.Model)
}

func TestTokensAMinuteAreShared(t *testing.T) {
	p := slotsOf(9, "m")
	wall, tokens := 30.0, 1000.0 // 2,000 a minute
	h := planner.NewHistory(10, nil, nil)
	s := specOf(map[string]spec.Quota{"q-m": {TokensPerMinute: 5000}}, "m")
	starts := func(q *queue) (ends []*turn) {
		for {
			l, wait := q.pick(time.Unix(0, 0))
			if l == nil {
				assert.Zero(t, wait)
				return ends
			}
			ends = append(ends, q.start(l, time.Unix(0, 0)))
		}
	}
	q := newQueue(p.Slots, LimitsOf(s, 8), h, nil)
	ends := starts(q)
	assert.Len(t, ends, 1, "how much it uses is not known: the first runs alone")
	h.Add(p.Doc.Cells[0].Identity, nil, &wall, &tokens)
	ends[0].end(nil)
	ends = starts(q)
	assert.Len(t, ends, 2, "2 × 2,000 fit into 5,000")
	ends[0].end(nil)
	assert.Len(t, starts(q), 1)

	s.Quotas["q-m"] = spec.Quota{TokensPerMinute: 1500}
	assert.Len(t, starts(newQueue(p.Slots, LimitsOf(s, 8), h, nil)), 1, "one always may")
}

// A quota bounds the models that name it, the model of its name and a provider's.
func TestAModelStandsUnderAllItsQuotas(t *testing.T) {
	s := &spec.Spec{Quotas: map[string]spec.Quota{"north": {AtOnce: 3}, "small": {AtOnce: 1}, "team": {AtOnce: 2}}}
	s.Models = []spec.Model{{ID: "small", Route: "north/small"}, {ID: "large", Route: "north/large", Quota: "team"}, {ID: "other", Route: "south/other"}}
	assert.Equal(t, []string{"small", "north"}, s.QuotasOf(s.Models[0]))
	assert.Equal(t, []string{"team", "north"}, s.QuotasOf(s.Models[1]))
	assert.Empty(t, s.QuotasOf(s.Models[2]))
	q := newQueue(slotsOf(5, "small", "large", "other").Slots, LimitsOf(s, 100), nil, nil)
	for {
		l, _ := q.pick(time.Unix(0, 0))
		if l == nil {
			break
		}
		q.start(l, time.Unix(0, 0))
	}
	left := map[string]int{}
	for _, l := range q.lines {
		left[l.cell.Model] = len(l.slots)
	}
	assert.Equal(t, map[string]int{"small": 4, "large": 3, "other": 0}, left)
}

func TestDroppedSlotsComeInTheirOrder(t *testing.T) {
	p := slotsOf(5, "m", "n")
	p.Doc.Seed = 3
	all := order(p)
	q := newQueue(all, LimitsOf(specOf(nil, "m", "n"), 8), nil, nil)
	var want []string
	for _, s := range all {
		if s.Cell.Model == "m" {
			want = append(want, fmt.Sprint(s.Slot))
		}
	}
	var got []string
	for _, s := range q.drop("m") {
		got = append(got, fmt.Sprint(s.Slot))
	}
	assert.Equal(t, want, got)
	assert.Equal(t, 5, q.size)
	assert.Empty(t, q.drop("m"))
}
