package ledger

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// resultNo is a result.json that differs from the others.
func resultNo(i int) []byte { return fmt.Appendf(nil, `{"schema": 1, "tool": "launcher %d"}`, i) }

// frozen is the batch as MLflow shows it now.
func (d *desk) frozen(p Parent) Parent {
	d.t.Helper()
	now, err := d.Batch(d.t.Context(), p.Info.RunID)
	require.NoError(d.t, err)
	require.True(d.t, now.Frozen())
	return now
}

// Whoever finishes a batch, and however many at once: one result stands, and it is
// the one that all of them read.
func TestFreezingOnce(t *testing.T) {
	d := newDesk(t)
	p := d.begin("a")
	const launchers = 8
	parents, won, errs := make([]Parent, launchers), make([]bool, launchers), make([]error, launchers)
	var all sync.WaitGroup
	for i := range launchers {
		parents[i] = p
		all.Go(func() { won[i], errs[i] = d.FinishBatch(t.Context(), &parents[i], resultNo(i), nil) })
	}
	all.Wait()
	stands := d.frozen(p)
	winners := 0
	for i := range launchers {
		require.NoError(t, errs[i])
		assert.Equal(t, stands.Result, parents[i].Result)
		_, body, err := d.ReadResult(t.Context(), parents[i])
		require.NoError(t, err)
		assert.Equal(t, won[i], string(body) == string(resultNo(i)))
		if won[i] {
			winners++
		}
	}
	assert.Equal(t, 1, winners)
	assert.Equal(t, mlflow.StatusFinished, stands.Info.Status)

	// Whoever is late changes nothing at all.
	before, err := d.client.GetRun(t.Context(), p.Info.RunID)
	require.NoError(t, err)
	late, err := d.FinishBatch(t.Context(), &p, resultNo(99), []mlflow.Metric{{Key: "batch/planned", Value: 9, Timestamp: 1}})
	require.NoError(t, err)
	assert.False(t, late)
	after, err := d.client.GetRun(t.Context(), p.Info.RunID)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// A status that was set by hand, or a tag, does not open a frozen batch.
func TestFrozenStaysFrozen(t *testing.T) {
	d := newDesk(t)
	p := d.begin("a")
	_, err := d.FinishBatch(t.Context(), &p, resultNo(1), nil)
	require.NoError(t, err)
	for _, status := range []mlflow.RunStatus{mlflow.StatusRunning, mlflow.StatusFailed, mlflow.StatusKilled} {
		_, err := d.client.UpdateRun(t.Context(), p.Info.RunID, status, d.tick().UnixMilli())
		require.NoError(t, err)
		require.NoError(t, d.client.SetTag(t.Context(), p.Info.RunID, TagResult, ""))
		now := d.frozen(p)
		assert.Equal(t, batch.Sum(resultNo(1)), now.Result)
		won, err := d.FinishBatch(t.Context(), &now, resultNo(2), nil)
		require.NoError(t, err)
		assert.False(t, won)
		require.NoError(t, d.EndBatch(t.Context(), &now))
		assert.Equal(t, mlflow.StatusFinished, d.frozen(p).Info.Status)
		_, body, err := d.ReadResult(t.Context(), d.frozen(p))
		require.NoError(t, err)
		assert.Equal(t, string(resultNo(1)), string(body))
	}
}

// A launcher that dies while it freezes leaves a batch that is open, or one that
// can be read and completed.
func TestFreezeCutOff(t *testing.T) {
	for route, frozen := range map[string]bool{"result-": false, "log-batch": false, batch.FileResult: true, "runs/update": true} {
		t.Run(route, func(t *testing.T) {
			d := newDesk(t)
			p := d.begin("a")
			d.server.Inject(mlflowtest.Fault{Route: route, Do: mlflowtest.Fail(403, "PERMISSION_DENIED", "no")})
			_, err := d.FinishBatch(t.Context(), &p, resultNo(1), nil)
			require.Error(t, err)
			d.server.Clear()
			now, err := d.Batch(t.Context(), p.Info.RunID)
			require.NoError(t, err)
			require.Equal(t, frozen, now.Frozen())
			want := resultNo(2)
			if frozen {
				want = resultNo(1)
				_, body, err := d.ReadResult(t.Context(), now)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(body))
				require.NoError(t, d.EndBatch(t.Context(), &now))
			} else {
				won, err := d.FinishBatch(t.Context(), &now, want, nil)
				require.NoError(t, err)
				assert.True(t, won)
			}
			now = d.frozen(p)
			body, err := d.ReadDocument(t.Context(), now, batch.FileResult, now.Result)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(body))
			assert.Equal(t, mlflow.StatusFinished, now.Info.Status)
		})
	}
}
