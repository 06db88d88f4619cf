package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestHostileTextIsHarmless has runners attack whoever reads their errors, logs,
// file names and votes: in a note, in the report and on the terminal.
func TestHostileTextIsHarmless(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	b, err := os.ReadFile("testdata/hostile.py")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(s.spec), "lib", "run.py"), b, 0o600))
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	s.edit("benchmark.yaml", "  - {id: careful, version: \"1\", files: [agents/careful/]}\n", "")
	s.edit("benchmark.yaml", "pass_env: [STARTS, FAULTS, ADDRESS]", "pass_env: [STARTS, FAULTS, ADDRESS]\n  secrets: [TOKEN]")
	s.env["TOKEN"] = "token-of-the-gateway-0123456789"
	got := s.run("run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	evaluations, parents := s.history()
	require.Equal(t, map[string]int{"FINISHED complete": 1, "FAILED incomplete": 1}, statuses(evaluations))

	folder := filepath.Join(s.dir, "batches", entries(t, filepath.Join(s.dir, "batches"))[0])
	report, err := os.ReadFile(filepath.Join(folder, "report.md"))
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	status, again, verified := s.run("status"), s.run("run", s.spec), s.ok("verify", folder)
	for sink, text := range map[string]string{
		"run": got.out + got.stderr, "status": status.out + status.stderr, "run again": again.out + again.stderr, "verify": verified.out + verified.stderr,
		"report.md": string(report), "README.md": string(readme),
	} {
		plainText(t, sink, text)
	}
	assert.Contains(t, got.stderr, "⟨U+202E⟩", "what is hidden is shown")
	assert.Contains(t, string(report), "tool: ")
	rest := regexp.MustCompile(`!\[[^\]]*\]\(charts/[a-z0-9-]+\.svg\)|\]\((raw/|#)`).ReplaceAllString(string(report), "") // what leads into the folder
	for _, markup := range []string{"<img", "<script", "](", "![", "\n# Winner", "```"} {
		assert.False(t, strings.Contains(rest, markup), "report.md holds %q", markup)
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	require.NoError(t, err)
	plainText(t, "report.html", string(page))
	for _, markup := range []string{"<img", "<script", "onerror=", `href="http`, `href="javascript`} {
		assert.False(t, strings.Contains(string(page), markup), "report.html holds %q", markup)
	}
	for _, r := range append(evaluations, parents...) {
		note := r.Tag("mlflow.note.content")
		plainText(t, "note of "+r.Info.RunID, note)
		inside := false
		for _, line := range strings.Split(note, "\n") {
			if line == "```" {
				inside = !inside
			} else if strings.ContainsAny(line, "<!@") && line != "![score against cost](get-artifact?run_uuid="+r.Info.RunID+"&path=charts/cost.svg)" {
				assert.True(t, inside, "outside a block: %q", line)
			}
		}
		assert.False(t, inside, "a block is left open")
		if r.Tag("benchbatch.state") == string(batch.StateIncomplete) {
			assert.Contains(t, note, "alert(1)")
		}
	}
	s.keepsSecret(s.env["TOKEN"], folder, append(evaluations, parents...))
	rows := query(t, folder, "SELECT count(*) AS n FROM 'tables/outcomes.parquet' WHERE error_message LIKE '%alert(1)%' AND error_message LIKE '%evil.example%'")
	assert.Equal(t, []map[string]any{{"n": 18.0}}, rows, "the tables keep the text itself")
}

// keepsSecret looks for a secret in tags, in the dated folder and inside its bundles.
func (s *shell) keepsSecret(secret, folder string, runs []mlflow.Run) {
	s.t.Helper()
	bundles := 0
	for _, r := range runs {
		for _, tag := range r.Data.Tags {
			assert.NotContains(s.t, tag.Value, secret, tag.Key)
		}
	}
	for name := range sums(s.t, folder) {
		b, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(s.t, err)
		if strings.HasSuffix(name, ".zst") {
			d, err := zstd.NewReader(nil)
			require.NoError(s.t, err)
			b, err = d.DecodeAll(b, nil)
			require.NoError(s.t, err)
			assert.Contains(s.t, string(b), "[redacted:TOKEN]")
			bundles++
		}
		assert.NotContains(s.t, string(b), secret, name)
	}
	assert.Equal(s.t, 2, bundles)
}

// plainText checks that a text moves no cursor and hides nothing.
func plainText(t *testing.T, sink, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			assert.Failf(t, "hidden character", "%s holds %U", sink, r)
			return
		}
	}
}
