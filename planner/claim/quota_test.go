package claim_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/claim"
)

// joinQuotas joins the quotas of the experiment.
func (w *table) joinQuotas(name string) *claim.Member {
	w.t.Helper()
	b, err := claim.OpenQuotas(ctx, w.client(), w.experiment)
	require.NoError(w.t, err)
	m, err := b.Join(ctx, claim.Options{Launcher: name})
	require.NoError(w.t, err)
	return m
}

func slot(t *testing.T, m *claim.Member, quota string, atOnce int) *claim.Lease {
	t.Helper()
	l, err := m.Slot(ctx, quota, atOnce)
	require.NoError(t, err)
	return l
}

func full(t *testing.T, m *claim.Member, quota string, atOnce int) *claim.Full {
	t.Helper()
	_, err := m.Slot(ctx, quota, atOnce)
	var f *claim.Full
	require.ErrorAs(t, err, &f)
	return f
}

func TestSlotsAcrossLaunchers(t *testing.T) {
	w := newTable(t)
	a, b := w.joinQuotas("a"), w.joinQuotas("b")
	first := slot(t, a, "cerebras", 2)
	second := slot(t, b, "cerebras", 2)
	assert.NotEqual(t, first.String(), second.String())
	f := full(t, a, "cerebras", 2)
	names := []string{f.Holders[0].Launcher, f.Holders[1].Launcher}
	assert.ElementsMatch(t, []string{"a", "b"}, names)
	assert.ErrorContains(t, f, "quota cerebras: all 2 slots are taken: ")
	slot(t, a, "openrouter", 1)
	full(t, b, "openrouter", 1)

	require.NoError(t, second.Release(ctx, "no more work"))
	again := slot(t, a, "cerebras", 2)
	assert.Equal(t, 2, again.Generation())
	assert.Nil(t, again.Before)
}

func TestSlotsOfADeadLauncher(t *testing.T) {
	w := newTable(t)
	dead, gone, c := w.joinQuotas("dead"), w.joinQuotas("gone"), w.joinQuotas("c")
	lost := slot(t, dead, "q", 2)
	slot(t, gone, "q", 2)
	full(t, c, "q", 2)
	require.NoError(t, gone.Leave(ctx))
	slot(t, c, "q", 2)
	full(t, c, "q", 2)
	w.silence(3*claim.DefaultTTL, c)
	slot(t, c, "q", 2)
	beat(t, dead)
	require.ErrorIs(t, lost.Confirm(ctx), claim.ErrLost, "its runner must be ended before the slot is exceeded for long")
}

// TestNeverMoreThanAtOnce: launchers take and give back as fast as they can.
func TestNeverMoreThanAtOnce(t *testing.T) {
	w := newTable(t)
	const atOnce = 3
	var mu sync.Mutex
	running, most, taken := 0, 0, 0
	var all sync.WaitGroup
	for i := range 8 {
		m := w.joinQuotas(name(i))
		all.Go(func() {
			for range 20 {
				l, err := m.Slot(ctx, "q", atOnce)
				if err != nil {
					var f *claim.Full
					assert.ErrorAs(t, err, &f)
					continue
				}
				mu.Lock()
				running++
				taken++
				most = max(most, running)
				mu.Unlock()
				assert.NoError(t, m.Beat(ctx)) // what it does with the slot
				mu.Lock()
				running--
				mu.Unlock()
				assert.NoError(t, l.Release(ctx, ""))
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, most, atOnce)
	assert.Positive(t, taken)
}

// TestWhole: beside its slots a quota has one holder, and a dead one keeps it for a lease and a half.
func TestWhole(t *testing.T) {
	w := newTable(t)
	a, b := w.joinQuotas("a"), w.joinQuotas("b")
	l, err := a.Whole(ctx, "engine")
	require.NoError(t, err)
	assert.Equal(t, "quota/engine/0/1", l.String())
	slot(t, b, "engine", 1)
	whole := func(m *claim.Member) (f *claim.Full) {
		t.Helper()
		_, err := m.Whole(ctx, "engine")
		require.ErrorAs(t, err, &f)
		return f
	}
	assert.Equal(t, "a", whole(b).Holders[0].Launcher)
	whole(a)
	require.NoError(t, l.Release(ctx, ""))
	l, err = b.Whole(ctx, "engine")
	require.NoError(t, err)
	assert.Equal(t, 2, l.Generation())
	w.silence(claim.DefaultTTL, a)
	whole(a)
	w.silence(claim.DefaultTTL, a)
	_, err = a.Whole(ctx, "engine")
	require.NoError(t, err)
	beat(t, b)
	require.ErrorIs(t, l.Confirm(ctx), claim.ErrLost)
	_, err = a.Whole(ctx, "a/b")
	require.Error(t, err)
}

func TestSlotsOfNothing(t *testing.T) {
	m := newTable(t).joinQuotas("a")
	for _, n := range []int{0, -1} {
		_, err := m.Slot(ctx, "q", n)
		require.Error(t, err)
	}
	for _, name := range []string{"", "a/b"} {
		_, err := m.Slot(ctx, name, 1)
		require.Error(t, err)
	}
}
