package report

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// candidates says where each candidate stands against the reference.
func (p *page) candidates() {
	if !p.v.Decided() || len(p.v.NonInferiority) == 0 || p.v.Rule.Margin == nil {
		return
	}
	p.section("candidates", "May a candidate replace the reference?")
	t := &document.Table{Caption: say("Capability: non-inferior is not worse than the reference by more than the margin of %s", own(short(*p.v.Rule.Margin))),
		Columns: columns("candidate", "#difference [interval]", "standing", "why")}
	for i := range p.v.NonInferiority {
		n := &p.v.NonInferiority[i]
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(n.Candidate)), say("%s", interval(n.Difference, n.Interval, 1)), stood(n.Standing),
			because(n.Codes)})
	}
	p.table(t)
	if p.v.Candidates == nil {
		p.say("No recommendation is made: the rule names no advantage that would be material.")
		return
	}
	p.say("The recommendation follows the rule %s: first capability, then %s, shown where the whole 95 %% interval lies beyond it. Several that pass are listed, not ranked.", p.chosen(), p.advantages())
	p.recommend(p.v.Candidates)
}

func stood(s stats.Standing) document.Text {
	switch t := say("%s", own(s.String())); s {
	case stats.Superior, stats.NonInferior:
		return document.Good(t)
	case stats.Inferior:
		return document.Bad(t)
	default:
		return document.Quiet(t)
	}
}

// advantages are the frozen shares of the rule.
func (p *page) advantages() document.Text {
	var d struct {
		Advantage map[string]float64 `json:"advantage"`
	}
	if json.Unmarshal(p.f.Plan.Decision, &d) != nil {
		return nil
	}
	var parts []document.Text
	for _, x := range []struct {
		name string
		says own
	}{{"cost_usd", "less cost"}, {"wall_s", "less time"}, {"consistency", "less rerun variance"}} {
		if declared, ok := d.Advantage[x.name]; ok {
			parts = append(parts, say("at least %s %s", share(declared), x.says))
		}
	}
	return document.Join(parts, ", or ")
}

func (p *page) recommend(list []stats.Candidacy) {
	t := &document.Table{Caption: say("Candidate ÷ reference, geometric means over tasks [95 %%]"),
		Columns: columns("candidate", "#cost", "#time", "#rerun variance", "recommended", "why")}
	var chosen []string
	for i := range list {
		c := &list[i]
		verdict, why := document.Quiet(say("no")), document.Foreign(c.Why)
		if c.Recommended {
			chosen = append(chosen, p.name(c.Candidate))
			verdict, why = document.Good(say("may replace it")), say("%s, with a material advantage in %s", own(c.Standing.String()), properties(c))
		}
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(c.Candidate)), say("%s", ratio(c.Cost)), say("%s", ratio(c.Wall)), say("%s", ratio(c.Consistency)), verdict, why})
	}
	if len(chosen) == 0 {
		p.say("%s", document.Strong(say("No recommendation.")))
	} else {
		p.say("%s may replace the reference.", document.Strong(document.Foreign(strings.Join(chosen, ", "))))
	}
	p.table(t)
}

func properties(c *stats.Candidacy) own {
	var names []string
	for _, a := range c.Advantages {
		names = append(names, a.String())
	}
	return own(strings.Join(names, ", "))
}

func ratio(r *stats.Ratio) own {
	if r == nil {
		return "–"
	}
	if r.Interval == nil {
		return number(r.Value) + " [unknown]"
	}
	return between(r.Value, r.Interval)
}

// families shows the variants by family: verdicts where the rule decides by family,
// else a description that is marked exploratory.
func (p *page) families() {
	if !p.v.Decided() || len(p.v.Description.Families) == 0 {
		return
	}
	p.section("families", "By family")
	if p.v.Families != nil {
		p.routing()
	} else {
		p.say("%s: the rule does not decide by family, so nothing below is a verdict. Differences here may be chance.", document.Strong(say("Exploratory")))
	}
	across := p.order[:min(len(p.order), mostAcross)]
	p.familyChart(across)
	t := &document.Table{Caption: say("Mean by family and variant"), Columns: columns("family", "#tasks", "tells variants apart")}
	for _, i := range across {
		t.Columns = append(t.Columns, document.Column{Text: document.Foreign(p.name(i)), Numeric: true})
	}
	all := p.v.Description.Families
	for n := range all[:min(len(all), mostFamilies)] {
		f := &all[n]
		tells := say("not computable")
		if f.P != nil {
			tells = say("%s (p %s)", own(f.Verdict.String()), pValue(&f.P.P, stats.FamilyLevel))
		}
		row := document.Row{say("%s", f.Family), say("%d", len(f.Tasks)), tells}
		for _, i := range across {
			row = append(row, say("%s", familyMean(f, i)))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = append(more(len(all)-mostFamilies, "family", "tables/families.parquet"), more(len(p.order)-mostAcross, "variant", "tables/families.parquet")...)
	t.Notes = append(t.Notes, say("“Not shown” means that it is open whether the family tells variants apart; “no discriminating power” that every pair lies within the margin on it."))
	p.folded(t, 24, "family")
}

func familyMean(f *stats.FamilySummary, variant int) own {
	if variant >= len(f.Variants) || f.Variants[variant].Mean == nil {
		return "no data"
	}
	return number(f.Variants[variant].Mean.Value)
}

// routing is the verdict on every family by itself.
func (p *page) routing() {
	p.say("The rule, %s, decides by family: every family by itself, all at one level (Holm across families).", p.chosen())
	t := &document.Table{Caption: say("Routing table"), Columns: columns("family", "#tasks", "verdict", "first group", "may replace the reference")}
	for i := range p.v.Families {
		f := &p.v.Families[i]
		t.Rows = append(t.Rows, document.Row{say("%s", f.Family), say("%d", len(f.Tasks)), p.familyVerdict(f), p.firstGroup(f), p.replaces(f)})
	}
	p.table(t)
}

func (p *page) familyVerdict(f *export.FamilyVerdict) document.Text {
	if f.Best != stats.Nobody {
		return document.Good(say("%s may be called best", p.name(f.Best)))
	}
	n, claims := 0, 0
	for i := range f.Pairs {
		if f.Pairs[i].Compared {
			n++
			claims += truth(f.Pairs[i].Winner != stats.Nobody)
		}
	}
	return say("no winner; %d of %s separated", claims, many(n, "pair"))
}

func (p *page) firstGroup(f *export.FamilyVerdict) document.Text {
	var names []string
	for _, i := range p.order {
		if f.Ranks != nil && f.Ranks[i] != nil && f.Ranks[i].Low == 1 {
			names = append(names, p.name(i))
		}
	}
	if len(names) > mostNames {
		return say("%d variants", len(names))
	}
	return dash(document.Foreign(strings.Join(names, ", ")))
}

func (p *page) replaces(f *export.FamilyVerdict) document.Text {
	if f.Candidates == nil {
		return say("not asked for")
	}
	var names []string
	for i := range f.Candidates {
		if f.Candidates[i].Recommended {
			names = append(names, p.name(f.Candidates[i].Candidate))
		}
	}
	if len(names) == 0 {
		return say("no recommendation")
	}
	return document.Good(document.Foreign(strings.Join(names, ", ")))
}

// repairs says what would make an inconclusive verdict conclusive.
func (p *page) repairs() {
	if !p.v.Decided() {
		return
	}
	open := p.open()
	if len(open) == 0 {
		return
	}
	slices.SortStableFunc(open, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.closeness(a), p.closeness(b)), cmp.Compare(steps(&p.v.Pairs[a]), steps(&p.v.Pairs[b])))
	})
	p.section("repairs", "What would make it conclusive")
	p.say("%s told. Prices are those of this batch, at the level of the next look: another look costs evidence.", cannotBe(len(open)))
	t := &document.Table{Caption: say("Repairs, the cheapest first; pairs with a variant that may be first stand on top, those that are nearest to a verdict first"), Columns: columns("pair", "why", "what helps")}
	for _, i := range open[:min(len(open), mostPairs)] {
		x := &p.v.Pairs[i]
		var all []document.Text
		for n := range x.Repairs {
			all = append(all, repair(&x.Repairs[n]))
		}
		t.Rows = append(t.Rows, document.Row{say("%s − %s", p.name(x.A), p.name(x.B)), because(x.Codes), dash(document.Join(all, alternatives(x)))})
	}
	t.Notes = more(len(open)-mostPairs, "pair", "tables/pairs.parquet")
	p.folded(t, 8, "pair")
}

// open are the pairs that cannot be told.
func (p *page) open() []int {
	var out []int
	for i := range p.v.Pairs {
		if x := &p.v.Pairs[i]; x.Compared && x.Mark == stats.CannotTell {
			out = append(out, i)
		}
	}
	return out
}

func cannotBe(n int) own {
	if n == 1 {
		return "One pair cannot be"
	}
	return whole(n) + " pairs cannot be"
}

// alternatives joins repairs: a pair refused for several reasons needs one for each.
func alternatives(x *stats.Pair) own {
	if x.Codes&stats.Refusals != 0 {
		return "; and "
	}
	return "; or "
}

// steps orders pairs by how many task runs their cheapest repair asks for.
func steps(x *stats.Pair) int {
	if len(x.Repairs) == 0 || x.Repairs[0].Cells == 0 && x.Repairs[0].Action != stats.DeclareMargin {
		return math.MaxInt
	}
	return x.Repairs[0].Cells
}

// closeness orders pairs by the lowest rank that one of them may have.
func (p *page) closeness(i int) int {
	if !p.ranked() {
		return 0
	}
	best := len(p.s.Variants)
	for _, v := range []int{p.v.Pairs[i].A, p.v.Pairs[i].B} {
		if r := p.v.Ranks[v]; r != nil {
			best = min(best, r.Low)
		}
	}
	return best
}

func repair(r *stats.Repair) document.Text {
	text := say("%s", own(r.Action.String()))
	switch {
	case r.Repeats > 0:
		text = say("%s: %d more", text, r.Repeats)
	case r.Tasks > 0:
		text = say("%s: %d more", text, r.Tasks)
	}
	if r.Cells == 0 {
		return text
	}
	if r.CostUSD == nil {
		return say("%s (%s)", text, many(r.Cells, "task run"))
	}
	return say("%s (%s, about %s USD)", text, many(r.Cells, "task run"), roughly(*r.CostUSD))
}
