package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// most is the largest rate that a true rate allows over n batches (3.5 standard errors).
func most(rate float64, n int) float64 { return rate + 3.5*math.Sqrt(rate*(1-rate)/float64(n)) }

func simulate(t *testing.T, s Scenario, n int) Rates {
	t.Helper()
	c, err := Simulate(s, DefaultRule(), NewKey("simulate_test", "pass", t.Name()), n)
	require.NoError(t, err)
	return c
}

func TestRuleHoldsItsLevel(t *testing.T) {
	const n = 300
	for name, s := range map[string]Scenario{
		"two, interaction and shocks":    {Variants: 2, Tasks: 100, Repeats: []int{3}, Interaction: 1.5, Shock: .3},
		"twelve, interaction and shocks": {Variants: 12, Tasks: 100, Repeats: []int{5}, Interaction: 1.5, Shock: .3},
		"three of twelve have shocks":    {Variants: 12, Tasks: 100, Repeats: []int{3}, Shock: .6, Shocked: 3},
		"mixed repeats and failures":     {Variants: 3, Tasks: 60, Repeats: []int{3, 5}, Interaction: 1.5, Shock: .3, Missing: .02},
		"twelve families":                {Variants: 3, Tasks: 60, Families: 12, Repeats: []int{3}, FamilySD: 1},
		"continuous":                     {Variants: 3, Tasks: 60, Repeats: []int{3}, Interaction: 1.5, Continuous: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := simulate(t, s, n)
			assert.LessOrEqual(t, c.Rule.False, most(.05, n))
			assert.Zero(t, c.Different)
			assert.Equal(t, s.Variants*(s.Variants-1)/2, c.Equal)
		})
	}
}

// The figures of the simplest cases are known: the range tie separates equal
// variants in 2/C(2k,k) of pairs, and a t test in 5 %.
func TestOtherRulesShowTheirKnownRates(t *testing.T) {
	const n = 2000
	c := simulate(t, Scenario{Variants: 2, Tasks: 60, Repeats: []int{3}, Continuous: true}, n)
	assert.InDelta(t, .1, c.Range.False, most(.1, n)-.1)
	assert.InDelta(t, .05, c.PairedT.False, most(.05, n)-.05)
	c = simulate(t, Scenario{Variants: 2, Tasks: 200, Repeats: []int{3}, Shock: .3}, n)
	assert.Greater(t, c.PairedT.False, .2, "a t test on tasks takes shocks for differences")
	assert.LessOrEqual(t, c.Rule.False, most(.05, n))
}

func TestPowerIsThatOfTheMethod(t *testing.T) {
	const n = 400
	c := simulate(t, Scenario{Variants: 2, Tasks: 100, Repeats: []int{5}, Interaction: 1.5, Spread: 1}, n)
	assert.InDelta(t, .90, c.Rule.Power, .06)
	assert.InDelta(t, .80, c.Range.Power, .07)
	assert.Zero(t, c.Equal)
	c = simulate(t, Scenario{Variants: 12, Tasks: 36, Repeats: []int{3}, Interaction: 1.5, Spread: 2}, 200)
	assert.InDelta(t, .03, c.Rule.Power, .015)
}

func TestShuffledLabelsSeparateNothing(t *testing.T) {
	d := build(t, t27())
	const n = 400
	for _, scope := range []Scope{Population, List} {
		rule := t27Rule()
		rule.Scope = scope
		c, err := Shuffle(d, rule, NewKey("t27", "pass", "shuffle"), n)
		require.NoError(t, err)
		assert.Equal(t, 6, c.Equal)
		assert.LessOrEqual(t, c.Rule.False, most(.05, n))
	}
}

// Whatever made a batch, its shuffled labels tell nothing.
func TestShuffledLabelsSeparateNothingInAnyWorld(t *testing.T) {
	const n = 300
	for name, s := range map[string]Scenario{
		"interaction": {Variants: 4, Tasks: 60, Repeats: []int{10}, Spread: 2, Interaction: 3},
		"families":    {Variants: 4, Tasks: 60, Families: 12, Repeats: []int{5}, FamilySD: 2},
		"uneven":      {Variants: 4, Tasks: 60, Repeats: []int{3, 3, 5, 5}, Interaction: 1, Missing: .05, Shock: .5, Spread: 3},
		"continuous":  {Variants: 3, Tasks: 40, Repeats: []int{4}, Interaction: 1, Continuous: true, Spread: 4},
	} {
		for _, scope := range []Scope{Population, List} {
			t.Run(fmt.Sprint(name, " ", scope), func(t *testing.T) {
				key := NewKey("worlds", "", name)
				rule := DefaultRule()
				rule.Scope = scope
				c, err := Shuffle(s.draw(rand.New(key.stream(0))), rule, key, n)
				require.NoError(t, err)
				assert.Equal(t, s.Variants*(s.Variants-1)/2, c.Equal)
				assert.Greater(t, AtLeast(int(math.Round(c.Rule.False*n)), n, .05), .001, "%+v", c)
			})
		}
	}
}

// A shuffle moves outcomes and loses none.
func TestShuffleKeepsEveryOutcome(t *testing.T) {
	s := Scenario{Variants: 5, Tasks: 30, Repeats: []int{3, 5}, Continuous: true, Missing: .1}
	d := s.draw(rand.New(NewKey("keep", "", "").stream(0)))
	d.variants[1].runs[2].place = Replaced
	row := func(d *Data, t int) (out []string) {
		for v := range d.variants {
			col := &d.variants[v]
			for _, r := range col.counted() {
				if i := t*len(col.runs) + r; col.state[i] != NotRun {
					out = append(out, fmt.Sprint(col.state[i], col.y[i]))
				}
			}
		}
		slices.Sort(out)
		return out
	}
	for _, single := range []bool{false, true} {
		shuffled, moved := d.shuffled(rand.New(NewKey("keep", "", "shuffle").stream(0)), single), 0
		for task := range d.tasks {
			assert.Equal(t, row(d, task), row(shuffled, task))
			moved += int(indicator(d.variants[0].y[task*3] != shuffled.variants[0].y[task*5]))
		}
		assert.Greater(t, moved, 5)
		failed := 0
		for v := range shuffled.variants {
			for _, run := range shuffled.variants[v].runs {
				failed += run.failed
			}
		}
		assert.Positive(t, failed)
		assert.True(t, shuffled.differs())
	}
}

func TestSimulateRefuses(t *testing.T) {
	good := Scenario{Variants: 2, Tasks: 10, Repeats: []int{3}}
	for _, change := range []func(*Scenario){
		func(s *Scenario) { s.Variants = 1 }, func(s *Scenario) { s.Tasks = 0 }, func(s *Scenario) { s.Repeats = nil },
		func(s *Scenario) { s.Repeats = []int{0} }, func(s *Scenario) { s.Families = 11 }, func(s *Scenario) { s.Shocked = 3 },
		func(s *Scenario) { s.Shock = math.NaN() }, func(s *Scenario) { s.Missing = 1 },
	} {
		s := good
		change(&s)
		_, err := Simulate(s, DefaultRule(), Key{}, 1)
		assert.Error(t, err)
	}
	_, err := Simulate(good, Rule{}, Key{}, 1)
	assert.ErrorContains(t, err, "alpha")
	_, err = Simulate(good, DefaultRule(), Key{}, 0)
	assert.ErrorContains(t, err, "replicates")
}
