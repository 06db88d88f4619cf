package views_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/mlflow/views"
)

var day = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func sample() views.View {
	return views.View{
		ID: "demo-score", Name: "by “score” & <cost>", Filter: "tags.`demo.kind` = 'it''s'", OrderBy: views.Metric("score"),
		Columns: []string{views.Param("agent"), views.Metric("score"), views.Tag("demo.state"), views.Attribute("Dataset")},
		GroupBy: []string{views.Param("agent"), views.Tag("demo.model")}, ChartTitle: "demo",
		Charts: []views.Chart{views.Bar("score"), views.Scatter("cost", "score"), views.Parallel([]string{"agent"}, []string{"cost", "score"})},
		Opens:  views.Charts,
	}
}

// TestValueIsReadByBothVersions: MLflow 3 unpacks the state, MLflow 2 takes the value itself; both must see the same.
func TestValueIsReadByBothVersions(t *testing.T) {
	value, err := sample().Value(day)
	require.NoError(t, err)
	var outer map[string]any
	require.NoError(t, json.Unmarshal([]byte(value), &outer))
	packed, ok := strings.CutPrefix(outer["state"].(string), "deflate;")
	require.True(t, ok)
	raw, err := base64.StdEncoding.DecodeString(packed)
	require.NoError(t, err)
	r, err := zlib.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	var inner map[string]any
	require.NoError(t, json.Unmarshal(plain, &inner))

	assert.Equal(t, "by “score” & <cost>", outer["name"])
	assert.EqualValues(t, day.UnixMilli(), outer["createdAt"])
	for _, key := range []string{"name", "createdAt", "updatedAt", "state"} {
		delete(outer, key)
	}
	assert.Equal(t, inner, outer)
	for _, needed := range []string{"runsPinned", "runsHidden", "runsExpanded", "datasetsFilter", "groupsExpanded"} {
		assert.NotNil(t, inner[needed], "%s: MLflow 2.22 breaks without", needed)
	}
	assert.Equal(t, "metrics.`score`", inner["orderByKey"])
	assert.Equal(t, []any{"params.`agent`", "metrics.`score`", "tags.`demo.state`", "attributes.`Dataset`"}, inner["selectedColumns"])
	assert.Equal(t, map[string]any{"aggregateFunction": "average", "groupByKeys": []any{
		map[string]any{"mode": "param", "groupByData": "agent"}, map[string]any{"mode": "tag", "groupByData": "demo.model"},
	}}, inner["groupBy"])
	charts := inner["compareRunCharts"].([]any)
	require.Len(t, charts, 3)
	assert.Equal(t, "BAR", charts[0].(map[string]any)["type"])
	assert.Equal(t, "cost", charts[1].(map[string]any)["xaxis"].(map[string]any)["key"])
	assert.Equal(t, []any{"cost", "score"}, charts[2].(map[string]any)["selectedMetrics"])
}

func TestViewsThatCannotBe(t *testing.T) {
	for name, v := range map[string]views.View{
		"no id": {}, "slash": {ID: "a/b"}, "grouped by a metric": {ID: "a", GroupBy: []string{views.Metric("score")}},
	} {
		_, err := v.Value(day)
		assert.Error(t, err, name)
	}
	v := sample()
	v.Filter = strings.Repeat("é", 4900)
	f := mlflowtest.NewFake(t)
	_, err := views.Set(context.Background(), mlflowtest.Client(t, f.URL), mlflow.Experiment{ID: "0"}, v, day)
	require.ErrorContains(t, err, "fewer columns")
}

func TestSetIsWrittenOnceAndRemoved(t *testing.T) {
	for _, version := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		t.Run(string(version), func(t *testing.T) {
			ctx := context.Background()
			c := mlflowtest.Client(t, mlflowtest.NewFakeOf(t, version).URL)
			id := mlflowtest.Experiment(t, c)
			require.NoError(t, c.SetExperimentTag(ctx, id, views.Prefix+"somebody-else", "{}"))
			now := func() mlflow.Experiment {
				e, err := c.GetExperiment(ctx, id)
				require.NoError(t, err)
				return e
			}
			wrote, err := views.Set(ctx, c, now(), sample(), day)
			require.NoError(t, err)
			assert.True(t, wrote)
			wrote, err = views.Set(ctx, c, now(), sample(), day.Add(time.Hour))
			require.NoError(t, err)
			assert.False(t, wrote, "it stands there already")
			changed := sample()
			changed.Name = "another"
			wrote, err = views.Set(ctx, c, now(), changed, day)
			require.NoError(t, err)
			assert.True(t, wrote)
			assert.Equal(t, []string{"demo-score"}, views.IDs(now(), "demo-"))

			removed, err := views.Remove(ctx, c, id, "demo-score")
			require.NoError(t, err)
			assert.Equal(t, version == mlflowtest.Newest, removed, "else it is emptied")
			assert.Empty(t, views.IDs(now(), "demo-"))
			assert.Equal(t, []string{"somebody-else"}, views.IDs(now(), ""))
		})
	}
}

func TestLinks(t *testing.T) {
	const prefixed = "https://example.org/ml"
	v := sample()
	for _, tt := range []struct {
		links views.Links
		want  [5]string
	}{
		{views.Links{Server: prefixed}, [5]string{
			"https://example.org/ml/#/experiments/7/runs?workflowType=machine_learning",
			"https://example.org/ml/#/experiments/7/runs/ab?workflowType=machine_learning",
			"https://example.org/ml/#/experiments/7/runs/ab/artifacts/charts/a.svg?workflowType=machine_learning",
			"https://example.org/ml/get-artifact?run_uuid=ab&path=charts/a.svg",
			"https://example.org/ml/#/experiments/7/runs?viewStateShareKey=demo-score&compareRunsMode=CHART&workflowType=machine_learning",
		}},
		{views.Links{}, [5]string{
			"#/experiments/7/runs?workflowType=machine_learning", "#/experiments/7/runs/ab", "#/experiments/7/runs/ab/artifacts/charts/a.svg",
			"get-artifact?run_uuid=ab&path=charts/a.svg",
			"#/experiments/7/runs?viewStateShareKey=demo-score&compareRunsMode=CHART&workflowType=machine_learning",
		}},
	} {
		l := tt.links
		assert.Equal(t, tt.want, [5]string{l.Experiment("7"), l.Run("7", "ab"), l.Artifact("7", "ab", "charts/a.svg"), l.File("ab", "charts/a.svg"), l.View("7", v)})
	}
}
