package report

import (
	"github.com/benchbatch/benchbatch/export/chart"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// mostDrawn is how many variants a chart shows; the table beside it has all.
const mostDrawn = 40

// drawing is a chart of any form.
type drawing interface{ SVG() string }

// figure adds a chart, drawn once for wide and once for narrow pages.
func (p *page) figure(h chart.Head, draw func(chart.Head) drawing, caption document.Text) {
	narrow := h
	narrow.Narrow = true
	p.add(&document.Figure{Name: h.Name, SVG: draw(h).SVG(), Narrow: draw(narrow).SVG(), Alt: say("%s. %s", h.Title, h.Description), Caption: caption})
}

// firstOf says what a chart leaves out.
func firstOf(n int, what string) document.Text {
	if n <= mostDrawn {
		return nil
	}
	return say("The first %d of %s; the table has all.", mostDrawn, many(n, what))
}

func (p *page) differencesChart(which []int) {
	base := p.name(p.base)
	c := chart.Intervals{Axis: "difference in " + p.averaged("") + ", with its 95 % interval", Reference: "same as " + base, Margin: p.v.Rule.Margin,
		Worse: "worse", Better: "better"}
	for _, i := range which[:min(len(which), mostDrawn)] {
		c.Rows = append(c.Rows, p.intervalRow(i))
	}
	h := chart.Head{Name: "differences", Title: "Difference to " + base + ", on the tasks that both have",
		Description: "One row a variant: the difference of its mean to that of " + base + " with its 95 % interval, and the verdict in words. An interval that reaches 0 may still separate, or not: the verdict says."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, firstOf(len(which), "variant"))
}

func (p *page) intervalRow(i int) chart.IntervalRow {
	x := &p.v.Pairs[i]
	who, sign := p.other(i, p.base), 1.0
	if x.A == p.base {
		sign = -1
	}
	r := chart.IntervalRow{Label: p.name(who), Mark: chart.Mark(x.Mark), Note: p.chartNote(x, who)}
	if x.Difference != nil {
		d := sign * *x.Difference
		r.Value = &d
	}
	if x.Interval != nil {
		low, high := turn(x.Interval, sign)
		r.Low, r.High = &low, &high
	}
	return r
}

// chartNote is the verdict on a row of the first chart in a few words.
func (p *page) chartNote(x *stats.Pair, who int) string {
	if !x.Compared {
		return "not compared"
	}
	verdict := markWords[x.Mark]
	switch {
	case x.Winner == stats.Nobody:
	case x.Mark == stats.Beats && x.Winner == who:
		verdict = "beats it"
	case x.Mark == stats.Beats:
		verdict = "is beaten by it"
	case x.Winner != who:
		verdict = "behind on this list"
	}
	if e := x.Extent(); e != "" && x.Winner != stats.Nobody {
		verdict += " (" + e + ")"
	}
	if x.Codes != 0 && x.Mark == stats.CannotTell {
		verdict += ": " + x.Codes.Words()
	}
	return verdict
}

func (p *page) matrixChart(agents, models []string) {
	if len(agents) < 2 || len(models) < 2 {
		return
	}
	c := chart.Heat{Value: "mean score"}
	c.Columns = models[:min(len(models), mostAcross)]
	for _, a := range agents[:min(len(agents), mostDrawn)] {
		row := chart.HeatRow{Label: a}
		for _, m := range c.Columns {
			var mean *float64
			if i := p.at(batch.Variant{Agent: a, Model: m}); i != stats.Nobody {
				mean = p.s.Variants[i].Mean
			}
			row.Values = append(row.Values, mean)
		}
		c.Rows = append(c.Rows, row)
	}
	h := chart.Head{Name: "matrix", Title: "Mean score by agent and model", Description: "One row an agent, one column a model; a hatched cell was not measured."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, nil)
}

func (p *page) names(variants []int) []string {
	var out []string
	for _, i := range variants {
		out = append(out, p.name(i))
	}
	return out
}

func (p *page) familyChart(across []int) {
	c := chart.Heat{Columns: p.names(across), Value: p.averaged("")}
	all := p.v.Description.Families
	for n := range all[:min(len(all), mostFamilies)] {
		f := &all[n]
		row := chart.HeatRow{Label: f.Family, Marked: f.Verdict == stats.Discriminates}
		for _, i := range across {
			var mean *float64
			if i < len(f.Variants) && f.Variants[i].Mean != nil {
				mean = &f.Variants[i].Mean.Value
			}
			row.Values = append(row.Values, mean)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Marked = "tells variants apart"
	h := chart.Head{Name: "families", Title: upper(p.averaged(" by family and variant")), Description: "One row a family of tasks, one column a variant. Marked families tell the variants apart."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, nil)
}

func (p *page) taskChart(tasks, across []int) {
	if len(tasks) == 0 {
		return
	}
	c := chart.Heat{Columns: p.names(across), Value: p.averaged(""), Marked: "informative: not every run has the same score"}
	for _, t := range tasks {
		d := &p.v.Description.Tasks[t]
		row := chart.HeatRow{Label: p.f.Tasks[t].ID, Marked: d.Informative}
		for _, i := range across {
			row.Values = append(row.Values, d.Means[i])
		}
		c.Rows = append(c.Rows, row)
	}
	h := chart.Head{Name: "tasks", Title: upper(p.averaged(" by task and variant")), Description: "One row a task, one column a variant; the tasks on which variants differ most stand on top. Marked tasks are informative."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, nil)
}

func (p *page) runsChart() {
	c := chart.Dots{Axis: "mean score of a run"}
	n := 0
	for _, i := range p.order {
		v := &p.s.Variants[i]
		if len(v.Runs) == 0 {
			continue
		}
		if n++; n > mostDrawn {
			continue
		}
		row := chart.DotRow{Label: p.name(i), Mean: p.drawnMean(i)}
		for r := range v.Runs {
			row.Runs = append(row.Runs, v.Runs[r].Mean)
		}
		if p.v.Decided() && p.scored() {
			d := &p.v.Description.Variants[i]
			if shown, _ := d.Preferred(); shown != nil {
				row.Low, row.High = &shown.Low, &shown.High
			}
		}
		c.Rows = append(c.Rows, row)
	}
	h := chart.Head{Name: "runs", Title: "Mean score of every run", Description: "One row a variant: a dot is the mean of one run over its tasks, the bar below it the mean over tasks with its 95 % interval."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, firstOf(n, "variant"))
}

func (p *page) costChart() {
	c := chart.Scatter{XAxis: "USD a task", YAxis: p.averaged(""), Corner: "better and cheaper"}
	n := 0
	for _, i := range p.order {
		d := &p.v.Description.Variants[i]
		if d.Mean == nil {
			continue
		}
		if n++; n > mostDrawn {
			continue
		}
		point := chart.Point{Label: p.name(i), Score: &d.Mean.Value, Reference: p.v.Rule.Reference != "" && i == p.base}
		if shown, _ := d.Preferred(); shown != nil {
			point.ScoreLow, point.ScoreHigh = &shown.Low, &shown.High
		}
		if cost := p.taskCost(d); cost != nil {
			point.Cost = &cost.Value
			if cost.Interval != nil {
				point.CostLow, point.CostHigh = &cost.Interval.Low, &cost.Interval.High
			}
		}
		c.Points = append(c.Points, point)
	}
	how := "as reported"
	if !p.reported() {
		how = "repriced from tokens"
	}
	h := chart.Head{Name: "cost", Title: "Score against cost " + how, Description: "One point a variant: " + p.averaged("") + " upwards, USD a task to the right, each with its 95 % interval. The corner at the upper left is better and cheaper."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, firstOf(n, "variant"))
}

// reported says whether any variant has a reported cost; else repriced ones are drawn.
func (p *page) reported() bool {
	for i := range p.v.Description.Variants {
		if p.v.Description.Variants[i].Cost.TaskUSD != nil {
			return true
		}
	}
	return false
}

func (p *page) taskCost(d *stats.VariantSummary) *stats.Mean {
	if p.reported() {
		return d.Cost.TaskUSD
	}
	return d.Repriced.TaskUSD
}

func (p *page) triesChart() {
	var c chart.Bars
	for _, s := range outcome.States {
		if s != outcome.NotRun && p.anyTry(s) {
			c.Parts = append(c.Parts, string(s))
		}
	}
	if len(c.Parts) == 0 {
		p.say("Nothing was tried.")
		return
	}
	c.Axis = "tries of tasks"
	for _, i := range p.order[:min(len(p.order), mostDrawn)] {
		row := chart.BarRow{Label: p.name(i)}
		for _, t := range p.s.Variants[i].Tries {
			if p.anyTry(t.State) {
				n := float64(t.Count)
				row.Values = append(row.Values, &n)
			}
		}
		c.Rows = append(c.Rows, row)
	}
	h := chart.Head{Name: "tries", Title: "How tries of tasks ended", Description: "One bar a variant, in parts by how its tries of tasks ended, repeated ones included."}
	p.figure(h, func(h chart.Head) drawing { c.Head = h; return c }, firstOf(len(p.order), "variant"))
}

func (p *page) anyTry(s outcome.State) bool {
	for i := range p.s.Variants {
		for _, t := range p.s.Variants[i].Tries {
			if t.State == s && t.Count > 0 {
				return true
			}
		}
	}
	return false
}
