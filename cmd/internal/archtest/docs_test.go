package archtest

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/executor/process"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(b)
}

var rowPattern = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z]+) \\|")

func TestSpecPageHasEveryFieldAndItsClass(t *testing.T) {
	documented := map[string]string{}
	for _, row := range rowPattern.FindAllStringSubmatch(page(t, "docs/spec.md"), -1) {
		assert.NotContains(t, documented, row[1], "docs/spec.md has the field twice")
		documented[row[1]] = row[2]
	}
	fields := map[string]string{}
	addFields(fields, reflect.TypeFor[spec.Spec](), "")
	addFields(fields, reflect.TypeFor[batch.Task](), "")
	assert.Equal(t, fields, documented)
}

// addFields adds the fields of a struct that a spec can hold, with their class.
func addFields(out map[string]string, in reflect.Type, at string) {
	for f := range in.Fields() {
		key := f.Tag.Get("yaml")
		if key == "" {
			key, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		switch {
		case f.Anonymous:
			addFields(out, f.Type, at)
			continue
		case key == "" || key == "-":
			continue
		}
		key = at + key
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct {
			key, kind = key+"[]", kind.Elem()
		}
		if kind.Kind() == reflect.Map && kind.Elem().Kind() == reflect.Struct {
			key, kind = key+".NAME", kind.Elem()
		}
		before := len(out)
		if kind.Kind() == reflect.Struct && key != "models[].preflight" && key != "agents[].preflight" { // its fields are those of preflight
			addFields(out, kind, key+".")
		}
		if len(out) > before {
			continue
		}
		out[key] = f.Tag.Get("class")
	}
}

// TestPagesHaveEveryTag looks for what is called benchbatch.… in the code and in the plugin.
func TestPagesHaveEveryTag(t *testing.T) {
	names := regexp.MustCompile(`"(benchbatch\.[a-z_]+)"`)
	plugin, err := filepath.Glob("../../../mlflow/plugin/src/*/*.py")
	require.NoError(t, err)
	require.NotEmpty(t, plugin)
	var files []string
	for _, f := range plugin {
		files = append(files, strings.TrimPrefix(f, "../../../"))
	}
	for _, of := range sources(t) {
		for _, f := range of {
			if !f.test {
				files = append(files, f.name)
			}
		}
	}
	found := map[string]bool{}
	for _, f := range files {
		contract := "docs/mlflow.md"
		if strings.HasPrefix(f, "export/tables/") { // what its files say of themselves
			contract = "docs/tables.md"
		}
		for _, m := range names.FindAllStringSubmatch(page(t, f), -1) {
			found[m[1]] = true
			assert.Contains(t, page(t, contract), "`"+m[1]+"`", "%s: %s does not have it", f, contract)
		}
	}
	assert.Greater(t, len(found), 35, "the tags were not found")
}

func TestArchitecturePageHasEveryPackage(t *testing.T) {
	var documented, listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|").FindAllStringSubmatch(page(t, "docs/architecture.md"), -1) {
		documented = append(documented, row[1])
	}
	for _, p := range packages {
		listed = append(listed, p.path)
	}
	assert.ElementsMatch(t, listed, documented)
}

func TestDependenciesPageHasEveryModule(t *testing.T) {
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9./-]+)` \\|").FindAllStringSubmatch(page(t, "docs/dependencies.md"), -1) {
		documented = append(documented, row[1])
	}
	require.NotEmpty(t, documented)
	used := map[string]bool{}
	for _, files := range sources(t) {
		for _, f := range files {
			for _, imported := range f.imports {
				if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") || strings.HasPrefix(imported, module+"/") {
					continue
				}
				i := slices.IndexFunc(documented, func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") })
				if assert.GreaterOrEqual(t, i, 0, "%s: %s is not in docs/dependencies.md", f.name, imported) {
					used[documented[i]] = true
				}
			}
		}
	}
	for _, m := range documented {
		assert.True(t, used[m], "docs/dependencies.md lists %s, which nothing uses", m)
	}
}

// TestRunnerPageExample writes the files of docs/runner.md and measures them once.
func TestRunnerPageExample(t *testing.T) {
	dir := t.TempDir()
	for _, f := range regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```[a-z]*\n(.*?)```").FindAllStringSubmatch(page(t, "docs/runner.md"), -1) {
		name := filepath.Join(dir, filepath.FromSlash(f[1]))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(f[2]), 0o644))
	}
	s, err := spec.Load(filepath.Join(dir, "benchmark.yaml"), os.LookupEnv)
	require.NoError(t, err)
	r, err := spec.Resolve(s, os.LookupEnv)
	require.NoError(t, err)
	require.Len(t, r.Cells, 1)
	m, err := evaluation.Measure(context.Background(), evaluation.Request{
		Spec: s, Cell: r.Cells[0], Agent: s.Agents[0], Model: s.Models[0], Slot: 1, UUID: "00000000-0000-4000-8000-000000000000",
		Dir: filepath.Join(t.TempDir(), "evaluation"), WorkRoot: t.TempDir(), Files: r.Files(r.Cells[0]), Lookup: os.LookupEnv, Launcher: process.Launcher{},
	})
	require.NoError(t, err)
	require.Equal(t, batch.StateComplete, m.State, "%s %v", m.Reason, m.Problems)
	var scores []float64
	var states []outcome.State
	for _, o := range m.Outcomes {
		scores, states = append(scores, *o.Score), append(states, o.State)
	}
	assert.Equal(t, []float64{1, 0, 0}, scores)
	assert.Equal(t, []outcome.State{outcome.Scored, outcome.Scored, outcome.Agent}, states)
}
