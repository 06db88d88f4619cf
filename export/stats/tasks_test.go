package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	assert.Nil(t, quantile(nil, .5))
	for _, c := range []struct{ q, want float64 }{{0, 1}, {.5, 2.5}, {.9, 3.7}, {1, 4}} {
		assert.InDelta(t, c.want, *quantile([]float64{1, 2, 3, 4}, c.q), 1e-12)
	}
	assert.InDelta(t, 7, *quantile([]float64{7}, .9), 1e-12)
}

// On a task the variant that stands alone at an end is named with its distance to
// the others; two at the same place are not alone, and two variants have no outlier.
func TestOutliersOfTasks(t *testing.T) {
	b := Batch{Metric: Pass, Tasks: panel(4, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf("1111 1111 0000 ----")},
		{ID: "B", Runs: runsOf("0000 1111 0000 1111")},
		{ID: "C", Runs: runsOf("0000 0011 0000 0001")},
	}}
	d := build(t, b)
	got := Describe(d, DefaultRule(), ruled(t, d, DefaultRule())).Tasks
	require.Len(t, got, 4)
	assert.Equal(t, &Outlier{Variant: 0, By: 1}, got[0].Above)
	assert.Nil(t, got[0].Below, "two share the other end")
	assert.InDelta(t, 1./3, *got[0].Mean, 1e-12)
	assert.Nil(t, got[1].Above)
	assert.Equal(t, &Outlier{Variant: 2, By: -.5}, got[1].Below)
	assert.Nil(t, got[2].Above, "nothing differs")
	assert.Nil(t, got[2].Below)
	assert.Nil(t, got[3].Above, "two variants: which of them is the outlier?")
	assert.InDelta(t, .625, *got[3].Mean, 1e-12)
}

// Both kinds of cost have figures of their own; without a repriced cost there are none.
func TestRepricedCosts(t *testing.T) {
	b := Batch{Metric: Pass, Tasks: panel(40, ""), Variants: []Variant{{ID: "A", Runs: runsOf(repeat("110", 40))}, {ID: "B", Runs: runsOf(repeat("010", 40))}}}
	for r := range b.Variants[0].Runs {
		for i := range b.Variants[0].Runs[r].Cells {
			c := &b.Variants[0].Runs[r].Cells[i]
			c.CostUSD, c.Repriced = ptr(.02), ptr(.01+.0001*float64(i))
		}
	}
	d := build(t, b)
	s := Describe(d, DefaultRule(), ruled(t, d, DefaultRule())).Variants
	assert.InDelta(t, .03, s[0].Cost.CostPerPass.Value, 1e-12)
	assert.InDelta(t, .011950*1.5, s[0].Repriced.CostPerPass.Value, 1e-12)
	i := s[0].Repriced.CostPerPass.Interval
	require.NotNil(t, i)
	assert.True(t, i.Low < .017925 && .017925 < i.High)
	assert.Equal(t, []int{120, 120}, []int{s[0].Cost.Known, s[0].Repriced.Known})
	assert.Equal(t, Spending{}, s[1].Repriced)
	assert.Zero(t, s[1].Cost.Known)

	b.Variants[0].Runs[0].Cells[0].Repriced = ptr(-1.0)
	_, err := newData(b)
	assert.ErrorContains(t, err, "repriced cost -1: must be finite and not negative")
}
