package tables

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
)

// The columns are a contract. Where this test fails, either the change is a
// mistake or Schema must rise, and testdata/schema-N.txt with it.
func TestSchemaIsFixed(t *testing.T) {
	var b strings.Builder
	for _, table := range Names {
		fmt.Fprintf(&b, "%s\n", table)
		for _, c := range schemaOf(table) {
			fmt.Fprintf(&b, "  %s %s\n", c.name, c.fullType())
		}
	}
	want, err := os.ReadFile(fmt.Sprintf("testdata/schema-%d.txt", Schema))
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

func TestColumnNamesDifferByMoreThanCase(t *testing.T) {
	for _, table := range Names {
		seen := map[string]bool{}
		for _, c := range schemaOf(table) {
			assert.False(t, seen[strings.ToLower(c.name)], "%s.%s", table, c.name)
			seen[strings.ToLower(c.name)] = true
		}
	}
}

func folder(t *testing.T, s *exporttest.Synthetic) string {
	t.Helper()
	dir, err := export.Write(context.Background(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{Output{}}})
	require.NoError(t, err)
	return dir
}

// read is a whole table by arrow-go.
func read(t *testing.T, dir, table string) arrow.Table {
	t.Helper()
	f, err := file.OpenParquetFile(filepath.Join(dir, path(table)), false)
	require.NoError(t, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	tab, err := r.ReadTable(context.Background())
	require.NoError(t, err)
	return tab
}

// rows is a table as text, one map a row; null is absent.
func rows(t *testing.T, dir, table string) []map[string]string {
	tab := read(t, dir, table)
	out := make([]map[string]string, tab.NumRows())
	for i := range out {
		out[i] = map[string]string{}
	}
	for c := range int(tab.NumCols()) {
		n := 0
		for _, a := range tab.Column(c).Data().Chunks() {
			for i := range a.Len() {
				if !a.IsNull(i) {
					out[n][tab.Schema().Field(c).Name] = a.ValueStr(i)
				}
				n++
			}
		}
	}
	return out
}

func find(t *testing.T, rows []map[string]string, where ...string) map[string]string {
	t.Helper()
	var found map[string]string
	for _, r := range rows {
		match := true
		for i := 0; i < len(where); i += 2 {
			match = match && r[where[i]] == where[i+1]
		}
		if match {
			require.Nil(t, found, "two rows with %v", where)
			found = r
		}
	}
	require.NotNil(t, found, "no row with %v", where)
	return found
}

func TestValues(t *testing.T) {
	s := exporttest.Mixed()
	dir := folder(t, s)
	e := s.Result.Evaluations
	outcomes := rows(t, dir, "outcomes")

	zero := find(t, outcomes, "run_id", e[2].RunID, "task", "T-0001")
	assert.Equal(t, "0", zero["score"], "a negative zero is written as 0")
	assert.Equal(t, "false", zero["passed"])
	assert.Equal(t, "1", zero["flags"])
	assert.Contains(t, zero["flags_json"], "test-awareness")
	assert.Equal(t, "false", zero["repaired"])
	assert.NotContains(t, zero, "cost_usd")
	assert.NotContains(t, zero, "tokens_input")
	assert.Equal(t, export.NoTokens, zero["cost_repriced_reason"])

	failed := find(t, outcomes, "run_id", e[2].RunID, "task", "T-0002")
	assert.Equal(t, "0", failed["score"])
	assert.Equal(t, "agent", failed["error_class"])
	assert.Equal(t, exporttest.Hostile, failed["error_message"], "text is kept as it is")
	assert.Equal(t, "true", failed["repaired"])

	stopped := find(t, outcomes, "run_id", e[2].RunID, "task", "T-0004")
	assert.NotContains(t, stopped, "score")
	assert.NotContains(t, stopped, "passed")
	assert.Equal(t, "budget", stopped["state"])
	assert.NotContains(t, stopped, "error_message")

	assert.Equal(t, "true", find(t, outcomes, "run_id", e[3].RunID, "task", "T-0003")["withdrawn"])
	strange := find(t, outcomes, "task", "not-in-panel")
	assert.NotContains(t, strange, "family")
}

func TestEvaluations(t *testing.T) {
	s := exporttest.Mixed()
	dir := folder(t, s)
	e := s.Result.Evaluations
	evals := rows(t, dir, "evaluations")
	require.Len(t, evals, 14)

	foreign := find(t, evals, "run_id", e[0].RunID)
	assert.Equal(t, "true", foreign["foreign"])
	assert.Equal(t, "outcomes", foreign["artifacts"])
	assert.Equal(t, "false", foreign["has_attempts"])
	assert.Equal(t, "no end", foreign["time_note"])
	assert.NotContains(t, foreign, "ended")
	assert.NotContains(t, foreign, "wall_s")
	assert.Equal(t, "259200", foreign["age_s"])
	assert.Equal(t, "2026-11-27T09:30:00Z", strings.Replace(foreign["started"], " ", "T", 1))

	interrupted := find(t, evals, "state", "interrupted")
	assert.Equal(t, "end before start", interrupted["time_note"])
	assert.NotContains(t, interrupted, "wall_s")
	assert.Equal(t, "none", interrupted["artifacts"])
	assert.Equal(t, "10", interrupted["n_absent"])
	assert.NotContains(t, interrupted, "score")

	broken := find(t, evals, "state", "incomplete")
	assert.Equal(t, "outcomes.jsonl is refused at line 1", broken["unreadable"])
	assert.Equal(t, "95", find(t, evals, "run_id", e[1].RunID)["wall_s"])

	slots := map[string]int{}
	for _, r := range rows(t, dir, "cells") {
		slots[r["state"]]++
	}
	assert.Equal(t, map[string]int{"reused": 1, "done": 11, "failed": 2, "skipped": 1, "not_started": 1}, slots)

	reason := find(t, rows(t, dir, "metrics"), "run_id", interrupted["run_id"], "name", "score")
	assert.NotContains(t, reason, "value")
	assert.Equal(t, "no task has a score", reason["reason"])
}

// A time that can't be is null with a note, never 1970; no duration is negative.
func TestTimes(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 1, Repeats: 5, Seed: 4})
	e := s.Result.Evaluations
	seconds := time.UnixMilli(exporttest.Start.Unix())
	e[0].Started = time.Unix(0, 0)
	e[1].Started = seconds
	e[2].Ended = &seconds
	before := e[3].Started.Add(-time.Second)
	e[3].Ended = &before
	evals := rows(t, folder(t, s), "evaluations")
	for i, want := range []string{"no believable start", "no believable start", "no believable end", "end before start", ""} {
		r := find(t, evals, "run_id", e[i].RunID)
		assert.Equal(t, want, r["time_note"])
		assert.Equal(t, i > 1, r["started"] != "")
		assert.Equal(t, i != 2, r["ended"] != "")
		assert.Equal(t, i == 4, r["wall_s"] != "")
	}
}

// Fewer than 3 repeats: numbers, codes and a repair, and nothing is claimed.
func TestNothingIsClaimed(t *testing.T) {
	dir := folder(t, exporttest.Mixed())
	pairs := rows(t, dir, "pairs")
	require.Len(t, pairs, 15)
	for _, p := range pairs {
		for _, c := range []string{"winner", "p", "p_adjusted", "p_list", "p_equal", "extent"} {
			assert.NotContains(t, p, c)
		}
		assert.Equal(t, "cannot tell", p["verdict"])
		assert.Contains(t, p["codes"], "no_repeats")
		assert.Contains(t, []string{"add repeats", "add tasks"}, p["repair"])
		assert.Contains(t, p, "ci_low")
		assert.Equal(t, "cannot tell", p["kept_verdict"])
	}
	assert.Contains(t, pairs[0], "difference")
	assert.Contains(t, pairs[0], "range_tie")
	for _, v := range rows(t, dir, "variants") {
		assert.NotContains(t, v, "rank_low")
		assert.NotContains(t, v, "best")
		assert.Equal(t, v["planned"], fmt.Sprint(number(v["reused"])+number(v["done"])+number(v["failed"])+number(v["skipped"])+number(v["not_started"])))
	}
}

func number(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

// No column of any table holds NaN or infinity, whatever the runner reported.
func TestFinite(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 3, Repeats: 1, Seed: 4})
	run := s.Result.Evaluations[0].RunID
	s.Files[run]["outcomes.jsonl"] = []byte(`{"task":"T-0001","score":1,"duration_s":1.7e308}
{"task":"T-0002","score":1,"duration_s":1.7e308}
{"task":"T-0003","score":1,"wait_s":1e308}
`)
	dir := folder(t, s)
	for _, table := range Names {
		tab := read(t, dir, table)
		for c := range int(tab.NumCols()) {
			for _, a := range tab.Column(c).Data().Chunks() {
				if f, ok := a.(*array.Float64); ok {
					for i := range f.Len() {
						assert.True(t, f.IsNull(i) || f.Value(i)-f.Value(i) == 0, "%s.%s", table, tab.Schema().Field(c).Name)
					}
				}
			}
		}
	}
	r := find(t, rows(t, dir, "metrics"), "name", "duration_s")
	assert.NotContains(t, r, "value", "the sum is beyond what a number can be")
}

func contents(t *testing.T, dir string) (map[string]export.Content, []export.Finding) {
	t.Helper()
	var want []export.Content
	for _, n := range Names {
		want = append(want, export.Content{Path: path(n)})
	}
	got, bad := Output{}.Read(context.Background(), dir, want)
	out := map[string]export.Content{}
	for _, c := range got {
		out[c.Path] = c
	}
	return out, bad
}

// The content digest is that of the rows: another writer keeps it, another row does not.
func TestContentDigest(t *testing.T) {
	dir := folder(t, exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 40, Repeats: 2, Seed: 4}))
	before, bad := contents(t, dir)
	require.Empty(t, bad)
	require.Len(t, before, len(Names))
	name := filepath.Join(dir, path("outcomes"))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	rows := parquetRows(t, name)
	require.Len(t, rows, 160)
	again := func(write func(f *os.File)) export.Content {
		f, err := os.Create(name)
		require.NoError(t, err)
		write(f)
		now, bad := contents(t, dir)
		require.Empty(t, bad)
		return now[path("outcomes")]
	}

	tab := read(t, dir, "outcomes")
	same := again(func(f *os.File) {
		props := pq.NewWriterProperties(pq.WithCompression(compress.Codecs.Snappy), pq.WithMaxRowGroupLength(30))
		require.NoError(t, pqarrow.WriteTable(tab, f, 30, props, pqarrow.DefaultWriterProps()))
	})
	other, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NotEqual(t, data, other)
	require.True(t, reflect.DeepEqual(before[path("outcomes")], same))

	swapped := slices.Clone(rows)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	assert.NotEqual(t, same.Digest, again(func(f *os.File) { writeRows(t, f, swapped) }).Digest)

	column := slices.IndexFunc(schemaOf("outcomes"), func(c column) bool { return c.name == "tokens_cache_write" })
	require.True(t, rows[0][column].IsNull())
	rows[0] = rows[0].Clone()
	rows[0][column] = parquet.Int64Value(0).Level(0, 1, column)
	changed := again(func(f *os.File) { writeRows(t, f, rows) })
	assert.NotEqual(t, same.Digest, changed.Digest, "null is not 0")
	for i, c := range changed.Columns {
		assert.Equal(t, i == column, c != same.Columns[i], c.Name)
	}
}

func parquetRows(t *testing.T, name string) []parquet.Row {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	r := parquet.NewGenericReader[OutcomeRow](f)
	defer r.Close()
	rows := make([]parquet.Row, r.NumRows())
	n, err := r.ReadRows(rows)
	if n < len(rows) {
		require.NoError(t, err)
	}
	for i := range rows {
		rows[i] = rows[i].Clone()
	}
	return rows
}

func writeRows(t *testing.T, f *os.File, rows []parquet.Row) {
	t.Helper()
	w := parquet.NewGenericWriter[OutcomeRow](f)
	_, err := w.WriteRows(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
}

// Damaged bytes and another schema are findings with the file's name, never a panic.
func TestDamage(t *testing.T) {
	dir := folder(t, exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 40, Repeats: 2, Seed: 4}))
	name := filepath.Join(dir, path("outcomes"))
	good, err := os.ReadFile(name)
	require.NoError(t, err)
	honest, _ := contents(t, dir)
	flips, unseen := 0, 0
	for at := 0; at < len(good); at += 97 {
		bad := append([]byte{}, good...)
		bad[at] ^= 0xff
		require.NoError(t, os.WriteFile(name, bad, 0o666))
		now, findings := contents(t, dir)
		flips++
		switch {
		case len(findings) > 0:
			assert.Equal(t, path("outcomes"), findings[0].File)
			assert.Len(t, now, len(Names)-1)
		case reflect.DeepEqual(honest[path("outcomes")], now[path("outcomes")]):
			unseen++
		}
	}
	assert.Less(t, unseen, flips/2, "what no row rests on, such as statistics of pages, is seen by its checksum alone")
	for _, bad := range [][]byte{nil, []byte("PAR1"), good[:len(good)/2], append([]byte("x"), good...)} {
		require.NoError(t, os.WriteFile(name, bad, 0o666))
		_, findings := contents(t, dir)
		require.Len(t, findings, 1)
		assert.Equal(t, path("outcomes"), findings[0].File)
	}
	cells, err := os.ReadFile(filepath.Join(dir, path("cells")))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, cells, 0o666))
	_, findings := contents(t, dir)
	require.Len(t, findings, 1)
	assert.Contains(t, findings[0].Reason, "columns")
}
