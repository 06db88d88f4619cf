package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestAModelThatDiesInMidBatch has the provider of one model fail from the start of
// its cells on, although the model answered a moment ago.
func TestAModelThatDiesInMidBatch(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 4")
	s.edit("benchmark.yaml", "\ndecision:", "\nretry: {provider: 0}\ndecision:")
	s.faults(map[string]any{"m-one": 9})
	var r ran
	got := s.json(&r, "run", s.spec, "--at-once", "1")
	assert.Equal(t, ExitIncomplete, got.code)
	assert.False(t, r.Frozen, "the batch stays open")
	assert.Equal(t, batch.Counts{Planned: 16, Done: 8, Failed: 3, NotStarted: 5}, r.Counts)
	assert.Contains(t, got.stderr, "given up for now: model m-one, 5 evaluations not started: 3 evaluations in a row failed at its provider")
	assert.Contains(t, got.stderr, "HTTP 503")
	assert.Contains(t, got.stderr, "run again when they answer")
	assert.Len(t, s.starts(), 11, "5 were not burned")
	for _, c := range r.Cells {
		if c.Model == "m-one" {
			assert.Nil(t, c.Mean, "a dead provider is no weak model")
		}
	}

	// Asked anew it still answers: it gets as many again, once.
	s.edit("benchmark.yaml", "\ndecision:", "\npreflight: {kind: command, command: [\"true\"]}\ndecision:")
	before := len(s.starts())
	got = s.json(&r, "run", s.spec, "--at-once", "1")
	assert.Equal(t, ExitIncomplete, got.code)
	assert.Contains(t, got.stderr, "model m-one failed 3 times in a row, but answers again: going on")
	assert.Equal(t, batch.Counts{Planned: 16, Done: 8, Failed: 6, NotStarted: 2}, r.Counts)
	assert.Equal(t, before+6, len(s.starts()))

	s.faults(nil)
	all := s.measure()
	assert.Equal(t, r.Batch, all.Batch)
	assert.Equal(t, batch.Counts{Planned: 16, Done: 16}, all.Counts)
}

// TestMLflowIsAwayInMidBatch has the server go away while evaluations run: what runs
// is finished, nothing new starts, and all lands when it is back.
func TestMLflowIsAwayInMidBatch(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	s.env["MLFLOW_TRACKING_URI"] = address
	s.env["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"               // the client itself is not patient
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "") // with one, the first runs alone
	until := s.env["STARTS"] + ".go"
	s.faults(map[string]any{"until": until})
	c := s.child(nil, "run", s.spec, "--at-once", "2")
	c.until("two starts", func() bool { return len(s.starts()) == 2 })
	faults.Inject(mlflowtest.Fault{Do: mlflowtest.Drop})
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	c.until("the news", func() bool { return strings.Contains(c.err.String(), "MLflow does not answer: nothing new is started") })
	c.until("both results on disk", func() bool { return s.waiting() == 2 })
	assert.Len(t, s.starts(), 2)
	faults.Clear()
	got := c.wait()
	require.Zero(t, got.code, got.stderr)
	assert.Contains(t, got.stderr, "MLflow answers again after")
	assert.Len(t, s.starts(), 8, "nothing was measured twice")
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 8}, statuses(evaluations))
	assert.Empty(t, s.state())
}

// TestMLflowStaysAway ends a run whose server does not come back, and goes on later.
func TestMLflowStaysAway(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	s.env["MLFLOW_TRACKING_URI"] = address
	s.env["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
	faults.Inject(mlflowtest.Fault{Route: batch.FileOutcomes, Do: mlflowtest.Fail(503, "TEMPORARILY_UNAVAILABLE", "closed for today")})
	got := s.run("run", s.spec, "--at-once", "2", "--patience", "1s")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "closed for today")
	assert.Contains(t, got.stderr, "the next run logs it first")
	n := len(s.starts())
	assert.LessOrEqual(t, n, 2)
	assert.Len(t, s.state(), n)

	// A create whose answer was lost makes one run.
	faults.Clear()
	faults.Inject(mlflowtest.Fault{Route: "runs/create", Skip: 1, Times: 2, Do: mlflowtest.LoseAnswer})
	r := s.measure("--at-once", "2")
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 8}, statuses(evaluations))
	assert.Len(t, s.starts(), 8)
}

// waiting counts the evaluations that are measured but not logged.
func (s *shell) waiting() int {
	n := 0
	for _, id := range s.state() {
		if _, err := os.Stat(strings.TrimSuffix(s.spec, "benchmark.yaml") + ".benchbatch/evaluations/" + id + "/measured.json"); err == nil {
			n++
		}
	}
	return n
}
