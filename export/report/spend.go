package report

import (
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// costs shows score against cost.
func (p *page) costs() {
	if !p.v.Decided() {
		return
	}
	t := &document.Table{Caption: say("Score and cost by variant"),
		Columns: columns("variant", "#mean", "#USD a task, reported [95 %]", "#USD a pass, reported [95 %]", "#USD a task, repriced [95 %]", "#USD a pass, repriced [95 %]", "#seconds a task")}
	known := false
	for _, i := range p.order {
		d := &p.v.Description.Variants[i]
		if d.Mean == nil {
			continue
		}
		known = known || d.Cost.TaskUSD != nil || d.Repriced.TaskUSD != nil
		row := document.Row{say("%s", p.name(i)), say("%s", number(d.Mean.Value)), say("%s", spending(d.Cost.TaskUSD)), say("–"), say("%s", spending(d.Repriced.TaskUSD)), say("–"), say("%s", seconds(meanOf(d.WallS)))}
		if p.v.Passes(i) {
			row[3], row[5] = say("%s", perPass(d.Cost.CostPerPass)), say("%s", perPass(d.Repriced.CostPerPass))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return
	}
	p.section("cost", "Score against cost")
	if !known {
		p.say("No cost is known: neither reported by the runner nor computable from tokens and the frozen prices.")
		return
	}
	p.costChart()
	p.table(t)
	p.note("Reported is what the runner said; repriced is tokens times the batch's frozen prices. A cost that is unknown is never 0. A variant that is cheap because it fails is no bargain: only the %s says what may replace what.", p.linkCandidates())
}

func (p *page) linkCandidates() document.Text {
	if len(p.v.NonInferiority) > 0 && p.v.Rule.Margin != nil {
		return document.Link(say("section on candidates"), "#candidates")
	}
	return document.Link(say("verdict"), "#differences")
}

// reliability counts how tries ended, apart from capability.
func (p *page) reliability() {
	if len(p.s.Variants) == 0 {
		return
	}
	p.section("reliability", "Reliability")
	p.say("What ran, and how it ended. Failures that are not the agent's doing are missing, never a score of 0: this table says nothing of capability.")
	p.triesChart()
	p.tries()
	p.states()
}

// tries counts every try of every task, those that were repeated included.
func (p *page) tries() {
	t := &document.Table{Caption: say("Tries of tasks by how they ended, in all runs of this batch, counted or not"), Columns: columns("variant", "#tries")}
	for _, s := range outcome.States {
		if p.anyTry(s) {
			t.Columns = append(t.Columns, columns("#"+own(s))...)
		}
	}
	t.Columns = append(t.Columns, columns("#not the agent's doing", "#their cost, USD reported", "#repriced")...)
	for _, i := range p.order {
		v := &p.s.Variants[i]
		all, row := 0, document.Row{say("%s", p.name(i)), nil}
		for n := range v.Tries {
			all += v.Tries[n].Count
			if p.anyTry(v.Tries[n].State) {
				row = append(row, say("%d", v.Tries[n].Count))
			}
		}
		row[1] = say("%d", all)
		n, reported, repriced := v.Wasted(p.f.Plan.TimeoutPolicy)
		t.Rows = append(t.Rows, append(row, say("%d", n), say("%s", usd(reported)), say("%s", usd(repriced))))
	}
	t.Notes = []document.Text{say("Ways to end that never occurred are left out.")}
	p.table(t)
}

// states counts the outcomes of counted repeats.
func (p *page) states() {
	t := &document.Table{Caption: say("Outcomes of counted repeats by state"), Columns: columns("variant", "#planned")}
	var states []outcome.State
	for _, s := range outcome.States {
		if s == outcome.Scored || p.anyState(s) {
			states = append(states, s)
			t.Columns = append(t.Columns, columns("#"+own(s))...)
		}
	}
	t.Columns = append(t.Columns, columns("#no line", "#coverage", "#pass fraction")...)
	for _, i := range p.order {
		v := &p.s.Variants[i]
		row := document.Row{say("%s", p.name(i)), say("%d", (v.Slots.Done+v.Slots.Reused)*len(p.f.Tasks))}
		for _, s := range states {
			row = append(row, say("%d", v.States[s]))
		}
		t.Rows = append(t.Rows, append(row, say("%d", v.Absent), say("%s", maybe(v.Cover)), say("%s", maybe(v.Passed))))
	}
	t.Notes = []document.Text{say("States that never occurred are left out. scored and agent (the agent failed: 0) are measurements, timeout is by its policy; all others are missing.")}
	p.table(t)
}

func (p *page) anyState(s outcome.State) bool {
	return slices.ContainsFunc(p.s.Variants, func(v export.VariantNumber) bool { return v.States[s] > 0 })
}

// spend says what was paid, what was reused, and how much of it is unknown.
func (p *page) spend() {
	x := &p.s.Paid
	p.section("spend", "Spend and reuse")
	p.say("%s.", document.Strong(say("%d ran, %d reused", x.Ran, x.Reused)))
	p.add(&document.List{Items: []document.Text{
		say("Spent in this batch, as reported: %s", atLeast(x.Today.Reported)),
		say("The same repriced with the frozen prices: %s", atLeast(x.Today.Repriced)),
		say("Spent on judges, as they reported, apart from the above: %s", judged(x.Today.Judges)),
		say("Value of what was reused, when it was measured: %s", reusedValue(x)),
	}})
	t := &document.Table{Caption: say("Evaluations and money by variant, USD; “≥” where some is unknown"),
		Columns: columns("variant", "#ran", "#reused", "#paid, reported", "#paid, repriced", "#judges", "#value of reused, reported", "#value of reused, repriced", "#judges of reused")}
	for _, i := range p.order {
		v := &p.s.Variants[i].Paid
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(i)), say("%d", v.Ran), say("%d", v.Reused), say("%s", usd(v.Today.Reported)), say("%s", usd(v.Today.Repriced)),
			say("%s", usd(v.Today.Judges)), say("%s", usd(v.Value.Reported)), say("%s", usd(v.Value.Repriced)), say("%s", usd(v.Value.Judges))})
	}
	p.table(t)
}

func judged(s export.Sum) own {
	if s.Known+s.Unknown == 0 {
		return "no judge of known or unknown cost voted"
	}
	return atLeast(s)
}

func reusedValue(x *export.Paid) own {
	if x.Reused == 0 {
		return "nothing was reused"
	}
	return atLeast(x.Value.Reported)
}

// counts says what became of the planned repeats.
func (p *page) counts() {
	n := p.f.Result.Counts
	p.section("counts", "Planned repeats")
	p.say("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)
	t := &document.Table{Caption: say("Repeats without a result"), Headers: 3, Columns: columns("agent", "model", "#repeat", "state and reason")}
	for _, s := range p.f.Result.Slots {
		if s.State == batch.SlotDone || s.State == batch.SlotReused {
			continue
		}
		why := say("%s", own(strings.ReplaceAll(string(s.State), "_", " ")))
		if s.Reason != "" {
			why = say("%s: %s", why, s.Reason)
		}
		t.Rows = append(t.Rows, document.Row{say("%s", s.Agent), say("%s", s.Model), say("%d", s.Slot), why})
	}
	t.Notes = cut(t, "repeat", "tables/cells.parquet")
	p.table(t)
	var excluded []document.Text
	for _, x := range p.f.Plan.Exclude {
		excluded = append(excluded, say("%s is excluded by the benchmark: %s", x.Variant.String(), x.Why))
	}
	p.add(&document.List{Items: excluded})
}

// mostRows is how many rows any other table has.
const mostRows = 200

// cut shortens a table, and says where the rest is.
func cut(t *document.Table, what string, table own) []document.Text {
	left := len(t.Rows) - mostRows
	t.Rows = t.Rows[:min(len(t.Rows), mostRows)]
	return more(left, what, table)
}

// notCounted lists the evaluations that are known but do not count.
func (p *page) notCounted() {
	t := &document.Table{Caption: say("Runs that are known, with the reason"), Columns: columns("run", "variant", "#repeat", "state", "why")}
	for i := range p.s.Evaluations {
		e := &p.s.Evaluations[i]
		if e.Counted && len(e.Missing) == 0 && e.Unreadable == "" {
			continue
		}
		why := []string{e.Reason, e.Unreadable}
		for _, m := range e.Missing {
			why = append(why, m.String())
		}
		why = slices.DeleteFunc(why, func(s string) bool { return s == "" })
		t.Rows = append(t.Rows, document.Row{p.link(say("%s", e.RunID), e), say("%s", e.Variant.String()), say("%d", e.Slot), say("%s", string(e.State)), dash(document.Foreign(strings.Join(why, "; ")))})
	}
	ignored := len(p.f.Result.Ignored)
	if len(t.Rows) == 0 && ignored == 0 {
		return
	}
	p.section("notcounted", "Evaluations that do not count, or lack evidence")
	t.Notes = cut(t, "evaluation", "tables/evaluations.parquet")
	p.table(t)
	if ignored > 0 {
		p.say("%s of this recipe looked at that do not count: result.json names each with its reason.", many(ignored, "further run"))
	}
}
