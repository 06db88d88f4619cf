package planner

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// paid is a repeat with a known cost.
func paid(c batch.Cell, minute int, usd float64) ledger.Entry {
	e := repeat(c, minute, 0, "")
	e.CostUSD = &usd
	return e
}

// estimated is the estimate from a recipe's own history.
func estimated(missing []Slot, valid []ledger.Entry) Estimate {
	return EstimateOf(missing, NewHistory(10, valid, nil))
}

func TestEstimate(t *testing.T) {
	a, b, far := cellOf("quick", "m-one"), cellOf("careful", "m-one"), cellOf("quick", "m-two")
	missing := []Slot{{Cell: a, Slot: 3}, {Cell: b, Slot: 1}, {Cell: far, Slot: 1}}

	e := estimated(missing, nil)
	assert.Equal(t, Amount{Evaluations: 3, UnknownCost: 3, UnknownTime: 3}, e.Amount, "unknown is nil, never 0")
	assert.Equal(t, []ModelEstimate{{"m-one", Amount{Evaluations: 2, UnknownCost: 2, UnknownTime: 2}}, {"m-two", Amount{Evaluations: 1, UnknownCost: 1, UnknownTime: 1}}}, e.Models)

	history := []ledger.Entry{paid(a, 1, 1), paid(a, 2, 3), repeat(b, 3, 0, "")} // b has run, but its cost is unknown
	e = estimated(missing, history)
	require.NotNil(t, e.CostUSD)
	assert.InDelta(t, 4, e.CostUSD.Mean, 1e-12, "2 for the cell's own history, 2 for its model's")
	assert.Equal(t, 1, e.UnknownCost, "no history of that model")
	assert.Less(t, e.CostUSD.Low, e.CostUSD.Mean)
	assert.Greater(t, e.CostUSD.High, e.CostUSD.Mean)
	assert.Nil(t, e.WallS)
	require.Len(t, e.Models, 2)
	assert.InDelta(t, 4, e.Models[0].CostUSD.Mean, 1e-12)
	assert.Nil(t, e.Models[1].CostUSD, "nothing is known of m-two")

	e = estimated(missing[:1], []ledger.Entry{paid(a, 1, 2)})
	assert.Less(t, e.CostUSD.Low, 2.0, "one value says little")
	assert.GreaterOrEqual(t, e.CostUSD.Low, 0.0)

	e = estimated(nil, history)
	assert.Zero(t, e.Evaluations)
	assert.Zero(t, e.UnknownCost)
}

func TestEstimateFromCalibrations(t *testing.T) {
	a, b, far := cellOf("quick", "m-one"), cellOf("careful", "m-one"), cellOf("quick", "m-two")
	missing := []Slot{{Cell: a, Slot: 1}, {Cell: a, Slot: 2}, {Cell: b, Slot: 1}, {Cell: far, Slot: 1}}
	sliced := func(c batch.Cell, minute int, usd float64) ledger.Entry {
		id := c.Identity
		c.Identity = batch.NewIdentity(id.Agent, id.Model, id.Brain, batch.Sum([]byte("a slice's execution")), id.Scoring)
		e := paid(c, minute, usd)
		e.Tasks = 4
		return e
	}
	calibrated := []ledger.Entry{sliced(a, 1, 0.4), sliced(a, 2, 0.4), sliced(b, 3, 0.8), sliced(b, 4, 0.8)}
	e := EstimateOf(missing, NewHistory(10, nil, calibrated))
	require.NotNil(t, e.CostUSD)
	assert.InDelta(t, 1+1+2, e.CostUSD.Mean, 1e-12, "a slice of 4 of 10 tasks")
	assert.Equal(t, 3, e.Calibrated)
	assert.Equal(t, 1, e.UnknownCost, "nothing is known of that model")
	half := 2 * 4 * math.Sqrt(1.0/4-1.0/10)
	assert.InDelta(t, max(0, 4-half), e.CostUSD.Low, 1e-12, "4 tasks stand for 10: an error that all share")
	assert.InDelta(t, 4+half, e.CostUSD.High, 1e-12)

	// Its own history counts first, also another cell's of the model.
	e = EstimateOf(missing[:3], NewHistory(10, []ledger.Entry{paid(a, 5, 3), paid(a, 6, 3)}, calibrated))
	assert.InDelta(t, 9, e.CostUSD.Mean, 1e-12)
	assert.Zero(t, e.Calibrated)

	// The model's calibration stands in for an agent that was not calibrated.
	e = EstimateOf(missing[2:3], NewHistory(10, nil, calibrated[:2]))
	assert.InDelta(t, 1, e.CostUSD.Mean, 1e-12)

	// Without the number of its tasks a run says nothing of the panel.
	lost := sliced(a, 7, 1)
	lost.Tasks = 0
	assert.Nil(t, EstimateOf(missing, NewHistory(10, nil, []ledger.Entry{lost})).CostUSD)
}
