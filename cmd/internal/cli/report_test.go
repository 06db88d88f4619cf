package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// dated writes a made-up batch as a dated folder.
func dated(t *testing.T, s *exporttest.Synthetic, change func(*export.Options)) string {
	t.Helper()
	o := export.Options{Out: t.TempDir(), Outputs: outputs(), Tool: "v0-test"}
	if change != nil {
		change(&o)
	}
	dir, err := export.Write(t.Context(), s.Freeze(), o)
	require.NoError(t, err)
	return dir
}

// oneBest is a batch in which the first of three variants beats the others.
func oneBest() *exporttest.Synthetic {
	s := exporttest.Lettered(
		strings.Repeat("11111 ", 24)+"01111 10111 11011 11101 11110 01111",
		strings.Repeat("00000 ", 24)+"10000 01000 00100 00010 00001 10000",
		strings.Repeat("00000 ", 25)+"10000 01000 00100 00010 00001")
	s.SetDecision(`{"alpha":0.025,"compare":"all","margin":0.2,"metric":"passed","pass":"threshold","pass_threshold":0.8,"scope":"population"}`)
	return s
}

func TestReportInBrief(t *testing.T) {
	sh := &shell{t: t, dir: t.TempDir()}
	for name, withhold := range map[string][]string{"whole": nil, "withheld": {"raw", "inputs"}} {
		dir := dated(t, oneBest(), func(o *export.Options) { o.Withhold = withhold })
		got := sh.ok("report", dir)
		for _, text := range []string{"agent-1+model-1 may be called best: it beats every other variant.", "30 tasks × 5 repeats of 3 variants",
			"agent-1+model-1 beats agent-2+model-1 by +0.920", "2 beats, 1 equal", "15 planned = 0 reused + 15 done", "margin 0.2", dir + "/report.md"} {
			assert.Contains(t, got.out, text, name)
		}
		assert.Regexp(t, `agent-1\+model-1 +0\.960 +\[0\.\d+, 0\.\d+\] +1 +a +5 +–`, got.out)
		assert.Contains(t, got.stderr, "byte by byte")
		assert.NotContains(t, got.out, "\x1b")
		assert.NotContains(t, got.out, "POST HOC")

		var r reported
		sh.json(&r, "report", dir)
		require.NotNil(t, r.Same)
		assert.True(t, *r.Same)
		assert.Equal(t, "agent-1+model-1", r.Variants[0].Variant.String())
		assert.True(t, r.Variants[0].Best)
		assert.Equal(t, []string{"agent-2+model-1", "agent-3+model-1"}, []string{r.Apart[0].Loser, r.Apart[1].Loser})
	}
}

// The brief of any batch fits the terminal, whatever ids and questions hold.
func TestBriefFits(t *testing.T) {
	wide := exporttest.Mixed()
	for i := range wide.Plan.Cells {
		wide.Plan.Cells[i].Agent += strings.Repeat("日本語", 9) + exporttest.Hostile
	}
	wide.Plan.Question = strings.Repeat("どの変種がよいか", 20)
	many := exporttest.New(exporttest.Shape{Agents: 7, Models: 5, Tasks: 12, Repeats: 3, Seed: 3})
	for name, s := range map[string]*exporttest.Synthetic{"wide": wide, "many": many,
		"nothing": exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 2, Seed: 1})} {
		dir := dated(t, s, nil)
		sh := &shell{t: t, dir: t.TempDir()}
		got := sh.ok("report", dir)
		for _, l := range strings.Split(got.out, "\n") {
			if !strings.Contains(l, dir) {
				assert.LessOrEqual(t, terminal.Width(l), terminal.Columns, "%s: %s", name, l)
			}
			assert.NotContains(t, l, "\x1b", name)
			assert.NotContains(t, l, "\u202e", name)
		}
		assert.NotContains(t, got.out, "NaN")
	}
}

func TestReportMarksOnATerminal(t *testing.T) {
	var out, stderr bytes.Buffer
	a := &App{Args: []string{"report", dated(t, oneBest(), nil)}, Stdout: &out, Stderr: &stderr, Colour: true}
	require.Zero(t, Main(a), stderr.String())
	assert.Contains(t, out.String(), "\x1b[1magent-1+model-1 may be called best")
}

// -o writes the folder's own texts again, into a new folder alone.
func TestReportWrites(t *testing.T) {
	sh := &shell{t: t, dir: t.TempDir()}
	dir := dated(t, oneBest(), nil)
	before := sums(t, dir)
	sh.ok("report", dir, "-o", "again")
	for _, name := range []string{"report.md", "README.md"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(sh.dir, "again", name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
	again := sh.run("report", dir, "-o", "again")
	assert.Equal(t, ExitFailed, again.code)
	assert.Contains(t, again.stderr, "exists")
	assert.Equal(t, ExitFailed, sh.run("report", dir, "-o", dir).code)
	assert.Equal(t, before, sums(t, dir), "the folder itself is left alone")
}

// Another rule is said to be one, and changes the verdict.
func TestReportPostHoc(t *testing.T) {
	sh := &shell{t: t, dir: t.TempDir()}
	dir := dated(t, oneBest(), nil)
	rule := filepath.Join(sh.dir, "rule.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(rule, []byte(text), 0o600)) }
	write("metric: passed\npass_threshold: 0.8\nreference: agent-2+model-1\ncompare: reference\nmargin: 5%\n")
	got := sh.ok("report", dir, "--decision", rule, "-o", "other")
	assert.Contains(t, got.out, "POST HOC")
	assert.Contains(t, got.out, "margin 0.05")
	assert.NotContains(t, got.out, dir)
	_, err := os.Stat(filepath.Join(sh.dir, "other", "report.md"))
	require.NoError(t, err)
	var r reported
	sh.json(&r, "report", dir, "--decision", rule)
	assert.True(t, r.PostHoc)
	assert.Nil(t, r.Same)
	assert.Empty(t, r.Files)

	write("metric: passed\npass_threshold: 80%\nmargin: 0.2\n")
	got = sh.ok("report", dir, "--decision", rule)
	assert.NotContains(t, got.out, "POST HOC", "the frozen rule, written otherwise")
	assert.Contains(t, got.stderr, "nothing about this report is post hoc")

	for text, want := range map[string]string{
		"margin: 2\n":                   "decision.margin 2",
		"margin: lots\n":                "margin: \"lots\"",
		"margins: 0.1\n":                "margins",
		"pass: reported\n":              "do not hold what runners reported",
		"reference: nobody+nothing\n":   "is not a variant of this batch",
		"metric: judge/nobody\n":        "judge/nobody",
		"- a\n":                         "rule.yaml:1",
		"compare: reference\n":          "names none",
		"advantage: {colour: 20%}\n":    "decision.advantage.colour",
		"metric: passed\nmetric: score": "rule.yaml:2",
	} {
		write(text)
		got := sh.run("report", dir, "--decision", rule)
		assert.Equal(t, ExitUsage, got.code, text)
		assert.Contains(t, got.stderr, want, text)
	}
	assert.Equal(t, ExitUsage, sh.run("report", dir, "--decision", filepath.Join(sh.dir, "none.yaml")).code)
}

// What is no dated folder, or does not hold, is refused with a remedy.
func TestReportRefuses(t *testing.T) {
	sh := &shell{t: t, dir: t.TempDir()}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		got := sh.run("report", dir)
		assert.Equal(t, ExitUsage, got.code)
		assert.Contains(t, got.stderr, "that `benchbatch run` or `benchbatch export` wrote")
	}
	dir := dated(t, oneBest(), nil)
	for name := range sums(t, dir) {
		if strings.HasSuffix(name, ".sql") && !strings.Contains(name, "01") || strings.HasPrefix(name, "raw/") {
			continue
		}
		copied := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
		data, err := os.ReadFile(filepath.Join(copied, name))
		require.NoError(t, err)
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(filepath.Join(copied, name), data, 0o600))
		got := sh.run("report", copied)
		assert.Equal(t, ExitIntegrity, got.code, name)
		assert.Contains(t, got.stderr, name)
		assert.Contains(t, got.stderr, "remedy")
		assert.Empty(t, got.out)
	}
}

// A report that was exchanged, with checksums made to fit, is found, even where the
// evidence is withheld.
func TestReportFindsAForgedReport(t *testing.T) {
	dir := dated(t, oneBest(), func(o *export.Options) { o.Withhold = []string{"raw"} })
	other := oneBest()
	other.Plan.Question = "Another question"
	forged := dated(t, other, nil)
	data, err := os.ReadFile(filepath.Join(forged, "report.md"))
	require.NoError(t, err)
	exchange(t, dir, "report.md", data)
	sh := &shell{t: t, dir: t.TempDir()}
	got := sh.run("report", dir)
	assert.Equal(t, ExitIntegrity, got.code)
	assert.Contains(t, got.stderr, "report.md: is not what the tables of outcomes give")
	var r reported
	sh.json(&r, "report", dir)
	assert.Equal(t, []string{"report.md"}, r.Differ)
	got = sh.run("verify", dir)
	assert.Equal(t, ExitIntegrity, got.code)
	assert.Contains(t, got.stderr, "report.md: does not follow from the tables")
}

// exchange replaces a file of a folder and everything that the folder says of it.
func exchange(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	old, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	replace := func(file, before, after string) {
		b, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Contains(t, string(b), before)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(string(b), before, after)), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	var m export.Manifest
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &m))
	before := digestText(b)
	replace("manifest.json", digestText(old), digestText(data))
	b, err = os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	replace("SHA256SUMS", digestText(old), digestText(data))
	replace("SHA256SUMS", before, digestText(b))
}

func digestText(b []byte) string { return string(batch.Sum(b)) }
