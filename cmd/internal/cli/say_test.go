package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/terminal"
)

// TestSayFitsTerminal: lines fit a terminal, addresses stay whole, and what is no terminal gets lines to search in.
func TestSayFitsTerminal(t *testing.T) {
	address := "http://127.0.0.1:5000/" + strings.Repeat("a", 90)
	text := "error: " + strings.Repeat("word ", 30) + "see " + address + "\n  remedy: " + strings.Repeat("wörd ", 30) + "end"
	var out bytes.Buffer
	a := &App{Stderr: &out}
	a.say("%s", text)
	assert.Equal(t, text+"\n", out.String())
	out.Reset()
	a.Terminal = true
	a.say("%s", text)
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		assert.True(t, terminal.Width(line) <= terminal.Columns || line == "  "+address, line)
	}
	assert.Contains(t, out.String(), "\n  "+address+"\n", "what goes on stands further in")
	assert.Contains(t, out.String(), "\n  remedy: ")
	assert.Contains(t, out.String(), "\n    wörd ")
	assert.Equal(t, strings.Fields(text), strings.Fields(out.String()))
}

// TestComplete: the shell is offered what is in the spec and in the folder.
func TestComplete(t *testing.T) {
	s := newShellAt(t, "")
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "batches", "my-batch"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "batches", "my-batch", "result.json"), nil, 0o644))
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"plan", s.spec, "--only", ""}, []string{"agent=quick", "model=m-one"}},
		{[]string{"run", s.spec, "--only", "agent=quick,"}, []string{"agent=quick,model=m-one"}},
		{[]string{"plan", s.spec, "--explain", ""}, []string{"quick+m-one"}},
		{[]string{"hash", s.spec, "--model", ""}, []string{"m-one"}},
		{[]string{"status", ""}, []string{"latest", "my-batch"}},
		{[]string{"compare", "latest", ""}, []string{"my-batch"}},
		{[]string{"check", ""}, []string{"yaml"}},
		{[]string{"open", "--view", ""}, []string{"score", "failed"}},
		{[]string{"export", "latest", "--withhold", ""}, []string{"raw", "inputs"}},
	} {
		offered := strings.Split(s.ok(append([]string{"__complete"}, c.args...)...).out, "\n")
		for _, w := range c.want {
			assert.Contains(t, offered, w, "%v", c.args)
		}
	}
}

// TestWrongFolder: what is no dated folder is said to be none, with the way to one.
func TestWrongFolder(t *testing.T) {
	s := newShellAt(t, "")
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "batches", "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "batches", "a", "manifest.json"), []byte("{}"), 0o644))
	for _, command := range []string{"verify", "report"} {
		for path, want := range map[string]string{
			filepath.Join(s.dir, "none"):    "none does not exist; name a folder that `benchbatch run`",
			s.spec:                          "is a file, not a dated folder; name the folder",
			filepath.Dir(s.spec):            "is no dated folder: it holds no manifest.json; name one",
			filepath.Join(s.dir, "batches"): "holds some; name one of them, such as " + filepath.Join(s.dir, "batches", "a"),
		} {
			got := s.run(command, path)
			assert.Equal(t, ExitUsage, got.code, "%s %s", command, path)
			assert.Contains(t, got.stderr, want, command)
		}
	}
}

// TestCheckSaysWhatIsLacking: what run would refuse here is no problem of the spec, but said.
func TestCheckSaysWhatIsLacking(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b")
	s := newShellAt(t, "")
	path := filepath.Join(dir, "benchmark.yaml")
	assert.Contains(t, s.ok("init", dir).stderr, "next: benchbatch check "+path)
	assert.NotContains(t, s.ok("check", path).stderr, "warning")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("[./ask.sh]"), []byte("[no-such-program]\n  secrets: [NO_SUCH_VARIABLE]"), 1)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	require.NoError(t, os.Chmod(filepath.Join(dir, "grade.sh"), 0o644))
	got := s.ok("check", path)
	assert.Contains(t, got.stderr, "warning: runner.command: no program no-such-program on the PATH; install it")
	assert.Contains(t, got.stderr, "warning: runner.check: "+filepath.Join(dir, "grade.sh")+" may not be executed; run: chmod +x")
	assert.Contains(t, got.stderr, "warning: the spec passes NO_SUCH_VARIABLE on")
	var c checked
	s.json(&c, "check", path)
	assert.Len(t, c.Here, 3)
}
