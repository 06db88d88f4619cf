package compare_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

func written(t *testing.T, c *compare.Comparison, out string) string {
	t.Helper()
	dir, err := compare.Write(t.Context(), c, out)
	require.NoError(t, err)
	return dir
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[rel] = string(data)
		return err
	}))
	return out
}

// both gives the sides of two batches by name.
func both(t *testing.T, list ...*exporttest.Synthetic) func(compare.Batch) (compare.Side, error) {
	return func(b compare.Batch) (compare.Side, error) {
		for _, s := range list {
			if s.Result.Name == b.Name {
				return side(t, s), nil
			}
		}
		return compare.Side{}, fmt.Errorf("%s: %w", b.Name, fs.ErrNotExist)
	}
}

// The folder holds what it should, is the same each time, and verifies.
func TestFolder(t *testing.T) {
	a, b := one("a", day, "v4", low, mid, high), one("b", nextDay, "v5", high, mid)
	out := t.TempDir()
	dir := written(t, of(t, a, b, compare.Options{Tool: "v0-test"}), out)
	assert.Equal(t, fmt.Sprintf("compare-support-bench_%s_%s_2026-11-30", exporttest.RunID("a")[:6], exporttest.RunID("b")[:6]), filepath.Base(dir))
	got := files(t, dir)
	for _, name := range []string{"README.md", "report.md", "report.html", "charts/change.svg", "manifest.json", "SHA256SUMS",
		"tables/pairs.parquet", "tables/overall.parquet", "tables/tasks.parquet", "tables/changes.parquet", "tables/shared.parquet"} {
		assert.Contains(t, got, name)
	}
	for _, text := range []string{"B is better than A on average over the 2 variants that both measured.", "In A alone, and so not compared: agent-3+model-1", "file brain/instructions.md"} {
		assert.Contains(t, got["report.md"], text)
	}
	assert.Contains(t, got["README.md"], "B is better than A")
	for _, text := range got {
		assert.NotContains(t, text, "NaN")
		assert.NotContains(t, text, "%!")
	}
	assert.Equal(t, dir, written(t, of(t, a, b, compare.Options{Tool: "v0-test"}), out), "the same content is left as it is")
	assert.Equal(t, got, files(t, written(t, of(t, a, b, compare.Options{Tool: "v0-test"}), t.TempDir())))

	_, err := compare.Write(t.Context(), of(t, a, b, compare.Options{Tool: "v1-test"}), out)
	var exists *export.ExistsError
	require.ErrorAs(t, err, &exists)
	assert.Equal(t, got, files(t, dir))

	r, err := compare.Verify(t.Context(), dir, both(t, a, b))
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.Empty(t, r.Notes)
	assert.Contains(t, r.Recomputed, "tables/pairs.parquet")
	assert.Contains(t, r.Recomputed, "report.html")
	r, err = compare.Verify(t.Context(), dir, both(t, a))
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.Contains(t, r.Notes[0], "batch "+b.Result.Name+" is not beside this folder")
	assert.Contains(t, r.Unproven, "report.md")
	r, err = compare.Verify(t.Context(), dir, nil)
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.True(t, r.DigestsOnly)
}

// The columns are a contract: where this test fails, either the change is a mistake
// or Schema must rise.
func TestSchemaIsFixed(t *testing.T) {
	dir := written(t, of(t, one("a", day, "v4", low), one("b", nextDay, "v5", mid), compare.Options{}), t.TempDir())
	var m compare.Manifest
	require.NoError(t, json.Unmarshal([]byte(files(t, dir)["manifest.json"]), &m))
	var text strings.Builder
	for _, c := range m.Contents {
		if len(c.Columns) == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s\n", c.Path)
		for _, col := range c.Columns {
			fmt.Fprintf(&text, "  %s %s\n", col.Name, col.Type)
		}
	}
	golden := fmt.Sprintf("testdata/schema-%d.txt", compare.Schema)
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String())
}

// Every changed byte is found, and so is a folder that agrees with itself alone.
func TestForgedFolder(t *testing.T) {
	a, b := one("a", day, "v4", low), one("b", nextDay, "v5", mid)
	dir := written(t, of(t, a, b, compare.Options{}), t.TempDir())
	for name := range files(t, dir) {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		bad := append([]byte{}, good...)
		bad[len(bad)/2] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o666))
		r, err := compare.Verify(t.Context(), dir, both(t, a, b))
		if err == nil {
			require.Error(t, r.Err(), name)
			assert.Contains(t, r.Err().Error(), name)
		}
		require.NoError(t, os.WriteFile(path, good, 0o666))
	}

	other := files(t, written(t, of(t, a, one("b", nextDay, "v5", high), compare.Options{}), t.TempDir()))
	for _, name := range []string{"report.md", "tables/pairs.parquet", "charts/change.svg"} {
		copied := filepath.Join(t.TempDir(), filepath.Base(dir))
		require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
		exchange(t, copied, name, other[name])
		r, err := compare.Verify(t.Context(), copied, both(t, a, b))
		require.NoError(t, err, name)
		require.Error(t, r.Err(), name)
		assert.Contains(t, r.Err().Error(), name)
	}
	r, err := compare.Verify(t.Context(), dir, both(t, a, one("b", nextDay, "v5", high)))
	require.NoError(t, err)
	assert.ErrorContains(t, r.Err(), "the folder beside this one is another batch")
}

// exchange replaces a file and every digest of it.
func exchange(t *testing.T, dir, name, data string) {
	t.Helper()
	all := files(t, dir)
	before, manifest := string(batch.Sum([]byte(all[name]))), string(batch.Sum([]byte(all["manifest.json"])))
	after := string(batch.Sum([]byte(data)))
	m := strings.ReplaceAll(all["manifest.json"], before, after)
	sums := strings.NewReplacer(before, after, manifest, string(batch.Sum([]byte(m)))).Replace(all["SHA256SUMS"])
	for file, text := range map[string]string{name: data, "manifest.json": m, "SHA256SUMS": sums} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666))
	}
}

// By anchors, post hoc and hostile: the pages say it, and hold nothing that acts.
func TestPages(t *testing.T) {
	x, y := bridged(25, []string{mid, low, mid}, []string{mid, high, mid})
	for _, s := range []*exporttest.Synthetic{x, y} {
		s.Plan.Question = "Which one? " + exporttest.Hostile
		s.Plan.Benchmark = "../../" + exporttest.Hostile
		s.Plan.BrainPath = exporttest.Hostile
		s.Plan.Cells[2].Agent += exporttest.Hostile
		s.Plan.Draft = true
		for i := range s.Result.Evaluations {
			if e := &s.Result.Evaluations[i]; e.Agent == "agent-3" {
				e.Agent = s.Plan.Cells[2].Agent
			}
		}
		s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0002", Why: exporttest.Hostile, Date: "2026-12-02"}}
	}
	y.SetDecision(strings.Replace(linked, `"margin":0.2`, `"margin":0.3`, 1))
	dir := written(t, of(t, x, y, compare.Options{}), t.TempDir())
	assert.NotContains(t, filepath.Base(dir), "/")
	got := files(t, dir)
	for _, text := range []string{"POST HOC", "DRAFT", "The reference stayed within the margin; of 2 variants, 1 better and 0 worse in B beyond its drift", "How the batches are linked", "25 tasks of 30 are the same in both", "file policies/refund.md"} {
		assert.Contains(t, got["report.md"], text)
		assert.Contains(t, got["report.html"], strings.ReplaceAll(text, "'", "&#39;"))
	}
	for _, name := range []string{"report.md", "README.md", "report.html", "charts/change.svg"} {
		for _, bad := range []string{"<script>|", "](https://host", "\x1b", "\u202e", "src=\"https"} {
			if bad != "](https://host" || strings.HasSuffix(name, ".md") {
				assert.NotContains(t, got[name], bad, name)
			}
		}
	}
	r, err := compare.Verify(t.Context(), dir, both(t, x, y))
	require.NoError(t, err)
	require.NoError(t, r.Err())

	apart := written(t, of(t, one("a", day, "v4", low), one("b", month, "v5", high), compare.Options{}), t.TempDir())
	text := files(t, apart)["report.md"]
	assert.Contains(t, text, "Cannot tell B from A, for agent-1+model-1: measured apart.")
	assert.Contains(t, text, "Measuring A's side again beside B's takes 5 evaluations, at an unknown price")
	assert.Contains(t, text, "run both sides on the same day")
}
