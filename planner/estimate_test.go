package planner

import (
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

func TestEstimate(t *testing.T) {
	a, b, far := cellOf("quick", "m-one"), cellOf("careful", "m-one"), cellOf("quick", "m-two")
	missing := []Slot{{Cell: a, Slot: 3}, {Cell: b, Slot: 1}, {Cell: far, Slot: 1}}

	e := estimate(missing, nil)
	assert.Equal(t, Estimate{Evaluations: 3, UnknownCost: 3, UnknownTime: 3}, e, "unknown is nil, never 0")

	history := []ledger.Entry{paid(a, 1, 1), paid(a, 2, 3), repeat(b, 3, 0, "")} // b has run, but its cost is unknown
	e = estimate(missing, history)
	require.NotNil(t, e.CostUSD)
	assert.InDelta(t, 4, e.CostUSD.Mean, 1e-12, "2 for the cell's own history, 2 for its model's")
	assert.Equal(t, 1, e.UnknownCost, "no history of that model")
	assert.Less(t, e.CostUSD.Low, e.CostUSD.Mean)
	assert.Greater(t, e.CostUSD.High, e.CostUSD.Mean)
	assert.Nil(t, e.WallS)

	e = estimate(missing[:1], []ledger.Entry{paid(a, 1, 2)})
	assert.Less(t, e.CostUSD.Low, 2.0, "one value says little")
	assert.GreaterOrEqual(t, e.CostUSD.Low, 0.0)

	e = estimate(nil, history)
	assert.Zero(t, e.Evaluations)
	assert.Zero(t, e.UnknownCost)
}
