package mlflowtest

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

func conformServer(t *testing.T, s *suite) {
	info, err := s.client.ServerInfo(context.Background())
	require.NoError(t, err)
	assert.Equal(t, string(s.version), info.Version)
	resp, err := http.Get(s.url + "/api/3.0/mlflow/server-info")
	require.NoError(t, err)
	_ = resp.Body.Close()
	assert.Equal(t, expect[int](t, s.version, "server-info: status"), resp.StatusCode)

	status := func(name, value string) int {
		req, err := http.NewRequest(http.MethodGet, s.url+"/api/2.0/mlflow/experiments/get?experiment_id=0", nil)
		require.NoError(t, err)
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	assert.Equal(t, expect[int](t, s.version, "foreign Host header: status"), status("Host", "mlflow.example.org"))
	assert.Equal(t, expect[int](t, s.version, "workspace header: status"), status("X-MLFLOW-WORKSPACE", "team"))
}

func conformExperiments(t *testing.T, s *suite) {
	ctx := context.Background()
	name := t.Name() + " " + newID()
	_, err := s.client.GetExperimentByName(ctx, name)
	require.ErrorIs(t, err, mlflow.ErrNotFound)
	_, err = s.client.GetExperiment(ctx, "4711")
	require.ErrorIs(t, err, mlflow.ErrNotFound)

	made, err := s.client.EnsureExperiment(ctx, name, []mlflow.Tag{{Key: "kind", Value: "lock"}})
	require.NoError(t, err)
	again, err := s.client.EnsureExperiment(ctx, name, []mlflow.Tag{{Key: "kind", Value: "other"}})
	require.NoError(t, err)
	assert.Equal(t, made.ID, again.ID)
	assert.Equal(t, "lock", again.Tag("kind"))
	assert.NotEqual(t, "0", made.ID)
	_, err = s.client.CreateExperiment(ctx, name, nil)
	require.ErrorIs(t, err, mlflow.ErrAlreadyExists)

	require.NoError(t, s.client.SetExperimentTag(ctx, made.ID, "kind", "changed"))
	byID, err := s.client.GetExperiment(ctx, made.ID)
	require.NoError(t, err)
	assert.Equal(t, "changed", byID.Tag("kind"))
	assert.Equal(t, mlflow.StageActive, byID.LifecycleStage)

	found, err := s.client.SearchExperiments(ctx, "name = '"+name+"'")
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, made.ID, found[0].ID)

	run := s.runIn(t, made.ID, 1_700_000_000_000)
	s.post(t, 200, "experiments/delete", map[string]any{"experiment_id": made.ID})
	deleted, err := s.client.GetExperimentByName(ctx, name)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StageDeleted, deleted.LifecycleStage)
	assert.Equal(t, "changed", deleted.Tag("kind"), "tags stay readable")
	_, err = s.client.EnsureExperiment(ctx, name, nil)
	require.ErrorIs(t, err, mlflow.ErrDeleted)
	require.ErrorContains(t, err, made.ID)
	_, err = s.client.CreateExperiment(ctx, name, nil)
	require.ErrorIs(t, err, mlflow.ErrAlreadyExists, "the name stays taken")
	assert.Equal(t, mlflow.StageDeleted, s.get(t, run.RunID).Info.LifecycleStage)
	_, err = s.client.CreateRun(ctx, mlflow.CreateRun{ExperimentID: made.ID, Name: "r", StartTime: 1})
	require.ErrorIs(t, err, mlflow.ErrDeleted)
	s.post(t, 200, "experiments/restore", map[string]any{"experiment_id": made.ID})
	assert.Equal(t, mlflow.StageActive, s.get(t, run.RunID).Info.LifecycleStage)
}

func conformRuns(t *testing.T, s *suite) {
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	info, err := s.client.CreateRun(ctx, mlflow.CreateRun{
		ExperimentID: experiment, Name: "a name", StartTime: 1_700_000_000_001,
		Tags: []mlflow.Tag{{Key: "bench.cell", Value: "0123456789abcdef"}, {Key: "empty", Value: ""}},
	})
	require.NoError(t, err)
	assert.Regexp(t, "^[0-9a-f]{32}$", info.RunID)
	run := s.get(t, info.RunID)
	assert.Equal(t, info, run.Info)
	assert.Equal(t, mlflow.RunInfo{
		RunID: info.RunID, RunName: "a name", ExperimentID: experiment, Status: mlflow.StatusRunning, StartTime: 1_700_000_000_001,
		ArtifactURI: "mlflow-artifacts:/" + experiment + "/" + info.RunID + "/artifacts", LifecycleStage: mlflow.StageActive,
	}, run.Info)
	assert.Equal(t, "0123456789abcdef", run.Tag("bench.cell"))
	assert.Equal(t, "a name", run.Tag("mlflow.runName"))
	assert.True(t, run.HasTag("empty"))

	require.NoError(t, s.client.SetTag(ctx, info.RunID, "bench.cell", "other"))
	assert.Equal(t, "other", s.get(t, info.RunID).Tag("bench.cell"))

	_, err = s.client.GetRun(ctx, "ffffffffffffffffffffffffffffffff")
	require.ErrorIs(t, err, mlflow.ErrNotFound)
	_, err = s.client.CreateRun(ctx, mlflow.CreateRun{ExperimentID: "4711", Name: "r", StartTime: 1})
	require.ErrorIs(t, err, mlflow.ErrNotFound)
	require.ErrorIs(t, s.client.SetTag(ctx, "ffffffffffffffffffffffffffffffff", "a", "b"), mlflow.ErrNotFound)
	answer := s.post(t, 400, "runs/set-tag", "this is no JSON")
	assert.Contains(t, answer["message"], "run_id")
}

func conformDeletedRuns(t *testing.T, s *suite) {
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	parent := s.runIn(t, experiment, 1000)
	child := s.runIn(t, experiment, 2000, mlflow.Tag{Key: "mlflow.parentRunId", Value: parent.RunID})
	s.post(t, 200, "runs/delete", map[string]any{"run_id": parent.RunID})

	assert.Equal(t, mlflow.StageDeleted, s.get(t, parent.RunID).Info.LifecycleStage)
	assert.Equal(t, mlflow.StageActive, s.get(t, child.RunID).Info.LifecycleStage, "children stay")
	for view, want := range map[mlflow.View][]string{
		"": {child.RunID}, mlflow.ViewDeleted: {parent.RunID}, mlflow.ViewAll: {parent.RunID, child.RunID},
	} {
		runs, err := s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, View: view})
		require.NoError(t, err)
		assert.Equal(t, want, ids(runs), "view %q", view)
	}
	_, err := s.client.UpdateRun(ctx, parent.RunID, mlflow.StatusFinished, 3000)
	require.ErrorIs(t, err, mlflow.ErrDeleted)
	require.ErrorIs(t, s.client.SetTag(ctx, parent.RunID, "a", "b"), mlflow.ErrDeleted)
	require.ErrorIs(t, s.client.LogBatch(ctx, parent.RunID, mlflow.Batch{Params: []mlflow.Param{{Key: "a", Value: "b"}}}), mlflow.ErrDeleted)
	require.NoError(t, s.client.PutArtifactBytes(ctx, parent, "late.txt", []byte("late")), "artifacts of a deleted run can still be written")

	s.post(t, 200, "runs/restore", map[string]any{"run_id": parent.RunID})
	require.NoError(t, s.client.SetTag(ctx, parent.RunID, "a", "b"))
}

func conformStatus(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	for _, status := range []mlflow.RunStatus{mlflow.StatusScheduled, mlflow.StatusFailed, mlflow.StatusKilled, mlflow.StatusRunning} {
		info, err := s.client.UpdateRun(ctx, run.RunID, status, 0)
		require.NoError(t, err)
		assert.Equal(t, status, info.Status)
		assert.Nil(t, info.EndTime)
	}
	info, err := s.client.UpdateRun(ctx, run.RunID, mlflow.StatusFinished, 1_700_000_000_009)
	require.NoError(t, err)
	require.NotNil(t, info.EndTime)
	assert.EqualValues(t, 1_700_000_000_009, *info.EndTime)
	require.NoError(t, s.client.SetTag(ctx, run.RunID, "after", "the end"), "a finished run can be written")
	assert.Equal(t, mlflow.StatusFinished, s.get(t, run.RunID).Info.Status)

	other := s.run(t)
	s.post(t, 200, "runs/update", `{"run_id":"`+other.RunID+`","status":"SUCCEEDED","end_time":1700000000009}`)
	got := s.get(t, other.RunID).Info
	assert.Equal(t, mlflow.StatusRunning, got.Status, "an unknown word is passed over")
	require.NotNil(t, got.EndTime, "and the time beside it is taken")
	s.post(t, 200, "runs/update", `{"run_id":"`+other.RunID+`","status":"FAILED","end_time":1700000000010.5}`)
	got = s.get(t, other.RunID).Info
	assert.Equal(t, mlflow.StatusFailed, got.Status)
	assert.EqualValues(t, 1_700_000_000_009, *got.EndTime, "half a millisecond is passed over")
	s.post(t, 200, "runs/update", `{"run_id":"`+other.RunID+`","status":"KILLED","no_such_field":1,"end_time":"1700000000011"}`)
	assert.EqualValues(t, 1_700_000_000_011, *s.get(t, other.RunID).Info.EndTime, "text and unknown fields are accepted")
}

func conformInputs(t *testing.T, s *suite) {
	ctx := context.Background()
	run := s.run(t)
	input := mlflow.DatasetInput{Name: "panel", Digest: "0123456789abcdef", SourceType: "code", Source: "{}", Schema: `{"mlflow_colspec":[]}`, Context: "eval"}
	require.NoError(t, s.client.LogInputs(ctx, run.RunID, []mlflow.DatasetInput{input}))
	require.NoError(t, s.client.LogInputs(ctx, run.RunID, []mlflow.DatasetInput{input}))
	assert.Equal(t, []mlflow.DatasetInput{input}, s.get(t, run.RunID).Inputs)
	s.post(t, 400, "runs/log-inputs", map[string]any{"run_id": run.RunID, "datasets": []any{map[string]any{
		"dataset": map[string]any{"name": "n", "digest": "0123456789012345678901234567890123456", "source_type": "code", "source": "{}"},
	}}})
}

func ids(runs []mlflow.Run) []string {
	var all []string
	for _, r := range runs {
		all = append(all, r.Info.RunID)
	}
	return all
}
