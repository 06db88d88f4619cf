package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
)

// readers runs testdata/readers.py in a folder and decodes its answer into v.
func readers(t *testing.T, dir string, v any, args ...string) {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	python := filepath.Join(here, "..", "..", "..", ".readers", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("DuckDB, Polars, pyarrow and pandas are not installed: run make readers (%v)", err)
	}
	c := exec.Command(python, append([]string{filepath.Join(here, "testdata", "readers.py")}, args...)...)
	var out, stderr bytes.Buffer
	c.Dir, c.Stdout, c.Stderr, c.Env = dir, &out, &stderr, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8"}
	require.NoError(t, c.Run(), stderr.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), v), out.String())
}

// query asks DuckDB inside a dated folder.
func query(t *testing.T, folder, sql string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	readers(t, folder, &rows, "query", sql)
	return rows
}

// summary is what a reader found in a table.
type summary struct {
	Rows    int               `json:"rows"`
	Columns map[string][2]any `json:"columns"` // nulls, sum of the numbers
}

// agree compares two summaries; the last digits of a sum depend on the order of adding.
func agree(t *testing.T, want, got summary, what string) {
	t.Helper()
	assert.Equal(t, want.Rows, got.Rows, what)
	require.Len(t, got.Columns, len(want.Columns), what)
	for name, w := range want.Columns {
		g := got.Columns[name]
		assert.Equal(t, w[0], g[0], "%s: nulls of %s", what, name)
		sum, ok := w[1].(float64)
		switch {
		case ok && math.Abs(sum) < 1e-12: // of figures that cancel out: nothing but the order of adding is left
			assert.InDelta(t, 0, g[1], 1e-12, "%s: sum of %s", what, name)
			continue
		case ok:
			assert.InEpsilon(t, sum, g[1], 1e-9, "%s: sum of %s", what, name)
			continue
		}
		assert.Equal(t, w[1], g[1], "%s: sum of %s", what, name)
	}
}

// sameEverywhere reads tables with all readers, which must agree, and returns what they read.
func sameEverywhere(t *testing.T, dir string, patterns ...string) map[string]summary {
	t.Helper()
	var got map[string]map[string]summary
	readers(t, dir, &got, append([]string{"tables"}, patterns...)...)
	out := map[string]summary{}
	for _, p := range patterns {
		require.Len(t, got[p], 4)
		for name, s := range got[p] {
			agree(t, got[p]["duckdb"], s, name+" reads "+p)
		}
		out[p] = got[p]["duckdb"]
	}
	return out
}

// allReaders checks the tables of a real batch.
func allReaders(t *testing.T, folder string) {
	b, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	var m export.Manifest
	require.NoError(t, json.Unmarshal(b, &m))
	rows := map[string]int{}
	for _, c := range m.Contents {
		if strings.HasSuffix(c.Path, ".parquet") {
			rows[c.Path] = int(c.Rows)
		}
	}
	var patterns []string
	for _, name := range tables.Names {
		patterns = append(patterns, "tables/"+name+".parquet")
	}
	require.Len(t, rows, len(patterns))
	got := sameEverywhere(t, folder, patterns...)
	for path, n := range rows {
		assert.Equal(t, n, got[path].Rows, path)
	}
	assert.Equal(t, 96, got["tables/outcomes.parquet"].Rows, "8 evaluations of 12 tasks")
	assert.InDelta(t, 0.096, got["tables/outcomes.parquet"].Columns["cost_usd"][1], 1e-9)

	var answers map[string][]map[string]any
	readers(t, folder, &answers, "queries")
	files := entries(t, filepath.Join(folder, "queries"))
	assert.Len(t, answers, len(files))
	assert.Len(t, answers["01-grid.sql"], 4, "2 agents on 2 models")
	assert.Len(t, answers["09-verdicts.sql"], 6, "4 variants in pairs")
	assert.Len(t, answers["10-ranks.sql"], 4)
}

// TestDaysAreReadTogether reads three days by one glob; on the first nothing but scores is known.
func TestDaysAreReadTogether(t *testing.T) {
	dir := t.TempDir()
	for day := range 3 {
		s := exporttest.New(exporttest.Shape{Agents: 2, Models: 2, Tasks: 10, Repeats: 2, Judges: day, Attempts: day > 0, Bare: day == 0, Seed: uint64(day)})
		at := exporttest.Start.AddDate(0, 0, day)
		s.Result.Name, s.Result.Batch = "support-bench-v1_"+at.Format(time.DateOnly)+"_7f3a9c", exporttest.RunID(at.String())
		_, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: dir, Tool: "test", Outputs: outputs()})
		require.NoError(t, err)
	}
	var patterns []string
	for _, name := range tables.Names {
		patterns = append(patterns, "*/tables/"+name+".parquet")
	}
	got := sameEverywhere(t, dir, patterns...)
	outcomes := got["*/tables/outcomes.parquet"]
	assert.Equal(t, 240, outcomes.Rows)
	assert.Equal(t, 80.0, outcomes.Columns["cost_usd"][0], "the first day knows no cost")
	assert.Equal(t, 24, got["*/tables/evaluations.parquet"].Rows)
	claims := query(t, dir, "SELECT count(*) AS pairs, count(verdict) AS judged, count(p) AS tested, min(codes) AS codes, count(winner) AS winners FROM '*/tables/pairs.parquet'")
	assert.Equal(t, []map[string]any{{"pairs": 18.0, "judged": 18.0, "tested": 0.0, "codes": "no_repeats", "winners": 0.0}}, claims, "2 repeats claim nothing")
	assert.Equal(t, []map[string]any{{"days": 3.0}}, query(t, dir, "SELECT count(DISTINCT batch) AS days FROM '*/tables/variants.parquet'"))
}
