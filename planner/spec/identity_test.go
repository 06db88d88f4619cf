package spec

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// goldenEnv is the environment under which the golden spec is resolved.
var goldenEnv = map[string]string{"REGION": "eu", "JUDGE_REGION": "us", "GATEWAY_URL": "http://127.0.0.1:1", "TOKEN": "secret-one"}

// golden is the files of testdata/golden by path.
func golden(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS("testdata/golden")
	require.NoError(t, fs.WalkDir(root, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, p)
		files[p] = string(b)
		return err
	}))
	return files
}

// digests is every digest of a resolved spec by name.
func digests(t testing.TB, files, env map[string]string) map[string]batch.Digest {
	t.Helper()
	path := filepath.Join(folder(t, files), "spec.yaml")
	s, err := Load(path, lookupIn(env))
	require.NoError(t, err)
	r, err := Resolve(s, lookupIn(env))
	require.NoError(t, err)
	return resolvedDigests(t, r)
}

func resolvedDigests(t testing.TB, r *Resolved) map[string]batch.Digest {
	t.Helper()
	of := func(m batch.Manifest, p batch.Part) batch.Digest {
		d, err := m.Digest(p)
		require.NoError(t, err)
		require.True(t, d.Valid())
		return d
	}
	out := map[string]batch.Digest{
		"brain": r.Brains, "key": r.Key,
		"execution": of(r.Execution, batch.PartExecution), "scoring": of(r.Scoring, batch.PartScoring),
	}
	for id, m := range r.Agents {
		out["agent "+id] = of(m, batch.PartAgent)
	}
	for id, m := range r.Models {
		out["model "+id] = of(m, batch.PartModel)
	}
	for _, c := range r.Cells {
		out["cell "+c.String()] = c.Identity.Cell
	}
	return out
}

// edit replaces a text that must stand exactly once in a file.
type edit struct{ file, from, to string }

func apply(t testing.TB, files map[string]string, edits ...edit) map[string]string {
	t.Helper()
	out := maps.Clone(files)
	for _, e := range edits {
		if e.from == "" {
			out[e.file] = e.to
			continue
		}
		require.Equal(t, 1, strings.Count(out[e.file], e.from), "%s: %q", e.file, e.from)
		out[e.file] = strings.Replace(out[e.file], e.from, e.to, 1)
	}
	return out
}

// changedParts names the parts whose digests differ, without the cells that follow from them.
func changedParts(a, b map[string]batch.Digest) []string {
	names := map[string]bool{}
	for name := range a {
		names[name] = a[name] != b[name]
	}
	for name := range b {
		names[name] = names[name] || a[name] != b[name]
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] && !strings.HasPrefix(name, "cell ") {
			out = append(out, name)
		}
	}
	return out
}

// y edits the spec itself.
func y(from, to string) []edit { return []edit{{"spec.yaml", from, to}} }

// fieldChanges changes every field of a spec once, by type and name.
var fieldChanges = map[string][]edit{
	"Spec.Benchmark":  y("benchmark: lamp-bench", "benchmark: light-bench"),
	"Spec.Version":    y("version: v1", "version: v2"),
	"Spec.Question":   y("should answer?", "should not answer?"),
	"Spec.Experiment": y("experiment: lamps", "experiment: lights"),
	"Spec.Panel":      {{"spec.yaml", "panel.jsonl", "tasks.jsonl"}},
	"Spec.Brain":      {{"spec.yaml", "brain: brain/", "brain: brains/2/"}, {"brains/2/instructions.md", "", "Other lamps.\n"}},
	"Spec.Repeats":    y("repeats: 3", "repeats: 4"),
	"Spec.Prices":     {{"spec.yaml", "prices.yaml", "other.yaml"}, {"other.yaml", "", "small: {input: 9}\n"}},
	"Spec.Retry":      y("provider: 3", "provider: 4"),
	"Spec.Traces":     y("traces: scores", "traces: full"),
	"Spec.Raw":        y("# Every field", "# Each field"),

	"Agent.ID":             {{"spec.yaml", "id: plain", "id: basic"}, {"spec.yaml", "reference: plain+small", "reference: basic+small"}, {"spec.yaml", "[plain+small]", "[basic+small]"}},
	"Agent.Version":        y(`"1.4"`, `"1.5"`),
	"Agent.VersionCommand": y("echo 1.4", "echo 1.5"),
	"Agent.Files":          y("files: [agents/plain.py, lib/]", "files: [agents/plain.py]"),
	"Agent.Settings":       y("temperature: 0,", "temperature: 0.1,"),
	"Agent.BrainPlacement": y(".skills", ".notes"),

	"Model.ID":       {{"spec.yaml", "id: small", "id: tiny"}, {"spec.yaml", "reference: plain+small", "reference: plain+tiny"}, {"spec.yaml", "[plain+small]", "[plain+tiny]"}, {"prices.yaml", "small", "tiny"}},
	"Model.Route":    y("north/lamp-9b", "north/lamp-8b"),
	"Model.Revision": y("revision: r7", "revision: r8"),
	"Model.Settings": y("max_tokens: 4096", "max_tokens: 2048"),
	"Model.Quota":    y("    quota: north\n", ""),

	"Recipe.Include":       y("[policies/, rules.md]", "[policies/]"),
	"Recipe.TimeoutPolicy": y("timeout_policy: missing", "timeout_policy: fail"),

	"Judge.ID":        y("id: tone", "id: manner"),
	"Judge.Kind":      y("kind: code", "kind: human"),
	"Judge.Model":     y("judge-70b", "judge-7b"),
	"Judge.Samples":   y("samples: 3", "samples: 5"),
	"Judge.Aggregate": y("aggregate: median", "aggregate: mean"),
	"Judge.Settings":  y("temperature: 0.5", "temperature: 0.6"),
	"Judge.Scale":     y("[1, 5]", "[1, 6]"),

	"Limits.Turns":       y("turns: 40", "turns: 41"),
	"Limits.TaskTimeout": y("task_timeout: 10m", "task_timeout: 11m"),
	"Limits.CPUs":        y("cpus: 2", "cpus: 1.5"),
	"Limits.Memory":      y("4GiB", "5GiB"),

	"Runner.Command":        y("--mode, fast", "--mode, slow"),
	"Runner.Unit":           y("unit: evaluation", "unit: task"),
	"Runner.Timeout":        y("timeout: 40m", "timeout: 41m"),
	"Runner.Env":            y("env: [REGION]", "env: [REGION, TOKEN_KIND]"),
	"Runner.PassEnv":        y("pass_env: [GATEWAY_URL]", "pass_env: [GATEWAY_URL, OTHER_URL]"),
	"Runner.Secrets":        y("secrets: [TOKEN]", "secrets: [TOKEN, OTHER_TOKEN]"),
	"Runner.Files":          y("files: [shared.py]", "files: []"),
	"Runner.Harness":        y("lampkit", "lampbox"),
	"Runner.HarnessVersion": y(`"2.1"`, `"2.2"`),
	"Runner.Image":          y("aa\n", "bb\n"),
	"Runner.MLflow":         y("mlflow: true", "mlflow: false"),
	"Runner.Home":           y("home: user", "home: private"),

	"JudgeStage.Command": y("[python3, judge/judge.py]", "[python3, judge/judge.py, -v]"),
	"JudgeStage.Files":   y("[judge/rules/]", "[]"),
	"JudgeStage.Timeout": y("timeout: 20m", "timeout: 21m"),
	"JudgeStage.Env":     y("[JUDGE_REGION]", "[]"),
	"JudgeStage.PassEnv": y("[JUDGE_URL]", "[]"),
	"JudgeStage.Secrets": y("[JUDGE_TOKEN]", "[]"),

	"Preflight.Kind":      y("kind: openai-chat", "kind: command"),
	"Preflight.URL":       y("/v1/chat", "/v2/chat"),
	"Preflight.Key":       y("key: NORTH_KEY", "key: OTHER_KEY"),
	"Preflight.MaxTokens": y("max_tokens: 12", "max_tokens: 13"),
	"Preflight.Timeout":   y("timeout: 10s", "timeout: 11s"),
	"Preflight.Command":   y(`"true"]`, `"false"]`),

	"Quota.AtOnce":          y("at_once: 2", "at_once: 3"),
	"Quota.Spacing":         y("spacing: 1s", "spacing: 2s"),
	"Quota.TokensPerMinute": y("tokens_per_minute: 9000", "tokens_per_minute: 8000"),
	"Quota.Exclusive":       y("exclusive: true", "exclusive: false"),
	"Budget.CeilingUSD":     y("ceiling_usd: 20", "ceiling_usd: 30"),
	"Reuse.MaxAge":          y("max_age: 30d", "max_age: 31d"),
	"Reuse.NotBefore":       y("not_before: 2026-09-01", "not_before: 2026-09-02"),
	"Reuse.Experiments":     y("[old-lamps]", "[older-lamps]"),

	"Decision.Metric":        y("metric: passed", "metric: score"),
	"Decision.PassThreshold": y("pass_threshold: 0.8", "pass_threshold: 0.9"),
	"Decision.Pass":          y("pass: reported", "pass: threshold"),
	"Decision.Margin":        y("margin: 0.02", "margin: 0.03"),
	"Decision.Alpha":         y("alpha: 0.05", "alpha: 0.01"),
	"Decision.Reference":     {{"spec.yaml", "reference: plain+small", "reference: deep+small"}, {"spec.yaml", "[plain+small]", "[deep+small]"}},
	"Decision.Compare":       y("compare: reference", "compare: all"),
	"Decision.Scope":         y("scope: list", "scope: population"),
	"Decision.Advantage":     y("cost_usd: 20%", "cost_usd: 30%"),
	"Decision.By":            y("scope: list", "scope: list\n  by: family"),

	"Calibration.Repeats":  y("repeats: 4", "repeats: 5"),
	"Calibration.Variants": y("variants: [plain+small]", "variants: [deep+small, plain+small]"),
	"TaskChoice.PerFamily": y("tasks: 2", "tasks: 1"),
	"TaskChoice.IDs":       y("tasks: 2", "tasks: [L-1]"),

	"Task.Input":    {{"panel.jsonl", "Is the lamp on?", "Is the lamp off?"}},
	"Task.Expected": {{"panel.jsonl", `"yes"`, `"no"`}},
	"Task.Family":   {{"panel.jsonl", `"switch","anchor"`, `"other","anchor"`}},
	"Task.Anchor":   {{"panel.jsonl", `"anchor":true`, `"anchor":false`}},

	"Variant.Agent":       y("agent: deep", "agent: plain"),
	"Variant.Model":       {{"spec.yaml", "{agent: deep, model: south_lamp-27b", "{agent: deep, model: small"}},
	"Exclusion.Why":       y("no tool calls", "too slow"),
	"Withdrawal.Task":     y("task: L-3", "task: L-2"),
	"Withdrawal.Why":      y("the answer was wrong", "the task was wrong"),
	"Withdrawal.Date":     y("2026-12-02", "2026-12-03"),
	"Validity.MaxMissing": y("max_missing: 10%", "max_missing: 5%"),
	"Price.Input":         {{"prices.yaml", "input: 0.5", "input: 0.6"}},
	"Price.CacheRead":     {{"prices.yaml", "0.05", "0.06"}},
	"Price.CacheWrite":    {{"prices.yaml", "cache_write: 0.6", "cache_write: 0.7"}},
	"Price.Output":        {{"prices.yaml", "output: 2", "output: 3"}},
}

// elsewhere are fields that another test changes: the reason stands beside it.
var elsewhere = map[string]string{
	"Spec.Path":    "TestFolderAndNameOfTheSpecDoNotCount",
	"Spec.Dir":     "TestFolderAndNameOfTheSpecDoNotCount",
	"Runner.Check": "TestCheckIsScoring: excludes a judge stage",
	"Task.ID":      "TestTaskIDs: an id is in both halves of the recipe",
}

// classes are what a field can be part of.
var classes = []string{"agent", "model", "execution", "scoring", "batch", "free"}

// leafFields lists every field of a spec that holds a value, with its class. A
// field that holds further fields has a class too: that of most of them.
func leafFields(t testing.TB) map[string]string {
	out := map[string]string{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if !f.IsExported() {
				continue
			}
			class, ok := f.Tag.Lookup("class")
			if !f.Anonymous {
				assert.True(t, ok, "%s.%s has no class tag", typ.Name(), f.Name)
				assert.Contains(t, classes, class, "%s.%s", typ.Name(), f.Name)
			}
			inner := f.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				walk(inner)
				continue
			}
			out[typ.Name()+"."+f.Name] = class
		}
	}
	walk(reflect.TypeFor[Spec]())
	return out
}

// Every field is declared as part of something, and a change of it is seen there
// and nowhere else.
func TestEveryFieldCountsWhereItIsDeclared(t *testing.T) {
	fields := leafFields(t)
	for name := range fieldChanges {
		assert.Contains(t, fields, name, "the table changes a field that does not exist")
	}
	base := golden(t)
	env := maps.Clone(goldenEnv)
	env["TOKEN_KIND"] = "short"
	before := digests(t, base, env)
	for name, class := range fields {
		if _, ok := elsewhere[name]; ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			edits, ok := fieldChanges[name]
			require.True(t, ok, "no change of this field is tested")
			files := base
			if name == "Spec.Panel" {
				files = maps.Clone(base)
				files["tasks.jsonl"] = base["panel.jsonl"]
			}
			got := changedParts(before, digests(t, apply(t, files, edits...), env))
			assert.Equal(t, expectedParts(name, class), rename(got), "class %s", class)
		})
	}
}

// rename takes the ids out of the names of agents and models.
func rename(parts []string) []string {
	var out []string
	for _, p := range parts {
		kind, _, _ := strings.Cut(p, " ")
		out = append(out, kind)
	}
	return slices.Compact(out)
}

func expectedParts(name, class string) []string {
	switch {
	case name == "Spec.Brain":
		return []string{"brain", "key"} // its content is a part of its own
	case name == "Model.ID":
		return []string{"key", "model"} // known under another name, see TestRenamedModelKeepsItsMeasurements
	case class == "free":
		return nil
	case class == "batch":
		return []string{"key"}
	case class == "agent":
		return []string{"agent", "key"}
	}
	return slices.Sorted(slices.Values([]string{"key", class}))
}

// What the files and the environment around a spec do to identity.
func TestChangesAroundTheSpec(t *testing.T) {
	for _, c := range []struct {
		name string
		edit edit
		env  string // variable to change
		want []string
	}{
		{"policy file", edit{"policies/night.md", "off", "on"}, "", []string{"execution", "key"}},
		{"file added to a folder", edit{"policies/day.md", "", "x"}, "", []string{"execution", "key"}},
		{"an agent's own file", edit{"agents/plain.py", "plain", "plan"}, "", []string{"agent plain", "key"}},
		{"another agent's own folder", edit{"agents/deep/main.py", "deep", "dep"}, "", []string{"agent deep", "key"}},
		{"library of both agents", edit{"lib/lamp.py", "1", "2"}, "", []string{"agent deep", "agent plain", "key"}},
		{"script that the command names", edit{"run.py", "import", "import "}, "", []string{"execution", "key"}},
		{"file in an option of the command", edit{"rules.json", "true", "false"}, "", []string{"execution", "key"}},
		{"further file of the runner", edit{"shared.py", "2", "3"}, "", []string{"execution", "key"}},
		{"judge script", edit{"judge/judge.py", "json", "re"}, "", []string{"key", "scoring"}},
		{"judge rules", edit{"judge/rules/tone.md", "no", "some"}, "", []string{"key", "scoring"}},
		{"brain", edit{"brain/instructions.md", "lamps", "lights"}, "", []string{"brain", "key"}},
		{"listed environment value", edit{}, "REGION", []string{"execution", "key"}},
		{"listed environment value of the judge", edit{}, "JUDGE_REGION", []string{"key", "scoring"}},
		{"address", edit{}, "GATEWAY_URL", nil},
		{"secret", edit{}, "TOKEN", nil},
		{"file that nothing names", edit{"notes.txt", "", "x"}, "", nil},
		{"ignored names", edit{"policies/__pycache__/x.pyc", "", "x"}, "", nil},
		{"order of the panel", edit{"panel.jsonl", golden(t)["panel.jsonl"], reversed(golden(t)["panel.jsonl"])}, "", nil},
		{"task added", edit{"panel.jsonl", golden(t)["panel.jsonl"], golden(t)["panel.jsonl"] + `{"id":"L-4","input":1}`}, "", []string{"execution", "key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, env := golden(t), maps.Clone(goldenEnv)
			before := digests(t, files, env)
			if c.env != "" {
				env[c.env] = "changed"
			} else {
				files = apply(t, files, c.edit)
			}
			assert.Equal(t, c.want, changedParts(before, digests(t, files, env)))
		})
	}
}

func reversed(lines string) string {
	list := strings.Split(strings.TrimSpace(lines), "\n")
	slices.Reverse(list)
	return strings.Join(list, "\n") + "\n"
}

func TestRenamedModelKeepsItsMeasurements(t *testing.T) {
	files := golden(t)
	before := digests(t, files, goldenEnv)
	after := digests(t, apply(t, files, fieldChanges["Model.ID"]...), goldenEnv)
	assert.Equal(t, before["model small"], after["model tiny"])
	assert.Equal(t, before["cell plain+small"], after["cell plain+tiny"])
	assert.NotEqual(t, before["key"], after["key"], "a frozen plan names its models")
}

func TestTaskIDs(t *testing.T) {
	files := golden(t)
	got := changedParts(digests(t, files, goldenEnv), digests(t, apply(t, files, edit{"panel.jsonl", `"L-1"`, `"L-9"`}), goldenEnv))
	assert.Equal(t, []string{"execution", "key", "scoring"}, got)
}

func TestCheckIsScoring(t *testing.T) {
	files := map[string]string{"spec.yaml": smallSpec, "lamps.csv": smallPanel, "ask.sh": "1", "grade.sh": "1"}
	before := digests(t, files, nil)
	for name, e := range map[string]edit{
		"words": {"spec.yaml", "[./grade.sh]", "[./grade.sh, strict]"},
		"bytes": {"grade.sh", "1", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{"key", "scoring"}, changedParts(before, digests(t, apply(t, files, e), nil)))
		})
	}
}

func TestFolderAndNameOfTheSpecDoNotCount(t *testing.T) {
	files := golden(t)
	before := digests(t, files, goldenEnv)
	files["other.yaml"] = files["spec.yaml"]
	delete(files, "spec.yaml")
	dir := folder(t, files)
	s, err := Load(filepath.Join(dir, "other.yaml"), lookupIn(goldenEnv))
	require.NoError(t, err)
	r, err := Resolve(s, lookupIn(goldenEnv))
	require.NoError(t, err)
	assert.Empty(t, changedParts(before, resolvedDigests(t, r)))
}
