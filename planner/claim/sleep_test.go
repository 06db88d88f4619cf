package claim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestAfterSleep: the monotonic clock stood still while the machine slept, and the lease only seems to hold.
func TestAfterSleep(t *testing.T) {
	ctx := context.Background()
	fake := mlflowtest.NewFake(t)
	client := mlflowtest.Client(t, fake.URL)
	b, err := OpenRecipe(ctx, client, mlflowtest.Experiment(t, client), batch.Sum([]byte("a recipe")), "x v1")
	require.NoError(t, err)
	m, err := b.Join(ctx, Options{Launcher: "a"})
	require.NoError(t, err)
	sent := fake.Requests("set-tag")
	require.NoError(t, m.confirm(ctx))
	assert.Equal(t, sent, fake.Requests("set-tag"))
	m.awake = m.awake.Add(-time.Hour)
	require.NoError(t, m.confirm(ctx))
	assert.Equal(t, sent+1, fake.Requests("set-tag"))
	require.NoError(t, m.confirm(ctx))
	assert.Equal(t, sent+1, fake.Requests("set-tag"))
}
