package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/export/stats"
)

// standings lists the variants with their ranks where there are ranks, else in
// the order of the plan.
func (p *page) standings() {
	v := p.s.Verdict
	if !v.Decided() || len(p.s.Variants) == 0 {
		return
	}
	order := make([]int, len(p.s.Variants))
	for i := range order {
		order[i] = i
	}
	head := []string{"variant", "mean [95 %]"}
	if v.Ranks != nil {
		slices.SortStableFunc(order, p.byRank)
		head = append(head, "rank")
	}
	if v.Letters != nil {
		head = append(head, "group")
	}
	k := v.Description.Repeats
	head = append(head, fmt.Sprintf("pass@%d", k), fmt.Sprintf("pass^%d", k), "if failures decide", "USD a pass [95 %]", "seconds a task")
	p.line("## Variants\n")
	p.head(1, head...)
	for _, i := range order {
		p.row(p.standing(i)...)
	}
	p.line("")
	if v.Ranks != nil {
		p.line("A rank is the interval of places that nothing here rules out; variants that share a letter are not separated.")
	}
	p.line("pass@%d: at least one of %d runs passes; pass^%d: all of them do. “If failures decide” is the mean if every failure that is not the agent's had been a 0, or a 1. Costs are as reported, of scored outcomes; seconds are without waiting.\n", k, k, k)
	p.candidates()
}

// byRank orders variants by rank, then mean, then plan; unmeasured ones stand last.
func (p *page) byRank(a, b int) int {
	v := p.s.Verdict
	x, y := v.Ranks[a], v.Ranks[b]
	if x == nil || y == nil {
		return cmp.Compare(truth(x == nil), truth(y == nil))
	}
	return cmp.Or(cmp.Compare(x.Low, y.Low), cmp.Compare(x.High, y.High),
		cmp.Compare(v.Description.Variants[b].Mean.Value, v.Description.Variants[a].Mean.Value))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *page) standing(i int) []string {
	v := p.s.Verdict
	d := &v.Description.Variants[i]
	mean := "no data"
	if d.Mean != nil {
		mean = number(d.Mean.Value)
		if shown, _ := d.Preferred(); shown != nil {
			mean += fmt.Sprintf(" [%s, %s]", number(shown.Low), number(shown.High))
		}
	}
	cells := []string{p.name(i), mean}
	if v.Ranks != nil {
		cells = append(cells, ranks(v.Ranks[i]))
	}
	if v.Letters != nil {
		cells = append(cells, cmp.Or(v.Letters[i], "–"))
	}
	at, hat, cost, took := "–", "–", "–", "–"
	if n := len(d.PassAt); n > 0 && v.Passes(i) {
		at, hat = passK(d.PassAt[n-1]), passK(d.PassHat[n-1])
	}
	if c := d.Cost.CostPerPass; c != nil && v.Passes(i) {
		cost = fmt.Sprintf("%.4f", c.Value)
		if c.Interval != nil {
			cost += fmt.Sprintf(" [%.4f, %.4f]", c.Interval.Low, c.Interval.High)
		} else {
			cost += " [unbounded]"
		}
	}
	if d.WallS != nil {
		took = fmt.Sprintf("%.1f", d.WallS.Value)
	}
	band := "–"
	if d.Band != nil && d.Band.Failures > 0 {
		band = fmt.Sprintf("%s–%s", number(d.Band.Low), number(d.Band.High))
	}
	return append(cells, at, hat, band, cost, took)
}

func ranks(r *stats.Rank) string {
	switch {
	case r == nil:
		return "–"
	case r.Low == r.High:
		return fmt.Sprint(r.Low)
	}
	return fmt.Sprintf("%d–%d", r.Low, r.High)
}

// passK prints F1 or F2 with the tasks it rests on where some are left out.
func passK(k stats.PassK) string {
	if k.Mean == nil {
		return "–"
	}
	text := number(k.Mean.Value)
	if k.Excluded > 0 {
		text += fmt.Sprintf(" (%s)", many(k.Mean.Tasks, "task"))
	}
	return text
}

// candidates says where each candidate stands against the reference.
func (p *page) candidates() {
	v := p.s.Verdict
	if len(v.NonInferiority) == 0 || v.Rule.Margin == nil {
		return
	}
	p.line("## May a candidate replace the reference?\n")
	p.head(1, "candidate", "difference [interval]", "standing", "why")
	for i := range v.NonInferiority {
		n := &v.NonInferiority[i]
		p.row(p.name(n.Candidate), interval(n.Difference, n.Interval, 1), n.Standing.String(), cmp.Or(escape.Markdown(strings.Join(n.Codes.Strings(), ", ")), "–"))
	}
	p.line("")
	p.line("Non-inferior: not worse than the reference by more than the margin of %s.\n", short(*v.Rule.Margin))
	if v.Candidates == nil {
		return
	}
	found := false
	for i := range v.Candidates {
		c := &v.Candidates[i]
		if !c.Recommended {
			continue
		}
		found = true
		var names []string
		for _, a := range c.Advantages {
			names = append(names, a.String())
		}
		p.line("- %s may replace it: non-inferior, with a material advantage in %s", p.name(c.Candidate), escape.Markdown(strings.Join(names, ", ")))
	}
	if !found {
		p.line("No recommendation:\n")
		for i := range v.Candidates {
			p.line("- %s: %s", p.name(v.Candidates[i].Candidate), escape.Markdown(v.Candidates[i].Why))
		}
	}
	p.line("")
}
