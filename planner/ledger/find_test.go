package ledger

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// desk is a ledger on an in-memory server.
type desk struct {
	*Ledger
	t      *testing.T
	server *mlflowtest.Fake
	clock  time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	f := mlflowtest.NewFake(t)
	l, err := Open(t.Context(), mlflowtest.Client(t, f.URL), "lamps")
	require.NoError(t, err)
	require.NoError(t, l.Create(t.Context()))
	return &desk{l, t, f, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
}

// tick is a minute later each time.
func (d *desk) tick() time.Time {
	d.clock = d.clock.Add(time.Minute)
	return d.clock
}

// begin creates a parent run.
func (d *desk) begin(recipe string) Parent {
	d.t.Helper()
	id := identity("quick", "m-one", recipe)
	doc := &batch.Plan{Benchmark: "lamps", Version: "v1", Created: d.tick(), Key: batch.Sum([]byte("key")), DecisionDigest: batch.Sum([]byte("decision")), Seed: 7}
	p, err := d.StartBatch(d.t.Context(), doc, id.Recipe, batch.NoBrain, Origin{User: "someone"})
	require.NoError(d.t, err)
	return p
}

// start creates the run of an evaluation.
func (d *desk) start(p Parent, c batch.Cell, slot int) mlflow.RunInfo {
	d.t.Helper()
	info, err := d.StartEvaluation(d.t.Context(), Start{Parent: p, Cell: c, Slot: slot, Name: "evaluation", UUID: uuid.NewString(), Launcher: "here/1/1", At: d.tick()})
	require.NoError(d.t, err)
	return info
}

// finishOf describes an evaluation of two tasks that ended in a state.
func (d *desk) finishOf(run mlflow.RunInfo, state batch.EvaluationState) Finish {
	const record = `{"task":"L-1","state":"scored","score":1}` + "\n" + `{"task":"L-2","state":"scored","score":0.5}` + "\n"
	return Finish{
		RunID: run.RunID, URI: run.ArtifactURI, State: state, Ended: d.tick(),
		Artifacts: []batch.Artifact{{Path: batch.FileOutcomes, Digest: batch.Sum([]byte(record)), Size: int64(len(record))}},
		Open:      func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(record)), nil },
		Metrics:   []mlflow.Metric{{Key: "score", Value: 0.75, Timestamp: d.clock.UnixMilli()}, {Key: "cost_usd", Value: 0.2, Timestamp: d.clock.UnixMilli()}},
		Params:    []mlflow.Param{{Key: "agent", Value: "quick"}},
		Dataset:   mlflow.DatasetInput{Name: "panel", Digest: "0", SourceType: "code", Source: "{}", Context: "eval"},
	}
}

func (d *desk) find(recipe string) *Found {
	d.t.Helper()
	f, err := d.Find(d.t.Context(), Query{Recipe: identity("", "", recipe).Recipe, Panel: []string{"L-1", "L-2"}, Allowed: 1, TimeoutPolicy: outcome.TimeoutFail})
	require.NoError(d.t, err)
	return f
}

func ids(list []Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Info.RunID)
	}
	return out
}

func TestFindSortsByWorth(t *testing.T) {
	d := newDesk(t)
	p := d.begin("a")
	c := cellOf("quick", "m-one", "a")
	want := map[batch.EvaluationState]string{}
	for i, state := range []batch.EvaluationState{batch.StateComplete, batch.StatePartial, batch.StateIncomplete, batch.StateInterrupted} {
		run := d.start(p, c, i+1)
		require.NoError(t, d.FinishEvaluation(t.Context(), d.finishOf(run, state)))
		want[state] = run.RunID
	}
	live := d.start(p, c, 5)
	closed := d.start(p, c, 6)
	require.NoError(t, d.CloseInterrupted(t.Context(), closed.RunID, "its launcher was ended", d.tick()))
	d.start(d.begin("b"), cellOf("quick", "m-one", "b"), 1) // another recipe

	f := d.find("a")
	assert.Equal(t, []string{want[batch.StateComplete], want[batch.StatePartial]}, ids(f.Valid), "by start time")
	assert.Equal(t, []string{live.RunID}, ids(f.Live))
	assert.Equal(t, []string{want[batch.StateIncomplete], want[batch.StateInterrupted], closed.RunID}, ids(f.Ended))
	assert.Empty(t, f.Ignored)
	require.Len(t, f.Batches, 1)
	assert.Equal(t, p.Info.RunID, f.Batches[0].Info.RunID)
	assert.Equal(t, uint64(7), f.Batches[0].Seed)
	assert.False(t, f.Batches[0].Frozen())
	first := f.Valid[0]
	assert.Equal(t, c.Identity, first.Identity)
	assert.Equal(t, []float64{0.75, 0.2}, []float64{*first.Score, *first.CostUSD})
	assert.Nil(t, first.WallS, "unknown is not 0")
	status := map[batch.EvaluationState]mlflow.RunStatus{}
	for _, e := range f.Ended[:2] {
		status[e.State] = e.Info.Status
	}
	assert.Equal(t, map[batch.EvaluationState]mlflow.RunStatus{batch.StateIncomplete: mlflow.StatusFailed, batch.StateInterrupted: mlflow.StatusKilled}, status)
	children, err := d.Children(t.Context(), p)
	require.NoError(t, err)
	assert.Len(t, children, 6)
}

// Logging an evaluation again, after a crash in the middle, changes nothing.
func TestFinishingTwice(t *testing.T) {
	d := newDesk(t)
	run := d.start(d.begin("a"), cellOf("quick", "m-one", "a"), 1)
	finish := d.finishOf(run, batch.StateComplete)
	require.NoError(t, d.FinishEvaluation(t.Context(), finish))
	once := d.find("a")
	require.NoError(t, d.FinishEvaluation(t.Context(), finish))
	assert.Equal(t, once, d.find("a"))
	// An evaluation whose last calls never arrived is RUNNING, and does not count.
	cut := d.start(d.begin("a"), cellOf("quick", "m-one", "a"), 2)
	d.server.Inject(mlflowtest.Fault{Route: "runs/update", Do: mlflowtest.Fail(403, "PERMISSION_DENIED", "no")})
	require.Error(t, d.FinishEvaluation(t.Context(), d.finishOf(cut, batch.StateComplete)))
	assert.Equal(t, []string{cut.RunID}, ids(d.find("a").Live))
}

// An upload of which the server kept a part is never called logged.
func TestCutUploads(t *testing.T) {
	d := newDesk(t)
	run := d.start(d.begin("a"), cellOf("quick", "m-one", "a"), 1)
	finish := d.finishOf(run, batch.StateComplete)
	finish.Artifacts[0].Size += 3
	require.Error(t, d.FinishEvaluation(t.Context(), finish))
	f := d.find("a")
	assert.Empty(t, f.Valid)
	assert.Len(t, f.Live, 1)
}

// One UUID counts once: the earliest run, however its UUID is spelled.
func TestOneUUIDCountsOnce(t *testing.T) {
	d := newDesk(t)
	c := cellOf("quick", "m-one", "a")
	id := uuid.NewString()
	var runs []string
	for i, spelled := range []string{strings.ToUpper(id), id, "urn:uuid:" + id} {
		tags := append(IdentityTags(c), mlflow.Tag{Key: TagEvaluation, Value: spelled})
		info, err := d.client.CreateRun(t.Context(), mlflow.CreateRun{ExperimentID: d.ExperimentID(), Name: fmt.Sprint(i), StartTime: d.tick().UnixMilli(), Tags: tags})
		require.NoError(t, err)
		require.NoError(t, d.client.PutArtifactBytes(t.Context(), info, batch.FileOutcomes, []byte("{\"task\":\"L-1\",\"score\":1}\n{\"task\":\"L-2\",\"score\":0}\n")))
		_, err = d.client.UpdateRun(t.Context(), info.RunID, mlflow.StatusFinished, d.tick().UnixMilli())
		require.NoError(t, err)
		runs = append(runs, info.RunID)
	}
	f := d.find("a")
	require.Equal(t, runs[:1], ids(f.Valid))
	assert.True(t, f.Valid[0].Foreign)
	assert.InDelta(t, 0.5, *f.Valid[0].Score, 1e-12)
	require.Len(t, f.Ignored, 2)
	for _, i := range f.Ignored {
		assert.Equal(t, "same evaluation UUID as run "+runs[0], i.Reason)
	}
}

func TestBatchesByName(t *testing.T) {
	d := newDesk(t)
	first, second := d.begin("a"), d.begin("b")
	for name, want := range map[string]string{"latest": second.Info.RunID, first.Name(): first.Info.RunID, first.Info.RunID: first.Info.RunID} {
		p, err := d.Batch(t.Context(), name)
		require.NoError(t, err, name)
		assert.Equal(t, want, p.Info.RunID, name)
	}
	_, err := d.Batch(t.Context(), "lamps-v9_2026-11-30_000000")
	assert.ErrorContains(t, err, "the latest is "+second.Name())
	child := d.start(first, cellOf("quick", "m-one", "a"), 1)
	_, err = d.Batch(t.Context(), child.RunID)
	assert.ErrorContains(t, err, "is not the parent of a batch")
	empty, err := Open(context.Background(), d.client, "nobody")
	require.NoError(t, err)
	found, err := empty.Find(t.Context(), Query{})
	require.NoError(t, err)
	assert.Empty(t, found)
	everywhere, err := Open(t.Context(), d.client, "")
	require.NoError(t, err)
	p, err := everywhere.Batch(t.Context(), "latest")
	require.NoError(t, err)
	assert.Equal(t, second.Info.RunID, p.Info.RunID)
}
