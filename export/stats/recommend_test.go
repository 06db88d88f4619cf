package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// priced makes 5 runs of 60 tasks; every task's pass rate is the given one of its four kinds.
func priced(id string, usd float64, rates [4]int) Variant {
	v := Variant{ID: id, Runs: make([]Run, 5)}
	for r := range v.Runs {
		v.Runs[r].Cells = make([]Cell, 60)
		for t := range v.Runs[r].Cells {
			y := indicator((r+t/4)%5 < rates[t%4])
			cost := usd * (1 + .1*float64((t+r)%7))
			v.Runs[r].Cells[t] = Cell{State: Scored, Score: y, Passed: y == 1, CostUSD: &cost}
		}
	}
	return v
}

func TestRecommend(t *testing.T) {
	good := [4]int{5, 5, 4, 5}
	d := build(t, Batch{Metric: Pass, Tasks: panel(60, ""), Variants: []Variant{
		priced("reference", .10, good),
		priced("cheap and good", .05, good),
		priced("a little cheaper", .095, good),
		priced("cheap and broken", .001, [4]int{0, 0, 0, 0}),
		priced("free", 0, good),
	}})
	rule := DefaultRule()
	rule.Margin, rule.Reference = ptr(.15), "reference"
	v := ruled(t, d, rule)
	got, err := Recommend(d, rule, v, Advantage{CostUSD: ptr(.2)})
	require.NoError(t, err)
	require.Len(t, got, 4)
	assert.True(t, got[0].Recommended)
	assert.Equal(t, []Property{ByCost}, got[0].Advantages)
	assert.InDelta(t, .5, got[0].Cost.Value, 1e-9)
	assert.Nil(t, got[0].Wall)
	assert.False(t, got[1].Recommended)
	assert.Equal(t, "non-inferior, but no material advantage is shown", got[1].Why)
	assert.False(t, got[2].Recommended)
	assert.Equal(t, Inferior, got[2].Standing)
	assert.Equal(t, []Property{ByCost}, got[2].Advantages)
	assert.Equal(t, "not shown to be non-inferior: inferior", got[2].Why)
	assert.Nil(t, got[3].Cost, "nothing is infinitely cheap")
	assert.False(t, got[3].Recommended)

	_, err = Recommend(d, rule, v, Advantage{WallS: ptr(20)})
	assert.ErrorContains(t, err, "advantage wall_s 20")
	rule.Margin = nil
	none, err := Recommend(d, rule, ruled(t, d, rule), Advantage{CostUSD: ptr(.2)})
	require.NoError(t, err)
	require.Len(t, none, 4)
	for _, c := range none {
		assert.False(t, c.Recommended)
		assert.Equal(t, "not shown to be non-inferior: inconclusive, no margin was declared", c.Why)
	}
}

func TestSuperiorIsAnAdvantage(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(60, ""), Variants: []Variant{
		priced("old", .1, [4]int{1, 1, 2, 1}), priced("new", .2, [4]int{5, 4, 5, 5})}})
	rule := DefaultRule()
	rule.Margin, rule.Reference = ptr(.1), "old"
	v := ruled(t, d, rule)
	require.Equal(t, Superior, v.NonInferiority[0].Standing)
	got, err := Recommend(d, rule, v, Advantage{CostUSD: ptr(.2), Consistency: ptr(.2)})
	require.NoError(t, err)
	assert.Equal(t, []Property{ByScore, ByConsistency}, got[0].Advantages)
	assert.InDelta(t, 2, got[0].Cost.Value, 1e-9)
	assert.True(t, got[0].Recommended)
	assert.Equal(t, "score", ByScore.String())
}

// Runs whose cost nobody knows may be the dear ones: too many of them are no advantage.
func TestUnknownCostIsNoAdvantage(t *testing.T) {
	good := [4]int{5, 5, 4, 5}
	for unknown, want := range map[int]bool{0: true, 15: true, 16: false, 150: false} {
		silent := priced("silent", .05, good)
		for i := range unknown {
			silent.Runs[i%5].Cells[i/5].CostUSD = nil
		}
		for _, variants := range [][]Variant{{priced("reference", .1, good), silent}, {silent, priced("reference", .01, good)}} {
			d := build(t, Batch{Metric: Pass, Tasks: panel(60, ""), Variants: variants})
			rule := DefaultRule()
			rule.Margin, rule.Reference = ptr(.15), variants[0].ID
			got, err := Recommend(d, rule, ruled(t, d, rule), Advantage{CostUSD: ptr(.2)})
			require.NoError(t, err)
			assert.Equal(t, want, got[0].Recommended, "%d of 300 unknown in %s", unknown, silent.ID)
			if !want {
				assert.Equal(t, []Property{ByCost}, got[0].Unknown)
				assert.Equal(t, "non-inferior, but no material advantage is shown, cost_usd is unknown for more than 5 % of the task runs of a side", got[0].Why)
			}
		}
	}
}
