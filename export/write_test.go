package export_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
)

func outputs() []export.Output {
	return []export.Output{tables.Output{}, tables.Queries{}, report.Output{}}
}

var small = exporttest.Shape{Agents: 2, Models: 2, Tasks: 12, Repeats: 3, Judges: 2, Attempts: true, Seed: 1}

func write(t testing.TB, b export.Batch, change func(*export.Options)) string {
	t.Helper()
	o := export.Options{Out: t.TempDir(), Outputs: outputs(), Tool: "v0-test"}
	if change != nil {
		change(&o)
	}
	dir, err := export.Write(context.Background(), b, o)
	require.NoError(t, err)
	return dir
}

func verify(t testing.TB, dir string) *export.Report {
	t.Helper()
	r, err := export.Verify(context.Background(), dir, export.VerifyOptions{Outputs: outputs()})
	require.NoError(t, err)
	return r
}

func TestFolderVerifies(t *testing.T) {
	dir := write(t, exporttest.New(small).Freeze(), nil)
	assert.Equal(t, "support-bench-v1_2026-11-30_7f3a9c", filepath.Base(dir))
	r := verify(t, dir)
	require.NoError(t, r.Err())
	assert.Empty(t, r.Notes)
	assert.Contains(t, r.Recomputed, "tables/outcomes.parquet")
	assert.Contains(t, r.Recomputed, "report.md")
	assert.Contains(t, r.Recomputed, "manifest.json")

	m := r.Manifest
	assert.Equal(t, batch.Counts{Planned: 12, Done: 12}, m.Counts)
	assert.Equal(t, 12*12, m.Outcomes.Planned)
	sum := m.Outcomes.Absent
	for _, n := range m.Outcomes.States {
		sum += n
	}
	assert.Equal(t, m.Outcomes.Planned, sum)
	assert.Equal(t, m.Outcomes.Planned, m.Outcomes.Scored+m.Outcomes.Missing)

	out, err := exec.Command("sh", "-c", "cd '"+dir+"' && sha256sum -c --strict --quiet SHA256SUMS").CombinedOutput()
	require.NoError(t, err, "%s", out)
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, left, 1)
}
