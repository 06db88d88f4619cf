package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestABatchIsContinued kills and interrupts the launcher of one batch, again and
// again: what was measured stays measured, and the batch ends with every repeat once.
func TestABatchIsContinued(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.ownTemp()

	// kill -9: two workers, the fourth and fifth start are still running.
	s.faults(map[string]any{"sleep": 600, "from": 3, "detach": true})
	c := s.child(nil, "run", s.spec, "--at-once", "2")
	c.until("five starts", func() bool { return len(s.starts()) == 5 })
	blocked := s.run("run", s.spec)
	assert.Equal(t, ExitFailed, blocked.code)
	assert.Contains(t, blocked.stderr, "another run is at work in")
	c.until("five processes left behind", func() bool { return len(s.detached()) == 5 })
	c.kill()
	evaluations, parents := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 3, "RUNNING": 2}, statuses(evaluations))
	require.Len(t, parents, 1)
	parent := parents[0].Info.RunID
	assert.NotEmpty(t, entries(t, s.env["TMPDIR"]), "private folders of the two")
	var st batchStatus
	assert.Equal(t, ExitIncomplete, s.json(&st, "status", parent).code)
	assert.False(t, st.Frozen)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 3, NotStarted: 5}, st.Counts)

	// Ctrl-C once: what runs is finished, nothing new is started.
	until := filepath.Join(t.TempDir(), "go on")
	s.faults(map[string]any{"until": until})
	c = s.child(nil, "run", s.spec, "--at-once", "1")
	c.until("a sixth start", func() bool { return len(s.starts()) == 6 })
	c.signal(os.Interrupt)
	c.until("the answer", func() bool { return strings.Contains(c.err.String(), "nothing new is started") })
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	got := c.wait()
	assert.Equal(t, ExitInterrupted, got.code, got.stderr)
	assert.Contains(t, got.stderr, "2 evaluations that had not ended closed as interrupted")
	assert.Contains(t, got.stderr, "the same command continues where it stopped")
	evaluations, _ = s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 4, "KILLED interrupted": 2}, statuses(evaluations))
	assert.Len(t, s.starts(), 6)
	assert.Empty(t, s.state())
	assert.Empty(t, entries(t, s.env["TMPDIR"]), "what the killed launcher left is gone")
	for _, pid := range s.detached() {
		assert.False(t, running(pid), "process %d outlived its evaluation", pid)
	}

	// Ctrl-C twice: stops now.
	s.faults(map[string]any{"sleep": 600})
	c = s.child(nil, "run", s.spec, "--at-once", "2")
	c.until("two more starts", func() bool { return len(s.starts()) == 8 })
	c.signal(os.Interrupt)
	c.until("the answer to the first", func() bool { return strings.Contains(c.err.String(), "again: stop now") })
	c.signal(syscall.SIGTERM)
	got = c.wait()
	assert.Equal(t, ExitInterrupted, got.code, got.stderr)
	assert.Contains(t, got.stderr, "the same command continues where it stopped")
	evaluations, _ = s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 4, "KILLED interrupted": 4}, statuses(evaluations))

	// The same command ends the batch.
	s.faults(nil)
	r := s.measure()
	assert.Equal(t, parent, r.Batch)
	assert.Equal(t, 4, r.Started)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
	for _, cell := range r.Cells {
		assert.Equal(t, 2, cell.Repeats, cell.Variant)
	}
	assert.Len(t, s.starts(), 12)
	evaluations, parents = s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 8, "KILLED interrupted": 4}, statuses(evaluations))
	assert.Len(t, parents, 1)
	s.ok("verify", r.Folder)
}

// detached are the processes that runners left behind on purpose.
func (s *shell) detached() []int {
	b, err := os.ReadFile(s.env["STARTS"] + ".detached")
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(s.t, err)
	var pids []int
	for _, line := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(line)
		require.NoError(s.t, err)
		pids = append(pids, pid)
	}
	return pids
}

// running says whether a process exists and is no zombie.
func running(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// TestWhatWasMeasuredIsLoggedFirst has MLflow fail at the worst moments.
func TestWhatWasMeasuredIsLoggedFirst(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	s.env["MLFLOW_TRACKING_URI"] = address
	full := mlflowtest.Fail(http.StatusForbidden, "PERMISSION_DENIED", "the quota of this bucket is used up")

	// The parent is there, its plan is not.
	faults.Inject(mlflowtest.Fault{Route: "plan.json", Do: full})
	got := s.run("run", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "the quota of this bucket is used up")
	assert.Empty(t, s.starts())
	_, parents := s.history()
	require.Len(t, parents, 1)
	assert.Empty(t, parents[0].Tag("benchbatch.plan"))

	// Measured, but not logged.
	faults.Clear()
	faults.Inject(mlflowtest.Fault{Route: batch.FileOutcomes, Do: full})
	got = s.run("run", s.spec, "--at-once", "2")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "was measured and is kept in")
	assert.Contains(t, got.stderr, "the next run logs it first")
	first := len(s.starts())
	assert.Positive(t, first)
	assert.Len(t, s.state(), first)
	got = s.run("run", s.spec, "--at-once", "2")
	assert.Equal(t, ExitFailed, got.code, "the server still refuses")
	assert.Len(t, s.starts(), first, "nothing is measured before what is there is logged")

	// What lies there is checked before it is logged.
	record := filepath.Join(filepath.Dir(s.spec), ".benchbatch", "evaluations", s.state()[0], batch.FileOutcomes)
	good, err := os.ReadFile(record)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(record, append(good[:len(good):len(good)], '\n'), 0o600))
	got = s.run("run", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "move "+filepath.Dir(record)+" away to go on without it")
	require.NoError(t, os.WriteFile(record, good, 0o600))

	// Logged, but the launcher never heard of it.
	faults.Clear()
	faults.Inject(mlflowtest.Fault{Route: "runs/update", Skip: first, Do: mlflowtest.Afterwards(full)})
	got = s.run("run", s.spec, "--at-once", "2")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, plural(first, "measured evaluation")+" logged now")
	assert.NotEmpty(t, s.state())

	// All is measured, but the result can't be stored; then it is, and the launcher does not hear of it.
	faults.Clear()
	faults.Inject(mlflowtest.Fault{Route: batch.FileResult, Do: full})
	got = s.run("run", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Len(t, s.starts(), 8)
	faults.Clear()
	faults.Inject(mlflowtest.Fault{Route: "runs/update", Do: mlflowtest.Afterwards(full)})
	got = s.run("run", s.spec)
	assert.Equal(t, ExitFailed, got.code)

	faults.Clear()
	r := s.measure()
	assert.Equal(t, parents[0].Info.RunID, r.Batch)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
	assert.Zero(t, r.Started)
	assert.Len(t, s.starts(), 8)
	assert.Empty(t, s.state())
	evaluations, parents := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 8}, statuses(evaluations))
	require.Len(t, parents, 1)
	s.ok("verify", r.Folder)
}

// TestRunsOfOthersAreNotPaidTwice meets evaluations that are RUNNING and were claimed by
// launchers that are gone, with and without their state folder.
func TestRunsOfOthersAreNotPaidTwice(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.ownTemp()
	s.faults(map[string]any{"sleep": 600})
	kill := func() string {
		n := len(s.starts())
		c := s.child(nil, "run", s.spec, "--at-once", "1")
		c.until("a start", func() bool { return len(s.starts()) > n })
		c.kill()
		require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(s.spec), ".benchbatch"))) // as if it had run elsewhere
		evaluations, _ := s.history()
		for _, e := range evaluations {
			if e.Info.Status == "RUNNING" {
				return e.Info.RunID
			}
		}
		t.Fatal("nothing is RUNNING")
		return ""
	}
	kill()
	gone := kill() // closes the first
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"RUNNING": 1, "KILLED interrupted": 1}, statuses(evaluations))
	c := mlflowtest.Client(t, s.env["MLFLOW_TRACKING_URI"])
	require.NoError(t, c.SetTag(t.Context(), gone, "benchbatch.launcher", "elsewhere/1/1"))

	// Its claim tells that it is dead, wherever its run says that it was.
	s.faults(nil)
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	evaluations, parents := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 2, "KILLED interrupted": 2}, statuses(evaluations))
	assert.Len(t, parents, 1)
	assert.Len(t, entries(t, s.env["TMPDIR"]), 1, "what the first left is gone; the one elsewhere is not ours to tidy")
	s.ok("verify", r.Folder)
}
