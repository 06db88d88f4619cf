package page

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// table is a batch of one cell with three repeats, one of them reused, on an in-memory server.
type table struct {
	t      *testing.T
	client *mlflow.Client
	ledger *ledger.Ledger
	cell   batch.Cell
	plan   *planner.Plan
	parent ledger.Parent
	page   *Page
	now    time.Time
}

func newTable(t *testing.T, tags ...mlflow.Tag) *table {
	t.Helper()
	x := &table{t: t, client: mlflowtest.Client(t, mlflowtest.NewFake(t).URL), now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	var err error
	x.ledger, err = ledger.Open(t.Context(), x.client, "lamps")
	require.NoError(t, err)
	require.NoError(t, x.ledger.Create(t.Context(), tags...))
	digest := func(s string) batch.Digest { return batch.Sum([]byte(s)) }
	id := batch.NewIdentity(digest("agent"), digest("model"), digest("brain"), digest("execution"), digest("scoring"))
	x.cell = batch.Cell{Variant: batch.Variant{Agent: "quick", Model: "m_one"}, Identity: id}
	x.plan = &planner.Plan{Doc: batch.Plan{Benchmark: "lamps", Version: "v1", Question: "Which lamp?", Created: x.now, Key: digest("key"), DecisionDigest: digest("decision"), Repeats: 3, Cells: []batch.Cell{x.cell}}}
	x.parent, err = x.ledger.StartBatch(t.Context(), &x.plan.Doc, id.Recipe, id.Brain, ledger.Origin{})
	require.NoError(t, err)
	score, cost := 0.5, 0.1
	reused := &ledger.Entry{Info: mlflow.RunInfo{RunID: strings.Repeat("f", 32), ExperimentID: "77"}, Identity: id, Slot: 1, Score: &score, CostUSD: &cost}
	x.plan.Slots = []planner.Slot{{Cell: x.cell, Slot: 1, Entry: reused}, {Cell: x.cell, Slot: 2}, {Cell: x.cell, Slot: 3}}
	ceiling := 5.0
	x.page, err = New(x.ledger, x.plan, &ceiling, func() time.Time { return x.now })
	require.NoError(t, err)
	return x
}

// evaluate logs an evaluation of the batch; an incomplete one does not count.
func (x *table) evaluate(slot int, state batch.EvaluationState, score, cost float64) string {
	x.t.Helper()
	info, err := x.ledger.StartEvaluation(x.t.Context(), ledger.Start{Parent: x.parent, Cell: x.cell, Slot: slot, Name: "evaluation", UUID: uuid.NewString(), Launcher: "here/1/1", At: x.now})
	require.NoError(x.t, err)
	if state == "" {
		return info.RunID // still running
	}
	const record = `{"task":"L-1","state":"scored","score":1}` + "\n"
	at := x.now.UnixMilli()
	var artifacts []batch.Artifact
	for _, name := range []string{batch.FileBundle, batch.FileOutcomes} {
		artifacts = append(artifacts, batch.Artifact{Path: name, Digest: batch.Sum([]byte(record)), Size: int64(len(record))})
	}
	require.NoError(x.t, x.ledger.FinishEvaluation(x.t.Context(), ledger.Finish{
		RunID: info.RunID, URI: info.ArtifactURI, State: state, Reason: map[bool]string{true: "the provider <said> no"}[state == batch.StateIncomplete], Ended: x.now, Artifacts: artifacts,
		Open:    func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(record)), nil },
		Metrics: []mlflow.Metric{{Key: "score", Value: score, Timestamp: at}, {Key: "cost_usd", Value: cost, Timestamp: at}},
		Dataset: mlflow.DatasetInput{Name: "panel", Digest: "0", SourceType: "code", Source: "{}", Context: "eval"},
	}))
	return info.RunID
}

func (x *table) note() string {
	x.t.Helper()
	run, err := x.client.GetRun(x.t.Context(), x.parent.Info.RunID)
	require.NoError(x.t, err)
	return run.Tag("mlflow.note.content")
}

// calls counts what the client sends while f runs.
func (x *table) calls(f func()) map[string]int {
	before := x.client.Calls()
	f()
	out := map[string]int{}
	for name, n := range x.client.Calls() {
		if n > before[name] {
			out[name] = n - before[name]
		}
	}
	return out
}

func TestANoteGrowsWithItsBatch(t *testing.T) {
	x := newTable(t)
	ctx := t.Context()
	begun := x.calls(func() { require.NoError(t, x.page.Begin(ctx, x.parent)) })
	assert.Equal(t, map[string]int{"experiments/set-experiment-tag": 5, "runs/log-batch": 1}, begun)
	note := x.note()
	assert.True(t, strings.HasPrefix(note, "Running, 1 of 3 repeats are there. Nothing is decided before the end.  \n"+
		"3 planned = 1 reused + 0 done + 0 failed + 0 skipped + 2 not started · &#36;0.0000 of &#36;5.00 spent · as of 2026-11-30 08:00 UTC\n"), note)
	assert.Contains(t, note, "[1&nbsp;reused](#/experiments/77/runs/"+strings.Repeat("f", 32)+")")

	two := x.evaluate(2, batch.StateComplete, 0.7, 0.3)
	x.evaluate(3, batch.StateIncomplete, 0.1, 0.2)
	again := x.evaluate(3, "", 0, 0)
	x.now = x.now.Add(59 * time.Second)
	assert.Empty(t, x.calls(func() { require.NoError(t, x.page.Update(ctx)) }), "once a minute at most")
	x.now = x.now.Add(time.Second)
	rewritten := x.calls(func() { require.NoError(t, x.page.Update(ctx)) })
	assert.Equal(t, map[string]int{"runs/get": 1, "runs/search": 1, "runs/log-batch": 1}, rewritten)
	note = x.note()
	assert.Contains(t, note, "Running, 2 of 3 repeats are there.")
	assert.Contains(t, note, "3 planned = 1 reused + 1 done + 0 failed + 0 skipped + 1 not started (1 running now) · &#36;0.5000 of &#36;5.00 spent · as of 2026-11-30 08:01 UTC")
	assert.Contains(t, note, "| quick&nbsp;&nbsp;| m_one&nbsp;&nbsp;| 2 of 3 (1 reused)&nbsp;&nbsp;| **0.600**&nbsp;&nbsp;| 0.500–0.700&nbsp;&nbsp;| &#36;0.2000&nbsp;&nbsp;|")
	assert.Contains(t, note, "(get-artifact?run_uuid="+two+"&path=bundle.tar.zst)")
	assert.NotContains(t, note, "What is missing", "the failed one is measured again")

	require.NoError(t, x.ledger.CloseInterrupted(ctx, again, "its launcher was ended", x.now))
	x.now = x.now.Add(Every)
	require.NoError(t, x.page.Update(ctx))
	note = x.note()
	assert.Contains(t, note, "1 done + 1 failed + 0 skipped + 0 not started · at least &#36;0.5000", "what the interrupted one cost is not known")
	assert.Contains(t, note, "- 1 failed (quick+m_one)&#58; the provider &#60;said&#62; no")

	_, err := x.ledger.StartEvaluation(ctx, ledger.Start{Parent: x.parent, Cell: x.cell, Slot: 3, Name: "evaluation", UUID: uuid.NewString(), Launcher: "here/1/1", At: x.now, Continues: again})
	require.NoError(t, err)
	x.now = x.now.Add(Every)
	require.NoError(t, x.page.Update(ctx))
	assert.Contains(t, x.note(), "(1 running now) · &#36;0.5000 of", "the one that goes on with it will tell")

	draft := &batch.Result{Counts: batch.Counts{Planned: 3, Reused: 1, Done: 1, Skipped: 1}, Slots: []batch.Slot{{Variant: x.cell.Variant, State: batch.SlotSkipped, Reason: "HTTP 401"}}}
	require.NoError(t, x.page.Leave(ctx, draft))
	note = x.note()
	assert.Contains(t, note, "Unfinished, 2 of 3 repeats are there: the batch can be continued.")
	assert.Contains(t, note, "1 skipped (quick+m_one)&#58; HTTP 401")
}

// TestALargeBatchIsLookedAtSeldom has each look at the clock cost ten seconds.
func TestALargeBatchIsLookedAtSeldom(t *testing.T) {
	x := newTable(t)
	ctx := t.Context()
	require.NoError(t, x.page.Begin(ctx, x.parent))
	x.page.now = func() time.Time {
		x.now = x.now.Add(10 * time.Second)
		return x.now
	}
	x.now = x.now.Add(Every)
	assert.NotEmpty(t, x.calls(func() { require.NoError(t, x.page.Update(ctx)) }))
	x.now = x.now.Add(share * 10 * time.Second)
	assert.Empty(t, x.calls(func() { require.NoError(t, x.page.Update(ctx)) }), "at least ten seconds were taken by the last one")
	x.now = x.now.Add(2 * share * 10 * time.Second)
	assert.NotEmpty(t, x.calls(func() { require.NoError(t, x.page.Update(ctx)) }))
}

func TestAPersonsNoteIsLeftAlone(t *testing.T) {
	x := newTable(t)
	ctx := t.Context()
	require.NoError(t, x.page.Begin(ctx, x.parent))
	assert.False(t, x.page.Edited())
	require.NoError(t, x.client.SetTag(ctx, x.parent.Info.RunID, "mlflow.note.content", "my words"))
	x.now = x.now.Add(Every)
	require.NoError(t, x.page.Update(ctx))
	require.NoError(t, x.page.Leave(ctx, nil))
	assert.Equal(t, "my words", x.note())
	assert.True(t, x.page.Edited())

	// The next launcher sees it too, by what the run itself says.
	again, err := x.ledger.Refresh(ctx, x.parent)
	require.NoError(t, err)
	assert.True(t, again.Edited)
	other, err := New(x.ledger, x.plan, nil, func() time.Time { return x.now })
	require.NoError(t, err)
	require.NoError(t, other.Begin(ctx, again))
	assert.Equal(t, "my words", x.note())
	require.NoError(t, x.ledger.WriteNote(ctx, &again, "ours", "0123"))
	assert.Equal(t, "my words", x.note())
	again, err = x.ledger.Refresh(ctx, again)
	require.NoError(t, err)
	assert.Equal(t, "0123", again.Manifest, "what the run shows besides is remembered all the same")
}

func TestAFrozenBatchIsLeftToItsVerdict(t *testing.T) {
	x := newTable(t)
	require.NoError(t, x.page.Begin(t.Context(), x.parent))
	before := x.note()
	won, err := x.ledger.FinishBatch(t.Context(), &x.parent, []byte("{}"), nil)
	require.NoError(t, err)
	require.True(t, won)
	x.now = x.now.Add(Every)
	require.NoError(t, x.page.Update(t.Context()))
	assert.Equal(t, before, x.note(), "another launcher has frozen it")
}

// TestViewsStandOnce: a second batch of the same recipe writes no view again, and a new experiment is made with its history.
func TestViewsStandOnce(t *testing.T) {
	tags, err := ExperimentTags("lamps", time.Unix(1, 0))
	require.NoError(t, err)
	x := newTable(t, tags...)
	assert.Equal(t, map[string]int{"experiments/set-experiment-tag": 4}, x.calls(func() { require.NoError(t, SetViews(t.Context(), x.ledger, x.page.views, x.now)) }))
	again, err := ledger.Open(context.Background(), x.client, "lamps")
	require.NoError(t, err)
	assert.Empty(t, x.calls(func() { require.NoError(t, SetViews(t.Context(), again, x.page.views, x.now.Add(time.Hour))) }))
	ids := views.IDs(again.Experiment(), ViewPrefix)
	slices.Sort(ids)
	r, b := x.cell.Identity.Recipe.Short()[:8], x.cell.Identity.Brain.Short()[:8]
	var want []string
	for _, name := range []string{"cells", "failed", "score", "tasks"} {
		want = append(want, "benchbatch-"+r+"-"+b+"-"+name)
	}
	want = append(want, "benchbatch-history")
	slices.Sort(want)
	assert.Equal(t, want, ids)
}

// TestViewsFindTheirRuns: the filters are what the server understands, and find reused runs of the same recipe too.
func TestViewsFindTheirRuns(t *testing.T) {
	x := newTable(t)
	done := x.evaluate(1, batch.StateComplete, 0.7, 0.3)
	part := x.evaluate(2, batch.StatePartial, 0.7, 0.3)
	failed := x.evaluate(3, batch.StateIncomplete, 0.7, 0.3)
	find := func(v views.View) (out []string) {
		runs, err := x.client.SearchRuns(t.Context(), mlflow.Search{ExperimentIDs: []string{x.ledger.ExperimentID()}, Filter: v.Filter})
		require.NoError(t, err)
		for _, r := range runs {
			out = append(out, r.Info.RunID)
		}
		return out
	}
	v := x.page.views
	for _, whole := range []views.View{v.Score, v.Cells, v.Tasks} {
		assert.ElementsMatch(t, []string{done, part, failed}, find(whole), whole.ID)
	}
	assert.ElementsMatch(t, []string{part, failed}, find(v.Failed))
	assert.Equal(t, []string{x.parent.Info.RunID}, find(v.History))
	other, err := ViewsOf("lamps", "v1", x.cell.Identity.Recipe.Short(), strings.Repeat("0", 16))
	require.NoError(t, err)
	assert.Empty(t, find(other.Score), "another brain")
}
