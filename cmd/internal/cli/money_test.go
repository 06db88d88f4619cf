package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// script is the benchmark's runner from here on: Python, with job, out and a function
// row, which writes an outcome at once.
func (s *shell) script(body string) {
	s.t.Helper()
	head := `import json, os, signal, subprocess, sys, time
job = json.load(open(os.environ["BENCHBATCH_JOB"]))
out = os.environ["BENCHBATCH_OUT"]
variant = job["agent"]["id"] + "+" + job["model"]["id"]
f = open(os.path.join(out, "outcomes.jsonl"), "w")
with open(os.environ["STARTS"], "a") as starts:
    starts.write(variant + " a%d\n" % job["attempt"])
def row(task, cost, **more):
    f.write(json.dumps({"task": task["id"], "cost_usd": cost, **(more or {"score": 1})}) + "\n")
    f.flush()
`
	require.NoError(s.t, os.WriteFile(filepath.Join(filepath.Dir(s.spec), "lib", "run.py"), []byte(head+body), 0o600))
}

// TestEveryAttemptIsOnTheBill: 0.40 for an attempt that crashed, 0.30 for the next one,
// 0.20 for one that was killed with its launcher. All count against the ceiling and in the folder.
func TestEveryAttemptIsOnTheBill(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	s.env["TMPDIR"] = t.TempDir()
	t.Setenv("TMPDIR", s.env["TMPDIR"])
	s.edit("benchmark.yaml", "ceiling_usd: 100", "ceiling_usd: 1.5")
	s.script(`if variant == "quick+m-one" and job["attempt"] == 1:
    for n, task in enumerate(job["tasks"]):
        row(task, 0 if n else 0.4, error={"class": "provider", "message": "HTTP 503"})
    sys.exit(1)
for n, task in enumerate(job["tasks"]):
    row(task, 0.3 / 12 if variant == "quick+m-one" else 0.2 if len(job["tasks"]) == 12 else 0)
    while variant == "quick+m-two" and n == 0 and not os.path.exists(os.environ["FAULTS"]):
        time.sleep(0.01)
`)
	var r ran
	require.Equal(t, ExitIncomplete, s.json(&r, "run", s.spec, "--only", "model=m-one").code)
	c := s.child(nil, "run", s.spec)
	c.until("a line in the journal", func() bool { return s.journal("live") == 1 })
	c.kill()

	got := s.run("run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	assert.Contains(t, got.stderr, "budget: $0.9000 of $1.50 are spent")
	assert.Len(t, s.starts(), 3)
	require.NoError(t, os.WriteFile(s.env["FAULTS"], []byte("{}"), 0o600))
	s.edit("benchmark.yaml", "ceiling_usd: 1.5", "ceiling_usd: 5")
	r = s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	require.Len(t, r.Cells, 2)
	assert.InDelta(t, 0.7, *r.Cells[0].CostUSD, 1e-6)
	assert.InDelta(t, 0.2, *r.Cells[1].CostUSD, 1e-6)
	s.ok("verify", r.Folder)

	paid := map[string]float64{} // by variant and attempt
	for slot, run := range slots(t, r.Folder) {
		f, err := os.Open(filepath.Join(r.Folder, "raw", run, batch.FileAttempts))
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var a struct {
				Attempt int      `json:"attempt"`
				CostUSD *float64 `json:"cost_usd"`
			}
			require.NoError(t, json.Unmarshal(lines.Bytes(), &a))
			if a.CostUSD != nil {
				paid[strings.TrimSuffix(slot, " 1")+" "+string(rune('0'+a.Attempt))] += *a.CostUSD
			}
		}
	}
	assert.InDelta(t, 0.4, paid["quick+m-one 1"], 1e-9)
	assert.InDelta(t, 0.3, paid["quick+m-one 2"], 1e-9)
	assert.InDelta(t, 0.2, paid["quick+m-two 1"], 1e-9)
}

// TestOneBadCellStopsNoOther: a program that is missing, a clean-up that never returns,
// and output without end; the others are measured.
func TestOneBadCellStopsNoOther(t *testing.T) {
	t.Parallel()
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "timeout: 2m", "timeout: 20s")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "") // what a crash has cost is unknown
	s.edit("benchmark.yaml", "prices:", "retry: {harness: 0}\nprices:")
	s.script(`if variant == "quick+m-one":
    sys.exit(subprocess.call(["sh", "-c", "exec no-such-program"]))
if variant == "careful+m-one":
    for _ in range(200):
        sys.stdout.write("x" * 1_000_000)
for task in job["tasks"]:
    row(task, 0.001)
if variant == "quick+m-two":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(os.environ["STARTS"] + ".stuck", "a").write("%d\n" % os.getpid())
    time.sleep(600)
`)
	var r ran
	got := s.json(&r, "run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 6, Failed: 2}, r.Counts)
	require.True(t, r.Frozen)
	for _, cell := range r.Cells {
		if cell.Variant == (batch.Variant{Agent: "quick", Model: "m-one"}) {
			assert.Contains(t, cell.Reason, "failed: ")
			assert.Nil(t, cell.Mean)
			continue
		}
		assert.Equal(t, 2, cell.Repeats, cell.Variant)
	}
	stuck, err := os.ReadFile(s.env["STARTS"] + ".stuck")
	require.NoError(t, err)
	require.Len(t, strings.Fields(string(stuck)), 2)
	for _, pid := range strings.Fields(string(stuck)) {
		assert.NoFileExists(t, filepath.Join("/proc", pid, "cwd"))
	}
	s.ok("verify", r.Folder)
	evaluations, _ := s.history()
	missing := 0
	for _, e := range evaluations {
		if e.Tag("benchbatch.agent")+e.Tag("benchbatch.model") == "quickm-one" {
			missing++
			assert.Contains(t, e.Tag("benchbatch.reason"), "the runner exited with 127")
		}
	}
	assert.Equal(t, 2, missing)
}
