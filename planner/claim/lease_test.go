package claim_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/claim"
)

func TestDeadLauncherIsTakenOver(t *testing.T) {
	w := newTable(t)
	dead, heir := w.join("dead"), w.join("heir")
	lease := win(t, dead, want(1))
	running, cancel := lease.Context(ctx)
	defer cancel()

	w.silence(claim.DefaultTTL-20*time.Second, heir)
	assert.False(t, lose(t, heir, want(1)).Lapsed)
	w.fake.Advance(25 * time.Second)
	beat(t, heir)
	held := lose(t, heir, want(1))
	assert.True(t, held.Lapsed, "overdue for the first time")
	w.silence(2*heir.Interval(), heir)
	taken := win(t, heir, want(1))
	assert.Equal(t, 2, taken.Generation())
	require.NotNil(t, taken.Before)
	assert.Equal(t, "dead", taken.Before.Launcher)

	require.NoError(t, running.Err(), "it can't know yet")
	beat(t, dead)
	<-running.Done()
	require.ErrorIs(t, context.Cause(running), claim.ErrLost)
	require.ErrorContains(t, context.Cause(running), "heir")
	require.ErrorIs(t, lease.Confirm(ctx), claim.ErrLost)
	require.ErrorIs(t, lease.Done(ctx, "run-of-dead"), claim.ErrLost)
	require.ErrorIs(t, lease.Release(ctx, ""), claim.ErrLost)
	require.NoError(t, taken.Done(ctx, "run-of-heir"))
	beat(t, dead)
	assert.Equal(t, "run-of-heir", ask(t, dead, want(1)).Done)
}

// TestConfirmAsksWhenItMust: a launcher that slept through its lease learns of its loss before it logs.
func TestConfirmAsksWhenItMust(t *testing.T) {
	w := newTable(t)
	slept, heir := w.join("slept"), w.join("heir")
	lease, kept := win(t, slept, want(1)), win(t, slept, want(2))
	w.silence(4*claim.DefaultTTL, heir)
	win(t, heir, want(1))
	win(t, slept, want(3)) // any answer tells the server's time
	require.ErrorIs(t, lease.Confirm(ctx), claim.ErrLost)
	require.NoError(t, kept.Confirm(ctx), "nobody took this one")
	require.NoError(t, kept.Done(ctx, "run"))
}

// TestServerAway: after an outage longer than all leases, nobody robs anybody.
func TestServerAway(t *testing.T) {
	w := newTable(t)
	a, b := w.join("a", impatient), w.join("b", impatient)
	ofA, ofB := win(t, a, want(1)), win(t, b, want(2))
	w.fake.Inject(mlflowtest.Fault{Do: mlflowtest.Drop})
	for range 10 {
		w.fake.Advance(claim.DefaultTTL)
		require.ErrorIs(t, a.Beat(ctx), mlflow.ErrUnreachable)
		_, err := b.Claim(ctx, want(3))
		require.Error(t, err, "nothing new starts")
	}
	require.NoError(t, stands(ofA), "what runs goes on")
	w.fake.Clear()
	beat(t, b)
	assert.True(t, lose(t, b, want(1)).Lapsed, "overdue, but the server was away")
	late := w.join("late")
	lose(t, late, want(1))
	beat(t, a)
	require.NoError(t, ofA.Done(ctx, "run"))
	w.silence(2*claim.DefaultTTL, a, b)
	require.NoError(t, ofB.Confirm(ctx))
}

// TestCutOffAlone: heartbeats of one launcher fail for a while, the others reach the server.
func TestCutOffAlone(t *testing.T) {
	w := newTable(t)
	faults, address := mlflowtest.NewProxy(t, w.url)
	cut, err := claim.OpenRecipe(ctx, mlflowtest.Client(t, address, impatient), w.experiment, recipe, "x v1")
	require.NoError(t, err)
	a, err := cut.Join(ctx, claim.Options{Launcher: "a"})
	require.NoError(t, err)
	b := w.join("b")
	short, long := win(t, a, want(1)), win(t, a, want(2))

	faults.Inject(mlflowtest.Fault{Times: 3, Do: mlflowtest.Fail(http.StatusServiceUnavailable, "", "")})
	for range 2 {
		w.fake.Advance(a.Interval())
		require.Error(t, a.Beat(ctx))
		beat(t, b)
	}
	require.Error(t, a.Beat(ctx))
	beat(t, a)
	lose(t, b, want(1))
	require.NoError(t, short.Done(ctx, "run"), "shorter than the lease: nothing happened")

	faults.Inject(mlflowtest.Fault{Do: mlflowtest.Drop})
	w.silence(3*claim.DefaultTTL, b)
	win(t, b, want(2))
	require.Error(t, a.Beat(ctx))
	faults.Clear()
	beat(t, a)
	require.ErrorIs(t, long.Confirm(ctx), claim.ErrLost)
}

// TestALauncherWithAWrongTime sees the server's time ten minutes ahead: it robs no one, and no one robs it.
func TestALauncherWithAWrongTime(t *testing.T) {
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		w := newTable(t)
		faults, address := mlflowtest.NewProxy(t, w.url)
		faults.Inject(mlflowtest.Fault{Do: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(shifted{rw, off}, r)
		}})
		book, err := claim.OpenRecipe(ctx, mlflowtest.Client(t, address), w.experiment, recipe, "x v1")
		require.NoError(t, err)
		wrong, err := book.Join(ctx, claim.Options{Launcher: "wrong"})
		require.NoError(t, err)
		right := w.join("right")
		mine, theirs := win(t, right, want(1)), win(t, wrong, want(2))
		for range 12 {
			w.silence(right.Interval(), right, wrong)
			lose(t, wrong, want(1))
			lose(t, right, want(2))
		}
		require.NoError(t, mine.Confirm(ctx))
		require.NoError(t, theirs.Confirm(ctx))
	}
}

func TestKnownDeadIsNotWaitedFor(t *testing.T) {
	w := newTable(t)
	dead := w.join("here/1/1")
	win(t, dead, want(1))
	b, err := w.open(w.client()).Join(ctx, claim.Options{Launcher: "here/2/2", Gone: func(l string) bool { return l == "here/1/1" }})
	require.NoError(t, err)
	lease := win(t, b, want(1))
	assert.Equal(t, "here/1/1", lease.Before.Launcher)
}

func TestLeave(t *testing.T) {
	w := newTable(t)
	a, b := w.join("a"), w.join("b")
	lease := win(t, a, want(1))
	require.NoError(t, a.Leave(ctx))
	<-lease.Lost()
	require.ErrorIs(t, lease.Confirm(ctx), claim.ErrLost)
	require.Error(t, a.Beat(ctx))
	_, err := a.Claim(ctx, want(2))
	require.ErrorIs(t, err, claim.ErrLost)
	beat(t, b)
	taken := win(t, b, want(1))
	require.NotNil(t, taken.Before, "it did not say how it ended")
	assert.Equal(t, "a", taken.Before.Launcher)
}

func TestKeep(t *testing.T) {
	w := newTable(t)
	m, err := w.open(w.client(impatient)).Join(ctx, claim.Options{Launcher: "a", TTL: claim.MinTTL})
	require.NoError(t, err)
	sent := w.fake.Requests("set-tag")
	w.fake.Inject(mlflowtest.Fault{Route: "set-tag", Times: 1, Do: mlflowtest.Drop})
	keeping, stop := context.WithCancel(ctx)
	var failed []error
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Keep(keeping, func(err error) { failed = append(failed, err) })
	}()
	require.Eventually(t, func() bool { return w.fake.Requests("set-tag") >= sent+3 }, 20*time.Second, 10*time.Millisecond)
	stop()
	<-done
	require.Len(t, failed, 1)
	require.ErrorIs(t, errors.Join(failed...), mlflow.ErrUnreachable)
}

func TestJoinOptions(t *testing.T) {
	w := newTable(t)
	b := w.open(w.client())
	for _, o := range []claim.Options{{}, {Launcher: "a\nb"}, {Launcher: "a", TTL: time.Second}} {
		_, err := b.Join(ctx, o)
		require.Error(t, err, "%+v", o)
	}
}

// TestALateHeartbeatOnASlowServer: who needs half a lease for each heartbeat, which counts
// from when it was sent, is overdue now and then, and robbed by nobody.
func TestALateHeartbeatOnASlowServer(t *testing.T) {
	w := newTable(t)
	faults, address := mlflowtest.NewProxy(t, w.url)
	client := mlflowtest.Client(t, address, impatient)
	book, err := claim.OpenRecipe(ctx, client, w.experiment, recipe, "x v1")
	require.NoError(t, err)
	slow, err := book.Join(ctx, claim.Options{Launcher: "slow"})
	require.NoError(t, err)
	other := w.join("other")
	lease := win(t, slow, want(1))
	overdue := 0
	pass := func(d time.Duration) { // the others look all the time
		for ; d > 0; d -= 5 * time.Second {
			w.fake.Advance(5 * time.Second)
			beat(t, other)
			if lose(t, other, want(1)).Lapsed {
				overdue++
			}
		}
	}
	faults.Inject(mlflowtest.Fault{Route: "runs/set-tag", Do: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		pass(claim.DefaultTTL / 2)
		next.ServeHTTP(rw, r)
	}})
	for range 6 {
		pass(slow.Interval())
		_, err := client.GetRun(ctx, book.RunID()) // its clock goes on, as a real one does by itself
		require.NoError(t, err)
		beat(t, slow)
		require.NoError(t, lease.Confirm(ctx))
	}
	assert.Positive(t, overdue)
	require.NoError(t, lease.Done(ctx, "run"))
}

// TestTheServersClockIsSet: forwards, nobody is robbed who sends heartbeats; backwards,
// a dead launcher is waited for longer, and taken over all the same.
func TestTheServersClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w := newTable(t)
		alive, dead, heir := w.join("alive"), w.join("dead"), w.join("heir")
		mine := win(t, alive, want(1))
		win(t, dead, want(2))
		w.fake.Advance(by)
		for range 6 {
			beat(t, heir)
			lose(t, heir, want(1))
			beat(t, alive)
			require.NoError(t, mine.Confirm(ctx), "%v", by)
			w.fake.Advance(claim.DefaultTTL / 3)
		}
		if by < 0 {
			w.silence(-by, alive, heir)
		}
		require.NoError(t, mine.Done(ctx, "run"))
		taken := win(t, heir, want(2))
		assert.Equal(t, "dead", taken.Before.Launcher)
	}
}

// TestAnOverdueLauncherClaims: who was cut off for longer than its lease renews it before
// it claims anything, or who has seen it overdue could start the same at once.
func TestAnOverdueLauncherClaims(t *testing.T) {
	w := newTable(t)
	client := w.client()
	slow, err := w.open(client).Join(ctx, claim.Options{Launcher: "slow"})
	require.NoError(t, err)
	other := w.join("other")
	win(t, slow, want(1))
	w.silence(3*claim.DefaultTTL, other)
	_, err = client.GetRun(ctx, w.run().Info.RunID) // its clock goes on, as a real one does by itself
	require.NoError(t, err)
	lease := win(t, slow, want(2))
	assert.Equal(t, "slow", lose(t, other, want(2)).Launcher)
	require.NoError(t, lease.Done(ctx, "run"))
}

// TestWhoEndedWithoutAWordIsLookedFor: the next claimant learns of it, also where the answer
// to its claim was lost, and where somebody else has held the claim in between and given it back.
func TestWhoEndedWithoutAWordIsLookedFor(t *testing.T) {
	w := newTable(t)
	dead, heir, third, fourth := w.join("dead"), w.join("heir", impatient), w.join("third"), w.join("fourth")
	win(t, dead, want(1))
	require.NoError(t, dead.Leave(ctx))
	beat(t, heir)
	w.fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: mlflowtest.LoseAnswer})
	_, err := heir.Claim(ctx, want(1))
	require.Error(t, err)
	lease := win(t, heir, want(1))
	assert.Equal(t, 2, lease.Generation())
	require.NotNil(t, lease.Before)
	assert.Equal(t, "dead", lease.Before.Launcher)

	require.NoError(t, lease.Release(ctx, "it could not look"))
	lease = win(t, third, want(1))
	require.NotNil(t, lease.Before)
	assert.Equal(t, "dead", lease.Before.Launcher)
	require.NoError(t, third.Leave(ctx))
	lease = win(t, fourth, want(1))
	require.NotNil(t, lease.Before)
	assert.Equal(t, "third", lease.Before.Launcher, "the last of them")

	require.NoError(t, win(t, heir, want(2)).Release(ctx, "stopped"))
	assert.Nil(t, win(t, fourth, want(2)).Before, "nobody ended without a word")
}

// TestAnHeirFindsTheRun: a launcher slept after it had logged its run, and who took the claim over
// has found that. Its run counts, and it must not take it back.
func TestAnHeirFindsTheRun(t *testing.T) {
	w := newTable(t)
	slept, heir := w.join("slept"), w.join("heir")
	lease := win(t, slept, want(1))
	w.silence(3*claim.DefaultTTL, heir)
	taken := win(t, heir, want(1))
	beat(t, slept)
	found, err := lease.Found(ctx, "run")
	require.NoError(t, err)
	assert.False(t, found)
	require.ErrorIs(t, lease.Done(ctx, "run"), claim.ErrLost)
	require.NoError(t, taken.Done(ctx, "run"))
	require.NoError(t, lease.Done(ctx, "run"))
	found, err = lease.Found(ctx, "run")
	require.NoError(t, err)
	assert.True(t, found)
	require.ErrorIs(t, lease.Done(ctx, "another run"), claim.ErrLost)
}
