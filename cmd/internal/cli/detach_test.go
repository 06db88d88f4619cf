package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// What stands behind -- is no flag, so the consent stands before it.
func TestAttached(t *testing.T) {
	assert.Equal(t, []string{"run", "a.yaml", "--yes"}, attached([]string{"run", "a.yaml", "--detach", "--json"}))
	assert.Equal(t, []string{"run", "--yes", "--at-once=2", "--", "-a.yaml"}, attached([]string{"run", "--detach=true", "--at-once=2", "--json=true", "--", "-a.yaml"}))
}

// TestDetach: the launcher goes on when the command has ended, can be asked to stop,
// and ends by itself with nothing left.
func TestDetach(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	until := filepath.Join(t.TempDir(), "go on")
	s.faults(map[string]any{"until": until})
	detach := func() (*child, detached) {
		c := s.child([]string{lease}, "run", s.spec, "--at-once", "2", "--detach", "--json")
		got := c.wait()
		require.Zero(t, got.code, got.stderr)
		var d detached
		require.NoError(t, json.Unmarshal([]byte(got.out), &d))
		return c, d
	}
	log := func(d detached) string {
		b, err := os.ReadFile(d.Log)
		require.NoError(t, err)
		return string(b)
	}
	c, first := detach()
	assert.NotEqual(t, c.cmd.Process.Pid, first.PID)
	c.until("two starts", func() bool { return len(s.starts()) == 2 })
	require.True(t, running(first.PID))
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(first.PID), "stat"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	assert.Equal(t, strconv.Itoa(first.PID), strings.Fields(rest)[3], "it leads a session of its own")
	assert.Contains(t, s.run("run", s.spec, "--detach").stderr, "another run is at work in")
	assert.Contains(t, s.run("status", s.spec).out, "2 evaluations running")

	s.ok("stop", s.spec)
	c.until("the request is heard", func() bool { return strings.Contains(log(first), "asked for a stop") })
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	c.until("the end", func() bool { return !running(first.PID) })
	assert.Contains(t, log(first), "stopped by ")
	assert.Len(t, s.starts(), 2)

	delete(s.env, "REGION")
	got := s.run("run", s.spec, "--detach")
	assert.Equal(t, ExitUsage, got.code)
	assert.Contains(t, got.stderr, "REGION", "what is missing is said here")
	s.env["REGION"] = "north"

	_, second := detach()
	c.until("the end", func() bool { return !running(second.PID) })
	var st batchStatus
	require.Equal(t, ExitDone, s.json(&st, "status", s.spec).code, log(second))
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, st.Counts)
	assert.True(t, st.Frozen)
	assert.Len(t, s.starts(), 8)
	folders, err := filepath.Glob(filepath.Join(s.dir, "batches", "small-*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	s.ok("verify", folders[0])
	assert.Contains(t, log(second), "8 planned = 0 reused + 8 done")
	assert.Empty(t, s.state())
	assert.Contains(t, s.ok("run", s.spec, "--detach").out, "8 planned", "there is nothing to start")
}
