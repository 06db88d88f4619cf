package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// rewrite replaces the spec by changing its text.
func (s *shell) rewrite(change func(string) string) {
	s.t.Helper()
	b, err := os.ReadFile(s.spec)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(s.spec, []byte(change(string(b))), 0o600))
}

func adds(text string) func(string) string { return func(spec string) string { return spec + text } }

func swaps(before, after string) func(string) string {
	return func(spec string) string { return strings.Replace(spec, before, after, 1) }
}

// bomb is some hundred bytes that are ten million values written out.
func bomb() string {
	var b strings.Builder
	b.WriteString("reuse:\n  experiments:\n    - &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 7; i++ {
		fmt.Fprintf(&b, "    - &a%d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// place turns "@text@" at the start of want into the place of that text in the spec.
func place(spec, want string) string {
	if !strings.HasPrefix(want, "@") {
		return want
	}
	text, rest, _ := strings.Cut(want[1:], "@")
	before, _, _ := strings.Cut(spec, text)
	return fmt.Sprintf("benchmark.yaml:%d:%d%s", strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n"), rest)
}

// TestBadSpecs: every kind of fault is refused with its place by every command
// that reads a spec, all faults at once, and nothing is asked, started or written.
func TestBadSpecs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(string) string
		want   []string // in this order
	}{
		{"misspelled limits", adds("budgett: {ceiling_usd: 5}\nlimits:\n  time_out: 30s\nretry:\n  provder: 2\n"), []string{
			"@budgett:@: budgett: unknown key; did you mean budget?",
			"@limits:@: limits: unknown key; it belongs in recipe",
			"@time_out:@: limits.time_out: unknown key; did you mean task_timeout?",
			`: retry.provder: "2": not one of provider`,
		}},
		{"faults of several kinds", swaps("repeats: 2", "repeats: two\nversion: v9"), []string{
			`@two@: repeats: "two": not a`, "@version: v9@: version: the key stands twice: first on line 2"}},
		{"anchor bomb", adds(bomb()), []string{"more than 200000 values once its aliases are written out"}},
		{"alias of itself", adds("exclude: &a [*a]\n"), []string{"@*a@: alias *a stands inside what it names"}},
		{"deep nesting", adds("x: " + strings.Repeat("[", 20000)), []string{"benchmark.yaml:", "exceeded max depth"}},
		{"two documents", adds("---\nbenchmark: second\n"), []string{"@---@: one document expected, found 2"}},
		{"empty", func(string) string { return "" }, []string{"benchmark.yaml: the file is empty"}},
		{"comments alone", func(string) string { return "# nothing here\n" }, []string{"benchmark.yaml: the file is empty"}},
		{"empty entries", swaps("include: [policies/, lib/]", "include:\n    - policies/\n    -\n    - ~\n    - lib/"), []string{
			":6: recipe.include[1]: the entry is empty", `@~@: recipe.include[2]: "~": the entry is empty`}},
		{"flag in old words", adds("runner2: x\n"), []string{"@runner2:@: runner2: unknown key; did you mean runner?"}},
		{"colliding models", swaps("{id: m-two", "{id: M-One"), []string{`@M-One@: models[1].id: "M-One": models "m-one" and "M-One" (first on line`, `differ only in upper and lower case`}},
		{"a model twice", swaps("{id: m-two, route: local/two", "{id: m-one, route: local/two"), []string{`models "m-one" and "m-one" (first on line`, `are the same id`}},
		{"file that is not there", swaps("include: [policies/, lib/]", "include: [policies/, lib/, kb/]"), []string{`@kb/@: recipe.include[2]: "kb/": `, "does not exist"}},
		{"no spec", nil, []string{"none.yaml: does not exist"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := mlflowtest.NewFake(t)
			s := newShellAt(t, f.URL)
			if c.change == nil {
				s.spec = filepath.Join(s.dir, "none.yaml")
			} else {
				s.rewrite(c.change)
			}
			text, _ := os.ReadFile(s.spec) // none where there is no spec
			for _, command := range []string{"check", "hash", "plan", "run"} {
				if command == "run" {
					delete(s.env, "MLFLOW_TRACKING_URI") // and no server is started for a spec that is refused
				}
				got := s.run(command, s.spec)
				assert.Equal(t, ExitUsage, got.code, command)
				assert.Empty(t, got.out, command)
				rest := got.stderr
				for _, want := range c.want {
					want = place(string(text), want)
					_, after, found := strings.Cut(rest, want)
					assert.True(t, found, "%s: want %s\nin %s", command, want, rest)
					rest = after
				}
			}
			nothingDone(t, s, f)
			assert.Zero(t, f.Requests(""))
		})
	}
}

// TestSelectorsOutsideTheSpec: a selector that names nothing is refused, as a misspelled key is.
func TestSelectorsOutsideTheSpec(t *testing.T) {
	s, f := fakeShell(t)
	for _, args := range [][]string{
		{"run", s.spec, "--only", "model=m-tow"}, {"run", s.spec, "--fresh", "quick+m-tow"}, {"plan", s.spec, "--explain", "quick+m-tow"},
		{"hash", s.spec, "--model", "m-tow"}, {"hash", s.spec, "--agent", "quik"},
	} {
		got := s.run(args...)
		assert.Equal(t, ExitUsage, got.code, args)
		assert.Contains(t, got.stderr, args[3][max(0, len(args[3])-5):])
	}
	nothingDone(t, s, f)
}

// TestOneIdentityForOneMeaning: spellings of a spec give the same tags, in any zone.
func TestOneIdentityForOneMeaning(t *testing.T) {
	s := newShellAt(t, "")
	want := s.ok("hash", s.spec, "--json").out
	for name, change := range map[string]func(string) string{
		"byte-order mark":      func(spec string) string { return "\ufeff" + spec },
		"Windows line ends":    func(spec string) string { return strings.ReplaceAll(spec, "\n", "\r\n") },
		"comments":             func(spec string) string { return "# a comment\n" + strings.ReplaceAll(spec, "\n", " # so\n") },
		"defaults written out": swaps("runner:\n", "retry: {provider: 2, harness: 1}\nvalid: {max_missing: 5%}\nrunner:\n  unit: evaluation\n  home: private\n"),
		"anchors":              swaps("  - {id: careful, version: \"1\"", "  - {id: careful, version: &v \"1\""),
		"keys in other order": func(spec string) string {
			i := strings.Index(spec, "repeats:")
			j := strings.Index(spec, "agents:")
			return spec[:i] + spec[j:] + spec[i:j]
		},
		"quoted words": swaps("[python3, lib/run.py, --style, plain]", `["python3", 'lib/run.py', "--style", "plain"]`),
	} {
		c := s.fork(t)
		c.rewrite(change)
		assert.Equal(t, want, c.ok("hash", c.spec, "--json").out, name)
	}
	zone := s.fork(t)
	zone.env["TZ"] = "Pacific/Kiritimati"
	assert.Equal(t, want, zone.ok("hash", zone.spec, "--json").out)
}

// TestOddWordsStayText: what older YAML reads as flags, numbers and dates are ids and text here.
func TestOddWordsStayText(t *testing.T) {
	s := newShellAt(t, "")
	s.rewrite(swaps("  - {id: m-two, route: local/two, quota: all}\n", "  - {id: m-two, route: local/two, quota: all}\n  - no\n  - on\n  - off\n  - y\n  - n\n  - yes\n  - 2026-09-21\n  - 12e3\n"))
	var cells []hashed
	s.json(&cells, "hash", s.spec, "--agent", "quick")
	var models []string
	for _, c := range cells {
		models = append(models, c.Model)
	}
	assert.Equal(t, []string{"m-one", "m-two", "no", "on", "off", "y", "n", "yes", "2026-09-21", "12e3"}, models)
}
