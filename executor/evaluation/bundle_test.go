package evaluation

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// fill writes the same files in a given order, with what should not matter differing.
func fill(t *testing.T, order []string, mode os.FileMode, when time.Time) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range order {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(name), 1000), mode))
		require.NoError(t, os.Chtimes(path, when, when))
	}
	return dir
}

func TestEqualContentGivesEqualBytes(t *testing.T) {
	names := []string{"a/b", "a.b", "z", "a/ünï", "attempt-1/runner/out/" + string(bytes.Repeat([]byte("x"), 200))}
	back := []string{names[4], names[3], names[2], names[1], names[0]}
	var one, two, three bytes.Buffer
	require.NoError(t, writeBundle(&one, fill(t, names, 0o600, time.Unix(1, 5))))
	require.NoError(t, writeBundle(&two, fill(t, back, 0o755, time.Now())))
	assert.True(t, bytes.Equal(one.Bytes(), two.Bytes()))
	require.NoError(t, writeBundle(&three, fill(t, append(names, "one-more"), 0o600, time.Now())))
	assert.False(t, bytes.Equal(one.Bytes(), three.Bytes()))
}

// The bytes of a bundle are a contract: a compressor that changes them must be seen.
func TestBundleBytesAreKnown(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, writeBundle(&b, fill(t, []string{"a/b", "c"}, 0o600, time.Now())))
	assert.Equal(t, batch.Digest("4498fb2754f851b0868ad0cba9503cae75ca15f2f8b522bda857b48b3168c4a8"), batch.Sum(b.Bytes()))
}
