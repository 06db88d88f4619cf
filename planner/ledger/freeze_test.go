package ledger

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

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

// Launchers that finish together may have read different feedback: what stands beside
// the result is what the one that won had read, and nothing of the others.
func TestFreezingOnceWithWhatWasRead(t *testing.T) {
	d := newDesk(t)
	p := d.begin("a")
	const launchers = 6
	parents, lines := make([]Parent, launchers), make([][]byte, launchers)
	var all sync.WaitGroup
	for i := range launchers {
		parents[i] = p
		said := make([]batch.Assessment, i) // the first one read nothing
		for n := range said {
			said[n] = batch.Assessment{RunID: "r", Name: fmt.Sprint("tone ", n), Kind: batch.KindFeedback}
		}
		f, body, err := batch.NewFeedback(time.Unix(int64(i), 0), 3, said)
		require.NoError(t, err)
		lines[i] = body
		result, err := json.Marshal(batch.Result{Schema: batch.ResultSchema, Tool: fmt.Sprint(i), Feedback: f})
		require.NoError(t, err)
		var beside []Document
		if i > 0 {
			beside = []Document{{Name: batch.FileFeedback, Body: body}}
		}
		all.Go(func() {
			_, err := d.FinishBatch(t.Context(), &parents[i], result, nil, beside...)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	stands, _, err := d.ReadResult(t.Context(), d.frozen(p))
	require.NoError(t, err)
	won := stands.Feedback.Rows
	require.Equal(t, fmt.Sprint(won), stands.Tool)
	for i := range parents {
		got, err := d.ReadFeedback(t.Context(), parents[i], stands.Feedback)
		require.NoError(t, err)
		assert.Equal(t, string(lines[won]), string(got))
	}
	final, err := d.ReadDocument(t.Context(), d.frozen(p), batch.FileFeedback, "")
	if won > 0 {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, mlflow.ErrNotFound)
	}
	assert.Equal(t, string(lines[won]), string(final))
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

// What the result names is there with it: nowhere before the claim under its own name, and restored where a launcher died.
func TestFeedbackIsFrozenWithTheResult(t *testing.T) {
	for _, route := range []string{"", "feedback-", "artifacts/" + batch.FileFeedback, batch.FileResult} {
		t.Run(route, func(t *testing.T) {
			d := newDesk(t)
			p := d.begin("a")
			f, lines, err := batch.NewFeedback(time.Unix(0, 0), 3, []batch.Assessment{{RunID: "r", Name: "tone", Kind: batch.KindFeedback}})
			require.NoError(t, err)
			result, err := json.Marshal(batch.Result{Schema: batch.ResultSchema, Feedback: f})
			require.NoError(t, err)
			finish := func() error {
				_, err := d.FinishBatch(t.Context(), &p, result, nil, Document{Name: batch.FileFeedback, Body: lines})
				return err
			}
			if route != "" {
				d.server.Inject(mlflowtest.Fault{Route: route, Do: mlflowtest.Fail(403, "PERMISSION_DENIED", "no")})
				require.Error(t, finish())
				d.server.Clear()
			}
			require.NoError(t, finish())
			now := d.frozen(p)
			read, _, err := d.ReadResult(t.Context(), now)
			require.NoError(t, err)
			got, err := d.ReadFeedback(t.Context(), now, read.Feedback)
			require.NoError(t, err)
			assert.Equal(t, string(lines), string(got), "there from the moment of the claim")
			require.NoError(t, d.EndBatch(t.Context(), &now))
			got, err = d.ReadDocument(t.Context(), now, batch.FileFeedback, f.Digest)
			require.NoError(t, err)
			assert.Equal(t, string(lines), string(got))
			assert.Equal(t, mlflow.StatusFinished, d.frozen(p).Info.Status)
		})
	}
	d := newDesk(t)
	none, err := d.ReadFeedback(t.Context(), Parent{}, nil)
	require.NoError(t, err)
	assert.Nil(t, none)
}
