package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// compared compares two batches, which must end with exit code 0.
func (s *shell) compared(args ...string) compare.View {
	s.t.Helper()
	var v compare.View
	got := s.json(&v, append([]string{"compare"}, args...)...)
	require.Zero(s.t, got.code, "%s%s", got.out, got.stderr)
	return v
}

// TestCompareBatches: two brains, the same brain again, another recipe, by run ids
// and by folders.
func TestCompareBatches(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	first := s.measure()
	again := s.measure("--new")
	v := s.compared(first.Batch, again.Batch, "--out", "none")
	assert.Equal(t, "Nothing to compare: no variant was measured by both.", v.Verdict)
	assert.Len(t, v.Shared, 12, "all of them are one measurement")
	for _, x := range v.Variants {
		assert.Equal(t, "one measurement", x.Verdict)
	}

	s.edit("brain/instructions.md", "", "Be brief. ")
	second := s.measure()
	v = s.compared(first.Batch, "latest")
	assert.Equal(t, compare.SameRecipe, v.Mode)
	assert.Equal(t, second.Batch, v.B.Run)
	assert.Empty(t, v.PostHoc)
	assert.Empty(t, v.Shared)
	require.Len(t, v.Variants, 4)
	require.NotNil(t, v.Overall)
	assert.NotContains(t, v.Overall.Codes, "measured_apart", "both were measured within a day")
	for _, x := range v.Variants {
		assert.Equal(t, []int{3, 3}, []int{x.RepeatsA, x.RepeatsB})
		assert.InDelta(t, *x.MeanB-*x.MeanA, *x.Difference, 1e-9)
		assert.False(t, x.SameCell)
	}
	require.Len(t, v.Changes, 1)
	assert.Contains(t, v.Changes[0].Item, "instructions.md")

	// The folders give the same comparison, byte for byte, and verify from both sides.
	before := sums(t, v.Folder)
	same := s.compared(first.Folder, second.Folder)
	assert.Equal(t, v, same)
	assert.Equal(t, before, sums(t, v.Folder))
	got := s.ok("verify", v.Folder)
	assert.Contains(t, got.out, " holds: ")
	moved := filepath.Join(t.TempDir(), filepath.Base(v.Folder))
	require.NoError(t, os.CopyFS(moved, os.DirFS(v.Folder)))
	got = s.ok("verify", moved)
	assert.Contains(t, got.out, "is not beside this folder")
	assert.Contains(t, got.out, "holds in part")

	// Another recipe is refused with the file that changed; tasks that stayed the same
	// link the batches by a reference, named after the fact.
	s.edit("benchmark.yaml", "version: v1", "version: v2")
	s.edit("policies/refund.md", "", "Refunds within 14 days.\n")
	third := s.measure()
	got = s.run("compare", second.Batch, third.Batch)
	assert.Equal(t, ExitVerdict, got.code)
	assert.Contains(t, got.stderr, "policies/refund.md changed")
	assert.Contains(t, got.stderr, "--reference")
	assert.Empty(t, got.out)
	var no struct {
		Refused []string
		Changes []struct{ Item string }
	}
	require.Equal(t, ExitVerdict, s.json(&no, "compare", second.Batch, third.Batch).code)
	assert.Contains(t, no.Changes[0].Item, "policies/refund.md")
	v = s.compared(second.Batch, third.Folder, "--reference", "quick+m-one")
	assert.Equal(t, compare.ByAnchors, v.Mode)
	assert.Equal(t, 12, v.Link.Anchors)
	assert.Contains(t, v.PostHoc, "the reference was named after")
	s.ok("verify", v.Folder)
	got = s.ok("compare", second.Batch, third.Batch, "--reference", "quick+m-one")
	assert.Contains(t, got.out, "POST HOC")
	assert.Contains(t, got.out, "12 of 12 tasks, reference quick+m-one")

	missing := s.run("compare", first.Batch, "no-such-batch")
	assert.Equal(t, ExitFailed, missing.code)
	assert.Contains(t, missing.stderr, "no-such-batch")
}

// twoDays are two dated folders of one recipe in one parent folder.
func twoDays(t *testing.T) (a, b string) {
	t.Helper()
	out := t.TempDir()
	for i, name := range []string{"first", "second"} {
		s := oneBest()
		s.Result.Batch = exporttest.RunID(name)
		s.Result.Name = fmt.Sprintf("support-bench-v1_2026-11-30_%s", exporttest.RunID(name)[:6])
		if i == 1 {
			s.SetLetters(1, strings.Repeat("11111 ", 29)+"01111")
			files := map[string]map[string][]byte{}
			for j := range s.Result.Evaluations { // other runs than those of the first
				e := &s.Result.Evaluations[j]
				files[exporttest.RunID(e.RunID)] = s.Files[e.RunID]
				e.Evaluation = "1" + e.Evaluation[1:]
				e.RunID = exporttest.RunID(e.RunID)
				s.Result.Slots[j].RunID = e.RunID
			}
			s.Files = files
		}
		dir := dated(t, s, func(o *export.Options) { o.Out = out })
		if i == 0 {
			a = dir
		} else {
			b = dir
		}
	}
	return a, b
}

func TestCompareFolders(t *testing.T) {
	a, b := twoDays(t)
	sh := &shell{t: t, dir: t.TempDir()}
	got := sh.ok("compare", a, b)
	for _, text := range []string{"B is better than A on average over the 3 variants", "differs    nothing that a digest covers: only the day"} {
		assert.Contains(t, got.out, text)
	}
	assert.Regexp(t, `agent-2\+model-1 +B is better +0\.040 +0\.993 +\+0\.953`, got.out)
	for _, l := range strings.Split(got.out, "\n") {
		if !strings.Contains(l, sh.dir) {
			assert.LessOrEqual(t, terminal.Width(l), terminal.Columns, l)
		}
	}
	v := sh.compared(a, b)
	assert.True(t, v.Variants[0].SameCell)
	assert.Equal(t, "b", v.Overall.Better)

	rule := filepath.Join(sh.dir, "rule.yaml")
	require.NoError(t, os.WriteFile(rule, []byte("metric: passed\npass_threshold: 0.8\n"), 0o600))
	got = sh.ok("compare", a, b, "--decision", rule, "--out", "other")
	assert.Contains(t, got.out, "POST HOC: the rule was given after both batches were frozen")
	require.NoError(t, os.WriteFile(rule, []byte("metric: judge/none\n"), 0o600))
	assert.Equal(t, ExitUsage, sh.run("compare", a, b, "--decision", rule).code)

	assert.Equal(t, ExitVerdict, sh.run("compare", a, a).code)
	assert.Equal(t, ExitUsage, sh.run("compare", a).code)
	assert.Equal(t, ExitUsage, sh.run("compare", a, t.TempDir()).code)
	assert.Equal(t, ExitUsage, sh.run("compare", a, v.Folder).code)
	assert.Equal(t, ExitUsage, sh.run("report", v.Folder).code)
	exists := sh.run("compare", a, b, "--decision", filepath.Join(sh.dir, "none.yaml"))
	assert.Equal(t, ExitUsage, exists.code)
}

// Hostile folders: bytes that do not match, tables that do not follow from the
// evidence, and a manifest that names a folder elsewhere.
func TestCompareHostileFolders(t *testing.T) {
	a, b := twoDays(t)
	sh := &shell{t: t, dir: t.TempDir()}
	v := sh.compared(a, b)
	file := filepath.Join(b, "tables", "outcomes.parquet")
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	bad := append([]byte{}, good...)
	bad[len(bad)/2] ^= 1
	require.NoError(t, os.WriteFile(file, bad, 0o600))
	got := sh.run("compare", a, b)
	assert.Equal(t, ExitIntegrity, got.code)
	assert.Contains(t, got.stderr, "outcomes.parquet")

	// The other batch's outcomes under this one's name, with all checksums made to fit.
	other, err := os.ReadFile(filepath.Join(a, "tables", "outcomes.parquet"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, good, 0o600))
	forged := filepath.Join(t.TempDir(), filepath.Base(b))
	require.NoError(t, os.CopyFS(forged, os.DirFS(b)))
	exchange(t, forged, "tables/outcomes.parquet", other)
	got = sh.run("compare", a, forged)
	assert.Equal(t, ExitIntegrity, got.code)
	assert.Contains(t, got.stderr, "outcomes.parquet")

	manifest := filepath.Join(v.Folder, "manifest.json")
	data, err := os.ReadFile(manifest)
	require.NoError(t, err)
	for _, name := range []string{"../../etc", "..", "", "/etc"} {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &m))
		var side map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(m["a"], &side))
		side["name"], _ = json.Marshal(name)
		m["a"], _ = json.Marshal(side)
		text, err := json.Marshal(m)
		require.NoError(t, err)
		listed := filepath.Join(v.Folder, "SHA256SUMS")
		lines, err := os.ReadFile(listed)
		require.NoError(t, err)
		have, err := os.ReadFile(manifest)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(manifest, text, 0o600))
		require.NoError(t, os.WriteFile(listed, []byte(strings.Replace(string(lines), digestText(have), digestText(text), 1)), 0o600))
		got := sh.run("verify", v.Folder)
		assert.NotZero(t, got.code, name)
		assert.Contains(t, got.stderr, "is no name of a folder", name)
	}
}
