package claim_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
)

func TestOneWinsTheOthersLearnWho(t *testing.T) {
	w := newTable(t)
	a, b := w.join("host-a/1/1"), w.join("host-b/2/2")
	lease := win(t, a, want(3))
	assert.Equal(t, 1, lease.Generation())
	assert.Equal(t, "claim/"+cell.Short()+"/3/1", lease.String())
	assert.Nil(t, lease.Before)
	require.NoError(t, lease.Confirm(ctx))

	held := lose(t, b, want(3))
	assert.Equal(t, "host-a/1/1", held.Launcher)
	assert.Equal(t, a.Session(), held.Session)
	assert.WithinDuration(t, time.Now(), held.Since, 5*time.Second)
	assert.Greater(t, held.Until.Sub(held.Since), claim.DefaultTTL/2)
	assert.False(t, held.Lapsed)
	assert.Equal(t, a.Session(), lose(t, a, want(3)).Session, "a launcher does not start what it has started")

	require.NoError(t, lease.Done(ctx, "run-of-a"))
	require.NoError(t, b.Beat(ctx))
	assert.Equal(t, "run-of-a", ask(t, b, want(3)).Done)
	assert.Equal(t, "run-of-a", ask(t, a, want(3)).Done)
	win(t, b, want(4))
}

func TestReleasedIsFreeAtOnce(t *testing.T) {
	w := newTable(t)
	a, b := w.join("a"), w.join("b")
	lease := win(t, a, want(1))
	require.NoError(t, lease.Release(ctx, "stopped\nby its user"))
	second := win(t, b, want(1))
	assert.Equal(t, 2, second.Generation())
	assert.Nil(t, second.Before, "given back, not abandoned")
	assert.Contains(t, w.run().Tag("end/claim/"+cell.Short()+"/1/1"), "stopped by its user")
	require.NoError(t, second.Release(ctx, ""))
	require.NoError(t, a.Beat(ctx))
	assert.Equal(t, 3, win(t, a, want(1)).Generation(), "one's own are claimed anew too")
}

func TestDoneByARunThatDoesNotFillTheSlot(t *testing.T) {
	w := newTable(t)
	a, b, c := w.join("a"), w.join("b"), w.join("c")
	require.NoError(t, win(t, a, want(1)).Done(ctx, "old-run"))
	anew := want(1)
	anew.Past = func(run string) bool { return run == "old-run" }
	lease := win(t, b, anew)
	assert.Equal(t, 2, lease.Generation())
	assert.Equal(t, "b", lose(t, c, anew).Launcher)
	require.NoError(t, lease.Done(ctx, "new-run"))
	beat(t, c)
	assert.Equal(t, "new-run", ask(t, c, anew).Done, "what the claimant did not know of fills it")
}

func TestManyClaimsInOneCall(t *testing.T) {
	w := newTable(t)
	a := w.join("a")
	client := w.client()
	b, err := w.open(client).Join(ctx, claim.Options{Launcher: "b"})
	require.NoError(t, err)
	taken := win(t, a, want(2))
	require.NoError(t, win(t, a, want(5)).Done(ctx, "run"))

	before := client.Calls()
	answers, err := b.Claim(ctx, want(1), want(2), want(3), want(4), want(5))
	require.NoError(t, err)
	for i, won := range []bool{true, false, true, true, false} {
		assert.Equal(t, won, answers[i].Won != nil, "slot %d", i+1)
	}
	assert.Equal(t, "a", answers[1].Held.Launcher)
	assert.Equal(t, "run", answers[4].Done)
	after := client.Calls()
	assert.Equal(t, 2, after["runs/log-batch"]-before["runs/log-batch"], "refused as a whole, then without what others have")
	assert.Equal(t, 1, after["runs/get"]-before["runs/get"])
	require.NoError(t, taken.Confirm(ctx))
}

// TestCallsOfAnEvaluation: one to claim, one to end, none to confirm.
func TestCallsOfAnEvaluation(t *testing.T) {
	w := newTable(t)
	client := w.client()
	m, err := w.open(client).Join(ctx, claim.Options{Launcher: "a"})
	require.NoError(t, err)
	before := total(client)
	for slot := range 20 {
		lease := win(t, m, want(slot+1))
		require.NoError(t, lease.Confirm(ctx))
		require.NoError(t, lease.Done(ctx, "run"))
	}
	assert.Equal(t, 40, total(client)-before)
	before = total(client)
	beat(t, m)
	assert.Equal(t, 2, total(client)-before, "a heartbeat, however many claims there are")
}

func total(c *mlflow.Client) int {
	n := 0
	for _, calls := range c.Calls() {
		n += calls
	}
	return n
}

func TestLostAnswers(t *testing.T) {
	for name, fault := range map[string]mlflowtest.Act{
		"lost": mlflowtest.LoseAnswer, "dropped": mlflowtest.Drop,
		"502 afterwards": mlflowtest.Afterwards(mlflowtest.Answer(http.StatusBadGateway, "")),
		"503":            mlflowtest.Fail(http.StatusServiceUnavailable, "TEMPORARILY_UNAVAILABLE", "database is locked"),
	} {
		t.Run(name+", tried again by the client", func(t *testing.T) {
			w := newTable(t)
			m, other := w.join("a"), w.join("b")
			for _, route := range []string{"runs/log-batch", "runs/set-tag", "runs/get"} {
				w.fake.Inject(mlflowtest.Fault{Route: route, Times: 2, Do: fault})
			}
			lease := win(t, m, want(1))
			beat(t, m)
			require.NoError(t, lease.Done(ctx, "run"))
			beat(t, other)
			assert.Equal(t, "run", ask(t, other, want(1)).Done)
		})
		t.Run(name+", tried again by the caller", func(t *testing.T) {
			w := newTable(t)
			m := w.join("a", impatient)
			w.fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: fault})
			_, err := m.Claim(ctx, want(1))
			require.ErrorIs(t, err, mlflow.ErrUnreachable)
			assert.Equal(t, 1, win(t, m, want(1)).Generation())
			assert.Equal(t, "a", lose(t, w.join("b"), want(1)).Launcher)
		})
		t.Run(name+", never tried again", func(t *testing.T) {
			w := newTable(t)
			m := w.join("a", impatient)
			w.fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: fault})
			_, err := m.Claim(ctx, want(1))
			require.Error(t, err)
			beat(t, m)
			assert.NotNil(t, win(t, w.join("b"), want(1)), "no cell is left behind by a live launcher")
		})
	}
}

func TestWantsOfNothing(t *testing.T) {
	m := newTable(t).join("a")
	for _, w := range []claim.Want{{Cell: cell}, {Slot: 1}, {Cell: "abc", Slot: 1}, {Cell: cell, Slot: -1}} {
		_, err := m.Claim(ctx, w)
		require.Error(t, err)
	}
}

// TestForeignText: what anybody can write into a heartbeat does nothing to a terminal.
func TestForeignText(t *testing.T) {
	w := newTable(t)
	a, b := w.join("a"), w.join("b")
	win(t, a, want(1))
	require.NoError(t, w.client().SetTag(ctx, w.run().Info.RunID, "beat/"+a.Session(), "until 2099-01-01T00:00:00.000Z \x1b[31mmallory\x07\u202e"))
	beat(t, b)
	assert.Equal(t, "[31mmallory", lose(t, b, want(1)).Launcher)
}

func TestReleaseThatFails(t *testing.T) {
	w := newTable(t)
	m, other := w.join("a", impatient), w.join("b")
	lease := win(t, m, want(1))
	w.fake.Inject(mlflowtest.Fault{Route: "set-tag", Times: 1, Do: mlflowtest.Drop})
	require.Error(t, lease.Release(ctx, "stopped"))
	lose(t, other, want(1))
	beat(t, m, other)
	win(t, other, want(1))
}

// TestReleaseWhoseAnswerIsLost: it took effect, so the launcher that gave the repeat back has no claim to it any more.
func TestReleaseWhoseAnswerIsLost(t *testing.T) {
	w := newTable(t)
	m, other := w.join("a", impatient), w.join("b")
	lease := win(t, m, want(1))
	w.fake.Inject(mlflowtest.Fault{Route: "set-tag", Times: 1, Do: mlflowtest.LoseAnswer})
	require.Error(t, lease.Release(ctx, "stopped"))
	beat(t, other)
	win(t, other, want(1))
	lose(t, m, want(1))
	beat(t, m)
	lose(t, m, want(1))
}

// TestClaimThatArrivesLate: the request is in the server's queue while its launcher gives up.
func TestClaimThatArrivesLate(t *testing.T) {
	w := newTable(t)
	m, other := w.join("a", impatient), w.join("b")
	arrive, arrived := make(chan struct{}), make(chan struct{})
	w.fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		late := r.Clone(context.Background())
		body, _ := io.ReadAll(r.Body)
		late.Body = io.NopCloser(bytes.NewReader(body))
		go func() {
			defer close(arrived)
			<-arrive
			next.ServeHTTP(httptest.NewRecorder(), late)
		}()
		panic(http.ErrAbortHandler)
	}})
	_, err := m.Claim(ctx, want(1))
	require.Error(t, err)
	lease := win(t, other, want(1))
	close(arrive)
	<-arrived
	require.NoError(t, lease.Confirm(ctx))
	beat(t, m, other)
	require.NoError(t, lease.Done(ctx, "run"))
	beat(t, m)
	assert.Equal(t, "run", ask(t, m, want(1)).Done)
}

func TestGoroutinesOfOneLauncher(t *testing.T) {
	w := newTable(t)
	m := w.join("a")
	var all sync.WaitGroup
	var mu sync.Mutex
	won := map[int]int{}
	for range 8 {
		all.Go(func() {
			for slot := range 10 {
				answers, err := m.Claim(ctx, want(slot+1))
				if assert.NoError(t, err) && answers[0].Won != nil {
					mu.Lock()
					won[slot]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	require.Len(t, won, 10)
	for slot, n := range won {
		assert.Equal(t, 1, n, "slot %d", slot)
	}
}

// TestNoTimeOfThisMachine: every time is the server's, whose clock is years ahead here.
func TestNoTimeOfThisMachine(t *testing.T) {
	w := newTable(t)
	const years = 5 * 365 * 24 * time.Hour
	w.fake.Advance(years)
	m, other := w.join("a"), w.join("b")
	lease := win(t, m, want(1))
	held := lose(t, other, want(1))
	expect := time.Now().Add(years)
	assert.WithinDuration(t, expect, held.Since, time.Minute)
	assert.WithinDuration(t, expect.Add(claim.DefaultTTL), held.Until, time.Minute)
	require.NoError(t, lease.Done(ctx, "run"))
	require.NoError(t, m.Leave(ctx))
	run := w.run()
	assert.WithinDuration(t, expect, time.UnixMilli(run.Info.StartTime), time.Minute)
	year := time.Now().UTC().Format("2006-")
	for _, tag := range run.Data.Tags {
		assert.NotContains(t, tag.Value, year, tag.Key)
	}
	for _, p := range run.Data.Params {
		assert.NotContains(t, p.Value, year, p.Key)
	}
}

func TestNoDateNoClaim(t *testing.T) {
	w := newTable(t)
	w.fake.Inject(mlflowtest.Fault{Do: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(dateless{rw}, r)
	}})
	_, err := claim.OpenRecipe(ctx, w.client(), w.experiment, recipe, "x v1")
	require.ErrorIs(t, err, claim.ErrNoClock)
}

func TestForeignEntries(t *testing.T) {
	w := newTable(t)
	m := w.join("a")
	run := w.run().Info.RunID
	require.NoError(t, w.client().LogBatch(ctx, run, mlflow.Batch{
		Params: []mlflow.Param{
			{Key: "learning_rate", Value: "3"}, {Key: "claim", Value: "x"}, {Key: "claim/x/y", Value: "?"}, {Key: "claim/x/1/0", Value: "?"},
			{Key: "claim/" + cell.Short() + "/1/1", Value: "mine!"},
		},
		Tags: []mlflow.Tag{{Key: "beat/zzz", Value: "soon"}, {Key: "end/claim/x", Value: "over"}, {Key: "end/claim/x/1/1", Value: "done tomorrow run"}},
	}))
	beat(t, m)
	assert.True(t, lose(t, m, want(1)).Lapsed, "what nobody can read is held by nobody")
	w.silence(time.Minute, m)
	assert.Equal(t, 2, win(t, m, want(1)).Generation())
	win(t, m, claim.Want{Cell: batch.Sum([]byte("other")), Slot: 1})
}
