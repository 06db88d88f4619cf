package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// with is the least spec with one text replaced.
func with(from, to string) string { return strings.Replace(smallSpec, from, to, 1) }

func TestProblemsOfTheText(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"misspelled keys at every depth", smallSpec + `repeat: 3
recipe: {limits: {task_timout: 30s, turnz: 2}}
limits:
  max_cost_usdd: 5
  time_out: 30s
budget: {cieling_usd: 5}
`, []string{
			"spec.yaml:5:1: repeat: unknown key; did you mean repeats?",
			"spec.yaml:6:19: recipe.limits.task_timout: unknown key; did you mean task_timeout? known here: turns, task_timeout, cpus, memory",
			"spec.yaml:6:37: recipe.limits.turnz: unknown key; did you mean turns? known here: turns, task_timeout, cpus, memory",
			"spec.yaml:7:1: limits: unknown key; it belongs in recipe",
			"spec.yaml:8:3: limits.max_cost_usdd: unknown key; known here: turns, task_timeout, cpus, memory",
			"spec.yaml:9:3: limits.time_out: unknown key; did you mean task_timeout? known here: turns, task_timeout, cpus, memory",
			"spec.yaml:10:10: budget.cieling_usd: unknown key; did you mean ceiling_usd? known here: ceiling_usd",
		}},
		{"unknown key that resembles none", smallSpec + "zzzzzzzzzzzzz: 1\n", []string{
			"spec.yaml:5:1: zzzzzzzzzzzzz: unknown key; the nearest known keys are benchmark, version, question",
		}},
		{"doubled keys", smallSpec + "benchmark: other\nbudget: {ceiling_usd: 1, ceiling_usd: 2}\n", []string{
			"spec.yaml:5:1: benchmark: the key stands twice: first on line 1; keep one of both",
			"spec.yaml:6:26: budget.ceiling_usd: the key stands twice: first on line 6; keep one of both",
		}},
		{"two documents", smallSpec + "---\n" + smallSpec, []string{
			"spec.yaml:5:1: one document expected, found 2; keep one spec a file: remove the line --- or ... and what follows",
		}},
		{"text after the end mark", smallSpec + "...\nmore\n", []string{
			"spec.yaml:6:1: one document expected, found 2; keep one spec a file: remove the line --- or ... and what follows",
		}},
		{"empty", "", []string{"spec.yaml: the file is empty; `benchbatch init DIR` writes one to start from"}},
		{"only comments", "# nothing\n---\n# here\n", []string{"spec.yaml: the file is empty; `benchbatch init DIR` writes one to start from"}},
		{"not a mapping", "just text\n", []string{`spec.yaml:1:1: "just text": keys with values expected, found "just text"; write key: value`}},
		{"tab", "benchmark: x\n\tpanel: y\n", []string{"spec.yaml:2:1: not valid YAML: found a tab character that violates indentation"}},
		{"alias to nothing", "benchmark: *nothing\n", []string{"spec.yaml:1:12: not valid YAML: unknown anchor 'nothing' referenced"}},
		{"itself", "benchmark: &a [*a]\n", []string{"spec.yaml:1:16: alias *a stands inside what it names; write it out"}},
		{"itself by merging", "a: &a\n  <<: *a\n", []string{"spec.yaml:2:7: alias *a stands inside what it names; write it out"}},
		{"deep", "benchmark: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), []string{
			"spec.yaml:1:44: nested more than 32 levels deep; no part of a spec needs that",
		}},
		{"not UTF-8", "benchmark: caf\xe9\n", []string{"spec.yaml:1: not valid UTF-8: byte 0xe9; save the file as UTF-8"}},
		{"UTF-16", "\xff\xfeb\x00", []string{"spec.yaml:1: the file is UTF-16; save it as UTF-8"}},
		{"terminal escape", "a: 1\nb: \x1b[31m\n", []string{`spec.yaml:2: control character '\x1b'; remove it`}},
		{"foreign tag", with("lamp-bench", "!!python/object lamp-bench"), []string{
			`spec.yaml:1:12: benchmark: "lamp-bench": unknown tag !!python/object; remove the tag`,
		}},
		{"hostile words", "\"k\\e[0m\\u202e|<img src=x>\": 1\n" + with("lamp-bench", `"a\e[31m\u202eb"`), []string{
			`spec.yaml:1:1: "k\x1b[0m\u202e|<img src=x>": unknown key; the nearest known keys are`,
			`spec.yaml:2:12: benchmark: "a\x1b[31m\u202eb": not an id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed; write a__31m_b`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lines(t, small(t, c.spec, nil), nil)
			require.Len(t, got, len(c.want), "%s", strings.Join(got, "\n"))
			for i := range c.want {
				assert.True(t, strings.HasPrefix(got[i], c.want[i]), "want %s\ngot  %s", c.want[i], got[i])
			}
		})
	}
}

// bomb is a spec of a few hundred bytes that is 10^levels values written out.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString(smallSpec + "reuse:\n  experiments:\n    - &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "    - &a%d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

func TestAliasBombCostsNothing(t *testing.T) {
	for _, levels := range []int{7, 9, 40} {
		path := small(t, bomb(levels), nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := lines(t, path, nil)
		runtime.ReadMemStats(&after)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "more than 200000 values once its aliases are written out")
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20), "bytes allocated")
	}
}

func TestFilesThatCannotBeASpec(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	require.NoError(t, os.WriteFile(large, []byte("a: "+strings.Repeat("x", maxFile)), 0o600))
	for path, want := range map[string]string{
		large:                           "large.yaml: larger than a file of its kind can be: more than 1048576 bytes",
		dir:                             "is a folder, not a file",
		filepath.Join(dir, "none.yaml"): "none.yaml: does not exist; name a spec",
		os.DevNull:                      "is not a regular file",
	} {
		_, err := Load(path, nil)
		require.ErrorContains(t, err, want)
	}
}

func TestProblemsOfValues(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []string // after "spec.yaml:"
	}{
		{"empty list entries", smallSpec + "reuse:\n  experiments:\n    -\n    - ~\n    - null\n    - ''\n", []string{
			"7:6: reuse.experiments[0]: the entry is empty; remove it, or write its text in quotes",
			`8:7: reuse.experiments[1]: "~": the entry is empty; remove it, or write its text in quotes`,
			`9:7: reuse.experiments[2]: "null": the entry is empty; remove it, or write its text in quotes`,
			"10:7: reuse.experiments[3]: the name is empty; remove it",
		}},
		{"flags", with("unit: task,", "unit: task, mlflow: yes,"), []string{`4:51: runner.mlflow: "yes": not a flag; write true or false`}},
		{"key without a value", smallSpec + "repeats:\n", []string{"5:9: repeats: the key has no value; give one, or remove the key to get the default"}},
		{"numbers", smallSpec + "repeats: 0\nbudget: {ceiling_usd: .nan}\nrecipe: {limits: {turns: 010, cpus: \"2\"}}\n", []string{
			`5:10: repeats: "0": out of range: 1 to 1000 is allowed`,
			`6:23: budget.ceiling_usd: ".nan": not a number; write a number such as 0.5`,
			`7:26: recipe.limits.turns: "010": not a plain whole number; write a whole number such as 5`,
			`7:37: recipe.limits.cpus: "2": text, not a number: remove the quotes; write a number such as 0.5`,
		}},
		{"durations, sizes, shares", smallSpec + "recipe: {limits: {task_timeout: 600, memory: 4 GB}}\nvalid: {max_missing: 5 %}\nreuse: {max_age: -1h, not_before: yesterday}\n", []string{
			`5:33: recipe.limits.task_timeout: "600": not a duration; write it as 90s, 10m, 1h30m or 30d`,
			`5:46: recipe.limits.memory: "4 GB": not a size; write it as 512MiB or 4GiB`,
			`6:22: valid.max_missing: "5 %": neither a share such as 0.05 nor a percentage such as 5%; write it as 5% or 0.05`,
			`7:18: reuse.max_age: "-1h": negative; write it as 90s, 10m, 1h30m or 30d`,
			`7:35: reuse.not_before: "yesterday": not a day or a time; write 2006-01-02 (UTC) or 2006-01-02T15:04:05Z`,
		}},
		{"wrong kinds", smallSpec + "agents: codex\nquotas: [x]\nquestion: [why]\n", []string{
			`5:9: agents: "codex": a list expected, found "codex"; write [codex]`,
			"6:9: quotas: keys with values expected, found a list; write key: value",
			"7:11: question: one value expected, found a list; write text",
		}},
		{"settings", smallSpec + "agents: [{id: a, settings: {t: .inf, n: 0x1F, u: 1_000, x: ~, big: 9007199254740993, l: [1, ~]}}]\n", []string{
			`5:32: agents[0].settings.t: ".inf": not a number; write it plainly, or in quotes to keep the text as typed`,
			`5:41: agents[0].settings.n: "0x1F": not a plain whole number; write it plainly, or in quotes to keep the text as typed`,
			`5:50: agents[0].settings.u: "1_000": not a plain whole number; write it plainly, or in quotes to keep the text as typed`,
			`5:60: agents[0].settings.x: "~": the key has no value; give one, or remove the key to get the default`,
			`5:68: agents[0].settings.big: "9007199254740993": beyond 2^53, where readers lose digits; write it plainly, or in quotes to keep the text as typed`,
			`5:93: agents[0].settings.l[1]: "~": the entry is empty; remove it, or write its text in quotes`,
		}},
		{"words", with("unit: task", "unit: tasks") + "recipe: {timeout_policy: zero}\nretry: {agent: 1, provider: 11}\ntraces: score\n", []string{
			`4:37: runner.unit: "tasks": not one of evaluation, task; did you mean task?`,
			"4:51: runner.check: a check looks at one answer, and the runner does a whole evaluation; write unit: task, or score in the runner",
			`5:26: recipe.timeout_policy: "zero": not one of fail, missing; write fail or missing`,
			`6:16: retry.agent: "1": not one of provider, harness, tool, judge, budget; write provider or harness or tool or judge or budget`,
			`6:29: retry.provider: "11": out of range: 0 to 10 is allowed`,
			`7:9: traces: "score": not one of none, scores, full; did you mean scores?`,
		}},
		{"judges", smallSpec + "recipe: {judges: [{id: a, kind: mode}, {id: A, kind: model}, {id: b, kind: code, samples: 0, aggregate: max, scale: [1]}]}\n", []string{
			`5:33: recipe.judges[0].kind: "mode": not one of code, model, human; did you mean model?`,
			"5:40: recipe.judges[1].model: a judge of kind model names its model, and only that kind does; write kind: model with model: ID, or neither",
			`5:45: recipe.judges[1].id: "A": judges "a" and "A" (first on line 5) differ only in upper and lower case; give one of both another id`,
			`5:91: recipe.judges[2].samples: "0": out of range: 1 to 1000 is allowed`,
			`5:105: recipe.judges[2].aggregate: "max": not one of mean, median; did you mean mean?`,
			"5:117: recipe.judges[2].scale: not a scale; write [lowest, highest]",
		}},
		{"environment", with("unit: task", "unit: task, env: [A B, PATH, REGION], pass_env: [MLFLOW_RUN_ID, REGION], secrets: [HOME]"), []string{
			`4:49: runner.env[0]: "A B": not the name of an environment variable; write the name alone, such as REGION`,
			`4:54: runner.env[1]: "PATH": the variable is always set; remove it`,
			`4:60: runner.env[2]: "REGION": the environment variable is not set, and its value is part of the identity; set REGION, or list it in pass_env if it cannot change a result`,
			`4:80: runner.pass_env[0]: "MLFLOW_RUN_ID": MLflow's variables are not passed by name: who can read the tracking server can read the answers; write mlflow: true in runner if it must see the server, or remove it`,
			`4:95: runner.pass_env[1]: "REGION": the variable is named twice: also in runner.env[2]; keep one of both`,
			`4:114: runner.secrets[0]: "HOME": the runner has a HOME of its own; write home: user to keep the user's`,
		}},
		{"preflight", smallSpec + "preflight: {url: \"${GW}/v1\", key: sk-1}\n", []string{
			`5:18: preflight.url: "${GW}/v1": the variable "GW" is not among runner.env, pass_env or secrets; list it in runner.pass_env`,
			`5:35: preflight.key: "sk-1": not the name of an environment variable; write the name of the variable that holds the key, never the key`,
		}},
		{"variables where none are filled in", with("[north/lamp-9b, south/lamp-27b]", `[{id: a, route: "${ROUTE}"}]`), []string{
			`3:25: models[0].route: "${ROUTE}": variables are filled in only in preflight.url; write the value itself`,
		}},
		{"references", smallSpec + `exclude: [{agent: defalt, why: x}, {model: north/lamp-9b, why: x}, {why: x}, {model: south_lamp-27b}]
withdraw: [{task: L-9, why: x, date: 2026-12-02}, {task: L-1, date: today}]
decision: {reference: default+south_lamp-27b, metric: judge/tone, margin: 2, advantage: {cost: 20%}}
`, []string{
			`5:19: exclude[0].agent: "defalt": no such agent; did you mean default?`,
			`5:44: exclude[1].model: "north/lamp-9b": no such model; did you mean north_lamp-9b?`,
			"5:68: exclude[2]: names neither an agent nor a model; write {agent: ID, model: ID, why: TEXT}; one of both is enough",
			"5:78: exclude[3].why: missing; say why: the report does",
			`6:19: withdraw[0].task: "L-9": no such task in the panel; did you mean L-1?`,
			"6:51: withdraw[1].why: missing; say why: the report does",
			`6:69: withdraw[1].date: "today": not a day; write the day on which it was withdrawn as 2006-01-02`,
			`7:23: decision.reference: "default+south_lamp-27b": the variant is excluded; name another, or remove the exclusion`,
			`7:55: decision.metric: "judge/tone": not one of score, passed; write score or passed`,
			`7:75: decision.margin: "2": out of range: above 0 and below 1 is allowed; remove it to declare none`,
			`7:96: decision.advantage.cost: "20%": not one of cost_usd, wall_s, consistency; did you mean cost_usd?`,
		}},
		{"unknown quota", with("[north/lamp-9b,", "[{route: north/lamp-9b, quota: nroth},") + "quotas: {north: {at_once: -1}}\n", []string{
			`3:40: models[0].quota: "nroth": no such quota; did you mean north?`,
			`5:27: quotas.north.at_once: "-1": out of range: 0 to 10000 is allowed`,
		}},
		{"nothing left", smallSpec + "exclude: [{agent: default, why: broken}]\n", []string{"5:10: exclude: nothing is left to measure; remove an exclusion"}},
		{"by family", smallSpec + "decision: {by: families}\n", []string{
			`5:16: decision.by: "families": not one of family; did you mean family?`,
			`5:16: decision.by: "families": no task of the panel has a family; give the tasks families, or remove it`,
		}},
		{"reference variant", smallSpec + "decision: {reference: lamp, compare: reference}\n", []string{
			`5:23: decision.reference: "lamp": not a variant; write agent+model, such as default+north_lamp-9b`,
		}},
		{"missing", "version: v1\n", []string{
			"1:1: benchmark: missing; write an id: 1 to 64 of A-Z a-z 0-9 . _ -",
			"1:1: models: missing; name at least one, such as [provider/model]",
			"1:1: runner.command: missing; write the program as a list of words, such as [./run.sh]",
			"1:1: panel: missing; name a .jsonl or .csv file with the tasks",
		}},
		{"list that is too long", smallSpec + "reuse: {experiments: [" + strings.Repeat("x,", maxList+1) + "]}\n", []string{
			"5:22: reuse.experiments: 2001 entries: at most 2000 are allowed",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lines(t, small(t, c.spec, nil), nil)
			want := make([]string, len(c.want))
			for i, w := range c.want {
				want[i] = "spec.yaml:" + w
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestIDsThatCollide(t *testing.T) {
	for _, c := range []struct {
		name, models string
		want         []string
	}{
		{"one id from two routes", "[org/m, org_m]", []string{`models "org/m" and "org_m" (first on line 3) both give the id org_m`}},
		{"upper and lower case", "[org/m, Org/M]", []string{`models "org/m" and "Org/M" (first on line 3) differ only in upper and lower case`}},
		{"the same twice", "[a, a]", []string{`models "a" and "a" (first on line 3) are the same id`}},
		{"number and text", `[1, "1"]`, []string{`models "1" and "1" (first on line 3) are the same id`}},
		{"Unicode forms", `[{id: "cafe\u0301", route: a}, {id: "caf\u00e9", route: b}]`, []string{
			"", "", "models \"cafe\u0301\" and \"caf\u00e9\" (first on line 3) differ only in their Unicode form",
		}},
		{"kept apart", "[org/m, org__m]", nil},
		{"one measurement under two names", "[{id: a, route: x, settings: {t: 1}}, {id: b, route: x, settings: {t: 1.0}}]", []string{
			"models a and b are called the same way: route, revision and settings are equal",
		}},
		{"id that is none", `[{id: "a b", route: x}, "..", "日本/語"]`, []string{
			`not an id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed; write id: a_b and route: "x"`,
			`no id can be made from this route; write id: NAME and route: ".."`,
		}},
		{"route that is too long for an id", "[" + strings.Repeat("a/", 40) + "b]", []string{"no id can be made from this route; write id: a_a_"}},
		{"awkward routes", `["team's", 'say "hi"', "back` + "`" + `tick", "100%", "a_b", "axb", "semi;colon", "back\\slash", "x|y<b>"]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lines(t, small(t, with("[north/lamp-9b, south/lamp-27b]", c.models), nil), nil)
			require.Len(t, got, len(c.want), "%s", strings.Join(got, "\n"))
			for i, w := range c.want {
				assert.Contains(t, got[i], w)
			}
		})
	}
}

// Words that older YAML takes for flags, numbers and dates stay what was typed.
func TestWordsStayAsTyped(t *testing.T) {
	s, err := Load(small(t, with("[./ask.sh]", "[./ask.sh, no, NO, on, off, y, n, yes, 1.10, 010, 1e3, 2026-09-21, 12:30, true, 0x1F, '~']")+
		"agents: [{id: 1, version: 2026-09-21, settings: {cutoff: 2026-09-21T00:00:00+02:00, window: 12:30, mode: off, snapshot: 2026-09-21, on: true}}]\nreuse: {not_before: 2026-09-21}\n", nil), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"./ask.sh", "no", "NO", "on", "off", "y", "n", "yes", "1.10", "010", "1e3", "2026-09-21", "12:30", "true", "0x1F", "~"}, s.Runner.Command)
	assert.Equal(t, "1", s.Agents[0].ID)
	assert.Equal(t, "2026-09-21", s.Agents[0].Version)
	assert.Equal(t, map[string]any{"cutoff": "2026-09-21T00:00:00+02:00", "window": "12:30", "mode": "off", "snapshot": "2026-09-21", "on": true}, s.Agents[0].Settings)
	assert.Equal(t, "2026-09-21T00:00:00Z", s.Reuse.NotBeforeTime().Format("2006-01-02T15:04:05Z07:00"))
}

func TestProblemsAreBounded(t *testing.T) {
	got := lines(t, small(t, smallSpec, map[string]string{"lamps.csv": "id,input\n" + strings.Repeat(" ,\n", 5000)}), nil)
	assert.Len(t, got, maxProblems+1)
	assert.Contains(t, got[maxProblems], "and more: 10000 problems in all")
}

// More verdicts by family than anybody could read are refused before anything is paid for.
func TestTooManyVerdictsByFamily(t *testing.T) {
	var panel, models strings.Builder
	panel.WriteString("id,input,family\n")
	for i := range 12 {
		fmt.Fprintf(&panel, "L-%d,Is the lamp on?,family-%d\n", i, i)
	}
	for i := range 92 {
		fmt.Fprintf(&models, "lab/lamp-%d, ", i)
	}
	spec := strings.Replace(smallSpec, "north/lamp-9b, south/lamp-27b", models.String(), 1) + "decision: {by: family}\n"
	got := lines(t, small(t, spec, map[string]string{"lamps.csv": panel.String()}), nil)
	assert.Equal(t, []string{`spec.yaml:5:16: decision.by: "family": 4186 pairs on 12 families are more than 50000 verdicts; join families, leave variants out, or remove it`}, got)
}
