package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
)

// nobody is a user without rights on anything here.
const nobody = 65534

// open makes a folder that every user can reach, and removes it after the test.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "benchbatch-open-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	loosened(t, dir)
	return dir
}

// protect takes the right to write from everybody.
func protect(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o555)
		} else if err == nil {
			return os.Chmod(path, 0o444)
		}
		return err
	}))
}

// stranger runs the tool as another user where this one may do that, with no other environment.
func stranger(t *testing.T, env []string, args ...string) said {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	tool := filepath.Join(open(t), "benchbatch")
	b, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tool, b, 0o755))
	require.NoError(t, os.Chmod(tool, 0o755))
	c := exec.Command(tool, args...)
	var out, stderr bytes.Buffer
	c.Dir, c.Stdout, c.Stderr, c.Env = "/", &out, &stderr, append(env, "BENCHBATCH_TEST_MAIN=1")
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	require.NoError(t, c.Start())
	_ = c.Wait() // the exit code says it
	return said{c.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// verifiedByAnyone moves the folder, protects it, and lets another user verify it.
func verifiedByAnyone(t *testing.T, _ *shell, r ran) {
	dir := open(t)
	moved := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.CopyFS(moved, os.DirFS(r.Folder)))
	protect(t, dir)
	got := stranger(t, nil, "verify", moved, "--json")
	require.Zero(t, got.code, got.stderr)
	var report export.Report
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	assert.Len(t, sums(t, moved), report.Files)
	assert.Empty(t, report.Findings)
	assert.Empty(t, report.Notes)
	for _, file := range []string{"tables/outcomes.parquet", "tables/variants.parquet", "report.md"} {
		assert.Contains(t, report.Recomputed, file)
	}
	c := exec.Command("sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS")
	c.Dir = moved
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	listed, err := os.ReadFile(filepath.Join(moved, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, report.Files-1, strings.Count(string(listed), "\n"), "everything but itself is listed")
}

// damageIsNamed changes each kind of file, and what is there at all.
func damageIsNamed(t *testing.T, s *shell, r ran) {
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(dir, os.DirFS(r.Folder)))
	kinds := map[string]string{}
	for name := range sums(t, dir) {
		kind := name
		switch parts := strings.Split(name, string(filepath.Separator)); {
		case parts[0] == "raw":
			kind = "raw/" + parts[len(parts)-1]
		case len(parts) > 1 && parts[0] != "tables":
			kind = parts[0]
		}
		if name > kinds[kind] {
			kinds[kind] = name
		}
	}
	assert.Greater(t, len(kinds), 18)
	for kind, name := range kinds {
		t.Run(kind, func(t *testing.T) {
			file := filepath.Join(dir, name)
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			flipped := bytes.Clone(b)
			flipped[len(b)/2] ^= 1
			require.NoError(t, os.WriteFile(file, flipped, 0o600))
			s.named(dir, name)
			require.NoError(t, os.WriteFile(file, b[:len(b)-1], 0o600))
			s.named(dir, name)
			require.NoError(t, os.Remove(file))
			s.named(dir, name)
			require.NoError(t, os.WriteFile(file, b, 0o600))
		})
	}
	for _, extra := range []string{"notes.txt", "raw/more.jsonl", "tables/.hidden"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, extra), []byte("x"), 0o600))
		s.named(dir, extra)
		require.NoError(t, os.Remove(filepath.Join(dir, extra)))
	}
	s.ok("verify", dir)
	got := s.run("verify", filepath.Join(dir, "nothing"))
	assert.Equal(t, ExitUsage, got.code)
	assert.Contains(t, got.stderr, "nothing")
}

// named verifies a folder that does not hold: the file must be named.
func (s *shell) named(dir, file string) {
	s.t.Helper()
	for _, args := range [][]string{{"verify", dir}, {"verify", "--digests", dir}} {
		got := s.run(args...)
		assert.Equal(s.t, ExitIntegrity, got.code, "%v %s\n%s", args, file, got.stderr)
		assert.Contains(s.t, got.stderr, file)
	}
}

// noRoom exports where nothing can be written, and where the disk takes no more.
func noRoom(t *testing.T, s *shell, r ran) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	got := s.run("export", r.Batch, "--out", file)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "not a directory")

	closed := filepath.Join(open(t), "closed")
	require.NoError(t, os.Mkdir(closed, 0o555))
	got = stranger(t, []string{"MLFLOW_TRACKING_URI=" + s.env["MLFLOW_TRACKING_URI"]}, "export", r.Batch, "--out", closed)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "permission denied")
	assert.Contains(t, got.stderr, closed)

	// A limit on the size of files stands for a full disk: a write comes back short.
	self, err := os.Executable()
	require.NoError(t, err)
	out := t.TempDir()
	c := exec.Command("sh", "-c", `ulimit -f 8; exec "$0" "$@"`, self, "export", r.Batch, "--out", out)
	c.Env = []string{"BENCHBATCH_TEST_MAIN=1", "MLFLOW_TRACKING_URI=" + s.env["MLFLOW_TRACKING_URI"]}
	said, err := c.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, ExitFailed, c.ProcessState.ExitCode(), string(said))
	assert.Contains(t, string(said), "file too large")
	assert.Contains(t, string(said), out)
	assert.Empty(t, entries(t, out), "nothing half published")
}
