package mlflowtest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// conformExperimentTags: a tag of 5,000 characters comes back whole, an empty one stays, and only some servers remove one.
func conformExperimentTags(t *testing.T, s *suite) {
	ctx := context.Background()
	id := Experiment(t, s.client)
	tags := func() map[string]string {
		e, err := s.client.GetExperiment(ctx, id)
		require.NoError(t, err)
		out := map[string]string{}
		for _, tag := range e.Tags {
			out[tag.Key] = tag.Value
		}
		return out
	}
	long := strings.Repeat("é", mlflow.MaxExperimentValue)
	require.NoError(t, s.client.SetExperimentTag(ctx, id, "mlflow.sharedViewState.a-view_1.2", long))
	require.NoError(t, s.client.SetExperimentTag(ctx, id, "other", ""))
	assert.Equal(t, long, tags()["mlflow.sharedViewState.a-view_1.2"])
	assert.Contains(t, tags(), "other", "an empty value is a value")

	want := expect[int](t, s.version, "delete-experiment-tag: status")
	s.post(t, want, "experiments/delete-experiment-tag", map[string]any{"experiment_id": id, "key": "other"})
	err := s.client.DeleteExperimentTag(ctx, id, "mlflow.sharedViewState.a-view_1.2")
	if want != http.StatusOK {
		require.ErrorIs(t, err, mlflow.ErrUnsupported)
		assert.Contains(t, tags(), "other")
		return
	}
	require.NoError(t, err)
	require.NoError(t, s.client.DeleteExperimentTag(ctx, id, "mlflow.sharedViewState.a-view_1.2"), "it is gone already")
	assert.NotContains(t, tags(), "mlflow.sharedViewState.a-view_1.2")
	assert.NotContains(t, tags(), "other")
	require.ErrorIs(t, s.client.DeleteExperimentTag(ctx, "4711", "other"), mlflow.ErrNotFound)
}
