package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// ranCell is one row of the table that a run ends with: a description, not a ranking.
type ranCell struct {
	batch.Variant
	Repeats int      `json:"repeats"`
	Mean    *float64 `json:"mean_score"` // of the repeats' scores; nil = none
	Low     *float64 `json:"lowest"`
	High    *float64 `json:"highest"`
	CostUSD *float64 `json:"cost_usd"` // of the counted repeats, judges included, as logged; nil = unknown
	// CostUnknown is how many of their attempts cost nobody knows how much: CostUSD is then "at least".
	CostUnknown int    `json:"cost_unknown"`
	Missing     int    `json:"missing"`
	Reason      string `json:"reason,omitempty"`
}

// seat is one slot as the table counts it.
type seat struct {
	batch.Variant
	cell    batch.Digest
	counted bool
	entry   *ledger.Entry // nil = MLflow does not show the repeat (any more)
}

// seatsOf are the slots of a frozen result (what became of its runs since does
// not change them) or, without one, of the plan.
func seatsOf(p *planner.Plan, r *batch.Result) []seat {
	var out []seat
	if r == nil {
		for _, s := range p.Slots {
			out = append(out, seat{s.Cell.Variant, s.Cell.Identity.Cell, s.Entry != nil, s.Entry})
		}
		return out
	}
	byRun := map[string]*ledger.Entry{}
	for i, e := range p.Valid {
		byRun[e.Info.RunID] = &p.Valid[i]
	}
	for _, s := range r.Slots {
		counted := s.State == batch.SlotReused || s.State == batch.SlotDone
		out = append(out, seat{s.Variant, s.Cell, counted, byRun[s.RunID]})
	}
	return out
}

// cellsOf summarises the counted repeats of each cell, in plan order.
func cellsOf(p *planner.Plan, r *batch.Result) []ranCell {
	reasons := map[batch.Digest]string{}
	if r != nil {
		for _, s := range r.Slots {
			if s.Reason != "" {
				reasons[s.Cell] = inWords(s)
			}
		}
	}
	var out []ranCell
	seats := seatsOf(p, r)
	for len(seats) > 0 {
		n := 1
		for n < len(seats) && seats[n].cell == seats[0].cell {
			n++
		}
		row := describeCell(seats[:n])
		row.Reason = reasons[seats[0].cell]
		out = append(out, row)
		seats = seats[n:]
	}
	return out
}

// inWords says what became of a slot, and why where that says more.
func inWords(s batch.Slot) string {
	state, why := strings.ReplaceAll(string(s.State), "_", " "), oneLine(s.Reason)
	if why == state {
		return state
	}
	return state + ": " + why
}

// describeCell sums up the slots of one cell. One repeat of which nothing is known
// makes the sums unknown.
func describeCell(seats []seat) ranCell {
	row := ranCell{Variant: seats[0].Variant}
	var scores []float64
	cost, known := 0.0, true
	for _, s := range seats {
		if !s.counted {
			row.Missing++
			continue
		}
		row.Repeats++
		if s.entry == nil || s.entry.CostUSD == nil {
			known = false
		} else {
			cost += *s.entry.CostUSD
			if s.entry.CostUnknown != nil {
				row.CostUnknown += int(*s.entry.CostUnknown)
			}
		}
		if s.entry != nil && s.entry.Score != nil {
			scores = append(scores, *s.entry.Score)
		}
	}
	if len(scores) == row.Repeats {
		row.Mean, row.Low, row.High = describeScores(scores)
	}
	if known && row.Repeats > 0 {
		row.CostUSD = &cost
	}
	return row
}

// describeFrom takes the figures of the frozen batch's report: over tasks, each weighing
// the same, where the sums of the plan are over runs.
func describeFrom(cells []ranCell, s *export.Summary) {
	if s == nil {
		return
	}
	for i := range cells {
		for n := range s.Variants {
			if v := &s.Variants[n]; v.Cell.Variant == cells[i].Variant {
				cells[i].Mean = v.Mean
				cells[i].Low, cells[i].High = v.Range()
			}
		}
	}
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

// cost is what is known, with a mark where it is not all.
func (c ranCell) cost() string {
	switch {
	case c.CostUSD == nil:
		return "–"
	case c.CostUnknown > 0:
		return "≥$" + export.Dollars(*c.CostUSD)
	}
	return "$" + export.Dollars(*c.CostUSD)
}

func (a *App) showRan(r *ran) {
	var t table
	t.numbers(2, 3, 4, 5)
	t.Most, t.Fits = terminal.Columns, []int{1, 0}
	t.add("agent", "model", "repeats", "mean", "lowest–highest", "cost", "missing")
	for _, c := range r.Cells {
		missing := ""
		if c.Missing > 0 {
			state, _, _ := strings.Cut(c.Reason, ":")
			missing = strings.TrimSpace(fmt.Sprintf("%d %s", c.Missing, state))
		}
		t.add(c.Agent, c.Model, fmt.Sprint(c.Repeats), number(c.Mean, "%.3f"), lowHigh(c.Low, c.High), c.cost(), missing)
	}
	t.write(a.Stdout)
	a.print("")
	for _, reason := range reasons(r.Cells) {
		a.printFlow(cleanLine(reason))
	}
	n := r.Counts
	a.print("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started",
		n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)
	a.print("%s started now", plural(r.Started, "evaluation"))
	if r.Verdict != "" {
		a.print("")
		a.printFlow(r.Verdict)
	}
	if r.Folder != "" {
		folder := a.below(r.Folder)
		a.print("folder  %s", cleanLine(folder))
		a.print("report  %s", cleanLine(filepath.Join(folder, "report.html")))
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
