package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// What verify proves, and what it can't, is printed.
func TestVerifySaysWhatItProves(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 4, Repeats: 2, Attempts: true, Seed: 1})
	b := s.Freeze()
	sh := &shell{t: t, dir: t.TempDir()}
	whole, err := export.Write(t.Context(), b, export.Options{Out: t.TempDir(), Outputs: outputs()})
	require.NoError(t, err)
	part, err := export.Write(t.Context(), b, export.Options{Out: t.TempDir(), Outputs: outputs(), Withhold: []string{"raw"}})
	require.NoError(t, err)

	anchor := string(batch.Sum(b.ResultJSON))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{whole}, " holds: "},
		{[]string{whole, "--digests"}, "was not looked at"},
		{[]string{part}, " holds in part: "},
	} {
		got := sh.ok(append([]string{"verify"}, c.args...)...)
		assert.Contains(t, got.out, c.want)
		assert.Contains(t, got.out, "SHA-256 of result.json:\n  "+anchor)
		assert.Contains(t, got.out, "tag benchbatch.result of run "+exporttest.RunID("parent"))
	}
	assert.Contains(t, sh.ok("verify", part).out, "report and verdict follow from the tables of outcomes")
	var report export.Report
	require.NoError(t, json.Unmarshal([]byte(sh.ok("verify", "--json", part).out), &report))
	assert.Equal(t, anchor, string(report.Result))
	assert.Equal(t, exporttest.RunID("parent"), report.Batch)
	assert.Contains(t, report.Unproven, "report.md")
}

// What looks like a secret is said on stderr, by file and kind, without the text.
func TestExportWarnsOfSecrets(t *testing.T) {
	key := "sk-" + strings.Repeat("a1B2c3D4e5", 4)
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 4, Repeats: 1, Seed: 1})
	s.Plan.Question = "Which one? " + key
	warned := func(s *exporttest.Synthetic) string {
		folder, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: outputs()})
		require.NoError(t, err)
		var out, stderr bytes.Buffer
		a := &App{Stdout: &out, Stderr: &stderr}
		require.NoError(t, a.warnOfSecrets(folder))
		assert.Empty(t, out.String())
		return stderr.String()
	}
	got := warned(s)
	assert.Contains(t, got, "warning: a pattern scan found")
	assert.Contains(t, got, "plan.json: sk- key, 1 time")
	assert.NotContains(t, got, key)
	s.Plan.Question = ""
	assert.Empty(t, warned(s))
}
