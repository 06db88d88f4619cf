package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// child is a command in a process of its own, which can be interrupted and killed.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	out buffer
	err buffer
}

// buffer can be read while a process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// child starts a command as a process; env is added to the shell's.
func (s *shell) child(env []string, args ...string) *child {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	c := &child{t: s.t, cmd: exec.Command(self, args...)}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = s.dir, &c.out, &c.err
	c.cmd.Env = []string{"BENCHBATCH_TEST_MAIN=1", "HOME=" + s.dir, "TMPDIR=" + filepath.Join(s.dir, "tmp")}
	for k, v := range s.env {
		c.cmd.Env = append(c.cmd.Env, k+"="+v)
	}
	c.cmd.Env = append(c.cmd.Env, env...)
	require.NoError(s.t, c.cmd.Start())
	s.t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// wait waits for the end of the process.
func (c *child) wait() said {
	c.t.Helper()
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(c.t, err)
	}
	return said{c.cmd.ProcessState.ExitCode(), c.out.String(), c.err.String()}
}

// kill ends the process as a crash would.
func (c *child) kill() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Kill())
	c.wait()
}

func (c *child) signal(sig os.Signal) {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(sig))
}

// until waits for something that a child process is about to do.
func (c *child) until(what string, done func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: waited in vain; the process said:\n%s%s", what, c.out.String(), c.err.String())
		}
	}
}

// faults tells the runner what goes wrong; nil = nothing.
func (s *shell) faults(v map[string]any) {
	s.t.Helper()
	if v == nil {
		v = map[string]any{}
	}
	b, err := json.Marshal(v)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(s.env["FAULTS"], b, 0o600))
}

// history is the experiment's runs that are not deleted: evaluations, then parents.
func (s *shell) history() (evaluations, parents []mlflow.Run) {
	s.t.Helper()
	c := s.client()
	e, err := c.GetExperimentByName(s.t.Context(), s.name())
	require.NoError(s.t, err)
	all, err := c.SearchRuns(s.t.Context(), mlflow.Search{ExperimentIDs: []string{e.ID}})
	require.NoError(s.t, err)
	for _, r := range all {
		switch r.Tag("benchbatch.kind") {
		case "batch":
			parents = append(parents, r)
		case "ledger": // it is no measurement
		default:
			evaluations = append(evaluations, r)
		}
	}
	return evaluations, parents
}

// name is the benchmark's name, and so the experiment's.
func (s *shell) name() string {
	s.t.Helper()
	b, err := os.ReadFile(s.spec)
	require.NoError(s.t, err)
	first, _, _ := strings.Cut(string(b), "\n")
	name, ok := strings.CutPrefix(first, "benchmark: ")
	require.True(s.t, ok)
	return name
}

// statuses counts runs by status and state, as "KILLED interrupted".
func statuses(runs []mlflow.Run) map[string]int {
	n := map[string]int{}
	for _, r := range runs {
		n[strings.TrimSpace(string(r.Info.Status)+" "+r.Tag("benchbatch.state"))]++
	}
	return n
}

// entries are the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// state lists what lies in the folder of evaluations that are not logged.
func (s *shell) state() []string {
	return entries(s.t, filepath.Join(filepath.Dir(s.spec), ".benchbatch", "evaluations"))
}
