package mlflowtest

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// conformLostAnswers repeats calls whose answers were lost after the server acted.
func conformLostAnswers(t *testing.T, s *suite) {
	ctx := context.Background()
	faults, address := NewProxy(t, s.url)
	client := Client(t, address)
	experiment := Experiment(t, s.client)
	create := func() mlflow.RunInfo {
		t.Helper()
		token := newID()
		info, err := client.CreateRun(ctx, mlflow.CreateRun{ExperimentID: experiment, Name: "r", StartTime: 1000, Tags: []mlflow.Tag{{Key: "attempt", Value: token}}, UniqueTag: "attempt"})
		require.NoError(t, err)
		runs, err := s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, Filter: must(t)(mlflow.TagEquals("attempt", token)), View: mlflow.ViewAll})
		require.NoError(t, err)
		assert.Equal(t, []string{info.RunID}, ids(runs), "one run, whatever happened")
		return info
	}
	create()
	for _, fault := range []Act{LoseAnswer, Drop, Afterwards(Fail(http.StatusGatewayTimeout, "", "")), Answer(http.StatusTooManyRequests, "")} {
		faults.Inject(Fault{Route: "runs/create", Times: 1, Do: fault})
		create()
	}
	run := create()
	batch := mlflow.Batch{Params: []mlflow.Param{{Key: "p", Value: "1"}}, Metrics: []mlflow.Metric{{Key: "m", Value: 0.25, Timestamp: 5}}, Tags: []mlflow.Tag{{Key: "t", Value: "1"}}}
	data := []byte("data")
	for _, fault := range []Act{LoseAnswer, Afterwards(Answer(http.StatusBadGateway, "")), Drop} {
		faults.Inject(Fault{Route: "runs/log-batch", Times: 1, Do: fault})
		require.NoError(t, client.LogBatch(ctx, run.RunID, batch))
		faults.Inject(Fault{Route: "log-inputs", Times: 1, Do: fault})
		require.NoError(t, client.LogInputs(ctx, run.RunID, []mlflow.DatasetInput{{Name: "n", Digest: "d", SourceType: "code", Source: "{}"}}))
		faults.Inject(Fault{Route: "set-tag", Times: 1, Do: fault})
		require.NoError(t, client.SetTag(ctx, run.RunID, "tag", "value"))
		faults.Inject(Fault{Route: "mlflow-artifacts/artifacts", Times: 1, Do: fault})
		require.NoError(t, client.PutArtifactBytes(ctx, run, "file.bin", data))
		faults.Inject(Fault{Route: "runs/update", Times: 1, Do: fault})
		_, err := client.UpdateRun(ctx, run.RunID, mlflow.StatusFinished, 2000)
		require.NoError(t, err)
	}
	got := s.get(t, run.RunID)
	assert.Equal(t, mlflow.StatusFinished, got.Info.Status)
	assert.Len(t, got.Data.Metrics, 1)
	assert.Len(t, got.Inputs, 1)
	require.NoError(t, s.client.CheckArtifacts(ctx, run, map[string]int64{"file.bin": 4}))

	faults.Inject(Fault{Route: "mlflow-artifacts/artifacts", Times: 1, Do: CutUpload})
	require.NoError(t, client.PutArtifactBytes(ctx, run, "file.bin", data))
	require.NoError(t, s.client.CheckArtifacts(ctx, run, map[string]int64{"file.bin": 4}))

	faults.Inject(Fault{Route: "file.bin", Times: 1, Do: CutBody(2)})
	read, err := client.ReadArtifact(ctx, run, "file.bin", 100)
	require.NoError(t, err)
	assert.Equal(t, data, read)
	faults.Inject(Fault{Route: "runs/get", Times: 1, Do: CutBody(40)})
	_, err = client.GetRun(ctx, run.RunID)
	require.NoError(t, err)

	name := "lost " + newID()
	faults.Inject(Fault{Route: "experiments/create", Times: 1, Do: LoseAnswer})
	exp, err := client.EnsureExperiment(ctx, name, []mlflow.Tag{{Key: "k", Value: "v"}})
	require.NoError(t, err)
	assert.Equal(t, "v", exp.Tag("k"))
}
