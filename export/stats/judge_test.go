package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// voted makes one run of two judges' votes; the score is their mean.
func voted(own, outside []float64) Run {
	run := Run{Cells: make([]Cell, len(own))}
	for t := range own {
		run.Cells[t] = Cell{State: Scored, Score: (own[t] + outside[t]) / 2, Votes: []Vote{{0, own[t]}, {1, outside[t]}}}
	}
	return run
}

var twoJudges = []Judge{{ID: "own", Family: "f"}, {ID: "other", Family: "g"}}

func TestT17OwnJudge(t *testing.T) {
	base := []float64{.5, .5, .5, .5, .5, .5}
	plus := func(e ...float64) []float64 {
		out := make([]float64, len(e))
		for i := range e {
			out[i] = base[i] + e[i]
		}
		return out
	}
	d := build(t, Batch{Tasks: panel(6, ""), Judges: twoJudges, Variants: []Variant{
		{ID: "A", Family: "f", Runs: []Run{voted(plus(.2, .1, 0, .3, .1, .2), base)}},
		{ID: "B", Family: "h", Runs: []Run{voted(plus(0, .1, -.1, .1, 0, 0), base)}}}})
	v := ruled(t, d, DefaultRule())
	require.Len(t, v.Judges, 1)
	b := v.Judges[0]
	require.NotNil(t, b.Bias)
	assert.InDelta(t, .133333, b.Bias.Value, digits)
	near6(t, .033333, b.Bias.SE)
	assert.InDelta(t, .047647, b.Bias.Interval.Low, digits)
	assert.InDelta(t, .219019, b.Bias.Interval.High, digits)
	near6(t, .0625, b.PFlip)
	assert.True(t, b.Recount)
}

// partial makes k runs of n tasks whose votes vary a little from task to task and run to run.
func partial(n, k int, own, outside float64) []Run {
	runs := make([]Run, k)
	for r := range runs {
		x, y := make([]float64, n), make([]float64, n)
		for t := range n {
			noise := .01 * float64((t*7+r*3)%5)
			x[t], y[t] = own+noise, outside+noise
		}
		runs[r] = voted(x, y)
	}
	return runs
}

func TestOwnJudgeFlipsTheVerdict(t *testing.T) {
	batch := func(own, other float64) *Data {
		return build(t, Batch{Tasks: panel(40, ""), Judges: twoJudges, Variants: []Variant{
			{ID: "A", Family: "f", Runs: partial(40, 5, own, .5)}, {ID: "B", Family: "h", Runs: partial(40, 5, other, .5)}}})
	}
	v := ruled(t, batch(.8, .5), DefaultRule())
	p := v.Pairs[0]
	assert.Equal(t, Beats, p.First.Mark)
	assert.Equal(t, CannotTell, p.Mark)
	assert.Equal(t, Nobody, p.Winner)
	assert.Equal(t, []string{"judge_dependent"}, p.Codes.Strings())
	assert.Equal(t, 1, v.Judges[0].Turned)

	// a judge that is harsh on everybody is no bias, and turns nothing
	v = ruled(t, batch(.3, .3), DefaultRule())
	assert.InDelta(t, 0, v.Judges[0].Bias.Value, 1e-12)
	assert.Zero(t, v.Judges[0].Turned)
	assert.False(t, v.Pairs[0].Codes.Has(JudgeDependent))
}

func TestJudgesThatCannotBeTested(t *testing.T) {
	none := ruled(t, build(t, Batch{Tasks: panel(10, ""), Variants: []Variant{{ID: "A", Family: "f"}}}), DefaultRule())
	assert.Empty(t, none.Judges)

	everywhere := build(t, Batch{Tasks: panel(12, ""), Judges: twoJudges, Variants: []Variant{
		{ID: "A", Family: "f", Runs: partial(12, 3, .6, .5)}, {ID: "B", Family: "f", Runs: partial(12, 3, .5, .5)}}})
	v := ruled(t, everywhere, DefaultRule())
	assert.Nil(t, v.Judges[0].Bias)
	assert.Equal(t, "no variant of another family", v.Judges[0].Why)

	runs := partial(12, 3, .6, .5)
	runs[0].Cells[0].Score = 0
	weighted := build(t, Batch{Tasks: panel(12, ""), Judges: twoJudges, Variants: []Variant{
		{ID: "A", Family: "f", Runs: runs}, {ID: "B", Family: "h", Runs: partial(12, 3, .5, .5)}}})
	v = ruled(t, weighted, DefaultRule())
	assert.NotNil(t, v.Judges[0].Bias)
	assert.False(t, v.Judges[0].Recount)
	assert.Contains(t, v.Judges[0].Why, "not the means")
}

func TestJudging(t *testing.T) {
	d := build(t, Batch{Tasks: panel(12, ""), Judges: twoJudges, PassThreshold: ptr(.55), Variants: []Variant{
		{ID: "A", Family: "f", Runs: partial(12, 3, .6, .5)}, {ID: "B", Family: "h", Runs: partial(12, 3, .4, .5)}}})
	x := Describe(d, DefaultRule(), ruled(t, d, DefaultRule()))
	j := x.Judging
	require.NotNil(t, j)
	require.NotNil(t, j.Alpha.Value)
	require.NotNil(t, j.Interval)
	assert.LessOrEqual(t, j.Interval.Low, *j.Alpha.Value)
	assert.GreaterOrEqual(t, j.Interval.High, *j.Alpha.Value)
	assert.Equal(t, 72, j.Alpha.Units)
	assert.Equal(t, 1, j.Judges[0].Worst)
	assert.Equal(t, 0, j.Judges[1].Worst)
	require.Len(t, j.Pairs, 1)
	assert.InDelta(t, 0, j.Pairs[0].Gap, 1e-12)
	require.NotNil(t, j.Pairs[0].Kappa)
	assert.InDelta(t, .5, j.Pairs[0].Kappa.Raw, 1e-12)
	assert.False(t, math.IsNaN(*j.Alpha.Value))
}

// Three judges of whom one is silent on the second task, and all agree on the first: the
// third, on which they are two to one, decides Fleiss' kappa.
func TestThreeJudges(t *testing.T) {
	votes := [][]Vote{{{0, 1}, {1, 1}, {2, 1}}, {{0, 1}, {1, 0}}, {{0, 1}, {1, 1}, {2, 0}}, {{0, 0}, {1, 0}, {2, 0}}}
	three := func(threshold *float64) *Judging {
		run := Run{Cells: make([]Cell, len(votes))}
		for i := range votes {
			run.Cells[i] = Cell{State: Scored, Score: .5, Votes: votes[i]}
		}
		d := build(t, Batch{Tasks: panel(len(votes), ""), Judges: append(twoJudges[:2:2], Judge{ID: "third", Family: "h"}), PassThreshold: threshold,
			Variants: []Variant{{ID: "A", Family: "x", Runs: []Run{run}}}})
		return Describe(d, DefaultRule(), ruled(t, d, DefaultRule())).Judging
	}
	f := three(ptr(.55)).Fleiss
	want, ok := Fleiss([][2]int{{3, 0}, {2, 1}, {0, 3}})
	require.True(t, ok)
	require.NotNil(t, f)
	assert.Equal(t, want, *f)
	assert.InDelta(t, 5./9, f.Prevalence, 1e-12)
	assert.InDelta(t, .55, *f.Value, 1e-12, "(7/9 - 41/81) / (1 - 41/81)")
	assert.Nil(t, three(nil).Fleiss, "nobody says what passes")
}
