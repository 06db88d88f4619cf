package mlflow_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// The server links none of more than 100 traces, and says nothing: a request never holds more, and all spans of a trace.
func TestSpansGoInRequestsThatTheServerTakes(t *testing.T) {
	var perRequest []map[string]int
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "7", r.Header.Get("x-mlflow-experiment-id"))
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var in struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []struct{ TraceID string } }
			}
		}
		assert.NoError(t, json.Unmarshal(body, &in))
		n := map[string]int{}
		for _, span := range in.ResourceSpans[0].ScopeSpans[0].Spans {
			n[span.TraceID]++
		}
		perRequest = append(perRequest, n)
	}))
	defer s.Close()
	var spans []mlflow.Span
	for i := range 250 {
		text := "x"
		if i >= 240 {
			text = strings.Repeat("x", 1<<20)
		}
		for j := range 3 {
			spans = append(spans, mlflow.Span{TraceID: fmt.Sprintf("tr-%032x", i), ID: fmt.Sprintf("%08x%08x", i, j), Name: "s", Attributes: []mlflow.SpanAttribute{mlflow.TextAttribute("k", text)}})
		}
	}
	require.NoError(t, mlflowtest.Client(t, s.URL).SendSpans(t.Context(), "7", spans))
	require.Equal(t, 3+9, len(perRequest))
	assert.Equal(t, 100, len(perRequest[0]))
	assert.Equal(t, 100, len(perRequest[1]))
	assert.Equal(t, 41, len(perRequest[2]), "the first large one still fits")
	for _, n := range perRequest {
		for id, spans := range n {
			assert.Equal(t, 3, spans, id)
		}
	}
}

func TestTraceWithoutAnAnswerIsSentAgain(t *testing.T) {
	f := mlflowtest.NewFake(t)
	c := mlflowtest.Client(t, f.URL)
	experiment := mlflowtest.Experiment(t, c)
	f.Inject(mlflowtest.Fault{Route: "3.0/mlflow/traces", Times: 1, Do: mlflowtest.LoseAnswer})
	trace := mlflow.Trace{ID: "tr-" + strings.Repeat("a", 32), ExperimentID: experiment, Time: time.Unix(0, 0), State: mlflow.TraceOK, Metadata: map[string]string{"mlflow.sourceRun": "r"}}
	require.NoError(t, c.StartTrace(t.Context(), trace))
	assert.Equal(t, 2, c.Calls()["traces/start"])
	found, err := c.SearchTraces(t.Context(), experiment, "r")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

func TestTracesThatWouldBeCutOrLostAreRefused(t *testing.T) {
	c := mlflowtest.Client(t, "http://127.0.0.1:1")
	good := func() mlflow.Trace { return mlflow.Trace{ID: "tr-" + strings.Repeat("a", 32), ExperimentID: "1"} }
	for name, spoil := range map[string]func(*mlflow.Trace){
		"id":         func(t *mlflow.Trace) { t.ID = "abc" },
		"experiment": func(t *mlflow.Trace) { t.ExperimentID = "" },
		"preview":    func(t *mlflow.Trace) { t.ResponsePreview = strings.Repeat("é", 1001) },
		"tag":        func(t *mlflow.Trace) { t.Tags = map[string]string{"k": strings.Repeat("x", 8001)} },
		"source":     func(t *mlflow.Trace) { t.Assessments = []mlflow.Assessment{{Name: "score"}} },
		"assessment id": func(t *mlflow.Trace) {
			a := mlflow.Assessment{ID: "a", Name: "score", SourceType: "CODE", SourceID: "x"}
			t.Assessments = []mlflow.Assessment{a, a}
		},
	} {
		t.Run(name, func(t *testing.T) {
			trace := good()
			spoil(&trace)
			require.ErrorIs(t, c.StartTrace(t.Context(), trace), mlflow.ErrInvalid)
		})
	}
}
