package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
)

// export is a request of OTLP's JSON, as far as it is read.
type export struct {
	Resources []struct {
		Scopes []struct {
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type otlpSpan struct {
	ID         string                 `json:"spanId"`
	Parent     string                 `json:"parentSpanId"`
	Name       string                 `json:"name"`
	Start      json.RawMessage        `json:"startTimeUnixNano"`
	End        json.RawMessage        `json:"endTimeUnixNano"`
	Attributes []mlflow.SpanAttribute `json:"attributes"`
	Status     struct {
		Code    any    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
}

// isOTLP tells the two forms of a transcript apart.
func isOTLP(transcript []byte) bool {
	head := bytes.TrimSpace(transcript[:min(len(transcript), 4096)])
	name, _, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("{"))), []byte(":"))
	return bytes.HasPrefix(head, []byte("{")) && string(bytes.TrimSpace(name)) == `"resourceSpans"`
}

// foreign are a program's own spans, below the root: one request, or one a line.
func foreign(root mlflow.Span, transcript []byte) ([]mlflow.Span, error) {
	var all []otlpSpan
	dec := json.NewDecoder(bytes.NewReader(transcript))
	for dec.More() {
		var x export
		if err := dec.Decode(&x); err != nil {
			return nil, fmt.Errorf("not OTLP's JSON: %w", err)
		}
		for _, r := range x.Resources {
			for _, scope := range r.Scopes {
				all = append(all, scope.Spans...)
			}
		}
	}
	known := map[string]bool{}
	for _, s := range all {
		known[s.ID] = true
	}
	var spans []mlflow.Span
	seen := map[string]bool{}
	size := 0
	for i, s := range all {
		if len(spans) == maxSteps || size > maxTrace {
			return spans, fmt.Errorf("more than %d spans or %d bytes: the rest is in the bundle alone", maxSteps, maxTrace)
		}
		span, err := s.below(root, known)
		if err != nil {
			return spans, fmt.Errorf("span %d: %w", i+1, err)
		}
		if !seen[span.ID] {
			seen[span.ID] = true
			spans = append(spans, span)
			size += Size(spans[len(spans)-1:])
		}
	}
	return spans, nil
}

var spanIDPattern = regexp.MustCompile(`^[0-9a-fA-F]{16}$`)

func (s otlpSpan) below(root mlflow.Span, known map[string]bool) (mlflow.Span, error) {
	out := mlflow.Span{TraceID: root.TraceID, ID: digest(root.ID+"/"+s.ID, 8), Parent: root.ID, Name: clip(s.Name, maxName), Attributes: unpriced(s.Attributes)}
	if !spanIDPattern.MatchString(s.ID) {
		return out, fmt.Errorf("spanId %q: 16 hex digits are expected", clip(s.ID, 40))
	}
	if known[s.Parent] && s.Parent != s.ID {
		out.Parent = digest(root.ID+"/"+s.Parent, 8)
	}
	var err error
	if out.Start, err = nanos(s.Start); err != nil {
		return out, fmt.Errorf("startTimeUnixNano: %w", err)
	}
	if out.End, err = nanos(s.End); err != nil {
		return out, fmt.Errorf("endTimeUnixNano: %w", err)
	}
	switch fmt.Sprint(s.Status.Code) {
	case "1", "STATUS_CODE_OK":
		out.Ended = true
	case "2", "STATUS_CODE_ERROR":
		out.Failed, out.Message = true, clip(s.Status.Message, maxRationale)
	}
	return out, nil
}

func nanos(v json.RawMessage) (int64, error) {
	n, err := strconv.ParseInt(strings.Trim(string(v), `"`), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: nanoseconds since 1970 are expected", clip(string(v), 40))
	}
	return n, nil
}

const costAttribute = "mlflow.llm.cost"

// unpriced keeps the names of models from where MLflow looks for them, unless the program
// says what the span cost: from a name and tokens MLflow would calculate a cost of its own.
func unpriced(attributes []mlflow.SpanAttribute) []mlflow.SpanAttribute {
	var out []mlflow.SpanAttribute
	for _, a := range attributes {
		if a.Key == costAttribute {
			return attributes
		}
		if strings.Contains(strings.ToLower(a.Key), "model") {
			a.Key = "benchbatch." + a.Key
		}
		out = append(out, a)
	}
	return out
}
