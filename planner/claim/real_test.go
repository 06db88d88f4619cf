package claim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/claim"
)

// TestPostgresKeepsWhatClaimsRestOn: the rest of the suite does not depend on the database.
func TestPostgresKeepsWhatClaimsRestOn(t *testing.T) {
	t.Parallel() // servers of several kinds start side by side
	mlflowtest.RunRaces(t, mlflowtest.RealOnPostgres(t), mlflowtest.Newest)
}

// TestOnRealServers goes through the life of claims, slots and tranches, with a launcher that falls silent.
func TestOnRealServers(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) string{
		"MLflow " + string(mlflowtest.Newest) + " on SQLite":     func(t *testing.T) string { return mlflowtest.Real(t, mlflowtest.Newest).URL },
		"MLflow " + string(mlflowtest.Newest) + " on PostgreSQL": func(t *testing.T) string { return mlflowtest.RealOnPostgres(t) },
		"MLflow " + string(mlflowtest.Oldest) + " on SQLite":     func(t *testing.T) string { return mlflowtest.Real(t, mlflowtest.Oldest).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &table{t: t, url: server(t)}
			w.experiment = mlflowtest.Experiment(t, w.client())
			elect(t, w, 8)
			life(t, w)
		})
	}
}

func life(t *testing.T, w *table) {
	silent, err := w.open(w.client()).Join(ctx, claim.Options{Launcher: "silent", TTL: claim.MinTTL})
	require.NoError(t, err)
	alive := w.join("alive")
	lost := win(t, silent, want(1))
	require.NoError(t, win(t, silent, want(2)).Done(ctx, "run"))
	money := budget(t, silent, 10, 4)
	reserve(t, money, 4)
	beat(t, alive)
	assert.Equal(t, "silent", lose(t, alive, want(1)).Launcher)
	assert.Equal(t, "run", ask(t, alive, want(2)).Done)
	assert.InDelta(t, 4, refuse(t, budget(t, alive, 10, 1), 7).HeldUSD, 1e-9)
	first := slot(t, alive, "q", 1)
	full(t, silent, "q", 1)
	require.NoError(t, first.Release(ctx, "no more work"))
	slot(t, silent, "q", 1)

	heir, err := w.open(w.client()).Join(ctx, claim.Options{Launcher: "heir", TTL: claim.MinTTL})
	require.NoError(t, err)
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	go heir.Keep(keeping, func(error) {}) // a busy machine is late at times
	var taken *claim.Lease
	for deadline := time.Now().Add(time.Minute); taken == nil && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		taken = ask(t, heir, want(1)).Won
	}
	require.NotNil(t, taken)
	assert.Equal(t, "silent", taken.Before.Launcher)
	_, err = heir.Slot(ctx, "q", 1)
	require.NoError(t, err)
	estates, err := budget(t, heir, 10, 1).Inherit(ctx)
	require.NoError(t, err)
	require.Len(t, estates, 1)
	require.ErrorIs(t, lost.Confirm(ctx), claim.ErrLost)
	require.NoError(t, taken.Done(ctx, "run-of-heir"))
	require.NoError(t, heir.Leave(ctx))
	beat(t, alive)
	assert.Equal(t, "run-of-heir", ask(t, alive, want(1)).Done)
}

// BenchmarkClaim measures a claim with its end where so many claims stand on the ledger run already.
func BenchmarkClaim(b *testing.B) {
	url := mlflowtest.Real(b, mlflowtest.Newest).URL
	for _, params := range []int{0, 1000, 2000} {
		w := &table{t: b, url: url}
		w.experiment = mlflowtest.Experiment(b, w.client())
		client := w.client()
		m, err := w.open(client).Join(ctx, claim.Options{Launcher: "a"})
		require.NoError(b, err)
		var fill mlflow.Batch
		for i := range params {
			fill.Params = append(fill.Params, mlflow.Param{Key: fmt.Sprintf("claim/0123456789abcdef/%d/1", i+1), Value: "0123456789abcdef 2026-11-30T12:00:00.000Z"})
			fill.Tags = append(fill.Tags, mlflow.Tag{Key: "end/" + fill.Params[i].Key, Value: "done 2026-11-30T12:00:00.000Z 0123456789abcdef0123456789abcdef"})
		}
		require.NoError(b, client.LogBatch(ctx, w.run().Info.RunID, fill))
		slot := 0
		next := func() claim.Want { slot++; return want(slot) }
		b.Run(fmt.Sprintf("%d params/claim", params), func(b *testing.B) {
			for b.Loop() {
				win(b, m, next())
			}
		})
		lease := win(b, m, next())
		b.Run(fmt.Sprintf("%d params/end", params), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, lease.Done(ctx, "run"))
			}
		})
		b.Run(fmt.Sprintf("%d params/heartbeat", params), func(b *testing.B) {
			for b.Loop() {
				beat(b, m)
			}
		})
	}
}
