package planner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// An evaluation that was cut short costs what the one says that goes on with it; where
// none does, nothing tells its cost.
func TestFreezeSaysWhatNothingTellsTheCostOf(t *testing.T) {
	c := cellOf("quick", "m-one")
	p := planOf(2, c)
	p.Joined = &ledger.Parent{Info: mlflow.RunInfo{RunID: "parent"}}
	next := repeat(c, 9, 1, "parent")
	next.Continues, next.Artifacts = []string{"run-001", "run-002"}, []batch.Artifact{{Path: batch.FileOutcomes}}
	foreign := repeat(c, 8, 2, "elsewhere") // its outcomes tell that nothing is known of it
	foreign.Artifacts, foreign.CostUSD = nil, nil
	p.Valid = []ledger.Entry{next, foreign}
	p.fill(p.Valid)
	cut := func(n int) ledger.Entry {
		e := repeat(c, n, 1, "parent")
		e.State, e.Artifacts, e.CostUSD = batch.StateInterrupted, nil, nil
		return e
	}
	unstarted, logged, live := cut(4), cut(5), cut(6)
	unstarted.CostUSD, unstarted.Continues = new(float64), []string{"run-003"} // it was about to
	logged.Artifacts = []batch.Artifact{{Path: batch.FileAttempts}}
	live.Info.Status = mlflow.StatusRunning
	p.Ended = []ledger.Entry{cut(1), cut(2), cut(3), unstarted, logged, live}
	r, err := Freeze(p, ledger.Parent{Info: mlflow.RunInfo{RunID: "parent"}}, "lamps", nil, day)
	require.NoError(t, err)
	var unbilled []string
	for _, e := range r.Evaluations {
		if e.Unbilled {
			unbilled = append(unbilled, e.RunID)
		}
	}
	assert.Len(t, r.Evaluations, 8)
	assert.Equal(t, []string{"run-003"}, unbilled)
}

func TestFreezeNamesEverySlot(t *testing.T) {
	a, b := cellOf("quick", "m-one"), cellOf("quick", "m-two")
	p := planOf(3, a, b)
	p.Joined = &ledger.Parent{Info: mlflow.RunInfo{RunID: "parent"}}
	p.fill([]ledger.Entry{repeat(a, 1, 1, "old"), repeat(a, 2, 2, "parent")})
	p.Ignored = []batch.Ignored{{RunID: "z"}, {RunID: "y"}}
	failed := repeat(b, 3, 1, "parent")
	failed.State, failed.Reason = batch.StateIncomplete, "too much is missing"
	elsewhere := repeat(b, 4, 1, "another batch")
	elsewhere.State = batch.StateIncomplete
	stranger := repeat(cellOf("slow", "m-nine"), 5, 1, "parent")
	p.Ended = []ledger.Entry{failed, elsewhere, stranger}
	fates := map[SlotKey]Fate{
		{b.Identity.Cell, 1}: {State: batch.SlotFailed, Reason: "too much is missing", RunID: "run-003"},
		{b.Identity.Cell, 2}: {State: batch.SlotSkipped, Reason: "the model does not answer"},
	}
	parent := ledger.Parent{Info: mlflow.RunInfo{RunID: "parent", StartTime: day.UnixMilli()}, Benchmark: "lamps", Version: "v1", Plan: batch.Sum([]byte("plan"))}
	r, err := Freeze(p, parent, "lamps", fates, day.Add(time.Hour+time.Nanosecond))
	require.NoError(t, err)
	assert.Equal(t, batch.Counts{Planned: 6, Reused: 1, Done: 1, Failed: 1, Skipped: 1, NotStarted: 2}, r.Counts)
	assert.True(t, r.Counts.AddUp())
	var states []batch.SlotState
	for _, s := range r.Slots {
		states = append(states, s.State)
	}
	assert.Equal(t, []batch.SlotState{batch.SlotReused, batch.SlotDone, batch.SlotNotStarted, batch.SlotFailed, batch.SlotSkipped, batch.SlotNotStarted}, states)
	assert.Equal(t, "run-003", r.Slots[3].RunID)
	var runs []string
	for _, e := range r.Evaluations {
		runs = append(runs, e.RunID)
		assert.NotNil(t, e.Artifacts)
	}
	assert.Equal(t, []string{"run-001", "run-002", "run-003"}, runs, "its own failures belong to the record, those of others do not")
	assert.Equal(t, []bool{true, true, false}, []bool{r.Evaluations[0].Counted, r.Evaluations[1].Counted, r.Evaluations[2].Counted})
	assert.Equal(t, "y", r.Ignored[0].RunID)
	assert.Equal(t, parent.Plan, r.Plan)
	assert.Equal(t, "lamps-v1_2026-11-30_parent", r.Name)
	assert.Equal(t, day.Add(time.Hour), r.Frozen, "milliseconds, as MLflow keeps them")
}
