package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// lease is that of launchers in these tests: long enough for a busy machine.
const lease = "BENCHBATCH_TEST_LEASE=6s"

// launch starts so many launchers of one spec at once, each in a folder of its own, as
// on machines of their own.
func (s *shell) launch(n int, env []string, args ...string) (shells []*shell, all []*child) {
	s.t.Helper()
	for range n {
		o := s.fork(s.t)
		shells = append(shells, o)
		all = append(all, o.child(append([]string{lease}, env...), append([]string{"run", o.spec, "--json"}, args...)...))
	}
	return shells, all
}

// ran waits for a launcher that ends well.
func (c *child) ran(code int) ran {
	c.t.Helper()
	got := c.wait()
	require.Equal(c.t, code, got.code, "%s%s", got.out, got.stderr)
	var r ran
	require.NoError(c.t, json.Unmarshal([]byte(got.out), &r), got.stderr)
	return r
}

// once checks that no repeat was started twice, as the runner tells.
func (s *shell) once() {
	s.t.Helper()
	seen := map[string]int{}
	for _, line := range s.starts() {
		repeat, _, _ := strings.Cut(line, " a")
		seen[repeat]++
	}
	for repeat, n := range seen {
		assert.Equal(s.t, 1, n, repeat)
	}
}

// atOnce is how many runners, and of how many models, the runner's log shows at work together at most.
func (s *shell) atOnce() (runners, models int) {
	s.t.Helper()
	b, err := os.ReadFile(s.env["STARTS"] + ".spans")
	require.NoError(s.t, err)
	now, of := 0, map[string]int{}
	for line := range strings.Lines(string(b)) {
		word, model, _ := strings.Cut(strings.TrimSpace(line), " ")
		n := map[string]int{"begin": 1, "end": -1}[word]
		now += n
		if of[model] += n; of[model] == 0 {
			delete(of, model)
		}
		runners, models = max(runners, now), max(models, len(of))
	}
	return runners, models
}

func TestLaunchersShareABatch(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newShell(t, mlflowtest.Newest)
			s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
			s.edit("benchmark.yaml", "quotas: {all: {at_once: 4}}", "quotas: {all: {at_once: 2}}")
			s.faults(map[string]any{"sleep": 0.3, "spans": true})
			_, all := s.launch(n, nil, "--at-once", "2")
			var started int
			var batches []string
			for _, c := range all {
				r := c.ran(ExitDone)
				assert.Equal(t, batch.Counts{Planned: 12, Done: 12}, r.Counts)
				started += r.Started
				batches = append(batches, r.Batch)
				s.ok("verify", r.Folder)
			}
			s.once()
			assert.Len(t, s.starts(), 12)
			assert.Equal(t, 12, started)
			runners, _ := s.atOnce()
			assert.LessOrEqual(t, runners, 2, "the places of the quota hold across launchers")
			for _, b := range batches {
				assert.Equal(t, batches[0], b, "one batch")
			}
			evaluations, parents := s.history()
			assert.Len(t, parents, 1)
			assert.Equal(t, map[string]int{"FINISHED complete": 12}, statuses(evaluations))
			for _, e := range evaluations {
				assert.Equal(t, "1", e.Tag("benchbatch.generation"))
			}
			s.ok("run", s.spec)
			assert.Len(t, s.starts(), 12)
		})
	}
}

// TestOneModelAtATimeAcrossLaunchers: an engine that holds one model is one launcher's, and
// another's when that one dies.
func TestOneModelAtATimeAcrossLaunchers(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.ownTemp()
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	s.edit("benchmark.yaml", "quotas: {all: {at_once: 4}}", "quotas: {all: {exclusive: true}}")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "") // else the first learns the costs alone
	until := filepath.Join(t.TempDir(), "go on")
	s.faults(map[string]any{"sleep": 0.4, "spans": true, "until": until})
	_, all := s.launch(2, nil, "--at-once", "2")
	all[0].until("two starts", func() bool { return len(s.starts()) == 2 })
	evaluations, _ := s.history()
	at := map[string]bool{}
	for _, e := range evaluations {
		at[strings.Split(e.Tag("benchbatch.launcher"), "/")[1]] = true
	}
	require.Len(t, at, 1, "one launcher has the engine")
	dead, heir := all[0], all[1]
	if !at[fmt.Sprint(dead.cmd.Process.Pid)] {
		dead, heir = heir, dead
	}
	heir.until("its wait", func() bool { return strings.Contains(heir.err.String(), "waiting: quota all") })
	dead.kill()
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	require.NoError(t, os.Rename(s.env["STARTS"]+".spans", s.env["STARTS"]+".spans-before")) // some have no end
	r := heir.ran(ExitDone)
	assert.Equal(t, batch.Counts{Planned: 12, Done: 12}, r.Counts)
	assert.LessOrEqual(t, len(s.starts()), 14, "two may have been cut short")
	_, models := s.atOnce()
	assert.Equal(t, 1, models)
	assert.Equal(t, 1, strings.Count(heir.err.String(), "waiting: quota all is in use by "), "who waits is told why, once")
	assert.Contains(t, heir.err.String(), fmt.Sprintf("(process %d); what needs it starts here when it is free", dead.cmd.Process.Pid))
	s.ok("verify", r.Folder)
}

// TestTheCeilingHoldsAcrossLaunchers: each evaluation costs 0.12, the ceiling pays for five.
func TestTheCeilingHoldsAcrossLaunchers(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 4")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}", "budget: {ceiling_usd: 0.65}")
	s.faults(map[string]any{"sleep": 0.2, "cost": 0.01})
	_, all := s.launch(2, nil, "--at-once", "3")
	started := 0
	for _, c := range all {
		r := c.ran(ExitIncomplete)
		started += r.Started
		assert.Contains(t, c.err.String(), "budget: ")
	}
	assert.Len(t, s.starts(), started)
	assert.LessOrEqual(t, len(s.starts()), 5, "0.65 pay for five")
	assert.GreaterOrEqual(t, len(s.starts()), 4)
	s.once()

	// What is left is measured under a higher one.
	s.edit("benchmark.yaml", "ceiling_usd: 0.65", "ceiling_usd: 10")
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 16, Done: 16}, r.Counts)
	assert.Len(t, s.starts(), 16)
	s.ok("verify", r.Folder)
}

// TestALauncherDiesAmongOthers kills one of two: the other measures what it had begun.
func TestALauncherDiesAmongOthers(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.ownTemp()
	until := filepath.Join(t.TempDir(), "go on")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "") // else the first learns the costs alone
	s.faults(map[string]any{"until": until})
	_, all := s.launch(2, nil, "--at-once", "1")
	all[0].until("two starts", func() bool { return len(s.starts()) == 2 })
	all[0].kill()
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	r := all[1].ran(ExitDone)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
	assert.Len(t, s.starts(), 9, "what was cut short is measured again")
	evaluations, parents := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 8, "KILLED interrupted": 1}, statuses(evaluations))
	assert.Len(t, parents, 1)
	s.ok("verify", r.Folder)
}

// TestALauncherIsInterruptedAmongOthers: what it held is free at once.
func TestALauncherIsInterruptedAmongOthers(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	until := filepath.Join(t.TempDir(), "go on")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "") // else the first learns the costs alone
	s.faults(map[string]any{"until": until})
	_, all := s.launch(2, nil, "--at-once", "1")
	all[0].until("two starts", func() bool { return len(s.starts()) == 2 })
	all[0].signal(os.Interrupt)
	all[0].until("the answer", func() bool { return strings.Contains(all[0].err.String(), "again: stop now") })
	all[0].signal(syscall.SIGTERM)
	assert.Equal(t, ExitInterrupted, all[0].wait().code)
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	r := all[1].ran(ExitDone)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
	assert.Len(t, s.starts(), 9)
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 8, "KILLED interrupted": 1}, statuses(evaluations))
	s.ok("verify", r.Folder)
}

// TestALauncherSleepsPastItsLease stops one of two for longer than its lease: the other
// takes its repeat over, and what the sleeper has paid is told as superseded.
func TestALauncherSleepsPastItsLease(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	until := filepath.Join(t.TempDir(), "go on")
	s.faults(map[string]any{"hang": 3, "hangs": until})
	_, all := s.launch(2, nil, "--at-once", "1")
	all[0].until("two starts", func() bool { return len(s.starts()) == 2 })
	all[0].signal(syscall.SIGSTOP)
	s.faults(nil)
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	r := all[1].ran(ExitDone)
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	assert.Len(t, s.starts(), 3)
	all[0].signal(syscall.SIGCONT)
	late := all[0].ran(ExitDone)
	assert.Equal(t, r.Batch, late.Batch)
	assert.Len(t, s.starts(), 3)
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 2, "KILLED superseded": 1}, statuses(evaluations))
	for _, e := range evaluations {
		if e.Tag("benchbatch.state") == "superseded" {
			cost, ok := e.Metric("cost_worst_usd")
			assert.True(t, ok)
			assert.Positive(t, cost)
			assert.Contains(t, e.Tag("benchbatch.reason"), "was taken over by")
		}
	}
	s.ok("verify", r.Folder)
}
