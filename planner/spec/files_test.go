package spec

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// filesSpec is a spec whose file lists a test fills in.
const filesSpec = `benchmark: lamp-bench
panel: lamps.csv
models: [m]
`

func TestProblemsOfPaths(t *testing.T) {
	tree := map[string]string{
		"run.py": "", "inc/a.md": "a", "inc/deep/b.md": "b", "brain/x.md": "x", "own/a.py": "", "own/b/b.py": "",
		"old/mlflow.db": "", "days/d/manifest.json": "{}", "days/d/SHA256SUMS": "", "mlartifacts/1/a.txt": "", "prices.yaml": "m: {input: 1}\n",
		"bad/a\\b.md": "", "cache/__pycache__/a.pyc": "", "judge/j.py": "", "judge/rules/r.md": "",
	}
	for _, c := range []struct {
		name, spec string
		want       []string // after "spec.yaml:"
	}{
		{"paths that lead elsewhere", "recipe: {include: [/etc, ../x, 'a\\b', nope/, \".\", run.py/, link.md, linked/a.md, \"\"]}\nrunner: {command: [python3, run.py]}\n", []string{
			`4:20: recipe.include[0]: "/etc": an absolute path; write it relative to the spec's folder`,
			`4:26: recipe.include[1]: "../x": leads out of the spec's folder; keep what is measured below the spec`,
			`4:32: recipe.include[2]: "a\\b": holds a backslash; write / between folders`,
			`4:39: recipe.include[3]: "nope/": does not exist; write a path relative to the spec's folder`,
			`4:46: recipe.include[4]: ".": the spec's own folder, which holds the spec and what is written beside it; name the folders and files that are needed`,
			`4:51: recipe.include[5]: "run.py/": a file, not a folder; write it without the / at its end`,
			`4:60: recipe.include[6]: "link.md": link.md is a symbolic link; copy what it points to into place`,
			`4:69: recipe.include[7]: "linked/a.md": linked is a symbolic link; copy what it points to into place`,
			"4:82: recipe.include[8]: the path is empty; remove it",
		}},
		{"folders that cannot be hashed", "recipe: {include: [links/, bad/, cache/, cache/__pycache__]}\nrunner: {command: [python3, run.py]}\n", []string{
			`4:20: recipe.include[0]: "links/": links/inner is a symbolic link: only regular files can be hashed; copy what it points to into place`,
			`4:28: recipe.include[1]: "bad/": "bad/a\\b.md": the name holds '\\'; rename the file`,
			`4:34: recipe.include[2]: "cache/": the folder holds no file; put one into it, or remove the entry`,
			`4:42: recipe.include[3]: "cache/__pycache__": __pycache__ is left out of every digest and copy`,
		}},
		{"what runs write", "recipe: {include: [old, days/, mlartifacts/1/]}\nrunner: {command: [python3, run.py]}\n", []string{
			`4:20: recipe.include[0]: "old": holds what benchbatch or MLflow writes (old/mlflow.db): its digest would change with every run; keep inputs in a folder of their own`,
			`4:25: recipe.include[1]: "days/": holds what benchbatch or MLflow writes (days/d/SHA256SUMS): its digest would change with every run; keep inputs in a folder of their own`,
			`4:32: recipe.include[2]: "mlartifacts/1/": holds what benchbatch or MLflow writes (mlartifacts/1/a.txt): its digest would change with every run; keep inputs in a folder of their own`,
		}},
		{"the spec's own files", "prices: prices.yaml\nrecipe: {include: [spec.yaml, lamps.csv, prices.yaml]}\nrunner: {command: [python3, run.py]}\n", []string{
			`5:20: recipe.include[0]: "spec.yaml": holds the spec itself: a price or quota would change the identity; keep it in a folder of its own`,
			`5:31: recipe.include[1]: "lamps.csv": holds the panel: agents would see the expected answers; keep it in a folder of its own`,
			`5:42: recipe.include[2]: "prices.yaml": holds the prices: a new price would change the identity; keep it in a folder of its own`,
		}},
		{"an agent's file in include, and the other way round", "agents: [{id: a, files: [inc/a.md]}, {id: b, files: [own/]}]\nrecipe: {include: [inc/, own/a.py]}\nrunner: {command: [python3, run.py]}\n", []string{
			`5:20: recipe.include[0]: "inc/": inc/ belongs to execution and inc/a.md (in agents[0].files[0]) to agent a: no file can be part of both; move the files apart, or remove one entry`,
			`5:26: recipe.include[1]: "own/a.py": own/a.py belongs to execution and own/ (in agents[1].files[0]) to agent b: no file can be part of both; move the files apart, or remove one entry`,
		}},
		{"one agent's files in another's", "agents: [{id: a, files: [own/]}, {id: b, files: [own/b/]}]\nrunner: {command: [python3, run.py]}\n", []string{
			`4:50: agents[1].files[0]: "own/b/": own/b/ belongs to agent b and own/ (in agents[0].files[0]) to agent a: no file can be part of both; move the files apart, or remove one entry`,
		}},
		{"the command in an agent's files", "agents: [{id: a, files: [own/]}]\nrunner: {command: [python3, own/a.py]}\n", []string{
			`5:29: runner.command[1]: "own/a.py": own/a.py belongs to execution and own/ (in agents[0].files[0]) to agent a: no file can be part of both; move the files apart, or remove one entry`,
		}},
		{"the judge in include", "recipe: {include: [judge/]}\nrunner: {command: [python3, run.py]}\njudge: {command: [python3, judge/j.py]}\n", []string{
			`6:28: judge.command[1]: "judge/j.py": judge/j.py belongs to scoring and judge/ (in recipe.include[0]) to execution: no file can be part of both; move the files apart, or remove one entry`,
		}},
		{"listed twice", "recipe: {include: [inc/, ./inc, inc/deep/]}\nrunner: {command: [python3, run.py]}\n", []string{
			`4:26: recipe.include[1]: "./inc": listed twice; remove one of both`,
			`4:33: recipe.include[2]: "inc/deep/": inc/ already holds it; remove it`,
		}},
		{"brain", "brain: run.py\nrunner: {command: [sh, -c, x]}\n", []string{`4:8: brain: "run.py": a file, and a brain is a folder; put it into a folder of its own`}},
		{"brain over other files", "brain: brain\nagents: [{id: a, brain_placement: inc}, {id: b, brain_placement: ../x}, {id: c, brain_placement: .}]\nrecipe: {include: [inc]}\nrunner: {command: [python3, run.py]}\n", []string{
			`5:66: agents[1].brain_placement: "../x": not a folder in the working folder; write a relative path such as .agent/skills, or . for the working folder itself`,
		}},
		{"commands", "agents: [{id: a, version_command: [./version.sh]}]\nrunner: {command: [run.py, ./nope.sh, ../x.sh]}\npreflight: {command: [./ping.sh]}\n", []string{
			`4:36: agents[0].version_command[0]: "./version.sh": does not exist; write a path relative to the spec's folder`,
			`5:20: runner.command[0]: "run.py": a program without a folder is looked up in PATH, and a file of this name stands beside the spec; write ./run.py to run that file`,
			`5:28: runner.command[1]: "./nope.sh": does not exist; write a path relative to the spec's folder`,
			`5:39: runner.command[2]: "../x.sh": leads out of the spec's folder; keep what is measured below the spec`,
			`6:23: preflight.command[0]: "./ping.sh": does not exist; write a path relative to the spec's folder`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := small(t, filesSpec+c.spec, tree)
			dir := filepath.Dir(path)
			require.NoError(t, os.Symlink("run.py", filepath.Join(dir, "link.md")))
			require.NoError(t, os.Symlink("inc", filepath.Join(dir, "linked")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "links"), 0o755))
			require.NoError(t, os.Symlink("../run.py", filepath.Join(dir, "links", "inner")))
			var want []string
			for _, w := range c.want {
				want = append(want, "spec.yaml:"+w)
			}
			assert.Equal(t, want, lines(t, path, nil))
		})
	}
}

func TestBrainNeverCoversAnotherFile(t *testing.T) {
	got := lines(t, small(t, filesSpec+"brain: brain\nagents: [{id: a, brain_placement: inc}]\nrecipe: {include: [inc]}\nrunner: {command: [sh, -c, x]}\n",
		map[string]string{"inc/x.md": "1", "brain/x.md": "2"}), nil)
	assert.Equal(t, []string{`spec.yaml:5:35: agents[0].brain_placement: "inc": the brain's brain/x.md would cover inc/x.md of recipe.include[0]; place the brain elsewhere`}, got)
}

func TestAbsolutePathIntoTheFolderIsRefused(t *testing.T) {
	dir := folder(t, map[string]string{"lamps.csv": smallPanel, "run.sh": ""})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spec.yaml"), []byte(filesSpec+"runner: {command: ["+dir+"/run.sh]}\n"), 0o600))
	got := lines(t, filepath.Join(dir, "spec.yaml"), nil)
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "an absolute path into the spec's folder: what runs is a copy of it; write ./run.sh")
}

// However it is written, what a command names by an absolute path into the folder
// would be read in place, and be in no digest.
func TestAbsolutePathsInWordsAreRefused(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "real", "bench")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "conf"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(outer, "real"), filepath.Join(outer, "link")))
	require.NoError(t, os.Symlink(dir, filepath.Join(outer, "short")))
	for name, text := range map[string]string{"lamps.csv": smallPanel, "run.sh": "", "conf/a.yaml": "", "a b.yaml": "", "elsewhere.yaml": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	linked := filepath.Join(outer, "link", "bench")
	for _, from := range []string{dir, linked} { // the spec's folder, as it is named
		for word, want := range map[string]string{
			"--config=" + dir + "/conf/a.yaml":                         "./conf/a.yaml",
			"CONFIG=" + dir + "/conf/a.yaml":                           "./conf/a.yaml",
			"--config=" + linked + "/conf/a.yaml":                      "./conf/a.yaml",
			linked + "/run.sh":                                         "./run.sh",
			filepath.Join(outer, "short") + "/conf/a.yaml":             "./conf/a.yaml",
			dir + "/../bench/conf/a.yaml":                              "./conf/a.yaml",
			outer + "//real/./bench/conf/not-there-yet.yaml":           "./conf/not-there-yet.yaml",
			"--config=" + filepath.Join(outer, "short") + "/none.yaml": "./none.yaml",
			dir + "/a b.yaml":                                          "./a b.yaml",
			dir:                                                        ".",
			"-I" + dir + "/conf":                                       "./conf",
			"/usr/lib:" + dir + "/conf:/lib":                           "./conf",
			"file://" + linked + "/conf/a.yaml":                        "./conf/a.yaml",
			"cat '" + dir + "/conf/a.yaml' | head":                     "./conf/a.yaml",
			"/usr/bin/env":                                             "",
			"--config=/dev/null":                                       "",
			"--at=" + outer + "/real/bench-2/conf":                     "",
			outer:                                                      "",
			"conf" + dir:                                               "",
			"https://host" + dir:                                       "",
		} {
			spec := filepath.Join(from, "spec.yaml")
			text := filesSpec + "runner: {command: [sh, " + strconv.Quote(word) + "]}\n"
			require.NoError(t, os.WriteFile(spec, []byte(text), 0o600))
			got := lines(t, spec, nil)
			if want == "" {
				assert.Empty(t, got, word)
			} else if assert.Len(t, got, 1, word) {
				assert.Contains(t, got[0], "an absolute path into the spec's folder: what runs is a copy of it; write "+want, word)
			}
		}
	}
}

func TestSharedFiles(t *testing.T) {
	s, err := Load(small(t, filesSpec+"agents: [{id: a, files: [lib/]}, {id: b, files: [lib]}]\nrecipe: {include: [rules/]}\nrunner: {command: [sh, -c, x]}\njudge: {command: [sh, -c, y], files: [rules/]}\n",
		map[string]string{"lib/l.py": "1", "rules/r.md": "2"}), nil)
	require.NoError(t, err, "the same path written for both is meant")
	r, err := Resolve(s, nil)
	require.NoError(t, err)
	assert.Equal(t, r.Agents["a"].Items["files lib/"], r.Agents["b"].Items["files lib/"])
	assert.Equal(t, r.Execution.Items["include rules/"], r.Scoring.Items["files rules/"])
}

func TestCommandFiles(t *testing.T) {
	dir := folder(t, map[string]string{"run.py": "", "conf/a.yaml": "", "agents/x": "", "python3": ""})
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for command, want := range map[string][]string{
		"python3 run.py":                   {"run.py"},
		"python3 ./run.py run.py":          {"run.py"},
		"conf/a.yaml":                      {"conf/a.yaml"},
		"sh --conf=conf/a.yaml -x=no":      {"conf/a.yaml"},
		"sh conf agents":                   nil, // words, not folders
		"sh conf/ ./agents":                {"conf", "agents"},
		"sh . .. / /etc/passwd ../x http:": nil,
		"sh conf/none cerebras/qwen":       nil,
	} {
		assert.Equal(t, want, CommandFiles(root, strings.Fields(command)), command)
	}
}

func TestCommandWordsAreItems(t *testing.T) {
	s, err := Load(small(t, filesSpec+"runner: {command: [python3, run.py, --conf=conf/a.yaml, data/, run.py]}\n",
		map[string]string{"run.py": "1", "conf/a.yaml": "2", "data/x/1": "3", "data/2": "4"}), nil)
	require.NoError(t, err)
	r, err := Resolve(s, nil)
	require.NoError(t, err)
	assert.Equal(t, batch.Sum([]byte("1")), r.Execution.Items["file run.py"])
	assert.Equal(t, batch.Sum([]byte("2")), r.Execution.Items["file conf/a.yaml"])
	assert.Contains(t, r.Execution.Items, "files data/")
	assert.Equal(t, map[string]batch.Digest{
		"run.py": batch.Sum([]byte("1")), "conf/a.yaml": batch.Sum([]byte("2")), "data/x/1": batch.Sum([]byte("3")), "data/2": batch.Sum([]byte("4")),
	}, r.Execution.Files)
}

func TestPreflightOfAModel(t *testing.T) {
	s, err := Load("testdata/golden/spec.yaml", lookupIn(goldenEnv))
	require.NoError(t, err)
	p := s.PreflightFor(Agent{}, s.Models[0])
	assert.Equal(t, "NORTH_KEY", p.Key)
	assert.Equal(t, 8, p.MaxTokens)
	assert.Equal(t, "${GATEWAY_URL}/v1/chat/completions", p.URL)
	assert.Equal(t, "TOKEN", s.PreflightFor(Agent{}, s.Models[1]).Key)
	s.Preflight = nil
	assert.Nil(t, s.PreflightFor(Agent{}, s.Models[1]))
	assert.Equal(t, "20s", s.PreflightFor(Agent{}, s.Models[0]).Timeout.String())
}
