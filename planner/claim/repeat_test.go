package claim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
)

// TestBatch: one launcher begins a batch, and another one only where its run is known to be past.
func TestBatch(t *testing.T) {
	w := newTable(t)
	a, b := w.join("a"), w.join("b")
	key := batch.Sum([]byte("a batch"))
	begin := func(m *claim.Member, past ...string) claim.Answer {
		t.Helper()
		answer, err := m.Batch(ctx, key, func(run string) bool {
			for _, p := range past {
				if p == run {
					return true
				}
			}
			return false
		})
		require.NoError(t, err)
		return answer
	}
	first := begin(a).Won
	require.NotNil(t, first)
	assert.Equal(t, "batch/"+key.Short()+"/1", first.String())
	held := begin(b).Held
	require.NotNil(t, held)
	assert.Equal(t, "a", held.Launcher)
	require.NoError(t, first.Done(ctx, "parent-1"))
	beat(t, b)
	assert.Equal(t, "parent-1", begin(b).Done)
	assert.Equal(t, "parent-1", begin(a).Done)

	second := begin(b, "parent-1").Won
	require.NotNil(t, second)
	assert.Equal(t, 2, second.Generation())
	assert.NotNil(t, begin(a, "parent-1").Held)
	require.NoError(t, second.Release(ctx, "it could not be begun"))
	beat(t, a)
	third := begin(a, "parent-1").Won
	require.NotNil(t, third)
	assert.Nil(t, third.Before, "it was given back")
	require.NoError(t, a.Leave(ctx))
	beat(t, b)
	fourth := begin(b, "parent-1").Won
	require.NotNil(t, fourth)
	require.NotNil(t, fourth.Before, "it may have begun")

	answer, err := b.Batch(ctx, batch.Sum([]byte("another")), nil)
	require.NoError(t, err)
	require.NotNil(t, answer.Won)
	_, err = b.Batch(ctx, "no digest", nil)
	require.Error(t, err)
}

// TestPeek sends nothing, and says what the last reading showed.
func TestPeek(t *testing.T) {
	w := newTable(t)
	a := w.join("a")
	client := w.client()
	book := w.open(client)
	b, err := book.Join(ctx, claim.Options{Launcher: "b"})
	require.NoError(t, err)
	peek := func(slot int) claim.Answer {
		t.Helper()
		before := total(client)
		answer := b.Peek(want(slot))
		require.Equal(t, before, total(client))
		return answer
	}
	held, given := win(t, a, want(1)), win(t, a, want(2))
	require.NoError(t, win(t, a, want(3)).Done(ctx, "run"))
	require.NoError(t, given.Release(ctx, "not now"))
	win(t, b, want(4))
	assert.Equal(t, claim.Answer{}, peek(1), "b has not looked since")
	beat(t, b)
	require.NotNil(t, peek(1).Held)
	assert.Equal(t, "a", peek(1).Held.Launcher)
	assert.Equal(t, claim.Answer{}, peek(2))
	assert.Equal(t, claim.Answer{Done: "run"}, peek(3))
	assert.Equal(t, claim.Answer{}, peek(4), "its own")
	assert.Equal(t, claim.Answer{}, peek(5))
	past := b.Peek(claim.Want{Cell: cell, Slot: 3, Past: func(run string) bool { return run == "run" }})
	assert.Equal(t, claim.Answer{}, past, "the run does not fill the slot")

	w.silence(claim.DefaultTTL, b)
	require.NotNil(t, peek(1).Held, "overdue for the first time")
	w.silence(claim.DefaultTTL, b)
	assert.Equal(t, claim.Answer{}, peek(1), "it can be taken over")
	require.NoError(t, stands(held), "a does not know")
}

// TestOthers lists who is at work: not who left, is overdue, or is known to be dead.
func TestOthers(t *testing.T) {
	w := newTable(t)
	me, err := w.open(w.client()).Join(ctx, claim.Options{Launcher: "me", Gone: func(l string) bool { return l == "dead" }})
	require.NoError(t, err)
	others := func() []string {
		t.Helper()
		all, err := me.Others(ctx)
		require.NoError(t, err)
		return all
	}
	assert.Empty(t, others())
	w.join("dead")
	silent, left, z := w.join("silent"), w.join("left"), w.join("z")
	beat(t, silent)
	assert.Equal(t, []string{"left", "silent", "z"}, others())
	require.NoError(t, left.Leave(ctx))
	assert.Equal(t, []string{"silent", "z"}, others())
	w.silence(2*claim.DefaultTTL, z)
	assert.Equal(t, []string{"z"}, others())
	require.NoError(t, me.Leave(ctx))
	assert.Equal(t, []string{"z"}, others(), "who has left may ask")
}
