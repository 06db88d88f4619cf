package mlflowtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// conformClock: every answer tells the server's time, refusals included.
func conformClock(t *testing.T, s *suite) {
	client := Client(t, s.url)
	_, told := client.ServerTime()
	assert.False(t, told, "nothing was asked yet")
	_, err := client.GetExperiment(context.Background(), "0")
	require.NoError(t, err)
	now, told := client.ServerTime()
	require.True(t, told, "the answer has no header Date")
	assert.WithinDuration(t, time.Now(), now, time.Minute, "the server runs on this machine")
	assert.Equal(t, time.UTC, now.Location())
	s.run(t)
	_, told = s.client.ServerTime()
	assert.True(t, told, "answers to POST tell it too")
}

// conformLock: what is created once stays taken and readable after it was deleted, whoever deletes it how often.
func conformLock(t *testing.T, s *suite) {
	ctx := context.Background()
	name := t.Name() + " " + newID()
	id, err := s.client.CreateExperiment(ctx, name, []mlflow.Tag{{Key: "holder", Value: "first"}})
	require.NoError(t, err)
	require.NoError(t, s.client.DeleteExperiment(ctx, id))
	_, err = s.client.CreateExperiment(ctx, name, []mlflow.Tag{{Key: "holder", Value: "second"}})
	require.ErrorIs(t, err, mlflow.ErrAlreadyExists)
	lock, err := s.client.GetExperimentByName(ctx, name)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StageDeleted, lock.LifecycleStage)
	assert.Equal(t, "first", lock.Tag("holder"))
	assert.Equal(t, id, lock.ID)
	found, err := s.client.SearchExperiments(ctx, "name = '"+name+"'")
	require.NoError(t, err)
	assert.Empty(t, found, "nothing of it is shown")
	require.ErrorIs(t, s.client.DeleteExperiment(ctx, "4711"), mlflow.ErrNotFound)
}

// conformBatchRace: batches that share one parameter with the next are stored whole or not at all, whoever comes first.
func conformBatchRace(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	const n = 12
	errs := make([]error, n)
	params := func(i int) (both []mlflow.Param) {
		for _, key := range []int{i, (i + 1) % n} {
			both = append(both, mlflow.Param{Key: fmt.Sprintf("claim/%d/1", key), Value: fmt.Sprint("launcher ", i)})
		}
		return both
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = s.client.LogBatch(ctx, run.RunID, mlflow.Batch{Params: params(i)}) })
	}
	all.Wait()
	got, won := s.get(t, run.RunID), 0
	for i, err := range errs {
		for _, p := range params(i) {
			assert.Equal(t, err == nil, got.Param(p.Key) == p.Value, "batch %d, %s: %v", i, p.Key, err)
		}
		if err == nil {
			won++
			continue
		}
		var taken *mlflow.ParamTaken
		require.ErrorAs(t, err, &taken)
		assert.Equal(t, taken.Have, taken.Run.Param(taken.Key), "the refusal brings the run as it stands")
	}
	assert.Positive(t, won)
}
