package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestTwoBeginAnotherBatchTogether: of two launchers that start --new at once, one begins the batch.
func TestTwoBeginAnotherBatchTogether(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	first := s.measure()
	require.NoError(t, os.Remove(s.env["STARTS"]))
	s.faults(map[string]any{"sleep": 0.3})
	_, all := s.launch(2, nil, "--new", "--fresh", "quick+m-one,careful+m-two", "--at-once", "2")
	started := 0
	var batches []string
	for _, c := range all {
		r := c.ran(ExitDone)
		assert.Equal(t, batch.Counts{Planned: 8, Reused: 4, Done: 4}, r.Counts)
		started += r.Started
		batches = append(batches, r.Batch)
		s.ok("verify", r.Folder)
	}
	assert.Equal(t, batches[0], batches[1])
	assert.NotEqual(t, first.Batch, batches[0])
	assert.Equal(t, 4, started)
	assert.Len(t, s.starts(), 4)
	s.once()
	_, parents := s.history()
	assert.Len(t, parents, 2)
}

// TestTwoBeginWithNothingToMeasure: where every repeat is reused, launchers meet all
// the same to begin the batch. One creates its run; the other waits, and takes its result.
func TestTwoBeginWithNothingToMeasure(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	first := s.measure()
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	one, other := s.fork(t), s.fork(t)
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	reached, waited := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(waited) })
	t.Cleanup(release)
	faults.Inject(mlflowtest.Fault{Route: "runs/create", Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		close(reached)
		<-waited
		next.ServeHTTP(w, r)
	}})
	one.env["MLFLOW_TRACKING_URI"] = address
	a := one.child([]string{lease}, "run", one.spec, "--json")
	<-reached
	b := other.child([]string{lease}, "run", other.spec, "--json")
	b.until("the second launcher waits", func() bool { return strings.Contains(b.err.String(), "is about to begin the batch") })
	release()
	x, y := a.ran(ExitDone), b.ran(ExitDone)
	assert.Equal(t, x.Batch, y.Batch)
	assert.NotEqual(t, first.Batch, x.Batch)
	for _, r := range []ran{x, y} {
		assert.Equal(t, batch.Counts{Planned: 4, Reused: 4}, r.Counts)
		assert.Zero(t, r.Started)
		s.ok("verify", r.Folder)
	}
	assert.Len(t, s.starts(), 8)
	_, parents := s.history()
	require.Len(t, parents, 2)
	for _, p := range parents {
		assert.Equal(t, mlflow.StatusFinished, p.Info.Status)
	}
}

// TestASilentModelAmongLaunchers: both skip it and share the rest; who ends last freezes.
func TestASilentModelAmongLaunchers(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	s.edit("benchmark.yaml", "route: local/two,", `route: local/two, preflight: {kind: command, command: ["false"]},`)
	s.faults(map[string]any{"sleep": 0.3})
	_, all := s.launch(2, nil, "--at-once", "1")
	started, frozen := 0, 0
	for _, c := range all {
		r := c.ran(ExitIncomplete)
		assert.Equal(t, batch.Counts{Planned: 8, Done: 4, Skipped: 4}, r.Counts)
		started += r.Started
		if r.Frozen {
			frozen++
			s.ok("verify", r.Folder)
			continue
		}
		assert.Contains(t, c.err.String(), "whoever ends last freezes it")
	}
	assert.Positive(t, frozen)
	assert.Equal(t, 4, started)
	assert.Len(t, s.starts(), 4)
	s.once()
	_, parents := s.history()
	require.Len(t, parents, 1)
	assert.Equal(t, mlflow.StatusFinished, parents[0].Info.Status)
}

// TestALoggedRunOfADeadLauncherIsTaken kills a launcher when its run is logged and its
// claim not ended. The next one, elsewhere, pays nothing for it.
func TestALoggedRunOfADeadLauncherIsTaken(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.env["TMPDIR"] = t.TempDir()
	t.Setenv("TMPDIR", s.env["TMPDIR"])
	other := s.fork(t)
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	reached, killed := make(chan struct{}), make(chan struct{})
	faults.Inject(mlflowtest.Fault{Route: "runs/set-tag", Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(`"end/claim/`)) && bytes.Contains(body, []byte(`"done `)) {
			close(reached)
			<-killed
			mlflowtest.Drop(w, r, next)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}})
	s.env["MLFLOW_TRACKING_URI"] = address
	c := s.child(nil, "run", s.spec, "--at-once", "1")
	<-reached
	c.kill()
	close(killed)
	evaluations, _ := other.history()
	require.Equal(t, map[string]int{"FINISHED complete": 1}, statuses(evaluations))

	r := other.measure("--at-once", "1")
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	assert.Equal(t, 1, r.Started)
	assert.Len(t, other.starts(), 2)
	other.once()
	evaluations, parents := other.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 2}, statuses(evaluations))
	assert.Len(t, parents, 1)
	other.ok("verify", r.Folder)
}

// TestWhatWasMeasuredForAnotherBatch lies in the state folder of a launcher that was
// killed: the next run there logs it, for whatever batch. One elsewhere can't, and measures it.
func TestWhatWasMeasuredForAnotherBatch(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.env["TMPDIR"] = t.TempDir()
	t.Setenv("TMPDIR", s.env["TMPDIR"])
	other := s.fork(t)
	real := s.env["MLFLOW_TRACKING_URI"]
	die := func() {
		t.Helper()
		faults, address := mlflowtest.NewProxy(t, real)
		faults.Inject(mlflowtest.Fault{Route: batch.FileOutcomes, Do: mlflowtest.Drop})
		s.env["MLFLOW_TRACKING_URI"], s.env["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = address, "0"
		c := s.child(nil, "run", s.spec, "--at-once", "1")
		c.until("the news", func() bool { return strings.Contains(c.err.String(), "MLflow does not answer") })
		c.kill()
		s.env["MLFLOW_TRACKING_URI"] = real
		delete(s.env, "MLFLOW_HTTP_REQUEST_MAX_RETRIES")
	}
	die()
	require.Len(t, s.starts(), 1)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	assert.Contains(t, s.run("status", s.spec).out, "waiting on disk here: 1 evaluation")
	got := s.ok("run", s.spec)
	assert.Contains(t, got.stderr, "1 measured evaluation logged now")
	assert.NotContains(t, got.stderr, "superseded")
	assert.Len(t, s.starts(), 3, "it is one of the three of the other batch")
	assert.Empty(t, s.state())

	s.edit("policies/refund.md", "14", "30")
	s.edit("benchmark.yaml", "version: v1", "version: v2")
	other.edit("policies/refund.md", "14", "30")
	other.edit("benchmark.yaml", "version: v1", "version: v2")
	other.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	die()
	n := len(s.starts())
	r := other.measure()
	assert.Equal(t, 3, r.Started, "the evidence is elsewhere")
	assert.Len(t, s.starts(), n+3)
	said := s.ok("run", s.spec).stderr
	assert.Contains(t, said, "1 measured evaluation logged now")
	assert.Contains(t, said, "of these 1 superseded: another launcher had taken the repeat over")
	assert.Empty(t, s.state())
	evaluations, _ := s.history()
	assert.Equal(t, 1, statuses(evaluations)["KILLED superseded"], "%v", statuses(evaluations))
}

// TestABatchIsNotFrozenWhileItsFailureIsMeasuredAnew: a repeat fails, and a launcher that begins
// after that tries it again. The first one has ended its own by then, and leaves the batch to it.
func TestABatchIsNotFrozenWhileItsFailureIsMeasuredAnew(t *testing.T) {
	t.Parallel()
	s, _ := fakeShell(t)
	s.one()
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "retry: {provider: 0}\n")
	s.script(`failed = os.environ["STARTS"] + ".failed"
if job["repeat"] == 1 and not os.path.exists(failed):
    for task in job["tasks"]:
        row(task, 0.001, error={"class": "provider", "message": "HTTP 503"})
    open(failed, "w").close()
    sys.exit(1)
while not os.path.exists(os.environ["STARTS"] + ".go%d" % job["repeat"]):
    time.sleep(0.01)
for task in job["tasks"]:
    row(task, 0.001)
`)
	one, other := s.fork(t), s.fork(t)
	a := one.child([]string{lease}, "run", one.spec, "--json", "--at-once", "2")
	a.until("two starts", func() bool { return len(s.starts()) == 2 })
	a.until("a failure", func() bool {
		evaluations, _ := s.history()
		return statuses(evaluations)["FAILED incomplete"] == 1
	})
	b := other.child([]string{lease}, "run", other.spec, "--json", "--at-once", "2")
	b.until("another try", func() bool { return len(s.starts()) == 3 })
	require.NoError(t, os.WriteFile(s.env["STARTS"]+".go2", nil, 0o600))
	first := a.ran(ExitIncomplete)
	assert.False(t, first.Frozen)
	assert.Contains(t, a.err.String(), "whoever ends last freezes it")
	require.NoError(t, os.WriteFile(s.env["STARTS"]+".go1", nil, 0o600))
	last := b.ran(ExitDone)
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, last.Counts)
	assert.Equal(t, first.Batch, last.Batch)
	s.ok("verify", last.Folder)
}
