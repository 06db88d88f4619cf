package traces

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// The tags of a trace.
const (
	TagAgent  = "benchbatch.agent"
	TagModel  = "benchbatch.model"
	TagRepeat = "benchbatch.repeat"
	TagState  = "benchbatch.state"
)

// The metadata of a trace: written once.
const (
	MetaTask       = "benchbatch.task"
	MetaBatch      = "benchbatch.batch"
	MetaEvaluation = "benchbatch.evaluation"
)

// The names of assessments that are no judge's.
const (
	NameScore    = "score"
	NamePassed   = "passed"
	NameExpected = "expected_answer"
)

const (
	maxRationale = 2000 // characters
	maxName      = 100
)

// Evaluation is what the traces of one evaluation have in common.
type Evaluation struct {
	RunID      string
	Experiment string
	Batch      string
	UUID       string
	Variant    batch.Variant
	Slot       int
	Started    time.Time
	Threshold  float64 // a score at least this high passes
	Reported   bool    // runner or judge say what passes
	Frame
}

// Frame is what the traces of a batch's evaluations have in common.
type Frame struct {
	Full   bool             `json:"full,omitzero"` // with what transcripts tell
	Scorer string           `json:"scorer"`        // what scores: runner, check or judge
	Judges map[string]Judge `json:"judges,omitempty"`
	Tasks  map[string]Task  `json:"tasks"`
}

// Judge is what the spec declares of a judge.
type Judge struct {
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
}

// Task is what a trace shows of a task.
type Task struct {
	Request  string `json:"request"`            // as previewed
	Expected string `json:"expected,omitempty"` // "" = not shown
}

// TasksOf is what traces show of a panel's tasks. The text of a request begins with the
// task's id, because MLflow joins the traces of two runs by it. It depends on the task
// alone, so it is the same bytes in every run.
func TasksOf(tasks []batch.Task, expected bool) map[string]Task {
	out := make(map[string]Task, len(tasks))
	for _, t := range tasks {
		shown := Task{Request: clip(t.ID+": "+Text(t.Input), mlflow.MaxPreview)}
		if expected && t.Expected != nil {
			shown.Expected = clip(Text(t.Expected), mlflow.MaxPreview)
		}
		out[t.ID] = shown
	}
	return out
}

// ID is the trace of a task in a run.
func ID(runID, task string) string { return "tr-" + digest(runID+"/"+task, 16) }

// AssessmentID is the assessment of that name on a trace, as benchbatch sends it.
func AssessmentID(traceID, name string) string { return "a-" + digest(traceID+"/"+name, 16) }

func digest(s string, bytes int) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:bytes])
}

// Of is the trace of an outcome. answer is what the agent answered, as far as it is known.
func (e Evaluation) Of(o outcome.Outcome, answer string) mlflow.Trace {
	id := ID(e.RunID, o.Task)
	t := mlflow.Trace{
		ID: id, ExperimentID: e.Experiment, ClientRequestID: e.RunID[:min(8, len(e.RunID))] + "/" + o.Task, Time: e.Started, State: state(o),
		RequestPreview: e.Tasks[o.Task].Request, ResponsePreview: clip(answer, mlflow.MaxPreview),
		Metadata: map[string]string{"mlflow.sourceRun": e.RunID, "mlflow.trace_schema.version": "3", MetaTask: o.Task, MetaBatch: e.Batch, MetaEvaluation: e.UUID},
		Tags: map[string]string{"mlflow.traceName": o.Task, TagAgent: e.Variant.Agent, TagModel: e.Variant.Model, TagRepeat: fmt.Sprint(e.Slot),
			TagState: string(o.State)},
	}
	if o.Error != nil {
		t.ResponsePreview = clip(string(o.Error.Class)+": "+o.Error.Message, mlflow.MaxPreview)
	}
	if d := o.DurationS; d != nil && *d < math.MaxInt32 {
		took := time.Duration(*d * float64(time.Second))
		t.Duration = &took
	}
	if usage := usageOf(o.Tokens); usage != "" {
		t.Metadata["mlflow.trace.tokenUsage"] = usage
	}
	if o.CostUSD != nil { // which part of it is input, nobody said
		t.Metadata["mlflow.trace.cost"] = object(map[string]any{"total_cost": *o.CostUSD})
	}
	t.Assessments = e.assessments(id, o)
	return t
}

// state is ERROR where the agent failed, and nothing where the task has no result.
func state(o outcome.Outcome) mlflow.TraceState {
	switch {
	case o.Score == nil:
		return mlflow.TraceUnspecified
	case o.State == outcome.Scored:
		return mlflow.TraceOK
	}
	return mlflow.TraceError
}

// usageOf is MLflow's token usage, whose input includes what came from or went into a
// cache; "" where input or output is unknown.
func usageOf(t *outcome.Tokens) string {
	if t == nil || t.Input == nil || t.Output == nil {
		return ""
	}
	input := *t.Input
	usage := map[string]any{"output_tokens": *t.Output}
	for _, kind := range []struct {
		name string
		n    *int64
	}{{"cache_read_input_tokens", t.CacheRead}, {"cache_creation_input_tokens", t.CacheWrite}} {
		if kind.n != nil {
			usage[kind.name] = *kind.n
			input += *kind.n
		}
	}
	usage["input_tokens"], usage["total_tokens"] = input, input+*t.Output
	return object(usage)
}

// object is a JSON object whose values are numbers or text.
func object(m map[string]any) string {
	b, _ := json.Marshal(m) // with its keys in order
	return string(b)
}

// Text is a JSON value as plain text: the value of a string, other JSON as it stands.
func Text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// clip is the first n characters of a text that MLflow stores as it is.
func clip(s string, n int) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
	if len(s) <= n {
		return s
	}
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
