package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// traced makes the benchmark one whose runner leaves transcripts, and shows them.
func (s *shell) traced(mode string) {
	s.t.Helper()
	s.edit("benchmark.yaml", "budget:", "traces: "+mode+"\nbudget:")
	s.edit("lib/run.py", `        f.write(json.dumps(row) + "\n")`, `        row["transcript"] = task["id"] + ".jsonl"
        with open(os.path.join(out, row["transcript"]), "w") as t:
            for step in ({"role": "user", "content": task["input"]}, {"role": "assistant", "content": "I look", "model": "gpt-4o-mini", "tokens": {"input": 90, "output": 5}},
                         {"tool": "map", "input": {"of": 1}, "output": "tray", "duration_s": 0.002}, {"role": "assistant", "content": "tray"}):
                t.write(json.dumps(step) + "\n")
        f.write(json.dumps(row) + "\n")`)
}

// traces are those of every evaluation, by run id.
func (s *shell) traces() map[string][]mlflow.Trace {
	s.t.Helper()
	c := s.client()
	out := map[string][]mlflow.Trace{}
	evaluations, _ := s.history()
	for _, e := range evaluations {
		found, err := c.SearchTraces(s.t.Context(), e.Info.ExperimentID, e.Info.RunID)
		require.NoError(s.t, err)
		out[e.Info.RunID] = found
	}
	return out
}

// TestTracesOutliveTheirLauncher kills a launcher while the traces of logged evaluations wait: the next run sends them, each once.
func TestTracesOutliveTheirLauncher(t *testing.T) {
	t.Parallel()
	faults, address := mlflowtest.NewProxy(t, mlflowtest.Real(t, mlflowtest.Newest).URL)
	s := newShellAt(t, address)
	s.traced("full")
	panel, err := os.ReadFile(filepath.Join(filepath.Dir(s.spec), "panel.jsonl"))
	require.NoError(t, err)
	tasks := strings.Count(strings.TrimSpace(string(panel)), "\n") + 1
	p := s.plan()
	require.NotNil(t, p.Traces)
	assert.Equal(t, []any{"full", 8*tasks + 1 + 8}, []any{p.Traces.Mode, p.Traces.Calls})
	assert.Contains(t, s.ok("plan", s.spec).out, fmt.Sprintf("traces (full): about %d calls to MLflow", 8*tasks+1+8))

	// Of the first evaluation some traces arrive.
	killed := make(chan struct{})
	faults.Inject(mlflowtest.Fault{Route: "3.0/mlflow/traces", Skip: 5, Do: func(http.ResponseWriter, *http.Request, http.Handler) { <-killed }})
	c := s.child(nil, "run", s.spec, "--at-once", "1", "--yes")
	c.until("three evaluations are logged while traces wait", func() bool { return len(s.starts()) > 3 && faults.Requests("3.0/mlflow/traces") > 5 })
	c.kill()
	close(killed)
	waiting := len(s.state())
	assert.GreaterOrEqual(t, waiting, 3)
	st := s.run("status", s.name())
	assert.NotContains(t, st.out+st.stderr, "measured but not logged")
	faults.Clear()

	r := s.measure("--yes")
	assert.Equal(t, 8, r.Counts.Done)
	assert.Len(t, s.starts(), 8+1, "only the one that was killed ran twice")
	assert.Empty(t, s.state())
	previews := map[string]string{}
	counted := 0
	for run, found := range s.traces() {
		if len(found) == 0 { // the one that was cut short
			continue
		}
		counted++
		require.Len(t, found, tasks, run)
		for _, tr := range found {
			task := tr.Metadata["benchbatch.task"]
			if previews[task] == "" {
				previews[task] = tr.RequestPreview
			}
			assert.Equal(t, previews[task], tr.RequestPreview, "the UI compares runs by it")
			assert.Equal(t, "answer to "+task, tr.ResponsePreview)
			assert.Equal(t, map[string]int{"score": 1, "passed": 1, "expected_answer": 1}, names(tr.Assessments))
			assert.JSONEq(t, `{"input_tokens":100,"output_tokens":10,"total_tokens":110}`, tr.Metadata["mlflow.trace.tokenUsage"])
			assert.JSONEq(t, `{"total_cost":0.001}`, tr.Metadata["mlflow.trace.cost"])
		}
		assert.Equal(t, []string{found[0].Metadata["benchbatch.task"], "assistant", "assistant", "map"}, mlflowtest.SpanNames(t, address, found[0].ID))
	}
	assert.Equal(t, 8, counted)
	assert.Equal(t, "T-01: Where does letter 1 go?", previews["T-01"])

	before := faults.Requests("/traces")
	again := s.measure("--yes")
	assert.Zero(t, again.Started)
	assert.Equal(t, before, faults.Requests("/traces"), "nothing is sent twice")
}

func names(all []mlflow.Assessment) map[string]int {
	out := map[string]int{}
	for _, a := range all {
		out[a.Name]++
	}
	return out
}

// TestTracesThatTheServerRefusesAreSaid: the batch is whole without them.
func TestTracesThatTheServerRefusesAreSaid(t *testing.T) {
	t.Parallel()
	faults, address := mlflowtest.NewProxy(t, mlflowtest.Real(t, mlflowtest.Newest).URL)
	s := newShellAt(t, address)
	s.traced("scores")
	faults.Inject(mlflowtest.Fault{Route: "3.0/mlflow/traces", Do: mlflowtest.Fail(400, "INVALID_PARAMETER_VALUE", "no traces today")})
	got := s.ok("run", s.spec, "--yes")
	assert.Contains(t, got.stderr, "MLflow does not have the traces of 8 evaluations")
	assert.Contains(t, got.stderr, "no traces today")
	assert.Empty(t, s.state())
}

// TestTracesNeedMLflow3: a server that can't show them is said before anything starts.
func TestTracesNeedMLflow3(t *testing.T) {
	s := newShell(t, mlflowtest.Oldest)
	s.traced("scores")
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec)
		assert.Equal(t, ExitUsage, got.code, "%s: %s", command, got.stderr)
		assert.Contains(t, got.stderr, "MLflow 2.22.5 has no traces")
		assert.Contains(t, got.stderr, "write traces: none")
	}
	assert.Empty(t, s.starts())
	s.edit("benchmark.yaml", "traces: scores", "traces: none")
	s.ok("run", s.spec, "--yes")
}
