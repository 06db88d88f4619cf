package export_test

import (
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// odd is a batch about which little or nothing can be said.
type odd struct {
	name     string
	batch    *exporttest.Synthetic
	broken   bool              // no record can be read, so that none counts
	headline string            // must be in report.md
	marks    map[string]string // of pairs that are not "cannot tell", as "a b"; "" = no verdict
	cells    map[string]string // "variant column" → value of variants.parquet, "" = null
}

// decided gives a batch a whole decision: margin, reference and advantage.
func decided(s *exporttest.Synthetic, metric string, margin float64) *exporttest.Synthetic {
	s.SetDecision(fmt.Sprintf(`{"metric":%q,"alpha":0.025,"margin":%v,"reference":"agent-1+model-1","advantage":{"cost_usd":0.2,"wall_s":0.2,"consistency":0.2}}`,
		metric, margin))
	return s
}

func passes(margin float64, lines ...string) *exporttest.Synthetic {
	return decided(exporttest.Lettered(lines...), "passed", margin)
}

func times(n int, word string) string { return strings.Repeat(word+" ", n) }

// raw replaces the records of every evaluation by lines about the first tasks.
func raw(s *exporttest.Synthetic, format string) *exporttest.Synthetic {
	for _, e := range s.Result.Evaluations {
		var b strings.Builder
		for _, t := range s.Tasks {
			fmt.Fprintf(&b, format+"\n", t.ID)
		}
		s.Files[e.RunID]["outcomes.jsonl"] = []byte(b.String())
	}
	return s
}

const (
	a1, a2, a3 = "agent-1+model-1", "agent-2+model-1", "agent-3+model-1"
	nothing    = "Nothing can be told: no variant has a score."
	between    = "Cannot tell agent-1+model-1 from agent-2+model-1"
	fewTasks   = "Nothing can be told: fewer than 10 common tasks."
	fewRepeats = "Nothing can be told: fewer than 3 repeats."
	noWinner   = "No winner"
)

func oddities() []odd {
	none := passes(.1, times(12, "111"), times(12, "000"))
	none.Drop(0)
	none.Drop(1)
	half := passes(.1, times(12, "111"), times(12, "000"))
	half.Drop(1)
	bare := exporttest.Shape{Agents: 2, Models: 1, Tasks: 12, Repeats: 3, Bare: true, Seed: 1}
	return []odd{
		{name: "no task", batch: decided(exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Repeats: 3, Seed: 1}), "score", .1), headline: nothing,
			marks: map[string]string{a1 + " " + a2: ""}},
		{name: "no variant", batch: func() *exporttest.Synthetic {
			s := exporttest.New(exporttest.Shape{Tasks: 12, Repeats: 3, Seed: 1})
			s.SetDecision(`{"metric":"score"}`)
			return s
		}(), headline: nothing},
		{name: "nothing started", batch: none, headline: nothing, marks: map[string]string{a1 + " " + a2: ""},
			cells: map[string]string{a1 + " planned": "3", a1 + " not_started": "3", a1 + " mean": "", a1 + " coverage": "", a1 + " best": ""}},
		{name: "one side never started", batch: half, headline: "Nothing to compare", marks: map[string]string{a1 + " " + a2: ""},
			cells: map[string]string{a1 + " mean": "1", a1 + " best": "", a2 + " mean": "", a2 + " score": "", a2 + " not_started": "3"}},
		{name: "one variant", batch: passes(.1, times(12, "111")), headline: "Nothing to compare",
			cells: map[string]string{a1 + " mean": "1", a1 + " rank_low": "", a1 + " best": ""}},
		{name: "one task", batch: passes(.1, "111", "000"), headline: fewTasks, cells: map[string]string{a1 + " se": "", a1 + " ci_low": "0.438503"}},
		{name: "all failed", batch: passes(.1, times(12, "---"), times(12, "---")), headline: nothing, marks: map[string]string{a1 + " " + a2: ""},
			cells: map[string]string{a1 + " n_provider": "36", a1 + " failures": "36", a1 + " coverage": "0", a1 + " mean": "", a1 + " failure_band_low": "0", a1 + " failure_band_high": "1"}},
		{name: "all equal, few tasks", batch: passes(.1, times(12, "111"), times(12, "111")), headline: between},
		{name: "all equal, many tasks", batch: passes(.1, times(80, "111"), times(80, "111")), headline: noWinner, marks: map[string]string{a1 + " " + a2: "equal"}},
		{name: "the judge that decides voted nowhere", batch: decided(exporttest.New(bare), "judge/tone", .1), headline: nothing, marks: map[string]string{a1 + " " + a2: ""},
			cells: map[string]string{a1 + " mean": "", a2 + " mean": ""}},
		{name: "a margin larger than the scale", batch: decided(exporttest.New(bare), "score", 1.5), headline: "Nothing is decided: margin 1.5",
			marks: map[string]string{a1 + " " + a2: ""}},
		{name: "a margin as large as the scale", batch: passes(.999, times(12, "110"), times(12, "011")), headline: between},
		{name: "no cost, no time", batch: decided(exporttest.New(bare), "score", .1), headline: between,
			cells: map[string]string{a1 + " cost_per_task_usd": "", a1 + " cost_per_pass_usd": "", a1 + " cost_usd": "", a1 + " cost_ratio": "", a1 + " work_s": ""}},
		{name: "078 errors", batch: passes(.1, times(80, "1")+times(10, "0")+times(10, "-"), times(7, "1")+times(93, "-"), times(100, "-")), headline: fewRepeats,
			marks: map[string]string{a1 + " " + a3: "", a2 + " " + a3: ""},
			cells: map[string]string{a1 + " mean": "0.888889", a1 + " failure_band_low": "0.8", a1 + " coverage": "0.9", a2 + " mean": "1",
				a2 + " failure_band_low": "0.07", a2 + " n_provider": "93", a3 + " n_provider": "100", a3 + " mean": "", a3 + " coverage": "0", a3 + " failure_band_low": "0"}},
		{name: "079 perfect", batch: passes(.1, times(25, "000"), times(25, "111")), headline: a2 + " may be called best",
			marks: map[string]string{a1 + " " + a2: "beats"},
			cells: map[string]string{a1 + " ci_low": "0", a1 + " ci_high": "0.133192", a1 + " ci_method": "Wilson", a2 + " ci_low": "0.866808", a2 + " ci_high": "1"}},
		{name: "080 one repeat", batch: passes(.1, times(30, "1"), times(30, "0")), headline: fewRepeats,
			cells: map[string]string{a1 + " rerun_variance": "", a1 + " icc": "", a1 + " rank_low": ""}},
		{name: "081 fewer than k repeats", batch: passes(.1, times(9, "111")+"11-", times(10, "000")), headline: a1,
			marks: map[string]string{a1 + " " + a2: "beats"},
			cells: map[string]string{a1 + " k": "3", a1 + " pass_k_tasks": "9", a1 + " pass_k_excluded": "1", a1 + " pass_hat_k": "1"}},
		{name: "082 one formula", batch: passes(.1, "11--0 11110 11---", "00000 00000 00000"), headline: fewTasks},
		{name: "083 partial credit", batch: raw(decided(exporttest.New(bare), "score", .1), `{"task":"%s","score":0.5}`), headline: between,
			cells: map[string]string{a1 + " mean": "0.5", a1 + " pass_fraction": "0", a1 + " pass_hat_k": "0", a1 + " n_scored": "36"}},
		{name: "084 uneven repeats", batch: passes(.1, "1-------- 000000000", "000000000 000000000"), headline: fewTasks,
			cells: map[string]string{a1 + " mean": "0.5", a1 + " score": "0.5", a1 + " pass_fraction": "0.5"}},
		{name: "T25 a score is missing", batch: passes(.1, times(12, "1-0"), times(12, "---")), headline: "Nothing to compare", marks: map[string]string{a1 + " " + a2: ""},
			cells: map[string]string{a1 + " mean": "0.5", a1 + " n_provider": "12", a2 + " n_provider": "36", a2 + " mean": ""}},
		{name: "T25 nothing but NaN", broken: true, batch: raw(decided(exporttest.New(bare), "score", .1), `{"task":"%s","score":NaN}`), headline: nothing,
			marks: map[string]string{a1 + " " + a2: ""}},
		{name: "T25 out of range", broken: true, batch: raw(decided(exporttest.New(bare), "score", .1), `{"task":"%s","score":1.3}`), headline: nothing,
			marks: map[string]string{a1 + " " + a2: ""}},
		{name: "nothing but zeros", batch: passes(.1, times(40, "000"), times(40, "000")), headline: noWinner, marks: map[string]string{a1 + " " + a2: "equal"},
			cells: map[string]string{a1 + " cost_per_pass_usd": "", a1 + " icc": "", a1 + " mean": "0"}},
	}
}

// Nothing becomes NaN, nothing leaves a denominator, and no data is never a pass: in
// the tables, the report and the folder as a whole.
func TestOddBatches(t *testing.T) {
	for _, o := range oddities() {
		t.Run(o.name, func(t *testing.T) {
			for i := range o.batch.Result.Evaluations {
				if e := &o.batch.Result.Evaluations[i]; o.broken {
					e.Counted, e.State = false, batch.StateIncomplete
					o.batch.Result.Slots[i].State = batch.SlotFailed
				}
			}
			dir := write(t, o.batch.Freeze(), nil)
			require.NoError(t, verify(t, dir).Err())
			o.checkPages(t, dir)
			o.checkDenominators(t, dir)
			o.checkVerdicts(t, dir)
			f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
			require.NoError(t, err)
			_, made, err := f.Render(t.Context(), "", outputs())
			require.NoError(t, err)
			assert.Empty(t, f.Same(made, outputs()))
		})
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// nonsense is what a number that is none looks like on a page.
var nonsense = regexp.MustCompile(`\bNaN\b|\bInf\b|<nil>|%!|\bnull\b`)

func (o *odd) checkPages(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"report.md", "report.html", "README.md"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Empty(t, nonsense.FindAllString(string(data), -1), name)
		for _, c := range o.batch.Plan.Cells {
			assert.True(t, name == "README.md" || strings.Contains(string(data), c.Agent), "%s: %s", name, c.Agent)
		}
		text := string(data)
		if name == "report.html" {
			text = html.UnescapeString(tag.ReplaceAllString(text, ""))
		}
		assert.True(t, strings.Contains(text, o.headline), "%s: %s", name, headlineOf(text))
	}
}

// headlineOf is the first bold line of a page.
func headlineOf(page string) string {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "**") {
			return line
		}
	}
	return ""
}

// checkDenominators adds up what is planned, found and missing.
func (o *odd) checkDenominators(t *testing.T, dir string) {
	t.Helper()
	m, err := export.ReadManifest(dir)
	require.NoError(t, err)
	all := m.Outcomes.Absent
	for _, n := range m.Outcomes.States {
		all += n
	}
	assert.Equal(t, m.Outcomes.Planned, all)
	assert.Equal(t, m.Outcomes.Planned, m.Outcomes.Scored+m.Outcomes.Missing)
	variants := tableRows(t, dir, "variants")
	require.Len(t, variants, len(o.batch.Plan.Cells))
	for _, v := range variants {
		assert.Equal(t, v.number("planned"), v.sum("reused", "done", "failed", "skipped", "not_started"))
		states := v.number("n_absent")
		for _, s := range outcome.States {
			states += v.number("n_" + string(s))
		}
		assert.Equal(t, v.sum("reused", "done")*float64(len(o.batch.Tasks)), states, "every task of every counted repeat is somewhere")
	}
	assert.Len(t, tableRows(t, dir, "tasks"), len(o.batch.Tasks))
	assert.Len(t, tableRows(t, dir, "pairs"), len(variants)*(len(variants)-1)/2)
	for _, table := range tables.Names {
		for _, r := range tableRows(t, dir, table) {
			for column, v := range r {
				if v.Kind() == parquet.Double && !v.IsNull() {
					assert.False(t, math.IsNaN(v.Double()) || math.IsInf(v.Double(), 0), "%s.%s", table, column)
				}
			}
		}
	}
}

func (o *odd) checkVerdicts(t *testing.T, dir string) {
	t.Helper()
	marks, cells := 0, 0 // of those that are named
	for _, p := range tableRows(t, dir, "pairs") {
		want, known := o.marks[p.text("a")+" "+p.text("b")]
		if known {
			marks++
		} else {
			want = "cannot tell"
		}
		assert.Equal(t, want, p.text("verdict"), "%s %s", p.text("a"), p.text("b"))
		switch want {
		case "":
			assert.NotEmpty(t, p.text("reason"), "no verdict has a reason")
		case "cannot tell":
			assert.NotEmpty(t, p.text("codes"), "what can't be told has a code")
			assert.Empty(t, p.text("winner"))
		}
	}
	for _, v := range tableRows(t, dir, "variants") {
		if v.text("mean") == "" {
			assert.NotEqual(t, "true", v.text("best"), "no data is not the best")
			assert.NotEqual(t, "true", v.text("recommended"))
			assert.NotContains(t, []string{"superior", "non-inferior"}, v.text("standing"))
		}
		for place, want := range o.cells {
			if name, column, _ := strings.Cut(place, " "); name == v.text("variant") {
				cells++
				assert.Equal(t, want, v.text(column), place)
			}
		}
	}
	assert.Equal(t, []int{len(o.marks), len(o.cells)}, []int{marks, cells}, "a pair or variant that is named is not there")
}

// row is a row of a table by column.
type row map[string]parquet.Value

// text is a value, floats to 6 digits, "" for null.
func (r row) text(column string) string {
	v, ok := r[column]
	switch {
	case !ok:
		panic("no column " + column)
	case v.IsNull():
		return ""
	case v.Kind() == parquet.Double:
		return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", v.Double()), "0"), ".")
	}
	return v.String()
}

func (r row) number(column string) float64 {
	return float64(r[column].Int64())
}

func (r row) sum(columns ...string) (n float64) {
	for _, c := range columns {
		n += r.number(c)
	}
	return n
}

// tableRows reads a table of a folder.
func tableRows(t *testing.T, dir, table string) (out []row) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "tables", table+".parquet"))
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	require.NoError(t, err)
	file, err := parquet.OpenFile(f, info.Size())
	require.NoError(t, err)
	columns := file.Schema().Columns()
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buffer)
			for _, r := range buffer[:n] {
				values := row{}
				for _, v := range r {
					values[strings.Join(columns[v.Column()], ".")] = v.Clone()
				}
				out = append(out, values)
			}
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		require.NoError(t, rows.Close())
	}
	return out
}
