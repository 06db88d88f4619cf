package mlflow_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// attempt describes a run with a token of its own.
func attempt(experiment, token string) mlflow.CreateRun {
	return mlflow.CreateRun{ExperimentID: experiment, Name: "r", StartTime: 1000, Tags: []mlflow.Tag{{Key: "attempt", Value: token}}, UniqueTag: "attempt"}
}

func allRuns(t *testing.T, fake *mlflowtest.Fake, experiment string) []mlflow.Run {
	t.Helper()
	fake.Clear()
	runs, err := mlflowtest.Client(t, fake.URL).SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, View: mlflow.ViewAll})
	require.NoError(t, err)
	return runs
}

func TestCreateAfterLostAnswers(t *testing.T) {
	gateway := mlflowtest.Afterwards(mlflowtest.Answer(http.StatusGatewayTimeout, ""))
	for name, faults := range map[string][]mlflowtest.Fault{
		"stored, answer lost":              {{Route: "runs/create", Do: mlflowtest.LoseAnswer}},
		"stored, gateway gave up":          {{Route: "runs/create", Do: gateway}},
		"stored, cut answer":               {{Route: "runs/create", Do: mlflowtest.CutBody(30)}},
		"never arrived, twice":             {{Route: "runs/create", Times: 2, Do: mlflowtest.Drop}},
		"never arrived, then answer lost":  {{Route: "runs/create", Times: 1, Do: mlflowtest.Drop}, {Route: "runs/create", Do: mlflowtest.LoseAnswer}},
		"stored, lookup slow to come back": {{Route: "runs/create", Do: mlflowtest.LoseAnswer}, {Route: "runs/search", Times: 2, Do: mlflowtest.Answer(503, "")}},
	} {
		t.Run(name, func(t *testing.T) {
			fake := mlflowtest.NewFake(t)
			c := mlflowtest.Client(t, fake.URL)
			experiment := mlflowtest.Experiment(t, c)
			for _, f := range faults {
				fake.Inject(f)
			}
			info, err := c.CreateRun(ctx, attempt(experiment, "1"))
			require.NoError(t, err)
			runs := allRuns(t, fake, experiment)
			require.Len(t, runs, 1)
			assert.Equal(t, info, runs[0].Info)
		})
	}
}

func TestCreateWhoseFateIsUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		faults []mlflowtest.Fault
		unique string
	}{
		"no unique tag":        {[]mlflowtest.Fault{{Route: "runs/create", Do: mlflowtest.LoseAnswer}}, ""},
		"the lookup is denied": {[]mlflowtest.Fault{{Route: "runs/create", Do: mlflowtest.LoseAnswer}, {Route: "runs/search", Do: mlflowtest.Answer(403, "no")}}, "attempt"},
	} {
		fake := mlflowtest.NewFake(t)
		c := mlflowtest.Client(t, fake.URL)
		experiment := mlflowtest.Experiment(t, c)
		for _, f := range test.faults {
			fake.Inject(f)
		}
		r := attempt(experiment, "1")
		r.UniqueTag = test.unique
		_, err := c.CreateRun(ctx, r)
		require.ErrorIs(t, err, mlflow.ErrStateUnknown, name)
		assert.Equal(t, 1, c.Calls()["runs/create"], "%s: never blindly again", name)
		require.Len(t, allRuns(t, fake, experiment), 1)
	}
}

func TestCreateThatWasRefusedIsNotRepeated(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	experiment := mlflowtest.Experiment(t, c)
	fake.Inject(mlflowtest.Fault{Route: "runs/create", Do: mlflowtest.Fail(400, "INVALID_PARAMETER_VALUE", "no")})
	_, err := c.CreateRun(ctx, attempt(experiment, "1"))
	require.Error(t, err)
	assert.NotErrorIs(t, err, mlflow.ErrStateUnknown)
	assert.Equal(t, map[string]int{"experiments/create": 1, "runs/create": 1}, c.Calls())
}

func TestCreateThatNeverArrivesEnds(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	experiment := mlflowtest.Experiment(t, c)
	fake.Inject(mlflowtest.Fault{Route: "runs/create", Do: mlflowtest.Drop})
	_, err := c.CreateRun(ctx, attempt(experiment, "1"))
	require.ErrorIs(t, err, mlflow.ErrUnreachable)
	assert.LessOrEqual(t, c.Calls()["runs/create"], 5)
	assert.Empty(t, allRuns(t, fake, experiment))
}

// TestCreateThatCameTwice: the first request was stored only after the lookup had found nothing.
func TestCreateThatCameTwice(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	experiment := mlflowtest.Experiment(t, c)
	fake.Inject(mlflowtest.Fault{Route: "runs/create", Times: 1, Do: mlflowtest.LoseAnswer})
	fake.Inject(mlflowtest.Fault{Route: "runs/search", Times: 1, Do: mlflowtest.Answer(200, "{}")})
	info, err := c.CreateRun(ctx, attempt(experiment, "1"))
	require.NoError(t, err)
	runs := allRuns(t, fake, experiment)
	require.Len(t, runs, 2)
	assert.Equal(t, runs[0].Info.RunID, info.RunID, "everyone picks the first")
	assert.Equal(t, mlflow.StatusRunning, runs[0].Info.Status)
	assert.Equal(t, mlflow.StatusKilled, runs[1].Info.Status, "no orphan is left running")
}

func TestCreateWithoutTimeForAnotherTry(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL, func(cfg *mlflow.Config) { cfg.BackoffMin, cfg.BackoffMax = time.Hour, time.Hour })
	experiment := mlflowtest.Experiment(t, c)
	fake.Inject(mlflowtest.Fault{Route: "runs/create", Do: mlflowtest.Drop})
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err := c.CreateRun(limited, attempt(experiment, "1"))
	require.ErrorIs(t, err, mlflow.ErrDeadline)
	require.NoError(t, limited.Err(), "known at once")
}

func TestManyCreateOneExperiment(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	fake.Inject(mlflowtest.Fault{Route: "experiments/create", Times: 3, Do: mlflowtest.LoseAnswer})
	fake.Inject(mlflowtest.Fault{Route: "experiments/create", Times: 3, Do: mlflowtest.Drop})
	fake.Inject(mlflowtest.Fault{Route: "experiments/create", Times: 2, Do: mlflowtest.Fail(400, "BAD_REQUEST", "(IntegrityError) Duplicate entry")})
	ids := make([]string, 20)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			c := mlflowtest.Client(t, fake.URL, func(cfg *mlflow.Config) { cfg.BackoffMin, cfg.BackoffMax = 50*time.Millisecond, time.Second })
			exp, err := c.EnsureExperiment(ctx, "one", nil)
			if assert.NoError(t, err) {
				ids[i] = exp.ID
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		assert.Equal(t, ids[0], id)
		assert.NotEqual(t, "0", id)
	}
}

func TestEnsureThatNeverArrives(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	fake.Inject(mlflowtest.Fault{Route: "experiments/create", Times: 2, Do: mlflowtest.Drop})
	_, err := c.EnsureExperiment(ctx, "late", nil)
	require.NoError(t, err)
	fake.Inject(mlflowtest.Fault{Route: "experiments/create", Do: mlflowtest.Drop})
	_, err = c.EnsureExperiment(ctx, "never", nil)
	require.ErrorIs(t, err, mlflow.ErrUnreachable)
	fake.Clear()
	fake.Inject(mlflowtest.Fault{Route: "experiments/create", Do: mlflowtest.Fail(403, "PERMISSION_DENIED", "no")})
	before := c.Calls()["experiments/create"]
	_, err = c.EnsureExperiment(ctx, "denied", nil)
	require.ErrorIs(t, err, mlflow.ErrForbidden)
	assert.Equal(t, 1, c.Calls()["experiments/create"]-before)
}

func TestEvaluationInTenCalls(t *testing.T) {
	c := mlflowtest.Client(t, mlflowtest.NewFake(t).URL)
	experiment := mlflowtest.Experiment(t, c)
	before := total(c.Calls())
	run, err := c.CreateRun(ctx, attempt(experiment, "1"))
	require.NoError(t, err)
	require.NoError(t, c.LogInputs(ctx, run.RunID, []mlflow.DatasetInput{{Name: "n", Digest: "d", SourceType: "code", Source: "{}"}}))
	require.NoError(t, c.LogBatch(ctx, run.RunID, mlflow.Batch{Params: []mlflow.Param{{Key: "p", Value: "1"}}, Metrics: []mlflow.Metric{{Key: "m", Value: 1, Timestamp: 1}}, Tags: []mlflow.Tag{{Key: "t", Value: "1"}}}))
	want := map[string]int64{}
	for _, name := range []string{"outcomes.jsonl", "attempts.jsonl", "outcomes_table.json", "bundle.tar.zst"} {
		require.NoError(t, c.PutArtifactBytes(ctx, run, name, []byte(name)))
		want[name] = int64(len(name))
	}
	require.NoError(t, c.CheckArtifacts(ctx, run, want))
	require.NoError(t, c.SetTag(ctx, run.RunID, "state", "complete"))
	_, err = c.UpdateRun(ctx, run.RunID, mlflow.StatusFinished, 2000)
	require.NoError(t, err)
	assert.Equal(t, 10, total(c.Calls())-before)
}
