package evaluation_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// fullDisk has the journal of an evaluation at work lie on a full disk, and lets nothing be
// saved until free is called.
func (b *bench) fullDisk() (free func()) {
	b.t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(b.t, err)
	defer full.Close()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(b.t, err)
	found := 0
	for _, e := range all {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == filepath.Join(b.req.Dir, evaluation.FileJournal) {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(b.t, err)
			require.NoError(b.t, syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC))
			found++
		}
	}
	require.Equal(b.t, 1, found)
	obstacle := filepath.Join(b.req.Dir, batch.FileOutcomes, "in the way")
	require.NoError(b.t, os.MkdirAll(obstacle, 0o700))
	return func() { require.NoError(b.t, os.RemoveAll(filepath.Dir(obstacle))) }
}

// unwritten is an evaluation whose answers could be written down nowhere: they stand in
// its runner's private folder.
func (b *bench) unwritten() {
	b.t.Helper()
	b.t.Setenv("TMPDIR", b.req.WorkRoot)
	launcher := b.req.Launcher
	var free func()
	b.req.Launcher = between{launcher, func() { free = b.fullDisk() }}
	_, err := evaluation.Measure(context.Background(), b.req)
	var kept *evaluation.NotSaved
	require.ErrorAs(b.t, err, &kept)
	free()
	b.req.Launcher = launcher
}

// TestAnswersThatCouldNotBeWrittenDown has a disk that is full when the runner ends.
func TestAnswersThatCouldNotBeWrittenDown(t *testing.T) {
	b := newBench(t, 2, paidLines)
	b.unwritten()
	_, err := evaluation.LookAtLeft(b.req.Dir)
	require.NoError(t, err)
	private, err := filepath.Glob(filepath.Join(b.req.WorkRoot, "benchbatch-"+b.req.UUID+"-*"))
	require.NoError(t, err)
	require.Len(t, private, 1)
	info, err := os.Stat(private[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o300), info.Mode().Perm(), "nobody lists it meanwhile either")
	launches := 0
	b.req.Launcher = during{b.req.Launcher, func(int) {}, &launches}
	m := b.goesOn(b.req.Dir, nextUUID, 2)
	assert.Zero(t, launches, "nothing is paid again")
	assert.Equal(t, batch.StateComplete, m.State)
	assert.InDelta(t, 12.5, *m.Outcomes[0].CostUSD, 0)
	assert.Equal(t, "said\n", b.bundle()[m.Outcomes[0].Transcript])
	left, err := filepath.Glob(filepath.Join(b.req.WorkRoot, "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "its private folder")
}

// TestAnswersThatCouldNotBeWrittenDownArePaid has nobody go on with the evaluation: what
// its runner wrote is on the bill.
func TestAnswersThatCouldNotBeWrittenDownArePaid(t *testing.T) {
	b := newBench(t, 2, paidLines)
	b.unwritten()
	m := b.resaved(b.req.Dir)
	assert.Equal(t, batch.StateInterrupted, m.State)
	require.Len(t, m.Attempts, 2)
	assert.InDelta(t, 12.5, *m.Attempts[0].CostUSD, 0)
	assert.InDelta(t, 2, *m.Attempts[1].CostUSD, 0)
	assert.Nil(t, m.Outcomes[0].Score)
	assert.Contains(t, m.Outcomes[0].Error.Message, "before its evidence was kept")
	assert.Empty(t, m.Outcomes[0].Transcript)
}
