package executor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

func dollars(v float64) *float64 { return &v }

func attempt(state outcome.State, cost *float64, votes ...outcome.Vote) outcome.Attempt {
	return outcome.Attempt{Outcome: outcome.Outcome{Task: "t", State: state, CostUSD: cost, Judges: votes}}
}

func TestABillHoldsJudgesAndAWorstCase(t *testing.T) {
	judged := outcome.Vote{Name: "tone", Kind: "model", CostUSD: dollars(5)}
	free := outcome.Vote{Name: "facts", Kind: "code"}
	for name, c := range map[string]struct {
		attempts     []outcome.Attempt
		known, worst *float64
		unknown      int
	}{
		"nothing ran":       {nil, nil, nil, 0},
		"all known":         {[]outcome.Attempt{attempt(outcome.Scored, dollars(0.1), judged, free)}, dollars(5.1), dollars(5.1), 0},
		"one unknown":       {[]outcome.Attempt{attempt(outcome.Scored, dollars(0.25)), attempt(outcome.Provider, nil)}, dollars(0.25), dollars(0.5), 1},
		"a model's vote":    {[]outcome.Attempt{attempt(outcome.Scored, dollars(0.25), outcome.Vote{Name: "x", Kind: "model"})}, dollars(0.25), dollars(0.5), 1},
		"nothing is known":  {[]outcome.Attempt{attempt(outcome.Scored, nil)}, nil, nil, 1},
		"what never ran":    {[]outcome.Attempt{attempt(outcome.Scored, dollars(0.25)), attempt(outcome.NotRun, nil)}, dollars(0.25), dollars(0.25), 0},
		"zeros say nothing": {[]outcome.Attempt{attempt(outcome.Scored, nil), attempt(outcome.Judge, dollars(0))}, nil, nil, 1},
		"a cost of 0 is it": {[]outcome.Attempt{attempt(outcome.Scored, dollars(0))}, dollars(0), dollars(0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := billOf(evaluation.Measured{Attempts: c.attempts})
			assert.Equal(t, c.known, b.known)
			assert.Equal(t, c.worst, b.worst)
			assert.Equal(t, c.unknown, b.unknown)
		})
	}
}

// A runner that never tells its cost gets no further evaluation by starting again.
func TestACostThatNobodyToldStaysUnknown(t *testing.T) {
	ceiling := 1.0
	p := slotsOf(3, "m")
	p.Valid = []ledger.Entry{{Identity: p.Doc.Cells[0].Identity, Batch: "parent", State: batch.StateComplete, Agent: "a", Model: "m"}}
	b := newBudget(&ceiling, nil, p, "parent")
	assert.False(t, b.admits(p.Slots[1].Cell))
	assert.Contains(t, b.why(2), "the cost of a+m is unknown")

	// One that was cut short may be tried again: nothing says what it costs.
	for _, state := range []batch.EvaluationState{batch.StateInterrupted, batch.StateSuperseded} {
		p.Valid[0].State = state
		assert.True(t, newBudget(&ceiling, nil, p, "parent").admits(p.Slots[1].Cell), state)
	}
}

// A failure that tells no cost is tried again by the next run, three times.
func TestAFailureThatTellsNoCostIsTriedAgain(t *testing.T) {
	ceiling := 1.0
	p := slotsOf(4, "m")
	failed := ledger.Entry{Identity: p.Doc.Cells[0].Identity, Batch: "parent", State: batch.StateIncomplete, Agent: "a", Model: "m"}
	for n := 1; n <= 3; n++ {
		p.Ended = append(p.Ended, failed)
		assert.Equal(t, n < 3, newBudget(&ceiling, nil, p, "parent").admits(p.Slots[3].Cell), n)
	}
	assert.True(t, newBudget(&ceiling, nil, p, "another batch").admits(p.Slots[3].Cell))
	for i := range p.Ended {
		p.Ended[i].State = batch.StateInterrupted
	}
	assert.True(t, newBudget(&ceiling, nil, p, "parent").admits(p.Slots[3].Cell), "what was cut short is no failure")
	for i := range p.Ended {
		p.Ended[i].State = batch.StateIncomplete
	}
	usd := 0.3
	p.Ended[0].WorstUSD = &usd
	b := newBudget(&ceiling, nil, p, "parent")
	assert.InDelta(t, 0.9, b.spent, 1e-9, "the other two at the dearest that is known")
	assert.False(t, b.admits(p.Slots[3].Cell))
}

// With tiny spacings a waiter's timer fires while it is about to wait.
func TestNoWakeUpIsLost(t *testing.T) {
	quotas := map[string]spec.Quota{"q-m": {Spacing: 300 * time.Nanosecond}}
	for range 20 {
		sc := scheduleOf(slotsOf(500, "m").Slots, specOf(quotas, "m"), nil)
		done := make(chan int)
		go func() { done <- len(drain(sc, 1, usd(0))) }()
		select {
		case n := <-done:
			require.Equal(t, 500, n)
		case <-time.After(20 * time.Second):
			t.Fatal("the schedule hangs")
		}
	}
}

// All but the status was logged when the launcher was killed: the repeat counts.
func TestARunThatLacksOnlyItsStatusIsFinished(t *testing.T) {
	s := newSite(t)
	e := ledger.Entry{Launcher: place() + "/1/1", UUID: "u", Identity: cellOf("m").Identity}
	e.Info.RunID = s.run()
	require.NoError(t, s.client.LogBatch(t.Context(), e.Info.RunID, mlflow.Batch{
		Metrics: []mlflow.Metric{{Key: "wall_s", Value: 2.5, Timestamp: 1}}, Tags: []mlflow.Tag{{Key: ledger.TagState, Value: string(batch.StateComplete)}}}))
	p := slotsOf(1, "m")
	p.Live = []ledger.Entry{e}
	n, err := CloseLeft(t.Context(), s.l, p, nil, false, s.end)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	r, err := s.client.GetRun(t.Context(), e.Info.RunID)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StatusFinished, r.Info.Status)
	assert.Equal(t, r.Info.StartTime+2500, *r.Info.EndTime)
}
