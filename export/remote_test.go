package export_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// What is fetched without a folder has the outcomes that the folder has.
func TestRemote(t *testing.T) {
	s := exporttest.Mixed()
	remote, err := export.OpenBatch(s.Freeze(), 2)
	require.NoError(t, err)
	var fetched []*export.Evidence
	require.NoError(t, remote.Each(t.Context(), func(e *export.Evidence) error {
		forgetReports(e)
		lessen(e)
		fetched = append(fetched, e)
		return nil
	}))
	dir, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{tables.Output{}}})
	require.NoError(t, err)
	f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
	require.NoError(t, err)
	n := 0
	require.NoError(t, f.Each(t.Context(), func(e *export.Evidence) error {
		assert.Equal(t, fetched[n].Outcomes, e.Outcomes, e.RunID)
		assert.Equal(t, fetched[n].Unreadable, e.Unreadable)
		n++
		return nil
	}))
	assert.Len(t, fetched, n)
	assert.Len(t, fetched, len(s.Result.Evaluations))
}

// Outcomes that are not those that were frozen are named, and nothing is taken for good.
func TestRemoteIntegrity(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 5, Repeats: 2, Seed: 1})
	b := s.Freeze()
	run := s.Result.Evaluations[1].RunID
	s.Files[run][batch.FileOutcomes][10] ^= 1
	delete(s.Files, s.Result.Evaluations[2].RunID)
	remote, err := export.OpenBatch(b, 0)
	require.NoError(t, err)
	err = remote.Each(t.Context(), func(*export.Evidence) error { return nil })
	var bad *export.IntegrityError
	require.ErrorAs(t, err, &bad)
	require.Len(t, bad.Findings, 2)
	assert.Contains(t, err.Error(), run)
	assert.Contains(t, err.Error(), "404")
}
