package stats

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewRefuses(t *testing.T) {
	one := func(c Cell) Batch {
		return Batch{Tasks: panel(1, ""), Judges: []Judge{{ID: "j"}}, Variants: []Variant{{ID: "A", Runs: []Run{{Cells: []Cell{c}}}}}}
	}
	twice := t27()
	twice.Variants[1].ID = "A"
	times := t27()
	times.Variants[2].Runs[1].Started = time.Time{}
	for want, b := range map[string]Batch{
		`variant "A": run 1, task "t001": score -0.2: must lie in [0,1]`: one(Cell{State: Scored, Score: -.2}),
		`variant "A": run 1, task "t001": score 1.3: must lie in [0,1]`:  one(Cell{State: Scored, Score: 1.3}),
		`variant "A": run 1, task "t001": score NaN: must lie in [0,1]`:  one(Cell{State: Scored, Score: math.NaN()}),
		`variant "A": run 1, task "t001": a score, pass or vote beside`:  one(Cell{State: Failed, Score: .5}),
		`variant "A": run 1, task "t001": state 9`:                       one(Cell{State: 9}),
		`cost -1: must be finite and not negative`:                       one(Cell{State: Scored, CostUSD: ptr(-1)}),
		`wall time +Inf: must be finite`:                                 one(Cell{State: Scored, WallS: ptr(math.Inf(1))}),
		`judge "j": vote 2: must lie in [0,1]`:                           one(Cell{State: Scored, Votes: []Vote{{0, 2}}}),
		`judge "j": more than one vote`:                                  one(Cell{State: Scored, Votes: []Vote{{0, 1}, {0, 1}}}),
		`vote of judge 3: there are 1 judges`:                            one(Cell{State: Scored, Votes: []Vote{{3, 1}}}),
		`variant 2: id "A": must be given and be unique`:                 twice,
		`start times: 11 of 12 runs have one`:                            times,
		`run 1: 0 cells: the panel has 1 tasks`:                          {Tasks: panel(1, ""), Variants: []Variant{{ID: "A", Runs: []Run{{}}}}},
		`task 2: id "x": must be given and be unique`:                    {Tasks: []Task{{ID: "x"}, {ID: "x"}}},
		`judge 1: id ""`:   {Judges: []Judge{{}}},
		`pass threshold 2`: {PassThreshold: ptr(2)},
		`metric 7`:         {Metric: 7},
		`run 1: place 5`:   {Variants: []Variant{{ID: "A", Runs: []Run{{Place: 5}}}}},
	} {
		_, err := newData(b)
		assert.ErrorContains(t, err, want)
	}
}

func TestRuleRefuses(t *testing.T) {
	d := build(t, t27())
	for want, change := range map[string]func(*Rule){
		"alpha 0":                            func(r *Rule) { r.Alpha = 0 },
		"alpha NaN":                          func(r *Rule) { r.Alpha = math.NaN() },
		"margin 1.5: must lie in (0, 1)":     func(r *Rule) { r.Margin = ptr(1.5) },
		"margin 0":                           func(r *Rule) { r.Margin = ptr(0) },
		"look 0":                             func(r *Rule) { r.Look = 0 },
		`reference "Z": not a variant`:       func(r *Rule) { r.Reference = "Z" },
		"compare: reference: names no refer": func(r *Rule) { r.Compare = WithReference },
		"scope or compare":                   func(r *Rule) { r.Scope = 9 },
	} {
		rule := DefaultRule()
		change(&rule)
		_, err := Decide(d, rule)
		assert.ErrorContains(t, err, want)
	}
}

func TestT25BadInput(t *testing.T) {
	missing := Cell{State: Failed} // what a reader makes of a NaN
	one := Cell{State: Scored, Score: 1, Passed: true}
	d := build(t, Batch{Tasks: panel(2, ""), Variants: []Variant{{ID: "A", Runs: []Run{
		{Cells: []Cell{one, missing}}, {Cells: []Cell{missing, missing}}, {Cells: []Cell{{State: Scored}, missing}}}}}})
	x := Describe(d, DefaultRule(), ruled(t, d, DefaultRule()))
	assert.Equal(t, 2, x.Variants[0].Repeats)
	assert.Equal(t, .5, x.Variants[0].Mean.Value)
	assert.Equal(t, 1, x.Variants[0].Mean.Tasks)
	assert.Equal(t, [3]int{2, 4, 0}, [3]int{x.Variants[0].Scored, x.Variants[0].Failed, x.Variants[0].NotRun})
	assert.Nil(t, x.Tasks[1].Means[0])

	empty := build(t, Batch{})
	v := ruled(t, empty, DefaultRule())
	assert.Empty(t, v.Pairs)
	assert.Nil(t, v.Ranks)
	assert.Equal(t, Nobody, v.Best)
	assert.Equal(t, SpreadUnknown, Describe(empty, DefaultRule(), v).Spread)
}

func TestNothingBecomesNaN(t *testing.T) {
	rule := DefaultRule()
	rule.Margin, rule.Reference = ptr(.05), "A"
	for name, words := range map[string][2]string{
		"no run of one side": {repeat("...", 12), repeat("101", 12)},
		"all failed":         {repeat("---", 12), repeat("101", 12)},
		"all failed, both":   {repeat("---", 12), repeat("---", 12)},
		"one run":            {repeat("1", 12), repeat("0", 12)},
		"two runs":           {repeat("10", 12), repeat("01", 12)},
		"one run and five":   {repeat("1....", 12), repeat("01011", 12)},
		"no common task":     {repeat("111", 6) + repeat("...", 6), repeat("...", 6) + repeat("101", 6)},
		"one common task":    {repeat("111", 6) + repeat("...", 6), repeat("...", 5) + repeat("101", 7)},
		"one run a task":     {repeat("1.. .1. ..1", 4), repeat("0.. .1. ..0", 4)},
		"all equal":          {repeat("111", 12), repeat("111", 12)},
		"one task":           {"111", "101"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := runsOf(words[0]), runsOf(words[1])
			batch := Batch{Metric: Pass, Tasks: panel(len(a[0].Cells), ""), Variants: []Variant{{ID: "A", Runs: a}, {ID: "B", Runs: b}}}
			for _, scope := range []Scope{Population, List} {
				rule.Scope = scope
				d := build(t, batch)
				v := ruled(t, d, rule)
				require.Len(t, v.Pairs, 1)
				assert.Equal(t, CannotTell, v.Pairs[0].Mark)
				assert.Equal(t, Nobody, v.Pairs[0].Winner)
				assertNoNaN(t, v)
				assertNoNaN(t, Describe(d, rule, v))
			}
		})
	}
}

// Errors do not vanish from the denominator: both rates are there, and what they rest on.
func TestErrorsStayInTheDenominator(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(100, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf(repeat("1", 80) + repeat("0", 10) + repeat("-", 10))},
		{ID: "B", Runs: runsOf(repeat("-", 100))}}})
	x := Describe(d, DefaultRule(), ruled(t, d, DefaultRule()))
	a, b := x.Variants[0], x.Variants[1]
	assert.InDelta(t, .888889, a.Mean.Value, digits)
	assert.InDelta(t, .8, a.Band.Low, 1e-12)
	assert.InDelta(t, .9, a.Band.High, 1e-12)
	assert.Equal(t, [3]int{90, 10, 0}, [3]int{a.Scored, a.Failed, a.NotRun})
	assert.Nil(t, b.Mean)
	assert.Equal(t, [3]int{0, 100, 0}, [3]int{b.Scored, b.Failed, b.NotRun})
	assert.Equal(t, Band{Interval{0, 1}, 0, 100}, *b.Band)
}

func TestEveryTaskWeighsOne(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(2, ""), Variants: []Variant{{ID: "A", Runs: runsOf("1........ 000000000")}}})
	x := Describe(d, DefaultRule(), ruled(t, d, DefaultRule()))
	assert.Equal(t, .5, x.Variants[0].Mean.Value)
	assert.Equal(t, []int{1}, x.Tasks[0].Runs)
	assert.Equal(t, []int{9}, x.Tasks[1].Runs)
}

// One repeat has no spread: nothing is 0 that is unknown.
func TestOneRepeatHasNoSpread(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(12, ""), Variants: []Variant{{ID: "A", Runs: runsOf(repeat("1 0", 6))}}})
	a := Describe(d, DefaultRule(), ruled(t, d, DefaultRule())).Variants[0]
	assert.Nil(t, a.Rerun)
	assert.Nil(t, a.OneWay)
	assert.Nil(t, a.SingleRuns)
	assert.Nil(t, a.FlipRate)
	assert.NotNil(t, a.Mean.SE)
	assert.Len(t, a.PassHat, 1)
}

// The caller may go on using what it passed in.
func TestDataIsItsOwn(t *testing.T) {
	b := t27()
	d := build(t, b)
	want := ruled(t, d, t27Rule())
	b.Tasks[0].Family, b.Variants[0].Runs[0].Cells[0].Score = "z", 0
	b.Variants[0].Runs[0].Cells[0].Passed = false
	assert.Equal(t, want, ruled(t, d, t27Rule()))
	assert.Equal(t, []string{"A", "B", "C", "D"}, d.Variants())
	assert.Equal(t, 12, d.Tasks())
}
