package mlflowtest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

func newID() string { return uuid.NewString() }

func conformBatches(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	var b mlflow.Batch
	for i := range 2345 {
		b.Metrics = append(b.Metrics, mlflow.Metric{Key: fmt.Sprintf("m/%d", i), Value: float64(i) / 7, Timestamp: 1_700_000_000_000, Step: int64(i)})
	}
	for i := range 123 {
		b.Params = append(b.Params, mlflow.Param{Key: fmt.Sprintf("p%d", i), Value: strings.Repeat("x", i)})
		b.Tags = append(b.Tags, mlflow.Tag{Key: fmt.Sprintf("t%d", i), Value: fmt.Sprint(i)})
	}
	require.NoError(t, s.client.LogBatch(ctx, run.RunID, b))
	require.NoError(t, s.client.LogBatch(ctx, run.RunID, b), "the same batch again is absorbed")
	got := s.get(t, run.RunID)
	require.Len(t, got.Data.Metrics, len(b.Metrics))
	require.Len(t, got.Data.Params, len(b.Params))
	value, ok := got.Metric("m/2344")
	assert.True(t, ok)
	assert.Equal(t, float64(2344)/7, value, "doubles come back as they were")
	assert.Equal(t, strings.Repeat("x", 122), got.Param("p122"))
	assert.Equal(t, "122", got.Tag("t122"))

	var repeated []map[string]any
	for _, m := range b.Metrics[:101] {
		repeated = append(repeated, map[string]any{"key": m.Key, "value": m.Value, "timestamp": m.Timestamp, "step": m.Step})
	}
	s.post(t, 200, "runs/log-batch", map[string]any{"run_id": run.RunID, "metrics": repeated[:100]})
	s.post(t, expect[int](t, s.version, "101 equal metrics again: status"), "runs/log-batch", map[string]any{"run_id": run.RunID, "metrics": repeated})

	require.NoError(t, s.client.LogBatch(ctx, run.RunID, mlflow.Batch{Metrics: []mlflow.Metric{
		{Key: "latest", Value: 1, Timestamp: 50, Step: 2}, {Key: "latest", Value: 9, Timestamp: 99, Step: 1}}}))
	value, _ = s.metric(t, run.RunID, "latest")
	assert.Equal(t, 1.0, value, "the highest step is the latest point")

	many := func(n int, item func(i int) map[string]any) (all []map[string]any) {
		for i := range n {
			all = append(all, item(i))
		}
		return all
	}
	point := func(i int) map[string]any {
		return map[string]any{"key": fmt.Sprintf("over%d", i), "value": 1, "timestamp": 1, "step": 0}
	}
	pair := func(i int) map[string]any { return map[string]any{"key": fmt.Sprintf("over%d", i), "value": "1"} }
	s.post(t, 400, "runs/log-batch", map[string]any{"run_id": run.RunID, "metrics": many(1001, point)})
	s.post(t, 400, "runs/log-batch", map[string]any{"run_id": run.RunID, "params": many(101, pair)})
	s.post(t, 400, "runs/log-batch", map[string]any{"run_id": run.RunID, "tags": many(101, pair)})
	s.post(t, 400, "runs/log-batch", map[string]any{"run_id": run.RunID, "params": []any{pair(1), pair(1)}})
	_, ok = s.metric(t, run.RunID, "over0")
	assert.False(t, ok)
	assert.Empty(t, s.get(t, run.RunID).Param("over1"))
}

func (s *suite) metric(t *testing.T, runID, key string) (float64, bool) {
	t.Helper()
	return s.get(t, runID).Metric(key)
}

func conformParamRace(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	claim := func(key, token string) error {
		return s.client.LogBatch(ctx, run.RunID, mlflow.Batch{
			Params: []mlflow.Param{{Key: key, Value: token}, {Key: key + "/by/" + token, Value: "yes"}},
			Tags:   []mlflow.Tag{{Key: "won." + key, Value: token}},
		})
	}
	for race := range 5 {
		key := fmt.Sprintf("claim/%d", race)
		errs := make([]error, 16)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = claim(key, fmt.Sprintf("token-%d", i)) })
		}
		all.Wait()
		got := s.get(t, run.RunID)
		winners := 0
		for i, err := range errs {
			token := fmt.Sprintf("token-%d", i)
			if err == nil {
				winners++
				assert.Equal(t, token, got.Param(key))
				assert.Equal(t, token, got.Tag("won."+key))
				require.NoError(t, claim(key, token), "the same value again is accepted")
				continue
			}
			var taken *mlflow.ParamTaken
			require.ErrorAs(t, err, &taken)
			require.ErrorIs(t, err, mlflow.ErrParamTaken)
			assert.Equal(t, key, taken.Key)
			assert.Equal(t, token, taken.Want)
			assert.Equal(t, got.Param(key), taken.Have)
			assert.Empty(t, got.Param(key+"/by/"+token), "nothing of a refused batch is stored")
		}
		assert.Equal(t, 1, winners)
	}
}

func conformExperimentRace(t *testing.T, s *suite) {
	ctx := context.Background()
	for range 3 {
		name := t.Name() + " " + newID()
		created, ensured := make([]error, 12), make([]string, 12)
		var all sync.WaitGroup
		for i := range created {
			all.Go(func() {
				tags := []mlflow.Tag{{Key: "candidate", Value: fmt.Sprint(i)}}
				_, created[i] = s.client.CreateExperiment(ctx, name, tags)
				exp, err := s.client.EnsureExperiment(ctx, name, tags)
				if err == nil {
					ensured[i] = exp.ID + " " + exp.Tag("candidate")
				}
			})
		}
		all.Wait()
		winner := ""
		for i, err := range created {
			if err == nil {
				assert.Empty(t, winner, "two winners")
				winner = fmt.Sprint(i)
			} else {
				require.ErrorIs(t, err, mlflow.ErrAlreadyExists)
			}
		}
		for _, e := range ensured {
			assert.Equal(t, ensured[0], e, "all end on one experiment")
			assert.True(t, strings.HasSuffix(e, " "+winner), "whose tags are the winner's: %s", e)
		}
	}
}

func conformSwallowed(t *testing.T, s *suite) {
	run := s.run(t)
	s.post(t, 200, "runs/log-batch", `{"run_id":"`+run.RunID+`","params":[{"key":"before","value":"kept"}],"metrics":[{"key":"first","value":1,"timestamp":5,"step":0},`+
		`{"key":"bad","value":NaN,"timestamp":5,"step":0},{"key":"later","value":2,"timestamp":5,"step":0}],"tags":[{"key":"dropped","value":"x"}]}`)
	got := s.get(t, run.RunID)
	assert.Equal(t, "kept", got.Param("before"))
	value, ok := got.Metric("first")
	assert.True(t, ok)
	assert.Equal(t, 1.0, value)
	value, ok = got.Metric("bad")
	assert.True(t, ok, "a bare NaN is stored")
	assert.Zero(t, value, "as zero")
	_, ok = got.Metric("later")
	assert.False(t, ok, "and what follows is dropped")
	assert.False(t, got.HasTag("dropped"))

	s.post(t, 200, "runs/log-batch", `{"run_id":"`+run.RunID+`","metrics":[{"key":"nan","value":"NaN","timestamp":5,"step":0},`+
		`{"key":"inf","value":"Infinity","timestamp":5,"step":0},{"key":"neg","value":"-Infinity","timestamp":"5","step":"0"}]}`)
	got = s.get(t, run.RunID)
	value, _ = got.Metric("nan")
	assert.True(t, math.IsNaN(value))
	value, _ = got.Metric("inf")
	assert.Equal(t, math.MaxFloat64, value, "infinities become the largest number")
	value, _ = got.Metric("neg")
	assert.Equal(t, -math.MaxFloat64, value)
}

func conformCut(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	whole := strings.Repeat("é", mlflow.MaxTagValue)
	require.NoError(t, s.client.SetTag(ctx, run.RunID, "whole", whole))
	s.post(t, 200, "runs/set-tag", map[string]any{"run_id": run.RunID, "key": "long", "value": whole + "x"})
	s.post(t, 200, "runs/log-batch", map[string]any{"run_id": run.RunID,
		"tags":   []any{map[string]any{"key": "longer", "value": strings.Repeat("y", 10_000)}},
		"params": []any{map[string]any{"key": "param", "value": strings.Repeat("z", 6000)}},
	})
	got := s.get(t, run.RunID)
	assert.Equal(t, whole, got.Tag("whole"))
	assert.Equal(t, whole, got.Tag("long"), "cut without a word")
	assert.Equal(t, strings.Repeat("y", 8000), got.Tag("longer"))
	assert.Equal(t, strings.Repeat("z", 6000), got.Param("param"))
	require.ErrorIs(t, s.client.SetTag(ctx, run.RunID, "long", whole+"x"), mlflow.ErrInvalid)
}

func conformNames(t *testing.T, s *suite) {
	run := s.run(t)
	long := strings.Repeat("k", 250)
	for _, name := range []string{"a%b", "a@b", "a+b", "it's", "f(x)", "a//b", "/lead", "trail/", "..", "../x", "a/../b", ".", "", long + "k"} {
		status, _ := Post(t, s.url, "runs/log-batch", map[string]any{"run_id": run.RunID, "metrics": []any{map[string]any{"key": name, "value": 1, "timestamp": 1, "step": 0}}})
		assert.Equal(t, 400, status, "metric %q", name)
		err := s.client.LogBatch(context.Background(), run.RunID, mlflow.Batch{Metrics: []mlflow.Metric{{Key: name, Value: 1, Timestamp: 1}}})
		assert.ErrorIs(t, err, mlflow.ErrInvalid, "metric %q", name)
	}
	for _, name := range []string{"é", "judge/tone", "a b", "x:y", "a.b-c_d", "0", " ", long} {
		err := s.client.LogBatch(context.Background(), run.RunID, mlflow.Batch{
			Metrics: []mlflow.Metric{{Key: name, Value: 1, Timestamp: 1}}, Params: []mlflow.Param{{Key: name, Value: "v"}}, Tags: []mlflow.Tag{{Key: name, Value: "v"}}})
		require.NoError(t, err, "%q", name)
		got := s.get(t, run.RunID)
		_, ok := got.Metric(name)
		assert.True(t, ok, "metric %q", name)
		assert.Equal(t, "v", got.Param(name), "param %q", name)
		assert.Equal(t, "v", got.Tag(name), "tag %q", name)
	}
}
