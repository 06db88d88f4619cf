package claim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/claim"
)

func TestLook(t *testing.T) {
	w := newTable(t)
	client := w.client()
	look := func() []claim.Standing {
		t.Helper()
		standings, err := claim.Look(ctx, client, w.experiment, recipe)
		require.NoError(t, err)
		return standings
	}
	assert.Empty(t, look())
	assert.Empty(t, w.runs(), "a look elects nobody")

	a, b := w.join("a"), w.join("b")
	require.NoError(t, win(t, a, want(2)).Done(ctx, "run"))
	win(t, a, want(10))
	require.NoError(t, win(t, b, want(3)).Release(ctx, "stopped"))
	require.NoError(t, win(t, b, want(3)).Release(ctx, "again"))
	win(t, b, want(1))
	require.NoError(t, b.Leave(ctx))
	reserve(t, budget(t, a, 1, 1), 1)
	before := total(client)
	all := look()
	assert.Equal(t, 2, total(client)-before)
	require.Len(t, all, 4)
	for i, slot := range []int{1, 2, 3, 10} {
		assert.Equal(t, cell.Short(), all[i].Cell)
		assert.Equal(t, slot, all[i].Slot)
		assert.Equal(t, slot == 10, all[i].Held())
		assert.False(t, slot == 10 && all[i].Holder.Lapsed)
	}
	assert.True(t, all[0].Left)
	assert.Equal(t, "b", all[0].Holder.Launcher)
	assert.Equal(t, "run", all[1].Done)
	assert.True(t, all[2].Released)
	assert.Equal(t, 2, all[2].Generation)
	assert.Equal(t, "a", all[3].Holder.Launcher)

	w.fake.Advance(2 * claim.DefaultTTL)
	all = look()
	assert.True(t, all[3].Held() && all[3].Holder.Lapsed)
}
