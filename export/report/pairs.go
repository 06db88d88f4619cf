package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// differences shows every variant against one: the reference, or the first.
func (p *page) differences() {
	if p.base == stats.Nobody {
		return
	}
	which := p.against(p.base)
	switch {
	case p.v.Rule.Reference != "":
		p.section("differences", "Differences to the reference %s", p.name(p.base))
	case p.ranked():
		p.section("differences", "Differences to %s", p.name(p.base))
		p.note("No reference was declared: differences are shown to the first of the leaderboard.")
	default:
		p.section("differences", "Differences to %s", p.name(p.base))
		p.note("No reference was declared and nothing is ranked: differences are shown to the first variant of the plan that has a score.")
	}
	if len(which) == 0 {
		p.say("No other variant has a score.")
	} else {
		p.differencesChart(which)
		p.table(p.pairTable("Every variant less "+p.name(p.base)+", on the tasks that both have", "variant", which))
		p.note("A difference is that of the means over common tasks, with its 95 %% interval (not adjusted for the number of pairs; the p is). The range tie is a description, the rule that people know: the best-to-worst ranges of two variants' runs overlap. It is no test, and may differ from the verdict. What each word means: docs/statistics.md of benchbatch.")
	}
}

// against lists the pairs of a variant with every other measured one, in the
// leaderboard's order.
func (p *page) against(base int) []int {
	place := map[int]int{}
	for at, i := range p.order {
		place[i] = at
	}
	var out []int
	for i := range p.v.Pairs {
		if x := &p.v.Pairs[i]; (x.A == base || x.B == base) && x.RepeatsA > 0 && x.RepeatsB > 0 {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Compare(place[p.other(a, base)], place[p.other(b, base)])
	})
	return out
}

func (p *page) other(pair, base int) int { return p.v.Pairs[pair].A + p.v.Pairs[pair].B - base }

// unmeasured names the variants that are in no pair.
func (p *page) unmeasured() {
	var names []string
	for i := range p.v.Description.Variants {
		if p.v.Description.Variants[i].Repeats == 0 {
			names = append(names, p.name(i))
		}
	}
	if len(names) > 0 {
		p.say("Without a score, and so in no pair: %s.", strings.Join(names, ", "))
	}
}

// otherPairs lists the pairs without the base, the most decisive first.
func (p *page) otherPairs() {
	if p.base == stats.Nobody {
		return
	}
	var which []int
	for i := range p.v.Pairs {
		x := &p.v.Pairs[i]
		if x.A != p.base && x.B != p.base && x.RepeatsA > 0 && x.RepeatsB > 0 && (x.Compared || p.v.Rule.Compare == stats.AllPairs) {
			which = append(which, i)
		}
	}
	if len(which) == 0 {
		return
	}
	slices.SortStableFunc(which, func(a, b int) int {
		x, y := &p.v.Pairs[a], &p.v.Pairs[b]
		return cmp.Or(cmp.Compare(y.Mark, x.Mark), cmp.Compare(gap(y), gap(x)))
	})
	p.section("pairs", "Pairwise verdicts")
	p.say("%s The pairs with %s stand above.", p.tally(), p.name(p.base))
	left := len(which) - mostPairs
	t := p.pairTable("Every other pair, claims first", "pair", which[:min(len(which), mostPairs)])
	t.Notes = more(left, "pair", "tables/pairs.parquet")
	p.add(&document.Details{Summary: say("%s without %s", many(len(which), "pair"), p.name(p.base)), Blocks: []document.Block{t}})
}

func gap(p *stats.Pair) float64 {
	if p.Difference == nil {
		return 0
	}
	return math.Abs(*p.Difference)
}

// tally counts the verdicts.
func (p *page) tally() document.Text {
	n, all := [stats.Beats + 1]int{}, 0
	for i := range p.v.Pairs {
		if x := &p.v.Pairs[i]; x.Compared {
			n[x.Mark]++
			all++
		}
	}
	var parts []document.Text
	for m := stats.Beats; ; m-- {
		if n[m] > 0 {
			parts = append(parts, say("%s %d", own(markWords[m]), n[m]))
		}
		if m == 0 {
			break
		}
	}
	return say("Of %s: %s.", many(all, "pair"), document.Join(parts, ", "))
}

// markWords are the verdicts in the words of this report.
var markWords = [...]string{stats.CannotTell: "cannot tell", stats.Tied: "tied (within noise)", stats.Equal: "equal within the margin",
	stats.Ahead: "ahead on this list", stats.Beats: "beats"}

func (p *page) pairTable(caption string, first own, which []int) *document.Table {
	t := &document.Table{Caption: document.Foreign(caption),
		Columns: columns(first, "verdict", "why", "#difference [95 %]", "#p adjusted", "#detectable", "range tie"+p.ofScores())}
	if len(p.v.Readings) > 0 {
		t.Columns = append(t.Columns, columns("in other readings")...)
	}
	for _, i := range which {
		t.Rows = append(t.Rows, p.pairRow(i))
	}
	return t
}

func (p *page) pairRow(i int) document.Row {
	pair, sign := &p.v.Pairs[i], 1.0
	a, b := pair.A, pair.B
	if a == p.base { // shown as the other − base
		a, b, sign = b, a, -1
	}
	verdict, why := toned(pair, p.sentence(pair)), because(pair.Codes)
	if !pair.Compared {
		verdict, why = say("not compared"), say("not asked for")
	}
	name := say("%s − %s", p.name(a), p.name(b))
	if b == p.base {
		name = say("%s", p.name(a))
	}
	row := document.Row{name, verdict, why, say("%s", interval(pair.Difference, pair.Interval, sign)),
		say("%s", p.adjusted(pair)), say("%s", detectable(pair.MDE)), say("%s", rangeTie(p.s.Pairs[i].RangeTie))}
	if len(p.v.Readings) > 0 {
		row = append(row, p.elsewhere(i))
	}
	return row
}

// because is why a mark is no stronger.
func because(c stats.Codes) document.Text {
	if c == 0 {
		return say("–")
	}
	return say("%s", own(c.Words()))
}

func (p *page) sentence(pair *stats.Pair) document.Text {
	return spoken(func(shown func(string) string) string { return sentence(p.s, pair, shown) })
}

// toned gives claims a tone.
func toned(pair *stats.Pair, t document.Text) document.Text {
	switch pair.Mark {
	case stats.Beats, stats.Ahead:
		return document.Good(t)
	case stats.CannotTell:
		return document.Quiet(t)
	}
	return t
}

// elsewhere is what other readings say of a pair.
func (p *page) elsewhere(i int) document.Text {
	var parts []document.Text
	for n := range p.v.Readings {
		if r := &p.v.Readings[n]; slices.Contains(r.Turned, i) {
			parts = append(parts, say("without %s: %s", without(r.Name), p.sentence(&r.Pairs[i])))
		}
	}
	if len(parts) == 0 {
		return say("the same")
	}
	return document.Join(parts, "; ")
}

func rangeTie(t *bool) own {
	switch {
	case t == nil:
		return "–"
	case *t:
		return "tie"
	}
	return "apart"
}

// interval prints a difference with its interval, both turned by sign.
func interval(d *float64, i *stats.Interval, sign float64) own {
	if d == nil {
		return "no data"
	}
	text := signed(sign * *d)
	if i == nil {
		return text + " [unknown]"
	}
	low, high := turn(i, sign)
	return text + " [" + signed(low) + ", " + signed(high) + "]"
}

func turn(i *stats.Interval, sign float64) (low, high float64) {
	if sign < 0 {
		return -i.High, -i.Low
	}
	return i.Low, i.High
}

// adjusted is the p that decides; a claim about this list has its own.
func (p *page) adjusted(pair *stats.Pair) own {
	if pair.Mark == stats.Ahead {
		return pValue(pair.PAdj, p.v.Level) + " (this list " + pValue(pair.PListAdj, p.v.Level) + ")"
	}
	return pValue(pair.PAdj, p.v.Level)
}

// detectable prints the difference that a pair would have shown.
func detectable(mde *float64) own {
	switch {
	case mde == nil:
		return "–"
	case *mde >= 1:
		return "none"
	}
	return number(*mde)
}

// holds says whether the verdict is the same where some outcomes are read otherwise.
func (p *page) holds() {
	if !p.v.Decided() || len(p.v.Pairs) == 0 {
		return
	}
	p.section("holds", "Does the verdict hold?")
	t := &document.Table{Caption: say("The same rule on other readings of the same data"), Columns: columns("reading", "what it leaves out", "what changes")}
	for _, name := range []string{export.WithoutWithdrawn, export.WithoutSelection, export.WithoutFlagged} {
		row := document.Row{say("without %s", without(name)), say("nothing: there are none"), say("–")}
		if r := p.v.Reading(name); r != nil {
			row[1], row[2] = say("%s", many(r.Left, "outcome")), p.flips(r)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, p.failuresRow(), p.judgesRow())
	p.table(t)
	p.withdrawn()
}

// mostFlips is how many pairs whose verdict changes are named.
const mostFlips = 10

func (p *page) flips(r *export.Reading) document.Text {
	if len(r.Turned) == 0 {
		return say("nothing: the same verdict on every pair")
	}
	var parts []document.Text
	for n, i := range r.Turned {
		if n == mostFlips {
			parts = append(parts, say("and %s", many(len(r.Turned)-n, "further pair")))
			break
		}
		pair := &p.v.Pairs[i]
		parts = append(parts, say("%s and %s: %s becomes %s", p.name(pair.A), p.name(pair.B), p.sentence(pair), p.sentence(&r.Pairs[i])))
	}
	return document.Bad(document.Join(parts, "; "))
}

// failuresRow is F22: failures that are not the agent's, scored 0.
func (p *page) failuresRow() document.Row {
	failures, read := 0, false
	for i := range p.v.Description.Variants {
		if b := p.v.Description.Variants[i].Band; b != nil {
			failures += b.Failures
		}
	}
	for i := range p.v.Pairs {
		read = read || p.v.Pairs[i].Second != nil
	}
	row := document.Row{say("failures that are not the agent's scored 0"), say("nothing: there are none"), say("–")}
	if failures > 0 || read {
		row[1], row[2] = say("nothing; %s", many(failures, "failure")), p.coded(stats.ProviderFailuresDecide)
	}
	return row
}

// judgesRow is F20: judges of a variant's own family.
func (p *page) judgesRow() document.Row {
	row := document.Row{say("without judges of a variant's own family"), say("nothing: there are none"), say("–")}
	if n := len(p.v.Judges); n > 0 {
		row[1], row[2] = say("%s", many(n, "judge")), p.coded(stats.JudgeDependent)
	}
	return row
}

// coded says how many pairs a code made ones that cannot tell.
func (p *page) coded(c stats.Code) document.Text {
	n := 0
	for i := range p.v.Pairs {
		if p.v.Pairs[i].Compared && p.v.Pairs[i].Codes.Has(c) {
			n++
		}
	}
	if n == 0 {
		return say("nothing: the same verdict on every pair")
	}
	return document.Bad(say("%s that would turn, and so cannot tell", many(n, "pair")))
}

// withdrawn shows the means with and without tasks that were found wrong.
func (p *page) withdrawn() {
	var items []document.Text
	for _, t := range p.f.Tasks {
		if t.Withdrawn != nil {
			items = append(items, say("%s, withdrawn %s: %s", t.ID, t.Withdrawn.Date, t.Withdrawn.Why))
		}
	}
	if len(items) == 0 {
		return
	}
	t := &document.Table{Caption: say("Means with and without the withdrawn tasks"), Columns: columns("variant", "#mean with them", "#mean without them")}
	for _, i := range p.order {
		v := &p.s.Variants[i]
		t.Rows = append(t.Rows, document.Row{say("%s", p.name(i)), say("%s", maybe(v.Mean)), say("%s", maybe(v.Kept))})
	}
	p.add(&document.Heading{Level: 3, Text: say("Withdrawn tasks")}, &document.List{Items: items})
	p.table(t)
}
