package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestNeverPayTwice walks the main line: what was measured is reused, and only
// what a change affects is missing.
func TestNeverPayTwice(t *testing.T) {
	t.Parallel()
	for _, v := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		t.Run(string(v), func(t *testing.T) { neverPayTwice(t, newShell(t, v)) })
	}
}

func neverPayTwice(t *testing.T, s *shell) {
	first := s.measure()
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, first.Counts)
	assert.Equal(t, 8, first.Started)
	assert.Len(t, s.starts(), 8)
	s.ok("verify", first.Folder)

	again := s.measure()
	assert.Zero(t, again.Started)
	assert.Equal(t, first.Batch, again.Batch)
	assert.Equal(t, first.Folder, again.Folder)

	// One repeat more: only the new ones.
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	more := s.measure()
	assert.Equal(t, batch.Counts{Planned: 12, Reused: 8, Done: 4}, more.Counts)
	assert.NotEqual(t, first.Batch, more.Batch)
	assert.Len(t, s.starts(), 12)

	// Another margin on the same measurements is one more look, not a first one.
	s.edit("benchmark.yaml", "margin: 0.05", "margin: 0.06")
	ruled := s.measure()
	assert.Zero(t, ruled.Started)
	var frozen batch.Plan
	body, err := os.ReadFile(filepath.Join(ruled.Folder, batch.FilePlan))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &frozen))
	assert.ElementsMatch(t, []string{first.Batch, more.Batch}, frozen.Earlier)

	// A model more: only its cells.
	s.edit("benchmark.yaml", "models:\n", "models:\n  - {id: m-three, route: local/three}\n")
	p := s.plan()
	assert.Equal(t, 6, p.Counts.NotStarted)
	for _, c := range p.Cells {
		assert.Equal(t, c.Model == "m-three", c.Missing == 3, c.Variant)
	}
	s.measure()
	assert.Len(t, s.starts(), 18)

	// What is free changes nothing.
	s.edit("prices.yaml", "input: 1.0", "input: 9.0")
	s.edit("benchmark.yaml", "at_once: 4", "at_once: 1")
	s.edit("benchmark.yaml", "ceiling_usd: 100", "ceiling_usd: 50")
	s.env["ADDRESS"] = "http://127.0.0.1:1"
	same := s.measure()
	assert.Zero(t, same.Started)
	assert.Len(t, s.starts(), 18)
	require.NotEmpty(t, same.Folder)
}
