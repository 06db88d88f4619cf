package executor

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// newTracingSite is a site on a server that can fail, whose client gives up soon.
func newTracingSite(t *testing.T) (*site, *mlflowtest.Fake) {
	f := mlflowtest.NewFake(t)
	s := &site{State: openState(t), t: t, client: mlflowtest.Client(t, f.URL, func(c *mlflow.Config) { c.Patience = time.Millisecond })}
	var err error
	s.l, err = ledger.Open(t.Context(), s.client, "bench")
	require.NoError(t, err)
	require.NoError(t, s.l.Create(t.Context()))
	return s, f
}

func (s *site) recover() Traces {
	s.t.Helper()
	r, err := Recover(s.t.Context(), s.l, s.State, nil, s.end)
	require.NoError(s.t, err)
	return r.Traces
}

func (s *site) traces(run string) []mlflow.Trace {
	s.t.Helper()
	found, err := s.client.SearchTraces(s.t.Context(), s.l.ExperimentID(), run)
	require.NoError(s.t, err)
	return found
}

func TestTracesThatWereLeftAreSentOnce(t *testing.T) {
	s, f := newTracingSite(t)
	run, other := s.run(), s.run()
	leaveTraces(t, s.State, s.l.ExperimentID(), run, "one", 3)
	leaveTraces(t, s.State, s.l.ExperimentID(), other, "two", 3)
	leaveTraces(t, s.State, "4711", strings.Repeat("c", 32), "elsewhere", 3)
	f.Inject(mlflowtest.Fault{Route: "3.0/mlflow/traces", Skip: 2, Do: mlflowtest.Drop})
	got := s.recover()
	assert.Equal(t, []int{0, 3, 0}, []int{got.Sent, got.Left, got.Dropped})
	assert.NotEmpty(t, got.Why)
	f.Clear()
	kept, _, err := LookAt(s.dir)
	require.NoError(t, err)
	assert.Empty(t, kept, "MLflow has what was measured")

	assert.Equal(t, Traces{Sent: 6, Left: 1}, s.recover(), "one is another experiment's")
	assert.Equal(t, Traces{Left: 1}, s.recover())
	for _, run := range []string{run, other} {
		found := s.traces(run)
		require.Len(t, found, 3)
		for _, tr := range found {
			assert.Len(t, tr.Assessments, 4, "score, passed, tone, expected_answer")
			assert.Equal(t, "the answer to "+tr.Metadata["benchbatch.task"], tr.ResponsePreview)
		}
	}
}

func TestTracesThatCannotBeSentBlockNothing(t *testing.T) {
	s, f := newTracingSite(t)
	leaveTraces(t, s.State, s.l.ExperimentID(), s.run(), "refused", 2)
	damaged := leaveTraces(t, s.State, s.l.ExperimentID(), s.run(), "damaged", 2)
	require.NoError(t, os.WriteFile(filepath.Join(s.of(damaged), batch.FileOutcomes), []byte("x"), 0o600))
	f.Inject(mlflowtest.Fault{Route: "3.0/mlflow/traces", Do: mlflowtest.Fail(400, "INVALID_PARAMETER_VALUE", "no")})
	got := s.recover()
	assert.Equal(t, []int{0, 0, 2}, []int{got.Sent, got.Left, got.Dropped})
	assert.Equal(t, Traces{}, s.recover())
}

// transcribed makes an evaluation's traces full, with a transcript for each task.
func (s *site) transcribed(e entry, tasks int, transcript string) {
	s.t.Helper()
	dir := s.of(e)
	edit := func(name string, change func(string) string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(s.t, err)
		out := []byte(change(string(b)))
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), out, 0o600))
		return out
	}
	edit(frameFile, func(b string) string { return strings.Replace(b, "{", `{"full":true,`, 1) })
	was, err := os.ReadFile(filepath.Join(dir, batch.FileOutcomes))
	require.NoError(s.t, err)
	outcomes := edit(batch.FileOutcomes, func(b string) string {
		for i := range tasks {
			b = strings.Replace(b, fmt.Sprintf(`"output":"out/T-%04d.txt"`, i), fmt.Sprintf(`"transcript":"t/T-%04d.jsonl"`, i), 1)
		}
		return b
	})
	var bundle bytes.Buffer
	z, err := zstd.NewWriter(&bundle)
	require.NoError(s.t, err)
	w := tar.NewWriter(z)
	for i := range tasks {
		require.NoError(s.t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("t/T-%04d.jsonl", i), Size: int64(len(transcript)), Mode: 0o644}))
		_, err := w.Write([]byte(transcript))
		require.NoError(s.t, err)
	}
	require.NoError(s.t, w.Close())
	require.NoError(s.t, z.Close())
	old, err := os.ReadFile(filepath.Join(dir, batch.FileBundle))
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, batch.FileBundle), bundle.Bytes(), 0o600))
	edit("measured.json", func(b string) string {
		return strings.NewReplacer(string(batch.Sum(was)), string(batch.Sum(outcomes)), string(batch.Sum(old)), string(batch.Sum(bundle.Bytes()))).Replace(b)
	})
}

func TestStepsOfManyEvaluationsShareARequest(t *testing.T) {
	s, f := newTracingSite(t)
	var runs []string
	for i := range 8 {
		runs = append(runs, s.run())
		e := leaveTraces(t, s.State, s.l.ExperimentID(), runs[i], fmt.Sprint("e", i), 5)
		s.transcribed(e, 5, "{\"role\":\"user\",\"content\":\"q\"}\n{\"role\":\"assistant\",\"content\":\"a\"}\nnonsense\n")
	}
	got := s.recover()
	assert.Equal(t, []int{40, 0, 0, 40}, []int{got.Sent, got.Left, got.Dropped, got.Cut})
	assert.Contains(t, got.Why, "T-0000: transcript line 3")
	assert.Equal(t, 1, f.Requests("/v1/traces"))
	assert.Equal(t, []string{s.traces(runs[7])[0].Metadata["benchbatch.task"], "assistant"}, mlflowtest.SpanNames(t, f.URL, s.traces(runs[7])[0].ID))
	assert.Equal(t, Traces{}, s.recover())

	// A request that is refused is sent again trace by trace; the scores stay.
	e := leaveTraces(t, s.State, s.l.ExperimentID(), s.run(), "e9", 3)
	s.transcribed(e, 3, "{\"role\":\"assistant\",\"content\":\"a\"}\n")
	f.Inject(mlflowtest.Fault{Route: "/v1/traces", Times: 2, Do: mlflowtest.Answer(422, `{"detail":"Failed to log OpenTelemetry spans"}`)})
	got = s.recover()
	assert.Equal(t, []int{3, 0, 0, 1}, []int{got.Sent, got.Left, got.Dropped, got.Cut})
}

func TestExpectedAnswersAreNotShownToAgentsThatReadTheServer(t *testing.T) {
	s := &spec.Spec{Traces: spec.TracesScores, Tasks: []batch.Task{{ID: "T-1", Input: []byte(`"q"`), Expected: []byte(`"secret"`)}}}
	frame, err := frameOf(s)
	require.NoError(t, err)
	assert.Contains(t, string(frame), "secret")
	s.Runner.MLflow = true
	frame, err = frameOf(s)
	require.NoError(t, err)
	assert.NotContains(t, string(frame), "secret")
	s.Traces = spec.TracesNone
	frame, err = frameOf(s)
	require.NoError(t, err)
	assert.Nil(t, frame)
}
