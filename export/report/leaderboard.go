package report

import (
	"cmp"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// leaderboard lists the variants: by rank where there are ranks, else as the plan does.
func (p *page) leaderboard() {
	p.section("leaderboard", "Leaderboard")
	if len(p.s.Variants) == 0 {
		p.say("No variant is planned.")
		return
	}
	if !p.v.Decided() {
		p.described()
		return
	}
	k := p.v.Description.Repeats
	t := &document.Table{Caption: say("Variants in the order of the plan: nothing is ranked"), Columns: columns("variant", "#mean [95 %]")}
	if p.ranked() {
		t.Caption = say("Variants by rank")
		t.Columns = append(columns("variant", "#rank"), t.Columns[1:]...)
	}
	if p.v.Letters != nil {
		t.Columns = append(t.Columns, columns("group")...)
	}
	t.Columns = append(t.Columns, columns("#worst run – best run"+p.ofScores(), "#pass^"+whole(k), "#USD a task", "#seconds a task")...)
	for _, i := range p.order {
		t.Rows = append(t.Rows, p.standing(i))
	}
	p.table(t)
	p.unmeasured()
	p.explain(k)
	p.moreFigures(k)
}

// explain says what the columns of the leaderboard mean.
func (p *page) explain(k int) {
	var text document.Text
	if p.ranked() {
		text = say("A rank is the interval of places that nothing here rules out. ")
	}
	if p.v.Letters != nil {
		text = say("%sVariants that share a letter are not separated. ", text)
	}
	p.note("%spass^%d: all of %d runs of a task pass. Costs are as reported, of scored outcomes; seconds are without waiting for a provider's limit.", text, k, k)
	p.note("The range from worst to best run may differ from the verdict: it ignores that variants met the same tasks, and it only widens with more repeats.")
}

// moreFigures are those of the leaderboard that fewer readers want.
func (p *page) moreFigures(k int) {
	t := &document.Table{Caption: say("More figures by variant"),
		Columns: columns("variant", "#pass@"+whole(k), "#if failures decide", "#USD a pass [95 %]", "#seconds, median", "#seconds, 90 %", "#single runs differ by", "#tasks that flip")}
	anchors := p.anchors()
	if len(anchors) > 0 {
		t.Columns = append(t.Columns, columns("#mean on anchors")...)
	}
	for _, i := range p.order {
		d := &p.v.Description.Variants[i]
		at, flip, pass, band := own("–"), own("–"), own("–"), own("–")
		if p.v.Passes(i) {
			pass = perPass(d.Cost.CostPerPass)
			if n := len(d.PassAt); n > 0 {
				at = passK(d.PassAt[n-1])
			}
			if d.FlipRate != nil {
				flip = percent(*d.FlipRate)
			}
		}
		if d.Band != nil && d.Band.Failures > 0 {
			band = number(d.Band.Low) + "–" + number(d.Band.High)
		}
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(i)), say("%s", at), say("%s", band), say("%s", pass), say("%s", seconds(d.WallMedian)), say("%s", seconds(d.WallP90)),
			say("%s", detectable(d.SingleRuns)), say("%s", flip)})
		if len(anchors) > 0 {
			last := &t.Rows[len(t.Rows)-1]
			*last = append(*last, say("%s", maybe(p.meanOn(anchors, i))))
		}
	}
	t.Notes = []document.Text{say("pass@%d: at least one of %d runs of a task passes. “If failures decide” is the mean if every failure that is not the agent's had been a 0, or a 1. Two single runs of a variant differ by less than “single runs differ by” in 95 of 100 cases. A task flips where some of its runs pass and some fail; that share grows with the repeats.", k, k)}
	if len(anchors) > 0 {
		t.Notes = append(t.Notes, say("Anchors are the %s that stay from batch to batch, so that `compare` can tell a change of the agents from one of the panel.", many(len(anchors), "task")))
	}
	p.add(&document.Details{Summary: say("More figures by variant"), Blocks: []document.Block{t}})
}

// anchors are the anchor tasks of the panel, by index.
func (p *page) anchors() []int {
	var out []int
	for t := range p.f.Tasks {
		if p.f.Tasks[t].Anchor {
			out = append(out, t)
		}
	}
	return out
}

// meanOn is a variant's mean over some tasks; nil = it has a score on none.
func (p *page) meanOn(tasks []int, variant int) *float64 {
	var sum export.Sum
	for _, t := range tasks {
		sum.Add(p.v.Description.Tasks[t].Means[variant])
	}
	return sum.Mean()
}

// described is the leaderboard of a batch in which nothing is decided.
func (p *page) described() {
	t := &document.Table{Caption: say("Variants in the order of the plan: nothing is ranked"),
		Columns: columns("variant", "#mean", "#worst run – best run", "#runs", "#share of passes")}
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(i)), say("%s", maybe(v.Mean)), say("%s", runRange(v)), say("%d", len(v.Runs)), say("%s", maybe(v.Passed))})
	}
	p.table(t)
}

func runRange(v *export.VariantNumber) own {
	worst, best := v.Range()
	if worst == nil {
		return "–"
	}
	return number(*worst) + "–" + number(*best)
}

func (p *page) standing(i int) document.Row {
	v := p.v
	d := &v.Description.Variants[i]
	mean := own("no data")
	if d.Mean != nil {
		shown, _ := d.Preferred()
		mean = between(d.Mean.Value, shown)
	}
	row := document.Row{say("%s", p.name(i))}
	if p.ranked() {
		row = append(row, say("%s", ranks(v.Ranks[i])))
	}
	row = append(row, say("%s", mean))
	if v.Letters != nil {
		row = append(row, say("%s", own(cmp.Or(v.Letters[i], "–"))))
	}
	hat := own("–")
	if n := len(d.PassHat); n > 0 && v.Passes(i) {
		hat = passK(d.PassHat[n-1])
	}
	return append(row, say("%s", runRange(&p.s.Variants[i])), say("%s", hat), say("%s", money(d.Cost.TaskUSD)), say("%s", seconds(meanOf(d.WallS))))
}

func ranks(r *stats.Rank) own {
	switch {
	case r == nil:
		return "–"
	case r.Low == r.High:
		return whole(r.Low)
	}
	return whole(r.Low) + "–" + whole(r.High)
}

// passK prints F1 or F2 with the tasks it rests on where some are left out.
func passK(k stats.PassK) own {
	if k.Mean == nil {
		return "–"
	}
	text := number(k.Mean.Value)
	if k.Excluded > 0 {
		text += " (" + many(k.Mean.Tasks, "task") + ")"
	}
	return text
}

// perPass prints the cost of a pass with its interval.
func perPass(r *stats.Ratio) own {
	switch {
	case r == nil:
		return "–"
	case r.Interval == nil:
		return dollars(r.Value) + " [unbounded]"
	}
	return dollars(r.Value) + " [" + dollars(r.Interval.Low) + ", " + dollars(r.Interval.High) + "]"
}

func money(m *stats.Mean) own {
	if m == nil {
		return "–"
	}
	return dollars(m.Value)
}

// spending prints a mean cost with its interval.
func spending(m *stats.Mean) own {
	if m == nil || m.Interval == nil {
		return money(m)
	}
	return dollars(m.Value) + " [" + dollars(m.Interval.Low) + ", " + dollars(m.Interval.High) + "]"
}

func meanOf(m *stats.Mean) *float64 {
	if m == nil {
		return nil
	}
	return &m.Value
}

func seconds(v *float64) own {
	if v == nil {
		return "–"
	}
	return own(short1(*v))
}

// matrix shows agents × models: the mean, the worst and best run, the repeats.
func (p *page) matrix() {
	if len(p.s.Variants) == 0 {
		return
	}
	agents, models := p.axes()
	p.section("matrix", "Agents and models")
	p.matrixChart(agents, models)
	t := &document.Table{Caption: say("Mean score [worst run–best run], counted repeats"), Columns: columns("agent")}
	for _, m := range models {
		t.Columns = append(t.Columns, document.Column{Text: document.Foreign(m), Numeric: true})
	}
	for _, a := range agents {
		row := document.Row{document.Foreign(a)}
		for _, m := range models {
			row = append(row, say("%s", p.cell(batch.Variant{Agent: a, Model: m})))
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	p.note("A mean is over tasks of the mean over repeats; each task weighs the same. What agents or models do by themselves is not tested: the verdicts are on variants.")
}

// axes are agents and models in the order of the plan.
func (p *page) axes() (agents, models []string) {
	seen := map[string]bool{}
	for i := range p.s.Variants {
		c := p.s.Variants[i].Cell
		if !seen["a"+c.Agent] {
			agents = append(agents, c.Agent)
		}
		if !seen["m"+c.Model] {
			models = append(models, c.Model)
		}
		seen["a"+c.Agent], seen["m"+c.Model] = true, true
	}
	return agents, models
}

// at is the variant of an agent and a model; stats.Nobody where none is planned.
func (p *page) at(which batch.Variant) int {
	for i := range p.s.Variants {
		if p.s.Variants[i].Cell.Variant == which {
			return i
		}
	}
	return stats.Nobody
}

func (p *page) cell(which batch.Variant) own {
	i := p.at(which)
	if i == stats.Nobody {
		return "–"
	}
	v := &p.s.Variants[i]
	if v.Mean == nil {
		return "no data"
	}
	worst, best := v.Range()
	return number(*v.Mean) + " [" + number(*worst) + "–" + number(*best) + "] n=" + whole(len(v.Runs))
}
