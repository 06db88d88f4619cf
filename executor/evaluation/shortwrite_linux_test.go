package evaluation

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Of answers that belong together all stand in the journal or none, where the disk is full
// behind the first of them.
func TestNoPartOfWhatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	j, err := newJournal(dir, 1)
	require.NoError(t, err)
	require.NoError(t, j.add(record{Head: &head{UUID: "u"}}, record{Launch: "runner"}))
	one := answer{Outcome: outcome.Failed("T-1", outcome.Harness, "no")}.record(1)

	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	name := filepath.Join(dir, FileJournal)
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	for range 2 { // and when somebody goes on with it
		var was unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(len(whole)) + 200, Max: was.Max}))
		err = j.add(one, one, one)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
		require.Error(t, err)
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(whole), string(text))
		j.close()
		j, _, err = reopenJournal(dir)
		require.NoError(t, err)
	}
	j.close()
}
