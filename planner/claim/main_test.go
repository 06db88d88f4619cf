package claim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
)

func TestMain(m *testing.M) { mlflowtest.Main(m) }

var (
	ctx    = context.Background()
	recipe = batch.Sum([]byte("a recipe"))
	cell   = batch.Sum([]byte("a cell"))
)

// table is a server with an experiment at which launchers meet.
type table struct {
	t          testing.TB
	fake       *mlflowtest.Fake // nil for a real server
	url        string
	experiment string
}

func newTable(t testing.TB) *table {
	fake := mlflowtest.NewFake(t)
	w := &table{t: t, fake: fake, url: fake.URL}
	w.experiment = mlflowtest.Experiment(t, w.client())
	return w
}

// client is one launcher's own.
func (w *table) client(change ...func(*mlflow.Config)) *mlflow.Client {
	return mlflowtest.Client(w.t, w.url, change...)
}

// impatient is a client that tries once.
func impatient(cfg *mlflow.Config) { cfg.MaxRetries = new(int) }

func (w *table) open(c *mlflow.Client) *claim.Book {
	w.t.Helper()
	b, err := claim.OpenRecipe(ctx, c, w.experiment, recipe, "support-bench v1")
	require.NoError(w.t, err)
	return b
}

func (w *table) join(name string, change ...func(*mlflow.Config)) *claim.Member {
	w.t.Helper()
	m, err := w.open(w.client(change...)).Join(ctx, claim.Options{Launcher: name})
	require.NoError(w.t, err)
	return m
}

// run reads the elected ledger run.
func (w *table) run() mlflow.Run {
	w.t.Helper()
	c := w.client()
	r, err := c.GetRun(ctx, w.open(c).RunID())
	require.NoError(w.t, err)
	return r
}

func want(slot int) claim.Want { return claim.Want{Cell: cell, Slot: slot} }

// ask claims one repeat.
func ask(t testing.TB, m *claim.Member, w claim.Want) claim.Answer {
	t.Helper()
	answers, err := m.Claim(ctx, w)
	require.NoError(t, err)
	require.Len(t, answers, 1)
	return answers[0]
}

func win(t testing.TB, m *claim.Member, w claim.Want) *claim.Lease {
	t.Helper()
	a := ask(t, m, w)
	require.NotNil(t, a.Won, "%+v", a)
	require.Nil(t, a.Held)
	require.Empty(t, a.Done)
	return a.Won
}

func lose(t testing.TB, m *claim.Member, w claim.Want) claim.Holder {
	t.Helper()
	a := ask(t, m, w)
	require.NotNil(t, a.Held, "%+v", a)
	require.Nil(t, a.Won)
	return *a.Held
}

func beat(t testing.TB, members ...*claim.Member) {
	t.Helper()
	for _, m := range members {
		require.NoError(t, m.Beat(ctx))
	}
}

// silence lets the server's time pass in which only the given members send heartbeats.
func (w *table) silence(d time.Duration, alive ...*claim.Member) {
	w.t.Helper()
	const step = claim.DefaultTTL / 3
	for ; d > 0; d -= step {
		w.fake.Advance(step)
		beat(w.t, alive...)
	}
}

func name(i int) string { return fmt.Sprintf("host-%d/100/1", i) }

// stands says what is known of a lease without asking.
func stands(l *claim.Lease) error {
	select {
	case <-l.Lost():
		return claim.ErrLost
	default:
		return nil
	}
}
