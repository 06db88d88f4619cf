package report

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
)

var update = flag.Bool("update", false, "write testdata again")

func texts(t *testing.T, s *exporttest.Synthetic, change func(*export.Options)) (report, readme string) {
	t.Helper()
	o := export.Options{Out: t.TempDir(), Outputs: []export.Output{Output{}}}
	if change != nil {
		change(&o)
	}
	dir, err := export.Write(context.Background(), s.Freeze(), o)
	require.NoError(t, err)
	a, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	return string(a), string(b)
}

// The text is a contract of Format. Where it changes, Format must rise: folders
// of the old format are then no longer compared with the new text.
func TestGoldenText(t *testing.T) {
	report, readme := texts(t, exporttest.Mixed(), nil)
	plausible, _ := texts(t, exporttest.Plausible(), nil)
	for name, got := range map[string]string{"report.md": report, "README.md": readme, "plausible.md": plausible} {
		golden := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
}

// Nothing of what foreign text can do to a page is left in it.
func TestHostileText(t *testing.T) {
	report, readme := texts(t, exporttest.Mixed(), nil)
	assert.Contains(t, report, "verifier was wrong")
	for name, text := range map[string]string{"report.md": report, "README.md": readme} {
		for _, bad := range []string{"<script", "![x", "https://host", "\x1b", "\u202e", "\n# h"} {
			assert.NotContains(t, text, bad, name)
		}
		assert.False(t, strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }), name)
	}
	columns := 0
	for _, line := range strings.Split(report, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|")
		if columns == 0 {
			columns = n
		}
		assert.Equal(t, columns, n, "a table row holds another number of cells: %s", line)
	}
}

func TestMarks(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 2, Repeats: 1, Bare: true, Seed: 1})
	s.Plan.Draft = true
	report, readme := texts(t, s, func(o *export.Options) {
		o.Provisional, o.Supersedes, o.Withhold = true, &export.Superseded{Folder: "older_folder", Manifest: "ab"}, []string{"raw", "inputs"}
	})
	for _, text := range []string{report, readme} {
		assert.Contains(t, text, "DRAFT")
		assert.Contains(t, text, "PROVISIONAL")
		assert.Contains(t, text, "supersedes older")
		assert.Contains(t, text, "Withheld from this folder: inputs, raw.")
	}
	assert.Contains(t, report, "it does not rank")
	assert.Contains(t, report, "1 planned = 0 reused + 1 done + 0 failed + 0 skipped + 0 not started")
	assert.Contains(t, report, "Spent in this batch, as reported: unknown (2 attempts, none of known cost)")
}

func TestNothingMeasured(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 2, Seed: 1})
	s.AddSlot(0, 1, "skipped", "the model does not answer")
	report, _ := texts(t, s, nil)
	assert.Contains(t, report, "| agent-1 | no data |")
	assert.Contains(t, report, "skipped: the model does not answer")
	assert.Contains(t, report, "nothing was tried")
	assert.NotContains(t, report, "NaN")
}
