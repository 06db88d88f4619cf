package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestDemo runs the bundled benchmark: the live cells are measured, the silent
// model's are skipped, and a second time nothing starts.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	var first ran
	r := s.json(&first, "demo")
	require.Zero(t, r.code, r.stderr)
	c := first.Counts
	assert.Equal(t, 36, c.Planned)
	assert.Equal(t, 9, c.Skipped)
	assert.Equal(t, 27, c.Done+c.Reused+c.Failed)
	assert.Zero(t, c.NotStarted)
	assert.True(t, first.Frozen)
	for _, cell := range first.Cells {
		if cell.Model == "heron-max" {
			assert.Nil(t, cell.Mean, "no data is not a score")
			continue
		}
		require.NotNil(t, cell.Mean, cell.Variant)
		assert.True(t, *cell.Low < *cell.High, "%s: repeats must really vary", cell.Variant)
	}

	var again ran
	s.json(&again, "demo")
	assert.Zero(t, again.Started)
	assert.Equal(t, first.Batch, again.Batch)

	// One repeat more: only the new ones of the live models.
	s.spec = filepath.Join(s.dir, demoName, "benchmark.yaml")
	s.edit("benchmark.yaml", "repeats: 3", "repeats: 4")
	var more ran
	s.json(&more, "demo")
	assert.Equal(t, 9, more.Started)
	assert.Equal(t, batch.Counts{Planned: 48, Reused: c.Done + c.Reused, Done: more.Counts.Done, Failed: more.Counts.Failed, Skipped: 12}, more.Counts)
}
