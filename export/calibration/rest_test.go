package calibration_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/calibration"
	"github.com/benchbatch/benchbatch/export/stats"
)

func usd(v float64) *float64 { return &v }

// The rest is F21's projection of what a task costs in all missing evaluations.
func TestCostOfTheRest(t *testing.T) {
	s := priced(t, nil)
	c := calibration.Decide(seen(t, s), batchOf(s))
	require.NotNil(t, c.Rest.CostUSD)
	pilot := []float64{15, 30, 45, 60, 75, 90, 105, 120} // 5 evaluations at 1 … 8, 5 at 2 … 16
	total, i, _ := stats.Projection(pilot, 60)
	assert.InDelta(t, total, c.Rest.CostUSD.Value, 1e-9)
	assert.InDelta(t, i.Low, *c.Rest.CostUSD.Low, 1e-9)
	assert.InDelta(t, i.High, *c.Rest.CostUSD.High, 1e-9)
	assert.Zero(t, c.Rest.UnknownCost)
	assert.InDelta(t, 4.5, *c.Variants[0].CostUSD, 1e-9)
	assert.Equal(t, calibration.Go, c.Verdict)

	for name, x := range map[string]struct {
		ceiling, spent float64
		want           string
	}{
		"far below":   {10000, 0, ""},
		"may be over": {5000, 0, "note perhaps_over_budget"},
		"over":        {4000, 0, "change over_budget"},
		"spent":       {10000, 9000, "change over_budget"},
	} {
		p := batchOf(s)
		p.CeilingUSD, p.SpentUSD = usd(x.ceiling), x.spent
		got := calibration.Decide(seen(t, s), p)
		if x.want == "" {
			assert.Empty(t, codes(got), name)
		} else {
			assert.Equal(t, []string{x.want}, codes(got), name)
		}
	}
}

func TestUnknownCosts(t *testing.T) {
	// One variant tells nothing: its evaluations are unknown, never 0.
	s := priced(t, func(cell, _ int) bool { return cell == 1 })
	c := calibration.Decide(seen(t, s), batchOf(s))
	assert.Equal(t, 5, c.Rest.UnknownCost)
	assert.InDelta(t, 5*60*4.5, c.Rest.CostUSD.Value, 1e-9)
	assert.Equal(t, []string{"note cost_unknown"}, codes(c))
	p := batchOf(s)
	p.CeilingUSD = usd(1e6)
	assert.Equal(t, []string{"change ceiling_unkept"}, codes(calibration.Decide(seen(t, s), p)))

	// Nobody tells anything.
	s = priced(t, func(int, int) bool { return true })
	c = calibration.Decide(seen(t, s), batchOf(s))
	assert.Nil(t, c.Rest.CostUSD)
	assert.Equal(t, 10, c.Rest.UnknownCost)
	sound(t, c)

	// No task has a cost for both: each is projected by its own tasks.
	s = priced(t, func(cell, task int) bool { return cell != task%2 })
	c = calibration.Decide(seen(t, s), batchOf(s))
	a, ia, _ := stats.Projection([]float64{5, 15, 25, 35}, 60)
	b, ib, _ := stats.Projection([]float64{20, 40, 60, 80}, 60)
	assert.InDelta(t, a+b, c.Rest.CostUSD.Value, 1e-9)
	assert.InDelta(t, ia.Low+ib.Low, *c.Rest.CostUSD.Low, 1e-9)
	assert.InDelta(t, ia.High+ib.High, *c.Rest.CostUSD.High, 1e-9)

	// A single task has no interval.
	s = priced(t, func(_, task int) bool { return task > 0 })
	c = calibration.Decide(seen(t, s), batchOf(s))
	assert.InDelta(t, 60*15, c.Rest.CostUSD.Value, 1e-9)
	assert.Nil(t, c.Rest.CostUSD.Low)
	sound(t, c)

	// Nothing is missing.
	p = batchOf(s)
	for i := range p.Variants {
		p.Variants[i].Missing = 0
	}
	c = calibration.Decide(seen(t, s), p)
	assert.Zero(t, c.Rest.Evaluations)
	assert.Nil(t, c.Rest.CostUSD)
	assert.Contains(t, c.Facts()[4].Text.String(), "nothing is missing")
}

// An evaluation of the panel starts once, and its tasks take as long as those of the slice.
func TestTimeOfTheRest(t *testing.T) {
	s := priced(t, nil)
	c := calibration.Decide(seen(t, s), batchOf(s))
	require.NotNil(t, c.Rest.WallS)
	wall := *s.Result.Evaluations[0].Ended
	slice := wall.Sub(s.Result.Evaluations[0].Started).Seconds()
	require.NotNil(t, c.Variants[0].WallS)
	assert.InDelta(t, slice*60/8, *c.Variants[0].WallS, 1e-9, "times of tasks are unknown: all of it grows")
	assert.Greater(t, *c.Rest.WallS.High, c.Rest.WallS.Value)
	assert.Less(t, *c.Rest.WallS.Low, c.Rest.WallS.Value)

	for i := range s.Result.Evaluations { // nobody knows when they ended
		s.Result.Evaluations[i].Ended = nil
	}
	c = calibration.Decide(seen(t, s), batchOf(s))
	assert.Nil(t, c.Rest.WallS)
	assert.Equal(t, 10, c.Rest.UnknownTime)
	sound(t, c)
}

func TestUnits(t *testing.T) {
	assert.Equal(t, 3, calibration.Units([]string{"a", "b", "a", "c"}))
	assert.Equal(t, 3, calibration.Units([]string{"a", "", "a", ""}))
	assert.Equal(t, 2, calibration.Units([]string{"a", "a"}), "one family: as without families")
	assert.Equal(t, 2, calibration.Units([]string{"", ""}))
	assert.Zero(t, calibration.Units(nil))
}
