package mlflow_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// TestNothingIsSentThatWouldBeCutOrSwallowed gives every limit a value just beyond it, and wants name, limit and length in the message.
func TestNothingIsSentThatWouldBeCutOrSwallowed(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	const id = "0123456789abcdef0123456789abcdef"
	long := func(n int) string { return strings.Repeat("é", n) }
	metric := func(key string, value float64, time int64) error {
		return c.LogBatch(ctx, id, mlflow.Batch{Metrics: []mlflow.Metric{{Key: key, Value: value, Timestamp: time}}})
	}
	param := func(p ...mlflow.Param) error { return c.LogBatch(ctx, id, mlflow.Batch{Params: p}) }
	tag := func(tags ...mlflow.Tag) error { return c.LogBatch(ctx, id, mlflow.Batch{Tags: tags}) }
	create := func(change func(*mlflow.CreateRun)) error {
		r := mlflow.CreateRun{ExperimentID: "1", Name: "r", StartTime: 1}
		change(&r)
		_, err := c.CreateRun(ctx, r)
		return err
	}
	update := func(status mlflow.RunStatus, end int64) error {
		_, err := c.UpdateRun(ctx, id, status, end)
		return err
	}
	input := func(change func(*mlflow.DatasetInput)) error {
		d := mlflow.DatasetInput{Name: "n", Digest: "d", SourceType: "code", Source: "{}"}
		change(&d)
		return c.LogInputs(ctx, id, []mlflow.DatasetInput{d})
	}
	experiment := func(name string, tags ...mlflow.Tag) error {
		_, err := c.CreateExperiment(ctx, name, tags)
		return err
	}
	get := func(id string) error { _, err := c.GetRun(ctx, id); return err }
	for i, test := range []struct {
		err      error
		contains string
	}{
		{metric("score", math.NaN(), 1), `metric "score" is NaN`},
		{metric("score", math.Inf(-1), 1), `metric "score" is -Inf`},
		{metric("score", 1, 0), `metric "score" has the time 0`},
		{metric("acc,none", 1, 1), `metric name "acc,none" holds ','`},
		{metric("50%", 1, 1), "'%'"},
		{metric("", 1, 1), "empty"},
		{metric("a/../b", 1, 1), "clean relative path"},
		{metric(long(251), 1, 1), "251 characters, at most 250"},
		{param(mlflow.Param{Key: "p", Value: long(6001)}), `parameter "p" has 6001 characters, at most 6000`},
		{param(mlflow.Param{Key: "p"}, mlflow.Param{Key: "p", Value: "2"}), `parameter "p" is given twice`},
		{param(mlflow.Param{Key: "p", Value: "\xff"}), "UTF-8"},
		{tag(mlflow.Tag{Key: "t", Value: long(8001)}), `tag "t" has 8001 characters, at most 8000`},
		{tag(mlflow.Tag{Key: "t", Value: "a\x00b"}), "NUL"},
		{tag(mlflow.Tag{Key: "t"}, mlflow.Tag{Key: "t"}), "twice"},
		{c.SetTag(ctx, id, "t", long(8001)), "8001"},
		{c.SetTag(ctx, "", "t", "v"), "run id is empty"},
		{c.SetTag(ctx, "a/b", "t", "v"), `"a/b" holds '/'`},
		{c.SetExperimentTag(ctx, "1", "t", long(5001)), "5001 characters, at most 5000"},
		{experiment(long(501)), "501 characters, at most 500"},
		{experiment(""), "empty"},
		{experiment("e", mlflow.Tag{Key: "t", Value: long(5001)}), "5001"},
		{create(func(r *mlflow.CreateRun) { r.Name = long(251) }), "251 characters, at most 250"},
		{create(func(r *mlflow.CreateRun) { r.Name = "" }), "would invent one"},
		{create(func(r *mlflow.CreateRun) { r.StartTime = 0 }), "1970"},
		{create(func(r *mlflow.CreateRun) { r.ExperimentID = "" }), "experiment's id is empty"},
		{create(func(r *mlflow.CreateRun) { r.Tags = []mlflow.Tag{{Key: "t", Value: long(8001)}} }), "8001"},
		{create(func(r *mlflow.CreateRun) { r.Tags = []mlflow.Tag{{Key: "mlflow.runName", Value: "other"}} }), "must agree"},
		{create(func(r *mlflow.CreateRun) { r.UniqueTag = "u" }), `unique tag "u" is not among`},
		{create(func(r *mlflow.CreateRun) { r.UniqueTag, r.Tags = "u", []mlflow.Tag{{Key: "u", Value: `'"`}} }), "can't be searched"},
		{update("SUCCEEDED", 1), `"SUCCEEDED" is none of`},
		{update("finished", 1), `"finished" is none of`},
		{update(mlflow.StatusFinished, -1), "end time -1"},
		{input(func(d *mlflow.DatasetInput) { d.Digest = strings.Repeat("0", 64) }), "digest has 64 characters, at most 36"},
		{input(func(d *mlflow.DatasetInput) { d.Name = long(501) }), "501"},
		{input(func(d *mlflow.DatasetInput) { d.Source = long(65_536) }), "65536"},
		{input(func(d *mlflow.DatasetInput) { d.Schema = long(1_048_576) }), "1048576"},
		{input(func(d *mlflow.DatasetInput) { d.Context = long(501) }), "501"},
		{input(func(d *mlflow.DatasetInput) { d.SourceType = "" }), "source type is empty"},
		{get("../../experiments/get"), "holds"},
	} {
		require.ErrorIs(t, test.err, mlflow.ErrInvalid, "%d", i)
		assert.ErrorContains(t, test.err, test.contains)
		assert.Less(t, len(test.err.Error()), 400, "the value itself is not repeated")
	}
	assert.Zero(t, fake.Requests(""), "nothing was sent")
}

func TestStatusThatDoesNotTake(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	run := mustRun(t, c, mlflowtest.Experiment(t, c))
	for _, change := range [][2]string{{`"FINISHED"`, `"RUNNING"`}, {"2000", "1999"}, {`"run_info"`, `"other"`}} {
		fake.Inject(mlflowtest.Fault{Route: "runs/update", Times: 1, Do: mlflowtest.Rewrite(func(body []byte) []byte {
			return []byte(strings.Replace(string(body), change[0], change[1], 1))
		})})
		_, err := c.UpdateRun(ctx, run.RunID, mlflow.StatusFinished, 2000)
		require.ErrorIs(t, err, mlflow.ErrNotStored, "%v", change)
		assert.ErrorContains(t, err, run.RunID)
	}
}

func TestParamTakenBySomeoneElse(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, fake.URL)
	run := mustRun(t, c, mlflowtest.Experiment(t, c))
	batch := func(value string) mlflow.Batch {
		return mlflow.Batch{Params: []mlflow.Param{{Key: "claim", Value: value}}}
	}
	// In the thick of a race a server refuses the value that it then holds: ours, or another.
	fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: mlflowtest.Afterwards(mlflowtest.Fail(400, "BAD_REQUEST", "UNIQUE constraint failed: params.key"))})
	require.NoError(t, c.LogBatch(ctx, run.RunID, batch("ours")), "the value that stands is ours")
	err := c.LogBatch(ctx, run.RunID, batch("theirs"))
	require.ErrorIs(t, err, mlflow.ErrParamTaken)
	var taken *mlflow.ParamTaken
	require.ErrorAs(t, err, &taken)
	assert.Equal(t, run.RunID, taken.RunID)
	assert.Equal(t, "claim", taken.Key)
	assert.Equal(t, "theirs", taken.Want)
	assert.Equal(t, "ours", taken.Have)
	assert.Equal(t, "ours", taken.Run.Param("claim"))

	fake.Inject(mlflowtest.Fault{Route: "log-batch", Do: mlflowtest.Fail(400, "BAD_REQUEST", "no reason given")})
	err = c.LogBatch(ctx, run.RunID, batch("ours"))
	require.ErrorContains(t, err, "no reason given")
	assert.NotErrorIs(t, err, mlflow.ErrParamTaken)
}
