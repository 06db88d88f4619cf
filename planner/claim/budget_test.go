package claim_test

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/claim"
)

const batchRun = "0123456789abcdef0123456789abcdef"

func budget(t *testing.T, m *claim.Member, ceiling, step float64) *claim.Budget {
	t.Helper()
	b, err := m.Budget(batchRun, ceiling, step)
	require.NoError(t, err)
	return b
}

func reserve(t *testing.T, b *claim.Budget, usd float64) *claim.Reservation {
	t.Helper()
	r, err := b.Reserve(ctx, usd)
	require.NoError(t, err)
	return r
}

func refuse(t *testing.T, b *claim.Budget, usd float64) *claim.Ceiling {
	t.Helper()
	_, err := b.Reserve(ctx, usd)
	var c *claim.Ceiling
	require.ErrorAs(t, err, &c)
	return c
}

func settle(t *testing.T, r *claim.Reservation, usd float64) {
	t.Helper()
	require.NoError(t, r.Settle(&usd))
}

func TestBudgetOfOneLauncher(t *testing.T) {
	w := newTable(t)
	client := w.client()
	m, err := w.open(client).Join(ctx, claim.Options{Launcher: "a"})
	require.NoError(t, err)
	b := budget(t, m, 1, 0.25)
	before := total(client)
	for range 10 {
		settle(t, reserve(t, b, 0.1), 0.05)
	}
	assert.LessOrEqual(t, total(client)-before, 6, "two calls a tranche, of which three are enough")
	first, second := reserve(t, b, 0.25), reserve(t, b, 0.25)
	c := refuse(t, b, 0.01)
	assert.InDelta(t, 1, c.SpentUSD, 1e-9)
	assert.Zero(t, c.HeldUSD)
	assert.ErrorContains(t, c, "ceiling of $1.00")
	settle(t, first, 0.2)
	settle(t, second, 0.2)
	settle(t, reserve(t, b, 0.1), 0.1)
	refuse(t, b, 0.01)
	require.NoError(t, b.Return(ctx))
	refuse(t, b, 0.01)
	_, err = b.Reserve(ctx, 0)
	require.NoError(t, err, "what costs nothing may go on")
}

func TestUnknownCostCountsAsReserved(t *testing.T) {
	b := budget(t, newTable(t).join("a"), 1, 0.1)
	require.NoError(t, reserve(t, b, 0.6).Settle(nil))
	refuse(t, b, 0.6)
	reserve(t, b, 0.4)
}

func TestUnusedMoneyGoesBack(t *testing.T) {
	w := newTable(t)
	a, b := budget(t, w.join("a"), 10, 8), budget(t, w.join("b"), 10, 1)
	settle(t, reserve(t, a, 1), 0.5)
	c := refuse(t, b, 3)
	assert.InDelta(t, 8, c.HeldUSD, 1e-9)
	assert.Zero(t, c.DeadUSD)
	reserve(t, b, 2)
	require.NoError(t, a.Return(ctx))
	reserve(t, b, 7.5)
	c = refuse(t, b, 0.1)
	assert.Zero(t, c.HeldUSD)
	assert.InDelta(t, 10, c.SpentUSD, 1e-9)
	refuse(t, a, 0.1)
}

func TestReturnKeepsWhatIsReserved(t *testing.T) {
	w := newTable(t)
	a, b := budget(t, w.join("a"), 10, 2), budget(t, w.join("b"), 10, 1)
	running := reserve(t, a, 2)
	settle(t, reserve(t, a, 2), 0)
	settle(t, reserve(t, a, 4), 0)
	require.NoError(t, a.Return(ctx))
	reserve(t, b, 8)
	refuse(t, b, 0.1)
	settle(t, running, 1)
	require.NoError(t, a.Return(ctx))
	reserve(t, b, 1)
	refuse(t, b, 0.1)
}

// TestDearerThanReserved: what was overspent is taken from what may be reserved after.
func TestDearerThanReserved(t *testing.T) {
	w := newTable(t)
	a, b := budget(t, w.join("a"), 10, 1), budget(t, w.join("b"), 10, 1)
	settle(t, reserve(t, a, 1), 4)
	reserve(t, a, 1)
	refuse(t, b, 5.5)
	reserve(t, b, 5)
	c := refuse(t, a, 3)
	assert.InDelta(t, 10, c.SpentUSD, 1e-9)

	w = newTable(t)
	a, b = budget(t, w.join("a"), 10, 1), budget(t, w.join("b"), 10, 1)
	settle(t, reserve(t, a, 1), 4)
	require.NoError(t, a.Return(ctx))
	refuse(t, b, 6.5)
	reserve(t, b, 6)
}

func TestEstateOfADeadLauncher(t *testing.T) {
	w := newTable(t)
	dead, alive := w.join("dead"), w.join("alive")
	a, b := budget(t, dead, 10, 3), budget(t, alive, 10, 1)
	settle(t, reserve(t, a, 3), 1)
	require.NoError(t, a.Return(ctx))
	reserve(t, a, 3)
	reserve(t, a, 2)
	estates, err := b.Inherit(ctx)
	require.NoError(t, err)
	assert.Empty(t, estates, "nobody is dead yet")

	w.silence(3*claim.DefaultTTL, alive)
	c := refuse(t, b, 5)
	assert.InDelta(t, 6, c.DeadUSD, 1e-9)
	estates, err = b.Inherit(ctx)
	require.NoError(t, err)
	require.Len(t, estates, 1)
	assert.Equal(t, "dead", estates[0].Launcher)
	assert.InDelta(t, 6, estates[0].USD, 1e-9)
	assert.InDelta(t, 1, estates[0].SettledUSD, 1e-9)
	again, err := budget(t, w.join("third"), 10, 1).Inherit(ctx)
	require.NoError(t, err)
	assert.Empty(t, again, "inherited once")
	refuse(t, b, 5)
	require.NoError(t, b.SettleEstate(ctx, estates[0], 4))
	require.NoError(t, b.SettleEstate(ctx, estates[0], 4), "again changes nothing")
	reserve(t, b, 5)
	refuse(t, b, 0.1)

	// The dead one wakes: what it had is not its own any more.
	beat(t, dead)
	c = refuse(t, a, 1)
	assert.InDelta(t, 10, c.SpentUSD, 1e-9)
	require.NoError(t, a.Return(ctx))
	refuse(t, b, 0.1)
}

func TestEstateOfAnHeirThatDied(t *testing.T) {
	w := newTable(t)
	first, heir, last := w.join("first"), w.join("heir"), w.join("last")
	reserve(t, budget(t, first, 10, 4), 4)
	require.NoError(t, first.Leave(ctx))
	estates, err := budget(t, heir, 10, 1).Inherit(ctx)
	require.NoError(t, err)
	require.Len(t, estates, 1)
	require.NoError(t, heir.Leave(ctx))
	b := budget(t, last, 10, 1)
	estates, err = b.Inherit(ctx)
	require.NoError(t, err)
	require.Len(t, estates, 1)
	assert.Equal(t, "first", estates[0].Launcher, "who spent it, not who inherited it")
	require.NoError(t, b.SettleEstate(ctx, estates[0], 0))
	reserve(t, b, 10)
}

func TestTrancheWithALostAnswer(t *testing.T) {
	w := newTable(t)
	a, other := w.join("a", impatient), w.join("b")
	b := budget(t, a, 10, 4)
	w.fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: mlflowtest.LoseAnswer})
	_, err := b.Reserve(ctx, 1)
	require.Error(t, err)
	refuse(t, budget(t, other, 10, 1), 7)
	beat(t, a) // nobody asked again: given back
	reserve(t, budget(t, other, 10, 1), 10)
	refuse(t, b, 0.1)
}

// TestReturnWithALostAnswer: what was given back is not spent, and what was not given back is not free.
func TestReturnWithALostAnswer(t *testing.T) {
	for name, fault := range map[string]mlflowtest.Act{"lost": mlflowtest.LoseAnswer, "dropped": mlflowtest.Drop} {
		t.Run(name, func(t *testing.T) {
			w := newTable(t)
			m := w.join("a", impatient)
			a, b := budget(t, m, 10, 8), budget(t, w.join("b"), 10, 1)
			settle(t, reserve(t, a, 1), 1)
			w.fake.Inject(mlflowtest.Fault{Route: "set-tag", Times: 1, Do: fault})
			require.Error(t, a.Return(ctx))
			taken := 9.0
			if name == "dropped" {
				refuse(t, b, 9)
				taken = 2
			}
			reserve(t, b, taken)
			refuse(t, a, 1)
			beat(t, m)
			reserve(t, b, 9-taken)
			refuse(t, a, 0.1)
		})
	}
}

func TestCeilingAcrossLaunchers(t *testing.T) {
	w := newTable(t)
	const ceiling = 5.0
	var all sync.WaitGroup
	var mu sync.Mutex
	reserved, refused := 0.0, 0
	for i := range 8 {
		b := budget(t, w.join(name(i)), ceiling, 0.2)
		all.Go(func() {
			for range 40 {
				r, err := b.Reserve(ctx, 0.03)
				var c *claim.Ceiling
				if errors.As(err, &c) {
					mu.Lock()
					refused++
					mu.Unlock()
					break
				}
				if !assert.NoError(t, err) {
					break
				}
				mu.Lock()
				reserved += 0.03
				mu.Unlock()
				assert.NoError(t, r.Settle(nil))
			}
			assert.NoError(t, b.Return(ctx))
		})
	}
	all.Wait()
	assert.LessOrEqual(t, reserved, ceiling+1e-9)
	assert.Positive(t, refused)
	b := budget(t, w.join("last"), ceiling, 0.2)
	left := ceiling - reserved
	refuse(t, b, left+0.01)
	if left > 1e-6 {
		reserve(t, b, left-1e-6)
	}
}

func TestAmounts(t *testing.T) {
	m := newTable(t).join("a")
	for _, usd := range []float64{-1, math.NaN(), math.Inf(1), 1e10} {
		_, err := m.Budget(batchRun, usd, 1)
		require.Error(t, err, "%v", usd)
		_, err = budget(t, m, 1, 1).Reserve(ctx, usd)
		require.Error(t, err, "%v", usd)
		r := reserve(t, budget(t, m, 1, 0.001), 0)
		require.Error(t, r.Settle(&usd), "%v", usd)
	}
}

// TestSpentWithoutReservations: what a batch has paid before it had a ceiling counts once,
// whoever says so.
func TestSpentWithoutReservations(t *testing.T) {
	w := newTable(t)
	a, b := budget(t, w.join("a"), 10, 1), budget(t, w.join("b"), 10, 1)
	require.NoError(t, a.Include(ctx, 6))
	require.NoError(t, b.Include(ctx, 6))
	running := reserve(t, a, 2)
	require.NoError(t, b.Include(ctx, 7), "less than what is reserved beside it")
	c := refuse(t, b, 2.5)
	assert.InDelta(t, 8, c.SpentUSD, 1e-9)
	assert.InDelta(t, 2, c.HeldUSD, 1e-9)
	settle(t, running, 1)
	require.NoError(t, a.Return(ctx))
	reserve(t, b, 3)
	refuse(t, b, 0.1)
	require.Error(t, a.Include(ctx, -1))

	w = newTable(t)
	m := w.join("a")
	a, b = budget(t, m, 10, 1), budget(t, w.join("b"), 10, 1)
	require.NoError(t, a.Include(ctx, 6))
	reserve(t, a, 2)
	require.NoError(t, m.Leave(ctx))
	estates, err := b.Inherit(ctx)
	require.NoError(t, err)
	require.Len(t, estates, 1)
	assert.Zero(t, estates[0].SettledUSD, "others have paid that")
	assert.InDelta(t, 2, estates[0].USD, 1e-9)
}
