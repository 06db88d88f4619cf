package claim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
)

// TestSessions: who holds what is told, and a dead one is dismissed.
func TestSessions(t *testing.T) {
	w := newTable(t)
	client := w.client()
	sessions := func() []claim.Session {
		t.Helper()
		run, err := client.GetRun(ctx, w.run().Info.RunID)
		require.NoError(t, err)
		all, err := claim.Sessions(client, []mlflow.Run{run})
		require.NoError(t, err)
		return all
	}
	dead, heir := w.join("dead"), w.join("heir")
	assert.Empty(t, sessions(), "they hold nothing")
	win(t, dead, want(1))
	first := sessions()
	require.Len(t, first, 1)
	w.fake.Advance(time.Second)
	beat(t, dead) // it learns the server's time
	win(t, dead, want(2))
	require.NoError(t, win(t, dead, want(3)).Done(ctx, "run"))
	begun, err := dead.Batch(ctx, batch.Sum([]byte("a batch")), nil)
	require.NoError(t, err)
	require.NotNil(t, begun.Won)
	money := budget(t, dead, 10, 0.5)
	reserve(t, money, 0.5)
	reserve(t, money, 0.25)
	w.fake.Advance(claim.DefaultTTL / 2)
	beat(t, heir) // so does this one: its claim is the later one
	win(t, heir, want(4))

	all := sessions()
	require.Len(t, all, 2)
	s := all[0]
	assert.Equal(t, "dead", s.Launcher)
	assert.Equal(t, dead.Session(), s.Session)
	assert.Equal(t, first[0].Since, s.Since, "the oldest of its claims")
	assert.Equal(t, w.run().Info.RunID, s.Ledger)
	assert.Equal(t, []int{2, 0, 1, 2}, []int{s.Repeats, s.Slots, s.Batches, s.Tranches})
	assert.InDelta(t, 1.0, s.USD, 1e-9)
	assert.False(t, s.Lapsed)
	assert.Equal(t, "heir", all[1].Launcher)

	w.fake.Advance(claim.DefaultTTL * 3 / 4)
	assert.True(t, sessions()[0].Lapsed)
	lose(t, heir, want(1))
	require.NoError(t, claim.Dismiss(ctx, client, s))
	assert.Len(t, sessions(), 1)
	beat(t, heir)
	taken := win(t, heir, want(1))
	require.NotNil(t, taken.Before, "it may have logged a result")
	assert.Equal(t, "dead", taken.Before.Launcher)
	estates, err := budget(t, heir, 10, 0.5).Inherit(ctx)
	require.NoError(t, err)
	require.Len(t, estates, 1)
	assert.InDelta(t, 1.0, estates[0].USD, 1e-9)

	// One that lives after all keeps what nobody took.
	beat(t, dead)
	assert.Len(t, sessions(), 2)
	lose(t, w.join("third"), want(2))
}

// TestDismissedAndAlive: what a launcher claims after it has woken is its own, also to who
// saw it dismissed.
func TestDismissedAndAlive(t *testing.T) {
	w := newTable(t)
	client := w.client()
	slow, other := w.join("slow"), w.join("other")
	win(t, slow, want(1))
	w.silence(2*claim.DefaultTTL, other)
	run, err := client.GetRun(ctx, w.run().Info.RunID)
	require.NoError(t, err)
	all, err := claim.Sessions(client, []mlflow.Run{run})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, claim.Dismiss(ctx, client, all[0]))
	beat(t, other)
	assert.Empty(t, other.Peek(want(1)), "free to be taken")
	w.fake.Advance(5 * time.Second)
	beat(t, slow, slow) // the first tells it the time
	lease := win(t, slow, want(2))
	assert.Equal(t, "slow", lose(t, other, want(1)).Launcher, "nobody has taken it meanwhile")
	assert.Equal(t, "slow", lose(t, other, want(2)).Launcher)
	require.NoError(t, lease.Done(ctx, "run"))
}
