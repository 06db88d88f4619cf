package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Bounds on what is shown of one transcript. The whole of it is in the bundle.
const (
	maxSteps    = 500
	maxStepText = 20_000  // characters of one text
	maxLine     = 4 << 20 // bytes
	maxTrace    = 2 << 20 // bytes of all texts
)

// step is a line of a transcript: a message, or the call of a tool.
type step struct {
	Role      string          `json:"role"` // system, user, assistant or tool
	Content   json.RawMessage `json:"content"`
	Model     string          `json:"model"`
	Tokens    *outcome.Tokens `json:"tokens"`
	Tool      string          `json:"tool"` // name of the tool, in place of a role
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Error     string          `json:"error"`
	Start     *time.Time      `json:"start"`
	DurationS *float64        `json:"duration_s"`
}

// Steps are the spans of an outcome: a root, and below it what a transcript tells. It is a
// list of messages and tool calls, one JSON object a line, or spans in OTLP's JSON. With an
// error the spans are those before it.
func (e Evaluation) Steps(o outcome.Outcome, transcript []byte) ([]mlflow.Span, error) {
	root := e.root(o)
	if isOTLP(transcript) {
		spans, err := foreign(root, transcript)
		return append([]mlflow.Span{root}, spans...), err
	}
	spans := []mlflow.Span{root}
	var said []message
	n, size := 0, 0
	for raw := range bytes.Lines(transcript) {
		n++
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		var s step
		if err := decode(raw, &s); err != nil {
			return spans, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case len(spans) > maxSteps || size > maxTrace:
			return spans, fmt.Errorf("line %d: more than %d steps or %d bytes: the rest is in the bundle alone", n, maxSteps, maxTrace)
		case s.Tool != "":
			spans = append(spans, s.call(root, n))
		case s.Role == "assistant":
			spans = append(spans, s.answer(root, n, said))
			said = nil
		case s.Role == "system" || s.Role == "user" || s.Role == "tool":
			said = append(said, message{s.Role, shown(s.Content)})
		default:
			return spans, fmt.Errorf(`line %d: neither "tool" nor a "role" of system, user, assistant or tool`, n)
		}
		size += Size(spans[len(spans)-1:])
	}
	return spans, nil
}

func decode(raw []byte, s *step) error {
	if len(raw) > maxLine {
		return fmt.Errorf("longer than %d bytes", maxLine)
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return fmt.Errorf("not a message or tool call: %w", err)
	}
	if d := s.DurationS; d != nil && !(*d >= 0 && *d < 1e9) {
		return errors.New("duration_s: seconds, at least 0, are expected")
	}
	return nil
}

// root is the span of the whole task.
func (e Evaluation) root(o outcome.Outcome) mlflow.Span {
	start := e.Started.UnixNano()
	end := start
	if o.DurationS != nil && *o.DurationS < 1e9 {
		end += int64(*o.DurationS * 1e9)
	}
	s := mlflow.Span{TraceID: ID(e.RunID, o.Task), ID: digest(e.RunID+"/"+o.Task, 8), Name: o.Task, Start: start, End: end,
		Ended: o.State == outcome.Scored, Failed: state(o) == mlflow.TraceError,
		Attributes: []mlflow.SpanAttribute{mlflow.TextAttribute("mlflow.spanType", "AGENT"), mlflow.TextAttribute("mlflow.spanInputs", text(e.Tasks[o.Task].Request))}}
	if s.Failed && o.Error != nil {
		s.Message = clip(o.Error.Message, maxRationale)
	}
	return s
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// answer is a call of a model: what was said to it since its last answer, and this one.
// The model is named apart, because MLflow makes up a cost where it knows the name.
func (s step) answer(root mlflow.Span, n int, said []message) mlflow.Span {
	if said == nil {
		said = []message{}
	}
	span := s.span(root, n, "assistant", "CHAT_MODEL", text(map[string]any{"messages": said}),
		text(map[string]any{"choices": []any{map[string]any{"message": message{"assistant", shown(s.Content)}}}}))
	if usage := usageOf(s.Tokens); usage != "" {
		span.Attributes = append(span.Attributes, mlflow.TextAttribute("mlflow.chat.tokenUsage", usage))
	}
	if s.Model != "" {
		span.Attributes = append(span.Attributes, mlflow.TextAttribute(TagModel, clip(s.Model, maxName)))
	}
	return span
}

// call is a call of a tool.
func (s step) call(root mlflow.Span, n int) mlflow.Span {
	return s.span(root, n, clip(s.Tool, maxName), "TOOL", text(shown(s.Input)), text(shown(s.Output)))
}

// span is a step below the root. Without times it stands at the root's start and has no length.
func (s step) span(root mlflow.Span, n int, name, kind, in, out string) mlflow.Span {
	start := root.Start
	if s.Start != nil {
		start = s.Start.UnixNano()
	}
	end := start
	if s.DurationS != nil {
		end += int64(*s.DurationS * 1e9)
	}
	return mlflow.Span{TraceID: root.TraceID, ID: digest(fmt.Sprint(root.ID, "/", n), 8), Parent: root.ID, Name: name, Start: start, End: end,
		Ended: s.Error == "", Failed: s.Error != "", Message: clip(s.Error, maxRationale),
		Attributes: []mlflow.SpanAttribute{mlflow.TextAttribute("mlflow.spanType", kind), mlflow.TextAttribute("mlflow.spanInputs", in), mlflow.TextAttribute("mlflow.spanOutputs", out)}}
}

// shown is a JSON value of a transcript, a long one as its beginning.
func shown(v json.RawMessage) any {
	if len(v) == 0 {
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return clip(s, maxStepText)
	}
	if len(v) > maxStepText {
		return clip(string(v), maxStepText)
	}
	return v
}

// Size is about how many bytes spans have.
func Size(spans []mlflow.Span) int {
	n := 0
	for _, s := range spans {
		n += 300 + len(s.Name) + len(s.Message)
		for _, a := range s.Attributes {
			n += len(a.Key) + len(a.Value)
		}
	}
	return n
}

// text is a value of which every part is JSON, as text.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return string(bytes.TrimSpace(b.Bytes()))
}
