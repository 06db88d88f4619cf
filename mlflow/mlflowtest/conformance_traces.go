package mlflowtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Assess adds an assessment to a trace as a person does in the UI.
func Assess(t testing.TB, address, traceID, name, who string, value any, rationale string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"assessment": map[string]any{
		"assessment_name": name, "source": map[string]any{"source_type": "HUMAN", "source_id": who}, "feedback": map[string]any{"value": value}, "rationale": rationale}})
	require.NoError(t, err)
	resp, err := http.Post(address+tracesPath+"/"+traceID+"/assessments", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// SpanNames are the names of a trace's spans, sorted.
func SpanNames(t testing.TB, address, traceID string) []string {
	t.Helper()
	resp, err := http.Get(address + tracesPath + "/get?trace_id=" + traceID)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var answer struct {
		Trace struct {
			Spans []struct {
				Name string `json:"name"`
			} `json:"spans"`
		} `json:"trace"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	names := []string{}
	for _, s := range answer.Trace.Spans {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

func newTrace(experiment, run string) mlflow.Trace {
	id, took := strings.ReplaceAll(uuid.NewString(), "-", ""), 41800*time.Millisecond
	return mlflow.Trace{
		ID: "tr-" + id, ExperimentID: experiment, ClientRequestID: "abc/T-1", Time: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Duration: &took,
		State: mlflow.TraceError, RequestPreview: "T-1: say \"é\" 🙂", ResponsePreview: strings.Repeat("é", mlflow.MaxPreview),
		Metadata: map[string]string{"mlflow.sourceRun": run, "mlflow.trace_schema.version": "3"}, Tags: map[string]string{"mlflow.traceName": "T-1", "own.tag": "1"},
		Assessments: []mlflow.Assessment{
			{ID: "a-" + id, Name: "score", SourceType: "CODE", SourceID: "runner", Value: 0.82, Rationale: "why", Metadata: map[string]string{"mlflow.assessment.sourceRunId": run}},
			{ID: "a-1" + id[1:] + "1", Name: "tone", SourceType: "LLM_JUDGE", SourceID: "m", Error: &mlflow.AssessmentError{Code: "JUDGE", Message: "no answer"}},
			{ID: "a-2" + id[1:] + "2", Name: "expected", SourceType: "HUMAN", SourceID: "panel", Expectation: "42"},
		},
	}
}

// conformTraces: a trace that is sent again replaces itself, what people added stays, and a run's traces are all found.
func conformTraces(t *testing.T, s *suite) {
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	run := s.runIn(t, experiment, 1_700_000_000_000).RunID
	trace := newTrace(experiment, run)
	err := s.client.StartTrace(ctx, trace)
	if !expect[bool](t, s.version, "traces: offered") {
		require.ErrorIs(t, err, mlflow.ErrNotOffered)
		_, err = s.client.SearchTraces(ctx, experiment, run)
		require.ErrorIs(t, err, mlflow.ErrNotOffered)
		require.ErrorIs(t, s.client.SendSpans(ctx, experiment, []mlflow.Span{{TraceID: trace.ID, ID: strings.Repeat("a", 16), Name: "s"}}), mlflow.ErrNotOffered)
		return
	}
	require.NoError(t, err)
	Assess(t, s.url, trace.ID, "right", "ann", true, "seen")
	trace.Assessments[0].Value, trace.State, trace.Tags = 0.5, mlflow.TraceOK, map[string]string{"own.tag": "2"}
	require.NoError(t, s.client.StartTrace(ctx, trace))
	found, err := s.client.SearchTraces(ctx, experiment, run)
	require.NoError(t, err)
	require.Len(t, found, 1)
	got := found[0]
	assert.Equal(t, []any{trace.ID, experiment, trace.Time, trace.Duration, mlflow.TraceOK, trace.RequestPreview, trace.ResponsePreview, "abc/T-1"},
		[]any{got.ID, got.ExperimentID, got.Time, got.Duration, got.State, got.RequestPreview, got.ResponsePreview, got.ClientRequestID})
	assert.Equal(t, []string{"T-1", "2"}, []string{got.Tags["mlflow.traceName"], got.Tags["own.tag"]}, "tags are merged")
	assert.Equal(t, run, got.Metadata["mlflow.sourceRun"])
	byName := map[string]mlflow.Assessment{}
	for _, a := range got.Assessments {
		byName[a.Name] = a
	}
	require.Len(t, got.Assessments, 4, "nothing is doubled, and nothing lost")
	assert.Equal(t, []any{0.5, "CODE", "runner", "why", run}, []any{byName["score"].Value, byName["score"].SourceType, byName["score"].SourceID,
		byName["score"].Rationale, byName["score"].Metadata["mlflow.assessment.sourceRunId"]})
	assert.Equal(t, []any{nil, trace.Assessments[1].Error}, []any{byName["tone"].Value, byName["tone"].Error})
	assert.Equal(t, "42", byName["expected"].Expectation)
	assert.Equal(t, []any{true, "HUMAN", "ann", "seen", false}, []any{byName["right"].Value, byName["right"].SourceType, byName["right"].SourceID, byName["right"].Rationale, byName["right"].Replaced})
	assert.WithinDuration(t, time.Now(), byName["right"].Created, time.Hour)

	other := newTrace(experiment, run)
	other.Assessments = trace.Assessments
	require.ErrorIs(t, s.client.StartTrace(ctx, other), mlflow.ErrNotFound, "an assessment's id is of one trace")
	other.ExperimentID = "4711"
	require.ErrorIs(t, s.client.StartTrace(ctx, other), mlflow.ErrNotFound)
	other.RequestPreview = strings.Repeat("x", mlflow.MaxPreview+1)
	require.ErrorIs(t, s.client.StartTrace(ctx, other), mlflow.ErrInvalid)
	none, err := s.client.SearchTraces(ctx, experiment, strings.Repeat("0", 32))
	require.NoError(t, err)
	assert.Empty(t, none)
}

// conformSpans: spans that are sent again replace themselves, and those of many traces go in one request.
func conformSpans(t *testing.T, s *suite) {
	if !expect[bool](t, s.version, "traces: offered") {
		return // as the traces themselves
	}
	ctx := context.Background()
	experiment := Experiment(t, s.client)
	run := s.runIn(t, experiment, 1_700_000_000_000).RunID
	var ids []string
	var spans []mlflow.Span
	for i := range 3 {
		trace := newTrace(experiment, run)
		trace.State = mlflow.TraceOK
		require.NoError(t, s.client.StartTrace(ctx, trace))
		ids = append(ids, trace.ID)
		root := fmt.Sprintf("%016x", 2*i+1)
		at := trace.Time.UnixNano()
		spans = append(spans,
			mlflow.Span{TraceID: trace.ID, ID: root, Name: "root", Start: at, End: at + 5, Ended: true, Attributes: []mlflow.SpanAttribute{mlflow.TextAttribute("mlflow.spanType", "AGENT")}},
			mlflow.Span{TraceID: trace.ID, ID: fmt.Sprintf("%016x", 2*i+2), Parent: root, Name: "tool \"é\"", Start: at, End: at + 1, Failed: true, Message: "no", Attributes: []mlflow.SpanAttribute{
				mlflow.TextAttribute("benchbatch.model", "gpt-4o-mini"), mlflow.TextAttribute("mlflow.chat.tokenUsage", `{"input_tokens":1000,"output_tokens":9,"total_tokens":1009}`)}})
	}
	before := s.client.Calls()["traces/spans"]
	for range 2 {
		require.NoError(t, s.client.SendSpans(ctx, experiment, spans))
	}
	assert.Equal(t, 2, s.client.Calls()["traces/spans"]-before)
	for _, id := range ids {
		assert.Equal(t, []string{"root", "tool \"é\""}, SpanNames(t, s.url, id))
	}
	found, err := s.client.SearchTraces(ctx, experiment, run)
	require.NoError(t, err)
	require.Len(t, found, 3)
	assert.Equal(t, "T-1: say \"é\" 🙂", found[0].RequestPreview, "what the trace was started with stays")
	for _, trace := range found {
		assert.NotContains(t, trace.Metadata, "mlflow.trace.cost", "the server calculates none where it does not find the model")
	}
	require.NoError(t, s.client.SendSpans(ctx, experiment, nil))
}
