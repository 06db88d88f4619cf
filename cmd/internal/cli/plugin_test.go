package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

const pluginDir = "../../../mlflow/plugin"

func pythonOf(t *testing.T, v mlflowtest.Version) string {
	return filepath.Join(filepath.Dir(mlflowtest.Executable(t, v)), "python")
}

// installPlugin builds the wheel of mlflow/plugin, and gives the folder in which it is
// installed, for any MLflow.
func installPlugin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, site := filepath.Join(dir, "source"), filepath.Join(dir, "site")
	require.NoError(t, os.CopyFS(source, os.DirFS(pluginDir)))       // setuptools writes beside what it builds,
	require.NoError(t, os.RemoveAll(filepath.Join(source, "build"))) // and takes what it wrote before
	for _, args := range [][]string{
		{"wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", dir, source},
		{"install", "--no-deps", "--no-index", "--find-links", dir, "--target", site, "mlflow-benchbatch"},
	} {
		cmd := exec.Command(pythonOf(t, mlflowtest.Oldest), append([]string{"-m", "pip", "--quiet", "--disable-pip-version-check"}, args...)...) // the one whose setuptools builds wheels
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v\n%s", args, out)
	}
	return site
}

// python runs Python in a folder, with the plugin beside MLflow and this test's
// program as benchbatch, and gives what it wrote to stdout and stderr.
func (s *shell) python(v mlflowtest.Version, dir string, env []string, args ...string) (string, string) {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	cmd := exec.Command(pythonOf(s.t, v), args...)
	cmd.Dir = dir
	cmd.Env = append(env, "HOME="+s.dir, "MLFLOW_DISABLE_TELEMETRY=true", "GIT_PYTHON_REFRESH=quiet", "BENCHBATCH="+self, "BENCHBATCH_TEST_MAIN=1")
	for k, value := range s.env {
		cmd.Env = append(cmd.Env, k+"="+value)
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	require.NoError(s.t, cmd.Run(), "%v\n%s", args, &stderr)
	return out.String(), stderr.String()
}

// TestPlugin builds the wheel, and logs through it with the newest MLflow and with the oldest.
func TestPlugin(t *testing.T) {
	t.Parallel()
	site := installPlugin(t)
	for _, v := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		t.Run(string(v), func(t *testing.T) {
			s, page := newShell(t, v), newShell(t, v)
			s.env["PYTHONPATH"], page.env["PYTHONPATH"] = site, site
			_, said := s.python(v, filepath.Join(pluginDir, "tests"), nil, "-m", "unittest")
			assert.Regexp(t, `Ran [1-9]\d* tests in .*\n\nOK`, said)
			if v == mlflowtest.Newest {
				pluginRows(t, s, v)
			}
			pluginRuns(t, s, v)
			pluginPage(t, page, v)
		})
	}
}

// pluginRows: what the plugin takes, benchbatch reads, and reads the same.
func pluginRows(t *testing.T, s *shell, v mlflowtest.Version) {
	script, err := filepath.Abs("testdata/plugin_rows.py")
	require.NoError(t, err)
	out, _ := s.python(v, s.dir, nil, script)
	taken, refused := 0, 0
	for row := range strings.Lines(out) {
		var said struct {
			Policy outcome.TimeoutPolicy
			Line   string
			State  outcome.State
			Score  *float64
		}
		require.NoError(t, json.Unmarshal([]byte(row), &said))
		if said.Line == "" {
			refused++
			continue
		}
		taken++
		read, err := outcome.Read(strings.NewReader(said.Line), said.Policy)
		if assert.NoError(t, err, said.Line) && assert.Len(t, read, 1, said.Line) {
			assert.Equal(t, said.State, read[0].State, said.Line)
			assert.Equal(t, said.Score, read[0].Score, said.Line)
		}
	}
	assert.Greater(t, taken, 200)
	assert.Greater(t, refused, 200)
}

// pluginSaid is what testdata/plugin.py prints.
type pluginSaid struct {
	Counts, Nested, Twin, Failed, Evaluation string
	Again                                    string   `json:"measured again"`
	Noted                                    string   `json:"noted"`
	NotNoted                                 []string `json:"not noted"`
	Elsewhere                                []string
	Untagged                                 []string `json:"tags of a refused run"`
	Score                                    float64
	Same                                     bool   `json:"again is the same"`
	Later                                    bool   `json:"a day later"`
	BadRow                                   string `json:"bad row"`
	OtherRows                                string `json:"other rows"`
	AnotherCell                              string `json:"another cell"`
	Below                                    string
	TooMany                                  string `json:"too many missing"`
	OwnScore                                 string `json:"own score"`
	NoRun                                    string `json:"no run"`
	Batch                                    string `json:"a batch"`
}

func pluginRuns(t *testing.T, s *shell, v mlflowtest.Version) {
	script, err := filepath.Abs("testdata/plugin.py")
	require.NoError(t, err)
	out, _ := s.python(v, filepath.Dir(s.spec), []string{"BENCHBATCH_SPEC=benchmark.yaml", "BENCHBATCH_VARIANT=quick+m-one"}, script)
	var said pluginSaid
	require.NoError(t, json.Unmarshal([]byte(out[strings.LastIndex(out, "\n{\"counts\"")+1:]), &said), out)

	assert.True(t, said.Same, "the same rows again change nothing")
	assert.True(t, said.Later)
	assert.InDelta(t, 0.75, said.Score, 1e-9)
	assert.Contains(t, said.BadRow, "row 12, task 'T-01': score: nan: a number from 0 to 1 is expected")
	for _, refusal := range []string{said.OtherRows, said.AnotherCell} {
		assert.Contains(t, refusal, "run "+said.Counts+" is evaluation "+said.Evaluation+" already, of another cell or other outcomes: log it in a run of its own")
	}
	assert.Contains(t, said.Below, "lies below the evaluation "+said.Counts)
	assert.Contains(t, said.TooMany, "2 of 12 tasks are missing (2 provider); at most 1 may be: measure them again.")
	assert.Empty(t, said.Untagged, "only what was measured is tagged")
	assert.Contains(t, said.OwnScore, "has a metric score of 75.0, where the record says 1.0")
	assert.Contains(t, said.NoRun, "no run is active")
	assert.Contains(t, said.Batch, "is batch  already")
	if assert.Len(t, said.Elsewhere, 1, "the warning names the line that called") {
		assert.Contains(t, said.Elsewhere[0], "-elsewhere' counts only where reuse.experiments has")
	}
	assert.Equal(t, strings.Repeat("?", 500), said.Noted)
	assert.Empty(t, said.NotNoted)

	p := s.plan()
	assert.Equal(t, []int{1, 1, 0, 1}, []int{p.Cells[0].Reused, p.Cells[1].Reused, p.Cells[2].Reused, p.Cells[3].Reused})
	ignored := map[string]string{}
	for _, i := range p.Ignored {
		ignored[i.RunID] = i.Reason
	}
	assert.Equal(t, map[string]string{said.Twin: "same evaluation UUID as run " + said.Nested, said.Failed: "status FAILED"}, ignored)
	if v == mlflowtest.Newest {
		assert.Equal(t, 3, s.measure().Counts.Reused, "what the plugin logged is frozen, exported and verified like our own")
	}
	pluginTags(t, s, said)
}

// pluginTags: a run that counts looks like one of ours.
func pluginTags(t *testing.T, s *shell, said pluginSaid) {
	found := map[string]mlflow.Run{}
	for _, r := range s.runs("tags.`benchbatch.spec` = 'benchmark.yaml'") {
		found[r.Info.RunID] = r
	}
	assert.GreaterOrEqual(t, len(found), 8, "every run of the script is found")
	r := found[said.Counts]
	for key, want := range s.hashes()[0].Tags {
		assert.Equal(t, want, r.Tag(key), key)
	}
	assert.Equal(t, said.Evaluation, r.Tag("benchbatch.evaluation"))
	assert.Equal(t, "selection", found[said.Nested].Tag("benchbatch.role"))
	assert.JSONEq(t, `[{"path":"mine.json","type":"table"},{"path":"outcomes_table.json","type":"table"}]`, r.Tag("mlflow.loggedArtifacts"))
	for key, want := range map[string]float64{"score": 0.75, "pass_fraction": 1, "coverage": 1, "cost_usd": 0.03, "wall_s": 90, "count/scored": 12, "count/agent": 0, "judge/tone": 1} {
		got, ok := r.Metric(key)
		assert.True(t, ok && got == want, "%s %v", key, got)
	}
	params := map[string]string{}
	for _, p := range r.Data.Params {
		params[p.Key] = p.Value
	}
	tags := s.hashes()[0].Tags
	assert.Equal(t, map[string]string{"agent": "quick", "model": "of my own", "benchmark": tags["benchbatch.benchmark"], "version": "v1"}, params)
	require.Len(t, r.Inputs, 1)
	for _, ours := range s.runs("tags.`benchbatch.state` = 'complete'") {
		assert.Equal(t, ours.Inputs, r.Inputs, "one panel, one dataset")
		assert.Equal(t, s.questions(ours), s.questions(r), "one table")
	}
}

// questions are the columns of an evaluation's table, without those of judges, and what it says of its tasks.
func (s *shell) questions(r mlflow.Run) [][]any {
	s.t.Helper()
	b, err := s.client().ReadArtifact(s.t.Context(), r.Info, batch.FileTable, 1<<20)
	require.NoError(s.t, err)
	var table struct {
		Columns []any
		Data    [][]any
	}
	require.NoError(s.t, json.Unmarshal(b, &table))
	out := [][]any{slices.DeleteFunc(slices.Clone(table.Columns), func(c any) bool { return c == "tone" })}
	for _, row := range table.Data {
		out = append(out, []any{row[0], row[slices.Index(table.Columns, any("question"))]})
	}
	require.Contains(s.t, out, []any{"T-01", "Where does letter 1 go?"})
	return out
}

// pluginPage runs the script of the plugin's README as it stands there.
func pluginPage(t *testing.T, s *shell, v mlflowtest.Version) {
	page, err := os.ReadFile(filepath.Join(pluginDir, "README.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)`train.py`:\n\n```python\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	dir := filepath.Dir(s.spec)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "train.py"), block[1], 0o600))
	s.python(v, dir, []string{"BENCHBATCH_SPEC=benchmark.yaml", "BENCHBATCH_VARIANT=careful+m-one"}, filepath.Join(s.dir, "train.py"))
	p := s.plan()
	assert.Empty(t, p.Ignored)
	assert.Equal(t, []int{0, 0, 1, 0}, []int{p.Cells[0].Reused, p.Cells[1].Reused, p.Cells[2].Reused, p.Cells[3].Reused})
}

// TestPluginTagsAreDocumented: what the plugin writes is part of the contract.
func TestPluginTagsAreDocumented(t *testing.T) {
	contract, err := os.ReadFile("../../../docs/mlflow.md")
	require.NoError(t, err)
	sources, err := filepath.Glob(pluginDir + "/src/*/*.py")
	require.NoError(t, err)
	found := 0
	for _, name := range sources {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, tag := range regexp.MustCompile(`benchbatch\.[a-z_]+"`).FindAllString(string(b), -1) {
			found++
			assert.Contains(t, string(contract), "`"+strings.TrimSuffix(tag, `"`)+"`", name)
		}
	}
	assert.Greater(t, found, 6, "the tags were not found")
}
