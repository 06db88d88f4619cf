package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func chosen(pairs ...[2]int) Rule {
	r := DefaultRule()
	r.Compare, r.Pairs = ChosenPairs, pairs
	return r
}

// With one pair, "over all" is that pair.
func TestOverallOfOnePair(t *testing.T) {
	d := build(t, t27())
	rule := chosen([2]int{3, 0})
	rule.Margin = ptr(.3)
	o, err := DecideOverall(d, rule)
	require.NoError(t, err)
	p := ruled(t, d, rule).Pairs[0]
	assert.InDelta(t, *p.Difference, *o.Difference, 1e-12)
	assert.InDelta(t, p.Noise.V, o.Noise.V, 1e-12)
	assert.InDelta(t, p.Noise.DF, o.Noise.DF, 1e-9)
	near6(t, *p.P, o.P)
	assert.Equal(t, Beats, o.Mark)
	assert.False(t, o.Up)
	require.NotNil(t, o.Second)
}

// Two pairs with the same small change: together they tell what neither does alone.
func TestOverallOfSeveralPairs(t *testing.T) {
	rot := []string{"11100", "01110", "00111", "10011", "11001"}
	up := []string{"11110", "01111", "10111", "11011", "11101"}
	words := func(x []string, changed, offset int) string {
		out := ""
		for i := range 40 {
			if (i+offset)%4 < changed {
				out += up[i%5] + " "
			} else {
				out += x[i%5] + " "
			}
		}
		return out
	}
	d := build(t, Batch{Metric: Pass, Tasks: panel(40, ""), Variants: []Variant{
		{ID: "a old", Runs: runsOf(words(rot, 0, 0))}, {ID: "a new", Runs: runsOf(words(rot, 2, 0))},
		{ID: "b old", Runs: runsOf(words(rot, 0, 1))}, {ID: "b new", Runs: runsOf(words(rot, 2, 2))},
		{ID: "c old", Runs: runsOf(words(rot, 0, 1))}, {ID: "c new", Runs: runsOf(words(rot, 2, 1))}}})
	rule := chosen([2]int{1, 0}, [2]int{3, 2}, [2]int{5, 4})
	o, err := DecideOverall(d, rule)
	require.NoError(t, err)
	v := ruled(t, d, rule)
	sum := 0.0
	for _, p := range v.Pairs {
		sum += *p.Difference
		assert.Less(t, o.Noise.V, p.Noise.V)
	}
	assert.InDelta(t, sum/3, *o.Difference, 1e-12)
	assert.InDelta(t, v.Pairs[0].Noise.Rerun/3, o.Noise.Rerun, 1e-4)
	assert.Equal(t, 40, o.Tasks)
	assert.True(t, o.Up)
	assert.Equal(t, Beats, o.Mark)
	for _, p := range v.Pairs {
		assert.NotEqual(t, Beats, p.Mark)
	}
	assertNoNaN(t, o)

	_, err = DecideOverall(d, chosen([2]int{1, 0}, [2]int{2, 0}))
	assert.ErrorContains(t, err, "more than one")
	_, err = DecideOverall(d, DefaultRule())
	assert.ErrorContains(t, err, "list those")
}

func TestOverallOfTooLittle(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(3, ""), Variants: []Variant{
		{ID: "old", Runs: runsOf("1 1 .")}, {ID: "new", Runs: runsOf(". . 1")}}})
	o, err := DecideOverall(d, chosen([2]int{1, 0}))
	require.NoError(t, err)
	assert.Equal(t, CannotTell, o.Mark)
	assert.Equal(t, []string{"no_repeats", "too_few_tasks"}, o.Codes.Strings())
	assert.Nil(t, o.Difference)
	assertNoNaN(t, o)
}
