package export_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// scaleRoot names, to a child of BenchmarkScale, the folder with the batch.
const scaleRoot = "BENCHBATCH_TEST_SCALE"

// BenchmarkScale exports 100 variants × 1,000 tasks × 10 repeats (1,000,000 outcomes,
// 4,950 pairs) end to end, verdict in three readings, report and all, in a process of its own without
// any setting of the garbage collector, and reports that process's largest memory.
func BenchmarkScale(b *testing.B) {
	if root := os.Getenv(scaleRoot); root != "" {
		exportScale(b, root)
		return
	}
	root := b.TempDir()
	saveScale(b, root)
	for b.Loop() {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkScale$", "-test.benchtime=1x") //nolint:gosec // this test itself
		cmd.Env = append(withoutCollector(os.Environ()), scaleRoot+"="+root)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		require.True(b, ok)
		b.ReportMetric(time.Since(start).Seconds(), "s-export")
		b.ReportMetric(float64(usage.Maxrss)/1024, "MiB-peak")
	}
}

// withoutCollector leaves out what the bench target sets.
func withoutCollector(env []string) (out []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, "GOGC=") && !strings.HasPrefix(e, "GOMEMLIMIT=") {
			out = append(out, e)
		}
	}
	return out
}

// saveScale writes the batch below root: its documents, and its artifacts in raw/.
func saveScale(b *testing.B, root string) {
	b.Helper()
	s := exporttest.New(exporttest.Shape{Agents: 10, Models: 10, Tasks: 1000, Repeats: 10, Seed: 5, Dir: filepath.Join(root, "raw")})
	s.SetDecision(`{"metric":"score","alpha":0.025,"margin":0.02,"reference":"agent-1+model-1","compare":"all","scope":"population"}`)
	s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0003", Why: "verifier was wrong", Date: "2026-12-02"}}
	s.Result.Evaluations[0].Role = export.RoleSelection
	in := s.Freeze()
	in.Fetch = nil
	data, err := json.Marshal(documents{in.PlanJSON, in.ResultJSON, in.SpecYAML, in.PanelJSONL})
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(root, "batch.json"), data, 0o600))
}

// documents are those of a batch, as bytes.
type documents struct{ Plan, Result, Spec, Panel []byte }

func exportScale(b *testing.B, root string) {
	data, err := os.ReadFile(filepath.Join(root, "batch.json")) //nolint:gosec // the parent wrote it
	require.NoError(b, err)
	var d documents
	require.NoError(b, json.Unmarshal(data, &d))
	raw := &exporttest.Synthetic{Shape: exporttest.Shape{Dir: filepath.Join(root, "raw")}}
	in := export.Batch{PlanJSON: d.Plan, ResultJSON: d.Result, SpecYAML: d.Spec, PanelJSONL: d.Panel, Fetch: raw.Fetch}
	out, err := os.MkdirTemp(root, "out")
	require.NoError(b, err)
	dir, err := export.Write(context.Background(), in, export.Options{Out: out, Outputs: outputs()})
	require.NoError(b, err)
	m, err := export.ReadManifest(dir)
	require.NoError(b, err)
	require.Equal(b, 1_000_000, m.Outcomes.Planned)
}
