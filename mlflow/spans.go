package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	maxTracesPerRequest = 100     // of more the server links none, and says nothing
	maxSpanBytes        = 4 << 20 // of one request
)

// Span is one step of a trace.
type Span struct {
	TraceID    string // as Trace.ID
	ID         string // 16 hex digits; sent again, the span replaces itself
	Parent     string // id of the span that it is part of; "" = the root
	Name       string
	Start, End int64           // nanoseconds since the epoch
	Attributes []SpanAttribute // mlflow.spanType, mlflow.spanInputs, mlflow.spanOutputs …
	Failed     bool
	Ended      bool   // whether it is known how it ended
	Message    string // of a failure
}

// SpanAttribute is a value of a span as OTLP's JSON writes it: {"stringValue":"x"}.
type SpanAttribute struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// TextAttribute is an attribute that is text.
func TextAttribute(key, value string) SpanAttribute {
	b, _ := json.Marshal(map[string]string{"stringValue": value}) // text is always JSON
	return SpanAttribute{key, b}
}

// SendSpans stores spans of traces that were started, in as few requests as the server takes: all spans of a trace in one of
// them, at most 100 traces each. A server before 3.x is an error of kind ErrNotOffered.
func (c *Client) SendSpans(ctx context.Context, experimentID string, spans []Span) error {
	if err := checkID(spansExport.name, "the experiment's id", experimentID); err != nil {
		return err
	}
	for len(spans) > 0 {
		n, body, err := spanChunk(spans)
		if err != nil {
			return err
		}
		spans = spans[n:]
		req := request{route: spansExport, http: c.json, body: body, mediaType: "application/json", header: http.Header{"X-Mlflow-Experiment-Id": {experimentID}}}
		_, err = c.send(ctx, req, func(resp *http.Response) error {
			defer resp.Body.Close()
			b, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorAnswer))
			if err == nil && looksLikePage(resp, b) {
				return notJSON(spansExport, resp, b)
			}
			return err
		})
		if err := offered(err); err != nil {
			return err
		}
	}
	return nil
}

// spanChunk is the body of the next request, and how many of the spans are in it.
func spanChunk(spans []Span) (n int, body []byte, err error) {
	var b bytes.Buffer
	b.WriteString(`{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"benchbatch"},"spans":[`)
	traces := 0
	for n < len(spans) {
		whole := 1 // spans of one trace, which stand together
		for n+whole < len(spans) && spans[n+whole].TraceID == spans[n].TraceID {
			whole++
		}
		var one bytes.Buffer
		for i, s := range spans[n : n+whole] {
			encoded, err := encode(otlpOf(s))
			if err != nil {
				return 0, nil, invalid(spansExport.name, "span %s: %v", quote(s.Name), err)
			}
			if n+i > 0 {
				one.WriteByte(',')
			}
			one.Write(encoded)
		}
		if traces > 0 && (traces == maxTracesPerRequest || b.Len()+one.Len() > maxSpanBytes) {
			break
		}
		b.Write(one.Bytes())
		n += whole
		traces++
	}
	b.WriteString(`]}]}]}`)
	return n, b.Bytes(), nil
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Parent     string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []SpanAttribute `json:"attributes"`
	Status     otlpStatus      `json:"status"`
}

type otlpStatus struct {
	Code    int    `json:"code"` // 0 unknown, 1 well, 2 failed
	Message string `json:"message,omitempty"`
}

func otlpOf(s Span) otlpSpan {
	w := otlpSpan{TraceID: strings.TrimPrefix(s.TraceID, "tr-"), SpanID: s.ID, Parent: s.Parent, Name: s.Name, Start: strconv.FormatInt(s.Start, 10),
		End: strconv.FormatInt(s.End, 10), Attributes: s.Attributes}
	switch {
	case s.Failed:
		w.Status = otlpStatus{2, s.Message}
	case s.Ended:
		w.Status.Code = 1
	}
	return w
}
