package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folder writes files below a new folder and returns it.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o755))
	}
	return dir
}

const (
	smallSpec = `benchmark: lamp-bench
panel: lamps.csv
models: [north/lamp-9b, south/lamp-27b]
runner: {command: [./ask.sh], unit: task, check: [./grade.sh]}
`
	smallPanel = "id,input,expected\nL-1,Is the lamp on?,yes\nL-2,Is the lamp off?,no\n"
)

// small is the least spec that works, with the given files on top.
func small(t testing.TB, yaml string, more map[string]string) string {
	files := map[string]string{
		"lamps.csv": smallPanel, "ask.sh": "#!/bin/sh\necho yes\n", "grade.sh": "#!/bin/sh\nexit 0\n", "spec.yaml": yaml,
	}
	for name, text := range more {
		files[name] = text
	}
	return filepath.Join(folder(t, files), "spec.yaml")
}

func lookupIn(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// lines are the problems of a spec as text, without the folder.
func lines(t testing.TB, path string, env map[string]string) []string {
	t.Helper()
	_, err := Load(path, lookupIn(env))
	var ps Problems
	if !errors.As(err, &ps) {
		require.NoError(t, err)
		return nil
	}
	var out []string
	for _, p := range ps {
		if p.File != "" {
			p.File = filepath.Base(p.File)
		}
		out = append(out, p.String())
	}
	return out
}

func TestLeastSpec(t *testing.T) {
	s, err := Load(small(t, smallSpec, nil), nil)
	require.NoError(t, err)
	assert.Equal(t, "lamp-bench", s.Experiment)
	assert.Equal(t, "draft", s.Version)
	assert.Equal(t, 5, s.Repeats)
	assert.Equal(t, []Agent{{ID: "default", BrainPlacement: "brain"}}, s.Agents)
	assert.Equal(t, []Model{{ID: "north_lamp-9b", Route: "north/lamp-9b"}, {ID: "south_lamp-27b", Route: "south/lamp-27b"}}, s.Models)
	assert.Equal(t, map[string]int{"provider": 2, "harness": 1}, s.Retry)
	assert.Equal(t, `"Is the lamp on?"`, string(s.Tasks[0].Input))

	r, err := Resolve(s, nil)
	require.NoError(t, err)
	require.Len(t, r.Cells, 2)
	assert.Equal(t, "default+north_lamp-9b", r.Cells[0].String())
	assert.True(t, r.Cells[0].Identity.Consistent())
	assert.Contains(t, r.Execution.Items, "file ask.sh")
	assert.Contains(t, r.Scoring.Items, "file grade.sh")
	assert.NotContains(t, r.Execution.Items, "file grade.sh")
}

// A panel given as a spec is called what it is, by name or by content.
func TestPanelAsSpec(t *testing.T) {
	task := `{"id":"L-1","input":"a"}`
	files := map[string]string{
		"lamps.csv": smallPanel, "lamps.jsonl": task + "\n" + task + "\n", "UPPER.CSV": "a,b\n", "huge.csv": strings.Repeat("x", maxFile+1),
		"named.txt": smallPanel, "quoted": "\xef\xbb\xbf\"id\", \"input\"\r\n", "one.yaml": "\n" + task,
	}
	dir := folder(t, files)
	for name := range files {
		assert.Equal(t, []string{name + ": this looks like a panel (CSV or JSONL), not like a spec; give the spec that names it, such as benchmark.yaml; `benchbatch init DIR` writes one"},
			lines(t, filepath.Join(dir, name), nil))
	}
	for text, want := range map[string]string{
		"id,cost\n":                 "keys with values expected", // no column of a panel
		"id\n":                      "keys with values expected",
		`{"id":"a","models":["x"]}`: "id: unknown key",
		`{"benchmark": "lamps"}`:    "models: missing",
	} {
		got := strings.Join(lines(t, small(t, text, nil), nil), "\n")
		assert.Contains(t, got, want)
		assert.NotContains(t, got, "panel (CSV", text)
	}
	assert.Equal(t, []string{"no.csv: does not exist; name a spec, such as benchmark.yaml; `benchbatch init DIR` writes one"}, lines(t, filepath.Join(dir, "no.csv"), nil))
}

func TestParseNeedsNoFiles(t *testing.T) {
	s, err := Parse([]byte("benchmark: b\npanel: gone.jsonl\nmodels: [lab/m]\nrunner: {command: [./gone.sh], secrets: [TOKEN]}\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"TOKEN"}, s.Runner.Secrets)
	_, err = Parse([]byte("benchmark: b\nnothing: 1\n"))
	assert.ErrorContains(t, err, "nothing")
}
