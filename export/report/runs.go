package report

import (
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
)

// runs shows every run's mean, so that the spread is seen.
func (p *page) runs() {
	rows := p.rows()
	t := &document.Table{Caption: say("Mean score of every counted run, by repeat, and the mean over tasks"), Columns: columns("variant", "#runs", "means", "#mean", "#worst – best")}
	for _, i := range p.order {
		v := &p.s.Variants[i]
		if len(v.Runs) == 0 {
			continue
		}
		var means []document.Text
		for n := range v.Runs {
			row := rows[v.Runs[n].RunID]
			text := p.link(say("%s", number(v.Runs[n].Mean)), row)
			if row != nil && row.Role == export.RoleSelection {
				text = say("%s (selection)", text)
			}
			means = append(means, text)
		}
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(i)), say("%d", len(v.Runs)), document.Join(means, ", "), say("%s", maybe(p.drawnMean(i))), say("%s", runRange(v))})
	}
	if len(t.Rows) == 0 {
		return
	}
	p.section("runs", "Every run")
	p.runsChart()
	p.table(t)
	p.note("Runs of one variant differ by chance; a difference between two variants that is smaller than this spread is hard to see in single runs.")
}

// drawnMean is a variant's mean score over tasks.
func (p *page) drawnMean(i int) *float64 {
	if p.v.Decided() && p.scored() && p.v.Description.Variants[i].Mean != nil {
		return &p.v.Description.Variants[i].Mean.Value
	}
	return p.s.Variants[i].Mean
}

// rows are the evaluations by run id.
func (p *page) rows() map[string]*export.Row {
	out := make(map[string]*export.Row, len(p.s.Evaluations))
	for i := range p.s.Evaluations {
		out[p.s.Evaluations[i].RunID] = &p.s.Evaluations[i]
	}
	return out
}

// dates says when each variant was measured, and which look at this question this is.
func (p *page) dates() {
	if len(p.s.Variants) == 0 {
		return
	}
	p.section("dates", "When it was measured")
	if n := len(p.f.Plan.Earlier); n == 0 {
		p.say("This is the first look at this question.")
	} else {
		p.say("This is look %d at this question. Earlier frozen batches: %s.", n+1, joinIDs(p.f.Plan.Earlier))
	}
	t := &document.Table{Caption: say("Starts of the counted runs, UTC"), Columns: columns("variant", "first", "last", "#reused", "#newest reused, before this batch", "#oldest", "#of selection")}
	ages := p.ages()
	for _, i := range p.order {
		v := &p.s.Variants[i]
		row := document.Row{say("%s", p.name(i)), say("–"), say("–"), say("%d", v.Slots.Reused), say("–"), say("–"), say("%d", v.Selection)}
		if v.First != nil {
			row[1], row[2] = say("%s", stamp(*v.First)), say("%s", stamp(*v.Last))
		}
		if a, ok := ages[i]; ok {
			row[4], row[5] = say("%s", days(a[0])), say("%s", days(a[1]))
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	p.note("Runs of two variants that have no counterpart of each other within 24 hours are measured apart, and not compared.")
}

// mostIDs is how many run ids a sentence holds.
const mostIDs = 10

func joinIDs(ids []string) document.Text {
	var parts []document.Text
	for n, id := range ids {
		if n == mostIDs {
			parts = append(parts, say("and %d more", len(ids)-n))
			break
		}
		parts = append(parts, document.Foreign(id))
	}
	return document.Join(parts, ", ")
}

// ages are the least and the greatest age of the reused repeats of each variant.
func (p *page) ages() map[int][2]time.Duration {
	variant, out := map[string]int{}, map[int][2]time.Duration{}
	for i := range p.s.Variants {
		variant[string(p.s.Variants[i].Cell.Identity.Cell)] = i
	}
	for i := range p.s.Evaluations {
		e := &p.s.Evaluations[i]
		if !e.Counted || !e.Reused || !export.Believable(&e.Started) {
			continue
		}
		v, age := variant[string(e.Cell)], p.f.Result.Started.Sub(e.Started)
		if a, ok := out[v]; ok {
			out[v] = [2]time.Duration{min(a[0], age), max(a[1], age)}
		} else {
			out[v] = [2]time.Duration{age, age}
		}
	}
	return out
}
