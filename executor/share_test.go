package executor

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// crew are launchers of one batch of one cell with two repeats. All have planned before
// any of them has measured anything.
type crew struct {
	t    *testing.T
	fake *mlflowtest.Fake
	all  []*runner
}

// newCrew makes one of launchers with these names; ceiling is in USD, 0 = there is none.
func newCrew(t *testing.T, ceiling float64, names ...string) *crew {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	c := &crew{t: t, fake: mlflowtest.NewFake(t)}
	d := batch.Sum([]byte("part"))
	cell := batch.Cell{Variant: batch.Variant{Agent: "a", Model: "m"}, Identity: batch.NewIdentity(d, d, d, d, d)}
	s := &spec.Spec{Benchmark: "bench", Version: "v1"}
	if ceiling > 0 {
		s.Budget.CeilingUSD = &ceiling
	}
	var parent ledger.Parent
	for _, name := range names {
		client := mlflowtest.Client(t, c.fake.URL, func(cfg *mlflow.Config) { cfg.MaxRetries = new(int) })
		l, err := ledger.Open(t.Context(), client, "bench")
		require.NoError(t, err)
		require.NoError(t, l.Create(t.Context()))
		p := &planner.Plan{Doc: batch.Plan{Benchmark: "bench", Version: "v1", Repeats: 2, Cells: []batch.Cell{cell}, Key: batch.Sum([]byte("key")), DecisionDigest: d,
			Created: time.Now().UTC().Truncate(time.Millisecond), Panel: batch.PanelInfo{Digest: d, Tasks: 1}}}
		p.Slots = []planner.Slot{{Cell: cell, Slot: 1}, {Cell: cell, Slot: 2}}
		p.Doc.SpecDigest = batch.Sum(nil)
		if parent.Info.RunID == "" {
			parent, err = l.StartBatch(t.Context(), &p.Doc, cell.Identity.Recipe, d, ledger.Origin{})
			require.NoError(t, err)
		}
		r := &runner{fates: map[planner.SlotKey]planner.Fate{}, elsewhere: map[planner.SlotKey]bool{}, told: map[string]bool{}, health: newHealth(), parent: parent}
		r.Options = Options{Client: client, Ledger: l, Resolved: &spec.Resolved{Spec: s, Recipe: cell.Identity.Recipe, Brains: d}, State: openState(t), AtOnce: 1,
			Patience: time.Minute, Look: time.Millisecond, Observer: &watcher{}, EndLeft: func(string) int { return 0 }}
		r.know(p)
		r.sc = newSchedule(newQueue(p.Slots, LimitsOf(s, 1), planner.NewHistory(1, nil, nil), nil))
		book, err := claim.OpenRecipe(t.Context(), client, l.ExperimentID(), cell.Identity.Recipe, "bench v1")
		require.NoError(t, err)
		m, err := book.Join(t.Context(), claim.Options{Launcher: name})
		require.NoError(t, err)
		r.shared = &shared{member: m, quota: map[string]*holding{}}
		c.all = append(c.all, r)
	}
	return c
}

// wins claims a repeat.
func (r *runner) wins(t *testing.T, slot int) *claim.Lease {
	t.Helper()
	answers, err := r.shared.member.Claim(t.Context(), r.want(r.Plan.Slots[slot-1]))
	if assert.NoError(t, err) && assert.NotNil(t, answers[0].Won) {
		return answers[0].Won
	}
	return nil
}

// outlast lets two leases pass in which only one launcher sends heartbeats.
func (c *crew) outlast(alive *runner) {
	for range 6 {
		c.fake.Advance(claim.DefaultTTL / 3)
		assert.NoError(c.t, alive.shared.member.Beat(c.t.Context()))
	}
}

// starts makes the run of an evaluation of a slot.
func (r *runner) starts(t *testing.T, launcher string, slot, generation int) ledger.Entry {
	t.Helper()
	s := r.Plan.Slots[slot-1]
	_, err := r.Ledger.StartEvaluation(t.Context(), ledger.Start{Parent: r.parent, Cell: s.Cell, Slot: slot, Name: "evaluation", UUID: uuid.NewString(),
		At: time.Now().UTC(), Generation: generation, Launcher: launcher})
	require.NoError(t, err)
	all, err := r.Ledger.OfSlot(t.Context(), s.Cell.Identity.Cell, slot)
	require.NoError(t, err)
	return all[len(all)-1]
}

// logs says of an evaluation that it is complete, and what it cost in USD.
func (r *runner) logs(t *testing.T, e ledger.Entry, cost float64) {
	t.Helper()
	record := []byte("{}\n")
	panel, err := datasetOf("bench", batch.Sum(nil), 1)
	require.NoError(t, err)
	require.NoError(t, r.Ledger.FinishEvaluation(t.Context(), ledger.Finish{RunID: e.Info.RunID, URI: e.Info.ArtifactURI, State: batch.StateComplete, Ended: time.Now(),
		Artifacts: []batch.Artifact{{Path: batch.FileOutcomes, Digest: batch.Sum(record), Size: int64(len(record))}},
		Open:      func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(record)), nil },
		Metrics:   []mlflow.Metric{{Key: "cost_worst_usd", Value: cost, Timestamp: time.Now().UnixMilli()}}, Dataset: panel}))
}

func (r *runner) refuses(t *testing.T, usd float64) {
	t.Helper()
	var c *claim.Ceiling
	_, err := r.shared.budget.Reserve(t.Context(), usd)
	require.ErrorAs(t, err, &c)
}

// TestAnEstateIsSettledByWhatItsLauncherHasPaid, also for what was logged after the heir had planned.
func TestAnEstateIsSettledByWhatItsLauncherHasPaid(t *testing.T) {
	c := newCrew(t, 10, "dead", "heir")
	dead, heir := c.all[0], c.all[1]
	require.NoError(t, dead.openBudget(t.Context()))
	require.NoError(t, heir.openBudget(t.Context()))
	first, err := dead.shared.budget.Reserve(t.Context(), 2)
	require.NoError(t, err)
	cost := 1.0
	dead.logs(t, dead.starts(t, "dead", 1, 1), cost)
	require.NoError(t, first.Settle(&cost))
	require.NoError(t, dead.shared.budget.Return(t.Context()), "that counts once")
	_, err = dead.shared.budget.Reserve(t.Context(), 5)
	require.NoError(t, err)
	dead.logs(t, dead.starts(t, "dead", 2, 1), 3)
	require.NoError(t, dead.shared.member.Leave(t.Context()))
	require.NoError(t, heir.inherit(t.Context()))
	heir.refuses(t, 6.5)
	_, err = heir.shared.budget.Reserve(t.Context(), 6)
	require.NoError(t, err)
}

// TestWhatAnEvaluationHasCostThatWasCutShort counts once: with the estate of its launcher, and
// not again with the evaluation that goes on with it.
func TestWhatAnEvaluationHasCostThatWasCutShort(t *testing.T) {
	c := newCrew(t, 10, "dead", "next")
	dead, next := c.all[0], c.all[1]
	require.NoError(t, dead.openBudget(t.Context()))
	_, err := dead.shared.budget.Reserve(t.Context(), 5)
	require.NoError(t, err)
	run := dead.starts(t, "dead", 1, 1).Info.RunID
	require.NoError(t, dead.shared.member.Leave(t.Context()))
	e := next.entryFor(next.Plan.Slots[0], "cut-here")
	e.RunID = run
	require.NoError(t, next.State.write(e))
	require.NoError(t, os.WriteFile(filepath.Join(next.State.of(e), evaluation.FileJournal), []byte(strings.Replace(journal, "UUID", "cut-here", 1)), 0o600))
	r, err := Recover(t.Context(), next.Ledger, next.State, func(batch.Digest) bool { return true }, next.EndLeft)
	require.NoError(t, err)
	require.Equal(t, 1, r.Cut)

	require.NoError(t, next.openBudget(t.Context()))
	next.refuses(t, 9.6) // half a dollar is spent
	paid, settled := next.paidBefore(next.Plan.Slots[0])
	assert.InDelta(t, 0.5, paid, 1e-9)
	assert.InDelta(t, 0.5, settled, 1e-9)
	again, err := next.State.entries()
	require.NoError(t, err)
	require.Len(t, again, 1)
	assert.InDelta(t, 0.5, again[0].Settled, 1e-9, "a launcher after this one knows it too")

	money, err := next.shared.budget.Reserve(t.Context(), 5)
	require.NoError(t, err)
	whole := 2.0
	next.letGo(t.Context(), &turn{money: booked{price: 5}}, &hand{money: money}, &whole, settled)
	next.refuses(t, 8.1)
	_, err = next.shared.budget.Reserve(t.Context(), 8)
	require.NoError(t, err)
}

// TestACeilingThatCameLater counts what the batch has paid before, among all launchers.
func TestACeilingThatCameLater(t *testing.T) {
	c := newCrew(t, 20, "a", "b")
	paid := 15.0
	for _, r := range c.all {
		r.Plan.Valid = []ledger.Entry{{Identity: r.Plan.Slots[0].Cell.Identity, Batch: r.parent.Info.RunID, State: batch.StateComplete, WorstUSD: &paid}}
		require.NoError(t, r.openBudget(t.Context()))
	}
	_, err := c.all[0].shared.budget.Reserve(t.Context(), 5)
	require.NoError(t, err)
	c.all[1].refuses(t, 0.5)
}

// TestARunThatWasLoggedIsNotClosed: it was RUNNING when it was read.
func TestARunThatWasLoggedIsNotClosed(t *testing.T) {
	r := newCrew(t, 0, "a").all[0]
	e := r.starts(t, "dead", 1, 1)
	require.True(t, e.Live())
	r.logs(t, e, 1)
	closed, err := CloseGone(t.Context(), r.Ledger, e, r.EndLeft)
	require.NoError(t, err)
	assert.False(t, closed)
	run, err := r.Client.GetRun(t.Context(), e.Info.RunID)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StatusFinished, run.Info.Status)
	assert.Equal(t, "complete", run.Tag(ledger.TagState))
}

// TestAClaimIsLostWhileItsRunIsCreated: nothing is started, and nothing paid.
func TestAClaimIsLostWhileItsRunIsCreated(t *testing.T) {
	c := newCrew(t, 0, "slow", "heir")
	slow, heir := c.all[0], c.all[1]
	lease := slow.wins(t, 1)
	c.fake.Inject(mlflowtest.Fault{Route: "runs/create", Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		c.outlast(heir)
		heir.wins(t, 1)
		next.ServeHTTP(w, r)
	}})
	m, err := slow.measure(t.Context(), slow.Plan.Slots[0], &hand{lease: lease})
	require.NoError(t, err)
	assert.Equal(t, batch.StateSuperseded, m.State)
	assert.Zero(t, slow.started)
	all, err := slow.Ledger.Children(t.Context(), slow.parent)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, mlflow.StatusKilled, all[0].Info.Status)
	require.NotNil(t, all[0].WorstUSD)
	assert.Zero(t, *all[0].WorstUSD)
	left, err := slow.State.entries()
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestAnEvaluationThatItsHeirFoundIsNotSuperseded: it had been logged before its claim was lost.
func TestAnEvaluationThatItsHeirFoundIsNotSuperseded(t *testing.T) {
	c := newCrew(t, 0, "slow", "heir")
	slow, heir := c.all[0], c.all[1]
	lease := slow.wins(t, 1)
	e := slow.starts(t, "slow", 1, 1)
	slow.logs(t, e, 1)
	c.outlast(heir)
	taken := heir.wins(t, 1)
	found, err := heir.succeed(t.Context(), heir.Plan.Slots[0], taken)
	require.NoError(t, err)
	require.Equal(t, e.Info.RunID, found)
	require.NoError(t, taken.Done(t.Context(), found))
	require.NoError(t, slow.shared.member.Beat(t.Context()))

	mine := entry{RunID: e.Info.RunID}
	m := evaluation.Measured{State: batch.StateComplete, Ended: time.Now()}
	counts, err := stands(t.Context(), lease, mine, &m)
	require.NoError(t, err)
	assert.True(t, counts)
	require.NoError(t, slow.endClaim(t.Context(), lease, mine, &m))
	assert.Equal(t, batch.StateComplete, m.State)
	run, err := slow.Client.GetRun(t.Context(), e.Info.RunID)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StatusFinished, run.Info.Status)
	assert.Equal(t, "complete", run.Tag(ledger.TagState))

	counts, err = stands(t.Context(), lease, entry{RunID: "another run"}, &m)
	require.NoError(t, err)
	assert.False(t, counts)
	assert.Equal(t, batch.StateSuperseded, m.State)
}

// TestTheServerIsAwayWhileAnHeirLooks: it waits, and finds what the dead launcher had logged.
func TestTheServerIsAwayWhileAnHeirLooks(t *testing.T) {
	c := newCrew(t, 0, "dead", "heir")
	dead, heir := c.all[0], c.all[1]
	for slot := range 2 {
		dead.wins(t, slot+1)
	}
	var logged []string
	for slot := range 2 {
		e := dead.starts(t, "dead", slot+1, 1)
		dead.logs(t, e, 1)
		logged = append(logged, e.Info.RunID)
	}
	require.NoError(t, dead.shared.member.Leave(t.Context()))
	require.NoError(t, heir.shared.member.Beat(t.Context()))
	c.fake.Inject(mlflowtest.Fault{Route: "runs/search", Times: 1, Do: mlflowtest.Fail(http.StatusServiceUnavailable, "TEMPORARILY_UNAVAILABLE", "database is locked")})
	for range 2 {
		turn, ok := heir.sc.next()
		require.True(t, ok)
		h, err := heir.take(t.Context(), turn)
		require.NoError(t, err)
		assert.Nil(t, h)
	}
	for _, run := range logged {
		assert.True(t, heir.told[run])
	}
	_, ok := heir.sc.next()
	assert.False(t, ok, "nothing is left to be measured")
}

// TestAnHeirKeepsItsLease while it logs, however long that takes.
func TestAnHeirKeepsItsLease(t *testing.T) {
	c := newCrew(t, 0, "a")
	r := c.all[0]
	h := newHeir(r.Ledger)
	h.lease = claim.MinTTL
	_, err := h.join(t.Context(), entry{Experiment: r.Ledger.ExperimentID(), Cell: r.Plan.Slots[0].Cell, Labels: labels{"bench", "v1", ""}})
	require.NoError(t, err)
	sent := c.fake.Requests("set-tag")
	require.Eventually(t, func() bool { return c.fake.Requests("set-tag") >= sent+2 }, 20*time.Second, 10*time.Millisecond)
	h.leave(t.Context()) // and ends the heartbeats
}

// TestAStopConcernsThoseAtWork: who joins the batch after it goes on, and the others see it all the same.
func TestAStopConcernsThoseAtWork(t *testing.T) {
	c := newCrew(t, 0, "at work", "late")
	early, late := c.all[0], c.all[1]
	require.NoError(t, early.Ledger.AskStop(t.Context(), early.parent, "ann"))
	joined, err := late.Ledger.Refresh(t.Context(), late.parent)
	require.NoError(t, err)
	joined.Plan = batch.Sum(nil)
	late.Plan.Joined = &joined
	late.parent, err = begin(t.Context(), late.Options)
	require.NoError(t, err)

	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	early.heed(t.Context(), limited.Done())
	assert.Equal(t, "ann", early.asked)
	before, looks := c.fake.Requests("runs/get"), make(chan int, 1)
	c.fake.Inject(mlflowtest.Fault{Route: "set-tag", Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		looks <- c.fake.Requests("runs/get") - before
		next.ServeHTTP(w, r)
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		late.heed(t.Context(), limited.Done())
	}()
	request := func() string {
		p, err := early.Ledger.Refresh(t.Context(), early.parent)
		assert.NoError(t, err)
		return p.Stop
	}
	select {
	case n := <-looks:
		assert.GreaterOrEqual(t, n, heedFor, "it is taken back when they have had time to see it")
	case <-ended:
		t.Fatal("it is not taken back")
	}
	require.Eventually(t, func() bool { return request() == "" }, time.Minute, time.Millisecond)
	require.NoError(t, early.Ledger.AskStop(t.Context(), early.parent, "bob"))
	<-ended
	assert.Equal(t, "bob", late.asked)
}

// TestABatchWhoseClaimWasLostIsNotBegun: another launcher begins it.
func TestABatchWhoseClaimWasLostIsNotBegun(t *testing.T) {
	c := newCrew(t, 0, "slow", "heir")
	slow, heir := c.all[0], c.all[1]
	begins := func(r *runner) *claim.Lease {
		a, err := r.shared.member.Batch(t.Context(), r.Plan.Doc.Key, nil)
		require.NoError(t, err)
		require.NotNil(t, a.Won)
		return a.Won
	}
	lease := begins(slow)
	c.outlast(heir)
	begins(heir)
	_, err := slow.Ledger.Refresh(t.Context(), slow.parent) // its clock goes on, as a real one does by itself
	require.NoError(t, err)
	require.ErrorIs(t, slow.found(t.Context(), lease), claim.ErrLost)
	all, err := slow.Ledger.Batches(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
}
