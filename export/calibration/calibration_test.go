package calibration_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/calibration"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// seen is the collector of a slice, by way of its folder.
func seen(t *testing.T, s *exporttest.Synthetic) *calibration.Collector {
	t.Helper()
	s.Plan.Version = batch.CalibrationLabel
	if s.Plan.Calibration == nil {
		s.Plan.Calibration = &batch.Calibration{Version: "v1", Recipe: "of the whole panel", Tasks: 60, Repeats: 5, Variants: len(s.Plan.Cells)}
	}
	dir, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{tables.Output{}}, Tool: "v0-test"})
	require.NoError(t, err)
	f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
	require.NoError(t, err)
	from := &calibration.Collector{}
	_, _, err = f.Render(t.Context(), "", []export.Output{from})
	require.NoError(t, err)
	return from
}

// batchOf plans a batch of 60 tasks × 5 repeats of the slice's variants, of which
// nothing is measured yet.
func batchOf(s *exporttest.Synthetic) calibration.Planned {
	p := calibration.Planned{Version: "v1", Tasks: 60, Units: 60, Repeats: 5}
	for _, c := range s.Plan.Cells {
		p.Variants = append(p.Variants, calibration.Rest{Variant: c.Variant.String(), Missing: 5})
	}
	p.Forecast = func(seconds map[string]float64) *float64 {
		sum := 0.0
		for _, v := range p.Variants {
			sum += seconds[v.Variant] * float64(v.Missing)
		}
		return &sum
	}
	return p
}

const (
	rule   = `{"metric":"passed","alpha":0.025,"compare":"all","scope":"population"%s}`
	margin = `,"margin":%v`
)

func within(delta float64) string { return fmt.Sprintf(rule, fmt.Sprintf(margin, delta)) }

func codes(c *calibration.Calibration) []string {
	out := []string{}
	for _, r := range c.Reasons {
		out = append(out, string(r.Weight)+" "+r.Code)
	}
	return out
}

// lively is a slice in which variants and tasks differ and no run stands out.
var lively = []string{
	"111 110 000 101 011 111 000 010",
	"110 011 000 010 101 110 001 000",
	"111 101 010 111 111 011 000 100",
}

func TestEndStates(t *testing.T) {
	all := strings.Repeat("111 ", 8)
	none := strings.Repeat("000 ", 8)
	for name, c := range map[string]struct {
		lines    []string
		decision string
		change   func(*calibration.Planned)
		verdict  calibration.Verdict
		want     []string
	}{
		"go":                     {lively, within(0.9), nil, calibration.Go, []string{}},
		"no margin":              {lively, "", nil, calibration.Go, []string{"note margin_undeclared"}},
		"a margin out of reach":  {lively, within(0.02), nil, calibration.Change, []string{"change powerless", "note single_runs"}},
		"a margin just in reach": {lively, within(0.2), nil, calibration.Go, []string{"note perhaps_powerless"}},
		"all pass":               {[]string{all, all}, within(0.3), nil, calibration.Stop, []string{"stop tells_nothing"}},
		"all fail":               {[]string{none, none, none}, within(0.3), nil, calibration.Stop, []string{"stop tells_nothing"}},
		"nearly all pass":        {[]string{strings.Repeat("111 ", 20), strings.Repeat("111 ", 19) + "110"}, within(0.3), nil, calibration.Change, []string{"change ceiling"}},
		"nearly all fail":        {[]string{strings.Repeat("000 ", 20), strings.Repeat("000 ", 19) + "100"}, within(0.3), nil, calibration.Change, []string{"change floor"}},
		"one task tells":         {[]string{"111 111 111 111 000 000 000 111", "111 111 111 111 000 000 000 000"}, within(0.9), nil, calibration.Change, []string{"change saturated"}},
		"two repeats planned":    {lively, within(0.9), func(p *calibration.Planned) { p.Repeats = 2 }, calibration.Change, []string{"change no_repeats"}},
		"a tiny panel":           {lively, within(0.9), func(p *calibration.Planned) { p.Tasks, p.Units = 9, 9 }, calibration.Change, []string{"change too_few_tasks"}},
		"few families":           {lively, within(0.9), func(p *calibration.Planned) { p.Units = 5 }, calibration.Change, []string{"change too_few_units", "note perhaps_powerless"}},
		"everything failed": {[]string{strings.Repeat("--- ", 8), strings.Repeat("--- ", 8)}, within(0.3), nil, calibration.Stop,
			[]string{"stop no_data"}},
		"half of it failed":          {[]string{all, strings.Repeat("--- ", 8)}, within(0.3), nil, calibration.Stop, []string{"stop failures_everywhere"}},
		"one variant":                {lively[:1], within(0.9), nil, calibration.Go, []string{"note one_variant"}},
		"one variant, all equal":     {[]string{all}, within(0.9), nil, calibration.Go, []string{"note one_variant"}},
		"one failure is an accident": {[]string{"-11 110 000 101 011 111 000 010", lively[1], lively[2]}, within(0.9), nil, calibration.Go, []string{"note failures_seen"}},
		"failures dominate": {[]string{"-11 1-0 000 1-1 011 111 000 010", lively[1], lively[2]}, within(0.1), nil, calibration.Change,
			[]string{"change failures", "change powerless", "note single_runs"}},
		"failures dominate without a margin": {[]string{"--1 --0 --0 --1 --1 --1 --0 --0", lively[1], lively[2], lively[0], lively[2]}, "", nil, calibration.Change,
			[]string{"change failures_undeclared", "note margin_undeclared"}},
		"not in the slice": {lively, within(0.9), func(p *calibration.Planned) {
			p.Variants = append(p.Variants, calibration.Rest{Variant: "a+b", Missing: 5})
		}, calibration.Go,
			[]string{"note left_out"}},
		"runs shift": {[]string{strings.Repeat("110 ", 20), strings.Repeat("101 ", 20)}, within(0.9), nil, calibration.Change, []string{"change unstable_runs", "change powerless"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := exporttest.Lettered(c.lines...)
			if c.decision != "" {
				s.SetDecision(c.decision)
			}
			p := batchOf(s)
			if c.change != nil {
				c.change(&p)
			}
			got := calibration.Decide(seen(t, s), p)
			assert.Equal(t, c.want, slices.DeleteFunc(codes(got), func(code string) bool { return code == "note cost_unknown" }), "letters have no costs")
			assert.Equal(t, c.verdict, got.Verdict)
			sound(t, got)
		})
	}
}

var broken = regexp.MustCompile(`NaN|Inf|%!|\+Inf|<nil>`)

// sound: every way to show a calibration says the same, in numbers and no NaN.
func sound(t *testing.T, c *calibration.Calibration) {
	t.Helper()
	b, err := json.Marshal(c)
	require.NoError(t, err)
	md, html := document.Markdown(c.Page()), document.HTML(c.Page())
	for _, text := range []string{string(b), md, html} {
		assert.NotRegexp(t, broken, text)
	}
	assert.Contains(t, md, string(c.Ending()))
	for _, f := range c.Facts() {
		assert.NotEmpty(t, f.Text.String(), f.Name)
	}
	for _, row := range c.Cells() {
		assert.Len(t, row, len(c.Cells()[0]))
	}
	assert.Equal(t, md, document.Markdown(c.Page()))
	heaviest := calibration.Go
	for _, r := range c.Reasons {
		if r.Weight == calibration.Stop || (r.Weight == calibration.Change && heaviest == calibration.Go) {
			heaviest = r.Weight
		}
		assert.NotEmpty(t, r.Text, r.Code)
	}
	assert.Equal(t, heaviest, c.Verdict)
}

// No data is never a go.
func TestNoData(t *testing.T) {
	s := exporttest.Lettered(lively...)
	c := calibration.Decide(nil, batchOf(s))
	assert.Equal(t, calibration.Stop, c.Verdict)
	assert.Equal(t, []string{"stop no_data"}, codes(c))
	assert.Equal(t, 15, c.Rest.UnknownCost)
	sound(t, c)

	for i := range s.Plan.Cells {
		s.Drop(i)
	}
	c = calibration.Decide(seen(t, s), batchOf(s))
	assert.Equal(t, calibration.Stop, c.Verdict)
	assert.Contains(t, c.Reasons[0].Text, "calibrate again with --new")
	sound(t, c)

	s = exporttest.Lettered(lively...)
	s.Drop(1)
	c = calibration.Decide(seen(t, s), batchOf(s))
	assert.Equal(t, calibration.Change, c.Verdict)
	assert.Contains(t, c.Reasons[0].Text, s.Plan.Cells[1].Variant.String())
	sound(t, c)

	s = exporttest.Lettered("111", "010") // a single task
	p := batchOf(s)
	c = calibration.Decide(seen(t, s), p)
	assert.Nil(t, c.Power)
	assert.Contains(t, codes(c), "change power_unknown")
	sound(t, c)

	s = exporttest.Lettered(lively...)
	s.SetDecision(`{"metric":"passed","compare":"reference","reference":"nobody+here"}`)
	c = calibration.Decide(seen(t, s), p)
	assert.Equal(t, []string{"stop no_verdict"}, codes(c))
	sound(t, c)
}

func TestWholePanel(t *testing.T) {
	s := exporttest.Lettered(lively...)
	s.SetDecision(within(0.9))
	s.Plan.Calibration = &batch.Calibration{Version: "v1", Recipe: s.Plan.Cells[0].Identity.Recipe, Tasks: 8, Repeats: 5, Variants: 3}
	c := calibration.Decide(seen(t, s), batchOf(s))
	assert.True(t, c.Slice.Whole)
	assert.Equal(t, []string{"note cost_unknown", "note whole_panel"}, codes(c))
	assert.Contains(t, document.Markdown(c.Page()), "the whole panel, so its repeats count in the batch")
}

// Foreign ids become no markup.
func TestHostileFamilies(t *testing.T) {
	s := exporttest.Lettered("111 110 000", "111 010 000")
	for i := range s.Tasks {
		s.Tasks[i].Family = "<script>|[x](y)" + fmt.Sprint(i)
	}
	c := calibration.Decide(seen(t, s), batchOf(s))
	md, html := document.Markdown(c.Page()), document.HTML(c.Page())
	assert.NotContains(t, md, "<script>")
	assert.NotContains(t, html, "<script>")
	assert.Contains(t, codes(c), "note silent_families")
}

// priced is a slice whose task runs cost 1, 2, 3 … USD by task, and twice that for
// the second variant.
func priced(t *testing.T, unknown func(cell, task int) bool) *exporttest.Synthetic {
	t.Helper()
	s := exporttest.Lettered(lively[:2]...)
	s.SetDecision(within(0.9))
	for _, e := range s.Result.Evaluations {
		cell := 0
		if e.Cell == s.Plan.Cells[1].Identity.Cell {
			cell = 1
		}
		var list []outcome.Outcome
		for i, task := range s.Tasks {
			score, usd := float64((i+e.Slot)%2), float64((i+1)*(cell+1))
			o := outcome.Outcome{Task: task.ID, State: outcome.Scored, Score: &score, CostUSD: &usd}
			if unknown != nil && unknown(cell, i) {
				o.CostUSD = nil
			}
			list = append(list, o)
		}
		s.SetOutcomes(e.RunID, list)
	}
	return s
}
