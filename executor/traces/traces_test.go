package traces

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

func p[T any](v T) *T { return &v }

func evaluationOf(tasks ...batch.Task) Evaluation {
	return Evaluation{RunID: strings.Repeat("ab", 16), Experiment: "7", Batch: "parent", UUID: "u", Variant: batch.Variant{Agent: "direct", Model: "small"}, Slot: 2,
		Started: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Threshold: 0.7,
		Frame: Frame{Scorer: "judge", Judges: map[string]Judge{"tone": {"model", "judge-70b"}, "hand": {Kind: "human"}}, Tasks: TasksOf(tasks, true)}}
}

func byName(t *testing.T, tr mlflow.Trace) map[string]mlflow.Assessment {
	t.Helper()
	out := map[string]mlflow.Assessment{}
	for _, a := range tr.Assessments {
		assert.NotContains(t, out, a.Name)
		assert.Equal(t, AssessmentID(tr.ID, a.Name), a.ID)
		assert.Equal(t, strings.Repeat("ab", 16), a.Metadata["mlflow.assessment.sourceRunId"])
		out[a.Name] = a
	}
	return out
}

func TestScoredOutcome(t *testing.T) {
	e := evaluationOf(batch.Task{ID: "T-1", Input: json.RawMessage(`"Is it \"on\"?"`), Expected: json.RawMessage(`{"is":true}`)})
	tr := e.Of(outcome.Outcome{Task: "T-1", State: outcome.Scored, Score: p(0.82), CostUSD: p(0.0123), DurationS: p(41.8),
		Tokens: &outcome.Tokens{Input: p[int64](900), CacheRead: p[int64](300), Output: p[int64](450)},
		Judges: []outcome.Vote{{Name: "tone", Score: p(4.0), Scale: &[2]float64{1, 5}, Samples: []float64{4, 4, 5}, CostUSD: p(0.002), Rationale: "kind"},
			{Name: "score", Score: p(1.0)}, {Name: "hand", Error: "nobody there"}},
	}, "It is.\n")
	assert.Regexp(t, `^tr-[0-9a-f]{32}$`, tr.ID)
	assert.Equal(t, ID(e.RunID, "T-1"), tr.ID)
	assert.Equal(t, []any{`T-1: Is it "on"?`, "It is.", mlflow.TraceOK, p(41800 * time.Millisecond), "abababab/T-1"},
		[]any{tr.RequestPreview, tr.ResponsePreview, tr.State, tr.Duration, tr.ClientRequestID})
	assert.Equal(t, map[string]string{"mlflow.sourceRun": e.RunID, "mlflow.trace_schema.version": "3", "benchbatch.task": "T-1", "benchbatch.batch": "parent",
		"benchbatch.evaluation": "u", "mlflow.trace.cost": `{"total_cost":0.0123}`,
		"mlflow.trace.tokenUsage": `{"cache_read_input_tokens":300,"input_tokens":1200,"output_tokens":450,"total_tokens":1650}`}, tr.Metadata)
	a := byName(t, tr)
	require.Len(t, a, 6)
	assert.Equal(t, []any{0.82, "CODE", "benchbatch/judge"}, []any{a["score"].Value, a["score"].SourceType, a["score"].SourceID})
	assert.Equal(t, []any{"yes", "passes with a score of at least 0.7"}, []any{a["passed"].Value, a["passed"].Rationale})
	assert.Equal(t, []any{0.75, "LLM_JUDGE", "judge-70b", "kind"}, []any{a["tone"].Value, a["tone"].SourceType, a["tone"].SourceID, a["tone"].Rationale})
	assert.Equal(t, "0.002", a["tone"].Metadata["mlflow.assessment.judgeCost"])
	assert.Equal(t, "4 of 1 to 5", a["tone"].Metadata["benchbatch.on_scale"])
	assert.Equal(t, []any{1.0, "CODE"}, []any{a["judge/score"].Value, a["judge/score"].SourceType}, "a judge may be called score")
	assert.Equal(t, []any{nil, "HUMAN", "nobody there"}, []any{a["hand"].Value, a["hand"].SourceType, a["hand"].Error.Message})
	assert.Equal(t, `{"is":true}`, a["expected_answer"].Expectation)
	again := e.Of(outcome.Outcome{Task: "T-1", State: outcome.Scored, Score: p(0.5)}, "")
	assert.Equal(t, tr.ID, again.ID)
	assert.Equal(t, tr.Assessments[0].ID, again.Assessments[0].ID)
	for _, unknown := range []string{"mlflow.trace.cost", "mlflow.trace.tokenUsage"} {
		assert.NotContains(t, again.Metadata, unknown, "unknown is not made up")
	}
	assert.Nil(t, again.Duration)
}

func TestFailedOutcomes(t *testing.T) {
	e := evaluationOf(batch.Task{ID: "T-1", Input: json.RawMessage(`1`)})
	failed := func(class outcome.State, score *float64) (mlflow.Trace, map[string]mlflow.Assessment) {
		tr := e.Of(outcome.Outcome{Task: "T-1", State: class, Score: score, Error: &outcome.Failure{Class: class, Message: "why\x00"}}, "half an ans")
		return tr, byName(t, tr)
	}
	tr, a := failed(outcome.Agent, p(0.0))
	assert.Equal(t, []any{mlflow.TraceError, "agent: why"}, []any{tr.State, tr.ResponsePreview})
	assert.Equal(t, []any{0.0, "agent: why", "no"}, []any{a["score"].Value, a["score"].Rationale, a["passed"].Value})
	tr, _ = failed(outcome.Timeout, p(0.0))
	assert.Equal(t, mlflow.TraceError, tr.State)
	for _, class := range []outcome.State{outcome.Timeout, outcome.Provider, outcome.Harness, outcome.Judge, outcome.Budget} {
		tr, a := failed(class, nil)
		assert.Equal(t, mlflow.TraceUnspecified, tr.State, "not the agent's doing")
		assert.Nil(t, a["score"].Value)
		assert.Equal(t, &mlflow.AssessmentError{Code: strings.ToUpper(string(class)), Message: "why"}, a["score"].Error)
		assert.NotContains(t, a, "passed")
		assert.NotContains(t, a, "expected_answer", "there is none")
	}
}

func TestPreviewsFit(t *testing.T) {
	long := strings.Repeat("🙂", 3000)
	input, err := json.Marshal(long)
	require.NoError(t, err)
	tasks := []batch.Task{{ID: "T-1", Input: input, Expected: input}, {ID: "T-2", Input: input}}
	e := evaluationOf(tasks...)
	tr := e.Of(outcome.Outcome{Task: "T-1", State: outcome.Scored, Score: p(1.0)}, long+"\xff")
	for _, s := range []string{tr.RequestPreview, tr.ResponsePreview, e.Tasks["T-1"].Expected} {
		assert.Equal(t, 1000, utf8.RuneCountInString(s))
	}
	assert.NotEqual(t, e.Tasks["T-1"].Request, e.Tasks["T-2"].Request, "MLflow would take them for one task")
	assert.Empty(t, TasksOf(tasks, false)["T-1"].Expected)
}

const transcript = `{"role":"system","content":"Be brief."}
{"role":"user","content":"Is it on?"}
{"role":"assistant","content":"I look.","model":"gpt-4o-mini","tokens":{"input":90,"output":5},"start":"2026-11-30T01:02:04Z","duration_s":1.5}

{"tool":"look","input":{"at":"lamp"},"output":{"on":true},"duration_s":0.25}
{"tool":"look","error":"too dark"}
{"role":"assistant","content":[{"type":"text","text":"Yes."}]}
`

func attributes(s mlflow.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes {
		var v struct{ StringValue string }
		_ = json.Unmarshal(a.Value, &v)
		out[a.Key] = v.StringValue
	}
	return out
}

func TestSteps(t *testing.T) {
	e := evaluationOf(batch.Task{ID: "T-1", Input: json.RawMessage(`"Is it on?"`)})
	o := outcome.Outcome{Task: "T-1", State: outcome.Scored, Score: p(1.0), DurationS: p(2.0)}
	spans, err := e.Steps(o, []byte(transcript))
	require.NoError(t, err)
	require.Len(t, spans, 5)
	ids := map[string]bool{}
	for i, s := range spans {
		assert.Equal(t, ID(e.RunID, "T-1"), s.TraceID)
		assert.Regexp(t, `^[0-9a-f]{16}$`, s.ID)
		assert.False(t, ids[s.ID])
		ids[s.ID] = true
		if i > 0 {
			assert.Equal(t, spans[0].ID, s.Parent)
		}
		assert.NotContains(t, attributes(s), "mlflow.llm.model", "MLflow would make up a cost")
	}
	start := e.Started.UnixNano()
	assert.Equal(t, []any{"T-1", "", start, start + 2e9, "AGENT", true}, []any{spans[0].Name, spans[0].Parent, spans[0].Start, spans[0].End, attributes(spans[0])["mlflow.spanType"], spans[0].Ended})
	first := attributes(spans[1])
	assert.JSONEq(t, `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Is it on?"}]}`, first["mlflow.spanInputs"])
	assert.JSONEq(t, `{"choices":[{"message":{"role":"assistant","content":"I look."}}]}`, first["mlflow.spanOutputs"])
	assert.JSONEq(t, `{"input_tokens":90,"output_tokens":5,"total_tokens":95}`, first["mlflow.chat.tokenUsage"])
	assert.Equal(t, "gpt-4o-mini", first["benchbatch.model"])
	assert.Equal(t, []int64{start + 1e9, start + 25e8}, []int64{spans[1].Start, spans[1].End})
	assert.Equal(t, []any{"look", "TOOL", `{"at":"lamp"}`, `{"on":true}`}, []any{spans[2].Name, attributes(spans[2])["mlflow.spanType"], attributes(spans[2])["mlflow.spanInputs"], attributes(spans[2])["mlflow.spanOutputs"]})
	assert.Equal(t, []any{true, "too dark"}, []any{spans[3].Failed, spans[3].Message})
	assert.JSONEq(t, `{"messages":[]}`, attributes(spans[4])["mlflow.spanInputs"])
	again, err := e.Steps(o, []byte(transcript))
	require.NoError(t, err)
	assert.Equal(t, spans, again)
}

func TestBadTranscriptsAreShownUpToTheFault(t *testing.T) {
	e := evaluationOf()
	for text, want := range map[string]string{
		"{\"role\":\"user\"}\n{\"role\":\"assistant\"}\nnot json\n":               "line 3: not a message or tool call",
		"{\"role\":\"assistant\"}\n{\"content\":\"x\"}\n":                         `line 2: neither "tool" nor a "role"`,
		"{\"role\":\"assistant\"}\n{\"tool\":\"x\",\"duration_s\":-1}\n":          "line 2: duration_s",
		"{\"role\":\"assistant\"}\n" + strings.Repeat("{\"tool\":\"x\"}\n", 1000): "line 501: more than 500 steps",
	} {
		spans, err := e.Steps(outcome.Outcome{Task: "T-1", State: outcome.Scored, Score: p(1.0)}, []byte(text))
		require.ErrorContains(t, err, want)
		assert.GreaterOrEqual(t, len(spans), 2)
		assert.LessOrEqual(t, len(spans), 501)
	}
	spans, err := e.Steps(outcome.Outcome{Task: "T-1", State: outcome.Provider}, nil)
	require.NoError(t, err)
	assert.Equal(t, []any{1, false, false}, []any{len(spans), spans[0].Ended, spans[0].Failed})
}

func TestOTLP(t *testing.T) {
	e := evaluationOf()
	o := outcome.Outcome{Task: "T-1", State: outcome.Scored, Score: p(1.0)}
	text := ` {"resourceSpans":[{"scopeSpans":[{"spans":[
 {"traceId":"ff","spanId":"00000000000000a1","parentSpanId":"00000000000000ff","name":"turn","startTimeUnixNano":"10","endTimeUnixNano":20,"status":{"code":1}},
 {"traceId":"ff","spanId":"00000000000000a2","parentSpanId":"00000000000000a1","name":"chat","startTimeUnixNano":"11","endTimeUnixNano":"12","status":{"code":"STATUS_CODE_ERROR","message":"no"},
  "attributes":[{"key":"gen_ai.request.model","value":{"stringValue":"gpt-4o-mini"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"3"}}]},
 {"traceId":"ff","spanId":"00000000000000a3","name":"priced","startTimeUnixNano":"11","endTimeUnixNano":"12",
  "attributes":[{"key":"gen_ai.request.model","value":{"stringValue":"gpt-4o-mini"}},{"key":"mlflow.llm.cost","value":{"stringValue":"{}"}}]}]}]}]}
{"resourceSpans":[]}`
	spans, err := e.Steps(o, []byte(text))
	require.NoError(t, err)
	require.Len(t, spans, 4)
	assert.Equal(t, spans[0].ID, spans[1].Parent, "a parent that is not there is the root")
	assert.Equal(t, spans[1].ID, spans[2].Parent)
	assert.Equal(t, []any{int64(10), int64(20), true}, []any{spans[1].Start, spans[1].End, spans[1].Ended})
	assert.Equal(t, []any{true, "no"}, []any{spans[2].Failed, spans[2].Message})
	assert.Equal(t, "gpt-4o-mini", attributes(spans[2])["benchbatch.gen_ai.request.model"])
	assert.JSONEq(t, `{"intValue":"3"}`, string(spans[2].Attributes[1].Value))
	assert.Equal(t, "gpt-4o-mini", attributes(spans[3])["gen_ai.request.model"])
	for bad, want := range map[string]string{
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"x"}]}]}]}`:                                           "span 1: spanId",
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"00000000000000a1","startTimeUnixNano":"soon"}]}]}]}`: "span 1: startTimeUnixNano",
		`{"resourceSpans":3}`: "not OTLP's JSON",
	} {
		spans, err := e.Steps(o, []byte(bad))
		require.ErrorContains(t, err, want)
		assert.Len(t, spans, 1)
	}
}
