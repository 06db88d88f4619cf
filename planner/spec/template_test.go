package spec

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInitWritesABenchmarkThatLoads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new bench")
	written, err := Init(dir, InitOptions{})
	require.NoError(t, err)
	var names []string
	for _, p := range written {
		names = append(names, filepath.Base(p))
	}
	assert.Equal(t, []string{"panel.csv", "ask.sh", "grade.sh", "benchmark.yaml"}, names)

	s, err := Load(filepath.Join(dir, SpecFile), nil)
	require.NoError(t, err)
	assert.Equal(t, "new_bench", s.Benchmark)
	assert.Len(t, s.Models, 2)
	assert.Len(t, s.Tasks, 12)
	r, err := Resolve(s, nil)
	require.NoError(t, err)
	assert.Len(t, r.Cells, 2)
	list, total, err := Uncovered(s, 20)
	require.NoError(t, err)
	assert.Empty(t, list)
	assert.Zero(t, total)
}

func TestInitNeverOverwrites(t *testing.T) {
	dir := folder(t, map[string]string{"ask.sh": "mine"})
	_, err := Init(dir, InitOptions{})
	require.ErrorContains(t, err, "ask.sh exists already")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing else is written either")
	text, err := os.ReadFile(filepath.Join(dir, "ask.sh"))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))
}

func TestInitStartsFromWhatOneHas(t *testing.T) {
	dir := folder(t, map[string]string{"answer.sh": "#!/bin/sh\n", "grade.sh": "#!/bin/sh\n", "q.csv": smallPanel})
	written, err := Init(dir, InitOptions{Command: "./answer.sh --deep yes", Panel: "q.csv", Models: []string{"north/a", "1", "no"}})
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, SpecFile)}, written)
	s, err := Load(written[0], nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"./answer.sh", "--deep", "yes"}, s.Runner.Command)
	assert.Equal(t, []string{"north_a", "1", "no"}, s.modelIDs())
	assert.Len(t, s.Tasks, 2)
}

func TestInitRefusesWhatIsNotThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	_, err := Init(dir, InitOptions{Command: "./answer.sh"})
	require.ErrorContains(t, err, "answer.sh is no file in")
	assert.NoDirExists(t, dir)
}

// The scripts of the template run as a launcher runs them, without a network.
func TestTemplateScriptsAnswerAndGrade(t *testing.T) {
	dir := t.TempDir()
	_, err := Init(dir, InitOptions{})
	require.NoError(t, err)
	s, err := Load(filepath.Join(dir, SpecFile), nil)
	require.NoError(t, err)

	run := func(script, stdin string, env ...string) (string, int) {
		cmd := exec.Command(filepath.Join(dir, script))
		cmd.Stdin, cmd.Env = strings.NewReader(stdin), append(env, "PATH="+os.Getenv("PATH"))
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			require.NoError(t, err)
		}
		return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
	}
	for _, task := range s.Tasks[:3] {
		job := filepath.Join(t.TempDir(), "job.json")
		doc, err := json.Marshal(map[string]any{"tasks": []any{task}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(job, doc, 0o600))
		var question, expected string
		require.NoError(t, json.Unmarshal(task.Input, &question))
		require.NoError(t, json.Unmarshal(task.Expected, &expected))

		answer, code := run("ask.sh", question, "BENCHBATCH_MODEL=toy/hasty", "BENCHBATCH_JOB="+job)
		assert.Zero(t, code)
		assert.Contains(t, []string{"even", "odd"}, answer)
		_, code = run("grade.sh", expected+"\n", "BENCHBATCH_JOB="+job)
		assert.Equal(t, 0, code, "the expected answer passes")
		_, code = run("grade.sh", "neither", "BENCHBATCH_JOB="+job)
		assert.Equal(t, 1, code)
	}
}

func TestUncovered(t *testing.T) {
	path := small(t, smallSpec, map[string]string{
		"lib/helper.py": "", "lib/deep/other.py": "", "notes.txt": "", ".hidden/x": "", "mlflow.db": "", "mlartifacts/1/a": "",
		"day/manifest.json": "{}", "day/SHA256SUMS": "", "day/report.md": "", "judge/judge.py": "", "judge/rules.txt": "",
	})
	s, err := Load(path, nil)
	require.NoError(t, err)
	list, total, err := Uncovered(s, 20)
	require.NoError(t, err)
	assert.Equal(t, []string{"judge/", "lib/", "notes.txt"}, list)
	assert.Equal(t, 3, total)

	s.Judge = &JudgeStage{Command: []string{"python3", "judge/judge.py"}}
	list, total, err = Uncovered(s, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"judge/rules.txt"}, list, "only the first is listed")
	assert.Equal(t, 3, total)
}
