package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// fork is the same benchmark in a folder of its own: what is edited there leaves s alone.
func (s *shell) fork(t *testing.T) *shell {
	t.Helper()
	c := &shell{t: t, dir: t.TempDir(), env: map[string]string{}}
	for name, v := range s.env {
		c.env[name] = v
	}
	bench := filepath.Join(c.dir, "bench")
	require.NoError(t, os.CopyFS(bench, os.DirFS(filepath.Dir(s.spec))))
	require.NoError(t, os.RemoveAll(filepath.Join(bench, ".benchbatch")))
	c.spec = filepath.Join(bench, "benchmark.yaml")
	return c
}

// change is an edit after a batch was measured, and what must follow from it.
type change struct {
	name    string
	edit    func(s *shell)
	part    batch.Part // "" = no part of any cell
	item    string
	file    bool                     // the item is a file, so both digests are named
	refused bool                     // the label is taken
	missing func(c plannedCell) bool // nil = nothing
	was, is string                   // of values that are readable
}

func every(plannedCell) bool { return true }

func agentIs(id string) func(plannedCell) bool {
	return func(c plannedCell) bool { return c.Agent == id }
}

func modelIs(id string) func(plannedCell) bool {
	return func(c plannedCell) bool { return c.Model == id }
}

func edits(file, before, after string) func(*shell) {
	return func(s *shell) { s.edit(file, before, after) }
}

func sets(name, value string) func(*shell) {
	return func(s *shell) { s.env[name] = value }
}

var changes = []change{
	{name: "policy file", edit: edits("policies/refund.md", "14", "30"), part: batch.PartExecution, item: "file policies/refund.md", file: true, refused: true, missing: every},
	{name: "script of the command", edit: edits("lib/run.py", `"""Scores`, `"""Really scores`), part: batch.PartExecution, item: "file lib/run.py", file: true, refused: true, missing: every},
	{name: "new file of an included folder", edit: func(s *shell) { s.edit("policies/new.md", "", "") }, part: batch.PartExecution, item: "file policies/new.md", refused: true, missing: every},
	{name: "argument", edit: edits("benchmark.yaml", "--style, plain", "--style, rich"), part: batch.PartExecution, item: "command", refused: true, missing: every,
		was: `["python3","lib/run.py","--style","plain"]`, is: `["python3","lib/run.py","--style","rich"]`},
	{name: "value of env", edit: sets("REGION", "south"), part: batch.PartExecution, item: "env REGION", refused: true, missing: every},
	{name: "timeout", edit: edits("benchmark.yaml", "timeout: 2m", "timeout: 3m"), part: batch.PartExecution, item: "timeout", refused: true, missing: every, was: "2m0s", is: "3m0s"},
	{name: "text of a task", edit: edits("panel.jsonl", "letter 1 go", "letter 1 belong"), part: batch.PartExecution, item: "task T-01", refused: true, missing: every},
	{name: "expected answer", edit: edits("panel.jsonl", "tray 0", "tray 9"), part: batch.PartScoring, item: "expected T-01", refused: true, missing: every},
	{name: "timeout policy", edit: edits("benchmark.yaml", "include: [policies/, lib/]", "include: [policies/, lib/]\n  timeout_policy: missing"),
		part: batch.PartScoring, item: "timeout_policy", refused: true, missing: every, is: "missing"},

	{name: "an agent's own file", edit: edits("agents/quick/agent.py", "0.5", "0.6"), part: batch.PartAgent, item: "file agents/quick/agent.py", file: true, missing: agentIs("quick")},
	{name: "temperature", edit: edits("benchmark.yaml", "temperature: 0.5", "temperature: 0.7"), part: batch.PartAgent, item: "settings.temperature",
		missing: agentIs("quick"), was: "0.5", is: "0.7"},
	{name: "version of an agent", edit: edits("benchmark.yaml", `quick, version: "1"`, `quick, version: "2"`), part: batch.PartAgent, item: "version", missing: agentIs("quick"), was: "1", is: "2"},
	{name: "revision of a model", edit: edits("benchmark.yaml", "revision: r1", "revision: r2"), part: batch.PartModel, item: "revision", missing: modelIs("m-one"), was: "r1", is: "r2"},
	{name: "route of a model", edit: edits("benchmark.yaml", "local/one", "other/one"), part: batch.PartModel, item: "route", missing: modelIs("m-one"), was: "local/one", is: "other/one"},
	{name: "brain", edit: edits("brain/instructions.md", "one sentence", "two sentences"), part: batch.PartBrain, item: "file brain/instructions.md", file: true, missing: every},

	{name: "family mark", edit: edits("panel.jsonl", `"family": "f0"`, `"family": "other"`)},
	{name: "anchor mark", edit: edits("panel.jsonl", `"anchor": true`, `"anchor": false`)},
	{name: "order of the tasks", edit: func(s *shell) {
		name := filepath.Join(filepath.Dir(s.spec), "panel.jsonl")
		b, err := os.ReadFile(name)
		require.NoError(s.t, err)
		lines := strings.SplitAfter(string(b), "\n")
		lines[0], lines[1] = lines[1], lines[0]
		require.NoError(s.t, os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600))
	}},
	{name: "address in pass_env", edit: sets("ADDRESS", "http://127.0.0.1:9")},
	{name: "question", edit: edits("benchmark.yaml", "Which variant", "Which of them")},
	{name: "threshold of the decision", edit: edits("benchmark.yaml", "pass_threshold: 0.5", "pass_threshold: 0.6")},
	{name: "comments and order of keys", edit: edits("benchmark.yaml", "repeats: 2\n", "# twice\nrepeats:   2 # each\n")},
	{name: "line ends of the spec", edit: func(s *shell) {
		b, err := os.ReadFile(s.spec)
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(s.spec, []byte(strings.ReplaceAll(string(b), "\n", "\r\n")), 0o600))
	}},
	{name: "a file that nothing names", edit: func(s *shell) { s.edit("notes.txt", "", "") }},
	{name: "repeats", edit: edits("benchmark.yaml", "repeats: 2", "repeats: 1")},
}

// TestOneBatchManyPlans measures one batch and then only plans.
func TestOneBatchManyPlans(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	calls := logCalls(t, s.env["MLFLOW_TRACKING_URI"])
	s.env["MLFLOW_TRACKING_URI"] = calls.url
	first := s.measure()
	require.Equal(t, batch.Counts{Planned: 8, Done: 8}, first.Counts)
	t.Run("calls", func(t *testing.T) { fewCalls(t, s.fork(t), calls, first) })
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) { c.check(t, s.fork(t)) })
	}
	t.Run("reuse", func(t *testing.T) { reuseRules(t, s, first) })
	assert.Len(t, s.starts(), 8, "plans start nothing")
}

func (c change) check(t *testing.T, s *shell) {
	c.edit(s)
	var explained planned
	got := s.json(&explained, "plan", s.spec, "--explain", "quick+m-one")
	c.explained(t, explained)
	if c.refused {
		assert.Equal(t, ExitUsage, got.code)
		assert.Contains(t, explained.Refused, `version "v1"`)
		if c.file {
			c.refusal(t, s)
		}
		s.edit("benchmark.yaml", "version: v1\n", "version: v2\n")
	} else {
		assert.Equal(t, ExitDone, got.code, got.stderr)
	}
	p := s.plan()
	missing := 0
	require.Len(t, p.Cells, 4)
	for _, cell := range p.Cells {
		want := 0
		if c.missing != nil && c.missing(cell) {
			want = 2
		}
		assert.Equal(t, want, cell.Missing, cell.Variant)
		missing += want
	}
	assert.Equal(t, missing, p.Counts.NotStarted)
}

// explained checks that the part and the item of a change are named.
func (c change) explained(t *testing.T, p planned) {
	t.Helper()
	assert.NotEmpty(t, p.Since)
	if c.part == "" {
		assert.Empty(t, p.Changes)
		return
	}
	require.Len(t, p.Changes, 1, "%+v", p.Changes)
	got := p.Changes[0]
	assert.Equal(t, c.part, got.Part)
	assert.Equal(t, c.item, got.Item)
	if c.was+c.is != "" {
		assert.Equal(t, []string{c.was, c.is}, []string{got.Old, got.New})
	}
	assert.NotEqual(t, got.Old, got.New)
	if c.file {
		assert.True(t, batch.Digest(got.Old).Valid() && batch.Digest(got.New).Valid(), "%+v", got)
	}
}

// refusal checks what plan and run say of a taken label, as text: the file and both digests.
func (c change) refusal(t *testing.T, s *shell) {
	t.Helper()
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec)
		assert.Equal(t, ExitUsage, got.code, command)
		assert.Empty(t, got.out, command)
		assert.Contains(t, got.stderr, `version "v1"`)
		assert.Contains(t, got.stderr, string(c.part)+": "+strings.TrimPrefix(c.item, "file ")+" changed")
		assert.Len(t, regexp.MustCompile(`(?m)^    (was|is ) [0-9a-f]{64}$`).FindAllString(got.stderr, -1), 2, got.stderr)
	}
}
