package cli

import (
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// ranCell is one row of the table that a run ends with: a description, not a ranking.
type ranCell struct {
	batch.Variant
	Repeats int      `json:"repeats"`
	Mean    *float64 `json:"mean_score"` // of the repeats' scores; nil = none
	Low     *float64 `json:"lowest"`
	High    *float64 `json:"highest"`
	CostUSD *float64 `json:"cost_usd"` // of the counted repeats, as logged; nil = unknown
	Missing int      `json:"missing"`
	Reason  string   `json:"reason,omitempty"`
}

// cellsOf summarises the counted repeats of each cell, in plan order.
func cellsOf(p *planner.Plan, r *batch.Result) []ranCell {
	reasons := map[batch.Digest]string{}
	if r != nil {
		for _, s := range r.Slots {
			if s.Reason != "" {
				reasons[s.Cell] = string(s.State) + ": " + oneLine(s.Reason)
			}
		}
	}
	var out []ranCell
	for i := 0; i < len(p.Slots); {
		cell := p.Slots[i].Cell
		row := ranCell{Variant: cell.Variant, Reason: reasons[cell.Identity.Cell]}
		var scores []float64
		for ; i < len(p.Slots) && p.Slots[i].Cell.Identity.Cell == cell.Identity.Cell; i++ {
			e := p.Slots[i].Entry
			if e == nil {
				row.Missing++
				continue
			}
			row.Repeats++
			if e.Score != nil {
				scores = append(scores, *e.Score)
			}
			row.CostUSD = plus(row.CostUSD, e.CostUSD)
		}
		row.Mean, row.Low, row.High = describeScores(scores)
		out = append(out, row)
	}
	return out
}

func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	s := *a + *b
	return &s
}

func describeScores(scores []float64) (mean, low, high *float64) {
	if len(scores) == 0 {
		return nil, nil, nil
	}
	sum, lo, hi := 0.0, scores[0], scores[0]
	for _, s := range scores {
		sum += s
		lo, hi = min(lo, s), max(hi, s)
	}
	m := sum / float64(len(scores))
	return &m, &lo, &hi
}

func (a *App) showRan(r *ran) {
	var t table
	t.add("agent", "model", "repeats", "mean score", "lowest–highest", "cost", "missing")
	for _, c := range r.Cells {
		missing := ""
		if c.Missing > 0 {
			state, _, _ := strings.Cut(c.Reason, ":")
			missing = strings.TrimSpace(fmt.Sprintf("%d %s", c.Missing, state))
		}
		t.add(c.Agent, c.Model, fmt.Sprint(c.Repeats), number(c.Mean, "%.3f"), lowHigh(c.Low, c.High), number(c.CostUSD, "$%.4f"), missing)
	}
	t.write(a.Stdout)
	a.print("")
	for _, reason := range reasons(r.Cells) {
		a.print("%s", cleanLine(reason))
	}
	n := r.Counts
	a.print("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started; %s started now",
		n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted, plural(r.Started, "evaluation"))
	if r.Folder != "" {
		a.print("folder  %s", r.Folder)
	}
	a.print("MLflow  %s", r.Page)
}

// reasons are the different reasons of missing repeats, in order, each with its variants.
func reasons(cells []ranCell) []string {
	variants := map[string][]string{}
	var order []string
	for _, c := range cells {
		if c.Reason == "" {
			continue
		}
		if variants[c.Reason] == nil {
			order = append(order, c.Reason)
		}
		variants[c.Reason] = append(variants[c.Reason], c.Variant.String())
	}
	for i, reason := range order {
		order[i] = fmt.Sprintf("%s [%s]", reason, strings.Join(variants[reason], ", "))
	}
	return order
}

func number(v *float64, format string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

func lowHigh(lo, hi *float64) string {
	if lo == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f–%.3f", *lo, *hi)
}
