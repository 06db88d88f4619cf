package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// spied is what testdata/spy.py found.
type spied struct {
	Env   map[string]string `json:"env"`
	Home  []string          `json:"home"`
	Texts map[string]string `json:"texts"` // by path
	Links map[string]any    `json:"links"` // of the launcher's process
	Above []string          `json:"above"`
	Git   int               `json:"git"` // exit code of git rev-parse
	Job   map[string]any    `json:"job"`

	Siblings int `json:"siblings"` // folders beside its own
}

// TestARunnerThatGoesLookingFindsNothing runs a spy below a launcher whose
// environment, home and repository are full of what it looks for, while the judge
// of another evaluation has the expected answers.
func TestARunnerThatGoesLookingFindsNothing(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	dir := open(t)
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Dir(s.spec))))
	s.spec = filepath.Join(dir, "benchmark.yaml")
	s.edit("benchmark.yaml", "python3, lib/run.py, --style, plain", "python3, lib/spy.py")
	s.edit("benchmark.yaml", "\nprices:", "\njudge: {command: [python3, judge/judge.py], pass_env: [ADDRESS]}\nprices:")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "") // under a ceiling the first evaluation, whose cost nobody knows, runs alone
	for from, to := range map[string]string{"spy.py": "lib/spy.py", "judge.py": "judge/judge.py"} {
		b, err := os.ReadFile(filepath.Join("testdata", from))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(to)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), b, 0o644))
	}
	require.NoError(t, exec.Command("git", "init", "-q", dir).Run())
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".credentials"), []byte("needle-in-home"), 0o644))
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o777)
	}))
	found := filepath.Join(dir, "found.json")
	server := s.env["MLFLOW_TRACKING_URI"]
	got := stranger(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MLFLOW_TRACKING_URI=" + server, "OTHER_KEY=needle-in-environment",
		"STARTS=", "FAULTS=", "ADDRESS=" + found, "REGION=north", "TMPDIR=" + tempOf(t, dir)},
		"run", s.spec, "--out", filepath.Join(dir, "batches"), "--json")
	require.Zero(t, got.code, got.stderr)
	var r ran
	require.NoError(t, json.Unmarshal([]byte(got.out), &r))
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	require.NotNil(t, r.Cells[0].Mean)
	assert.InDelta(t, 1, *r.Cells[0].Mean, 1e-9, "the expected answers reached the judge")

	b, err := os.ReadFile(found)
	require.NoError(t, err)
	var f spied
	require.NoError(t, json.Unmarshal(b, &f))
	var names []string
	for name := range f.Env {
		if name != "LC_CTYPE" { // set by Python itself
			names = append(names, name)
		}
	}
	assert.ElementsMatch(t, []string{"PATH", "LANG", "HOME", "TMPDIR", "BENCHBATCH_JOB", "BENCHBATCH_OUT", "REGION", "STARTS", "FAULTS", "ADDRESS"}, names)
	assert.Empty(t, f.Home)
	assert.NotEqual(t, dir, f.Env["HOME"])
	assert.Empty(t, f.Above, "no repository, spec or state above the working folder")
	assert.NotZero(t, f.Git)
	assert.Greater(t, len(f.Texts), 8)
	assert.GreaterOrEqual(t, f.Siblings, 2, "the judge's folder is there")
	for path, text := range f.Texts {
		for _, needle := range []string{server, strings.TrimPrefix(server, "http://"), "needle-in", "tray 0", "tray 1"} {
			assert.NotContains(t, text, needle, path)
		}
	}
	if os.Geteuid() == 0 { // then the launcher ran as another user than root, who may look at everything
		for name, link := range f.Links {
			assert.Equal(t, "refused: Permission denied", link, name)
		}
	}
	for _, task := range f.Job["tasks"].([]any) {
		assert.NotContains(t, task, "expected")
	}
}

// tempOf is a folder for temporary files of every user, outside any repository.
func tempOf(t *testing.T, not string) string {
	t.Helper()
	dir := open(t)
	require.NotEqual(t, not, dir)
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}
