package mlflowtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

func conformPages(t *testing.T, s *suite) {
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	var made []mlflow.RunInfo
	for i := range 11 {
		made = append(made, s.runIn(t, experiment, int64(1000+i/4))) // many of the same millisecond
	}
	slices.SortFunc(made, func(a, b mlflow.RunInfo) int {
		if a.StartTime != b.StartTime {
			return int(a.StartTime - b.StartTime)
		}
		return strings.Compare(a.RunID, b.RunID)
	})
	var want []string
	for _, info := range made {
		want = append(want, info.RunID)
	}
	for _, size := range []int{1, 2, 5, 10, 11, 12, 50_000} {
		runs, err := s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, PageSize: size})
		require.NoError(t, err)
		assert.Equal(t, want, ids(runs), "pages of %d", size)
	}
	runs, err := s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, OrderBy: mlflow.NewestFirst, PageSize: 2, Limit: 3})
	require.NoError(t, err)
	require.Len(t, runs, 3)
	assert.EqualValues(t, 1002, runs[0].Info.StartTime)

	answer := s.post(t, 200, "runs/search", map[string]any{"experiment_ids": []string{experiment}, "max_results": 11})
	_, token := answer["next_page_token"]
	assert.Equal(t, expect[bool](t, s.version, "full last page: token"), token)
	answer = s.post(t, 200, "runs/search", map[string]any{"experiment_ids": []string{experiment}, "run_view_type": "deleted_only"})
	assert.Len(t, answer["runs"], 11, "an unknown view is passed over")
	s.post(t, 400, "runs/search", map[string]any{"experiment_ids": []string{experiment}, "max_results": 50_001})
	s.post(t, 400, "runs/search", map[string]any{"experiment_ids": []string{experiment}, "page_token": "made up"})
	answer = s.post(t, 200, "runs/search", map[string]any{"experiment_ids": []string{}})
	assert.Empty(t, answer["runs"], "no experiment, no runs")
}

func conformFilters(t *testing.T, s *suite) {
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	a := s.runIn(t, experiment, 1000, mlflow.Tag{Key: "bench.cell", Value: "aa"}, mlflow.Tag{Key: "only.a", Value: "1"})
	b := s.runIn(t, experiment, 2000, mlflow.Tag{Key: "bench.cell", Value: "ab"})
	require.NoError(t, s.client.LogBatch(ctx, a.RunID, mlflow.Batch{Params: []mlflow.Param{{Key: "agent", Value: "x"}}, Metrics: []mlflow.Metric{{Key: "score", Value: 0.5, Timestamp: 1}}}))
	_, err := s.client.UpdateRun(ctx, a.RunID, mlflow.StatusFinished, 1500)
	require.NoError(t, err)
	tag := func(key, value string) string { return must(t)(mlflow.TagEquals(key, value)) }
	for filter, want := range map[string][]string{
		tag("bench.cell", "aa"): {a.RunID},
		tag("bench.cell", "AA"): nil,
		tag("no.such", "aa"):    nil,
		mlflow.And(tag("bench.cell", "aa"), must(t)(mlflow.AttributeEquals("status", "FINISHED")), ""): {a.RunID},
		mlflow.And(tag("bench.cell", "ab"), must(t)(mlflow.AttributeEquals("status", "FINISHED"))):     nil,
		must(t)(mlflow.AttributeEquals("run_id", b.RunID)):                                             {b.RunID},
		"tags.`bench.cell` LIKE 'a%'":  {a.RunID, b.RunID},
		"tags.bench.cell = 'aa'":       {a.RunID},
		"tags.`only.a` != '2'":         {a.RunID},
		"attributes.start_time > 1000": {b.RunID},
		"metrics.score >= 0.5":         {a.RunID},
		fmt.Sprintf("attributes.run_id IN ('%s', '%s') AND attributes.start_time <= 1000", a.RunID, b.RunID): {a.RunID},
	} {
		runs, err := s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, Filter: filter})
		require.NoError(t, err, filter)
		assert.Equal(t, want, ids(runs), filter)
	}
	search := func(filter string) int {
		status, _ := Post(t, s.url, "runs/search", map[string]any{"experiment_ids": []string{experiment}, "filter": filter})
		return status
	}
	assert.Equal(t, 400, search("tags.`bench.cell` IN ('aa', 'ab')"))
	assert.Equal(t, 400, search("tags.`bench.cell` = 'aa' OR tags.`bench.cell` = 'ab'"))
	assert.Equal(t, 400, search("tags.`bench.cell` = aa"))
	assert.Equal(t, expect[int](t, s.version, "IS NULL: status"), search("tags.`only.a` IS NULL"))
	var many []string
	for i := range 70 {
		many = append(many, tag(fmt.Sprintf("t%d", i), "1"))
	}
	assert.Equal(t, 503, search(mlflow.And(many...)), "SQLite joins 64 tables at most")
	_, err = s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, Filter: mlflow.And(many...)})
	require.ErrorIs(t, err, mlflow.ErrInvalid)
	_, err = s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, Filter: "nonsense"})
	require.Error(t, err, "a refused filter is never an empty result")
}

func must(t *testing.T) func(string, error) string {
	return func(filter string, err error) string {
		t.Helper()
		require.NoError(t, err)
		return filter
	}
}

// awkwardValues are ids as people give them. Those that the filter language can't express are refused by the client.
var awkwardValues = []struct {
	value      string
	searchable bool
}{
	{"team's", true}, {`say "hi"`, true}, {`both ' and "`, false}, {"back`tick", true}, {"100%", true}, {"a_b", true}, {"axb", true},
	{"semi;colon", true}, {`back\slash`, true}, {"org/task name", true}, {"タスク-1", true}, {"", true}, {`ends in \`, false},
}

func conformAwkwardValues(t *testing.T, s *suite) {
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	byValue := map[string]string{}
	for i, v := range awkwardValues {
		byValue[v.value] = s.runIn(t, experiment, int64(1000+i), mlflow.Tag{Key: "bench.id", Value: v.value}).RunID
	}
	for _, v := range awkwardValues {
		assert.Equal(t, v.value, s.get(t, byValue[v.value]).Tag("bench.id"), "stored as it was sent")
		filter, err := mlflow.TagEquals("bench.id", v.value)
		if !v.searchable {
			assert.ErrorIs(t, err, mlflow.ErrInvalid, "%q", v.value)
			continue
		}
		require.NoError(t, err, "%q", v.value)
		runs, err := s.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{experiment}, Filter: filter})
		require.NoError(t, err, "%q", v.value)
		assert.Equal(t, []string{byValue[v.value]}, ids(runs), "%q", v.value)
	}
}
