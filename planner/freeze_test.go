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
