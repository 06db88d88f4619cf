package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/export/stats"
)

// mostPairs is how many pairs a table of the report lists. All are in pairs.parquet.
const mostPairs = 200

// verdict is the first thing on the page: the sentence, and what it rests on.
func (p *page) verdict() {
	v := p.s.Verdict
	p.line("**%s**", Headline(p.s, escape.Markdown))
	p.line("")
	if !v.Decided() {
		p.line("This report describes; it does not rank. No winner is claimed here.\n")
		return
	}
	if !claims(v) {
		p.line("This report describes; it does not rank. No variant is claimed to be better than another.\n")
	}
	p.line("%s\n", ruleLine(v))
	for _, line := range p.warnings() {
		p.line("%s\n", line)
	}
}

// claims says whether any pair has a winner.
func claims(v *export.Verdict) bool {
	return slices.ContainsFunc(v.Pairs, func(p stats.Pair) bool { return p.Winner != stats.Nobody })
}

// ruleLine says what the sentence rests on: metric, margin, level, look.
func ruleLine(v *export.Verdict) string {
	margin := "no margin was declared"
	if v.Rule.Margin != nil {
		margin = "differences below " + short(*v.Rule.Margin) + " do not matter"
	}
	scope := "about tasks like these"
	if v.Rule.Scope == stats.List {
		scope = "about exactly these tasks"
	}
	return fmt.Sprintf("Decided on %s, %s; %s. %s at this question: %s tested at %s two-sided, shared by all (Holm).",
		escape.Markdown(cmp.Or(v.Metric, "score")), scope, margin, look(v.Look), pairs(v.Compared), short(v.Level))
}

func look(n int) string {
	if n == 1 {
		return "This is the first look"
	}
	return fmt.Sprintf("This is look %d, at a level lowered for it,", n)
}

func pairs(n int) string {
	if n == 1 {
		return "1 pair is"
	}
	return strconv.Itoa(n) + " pairs are"
}

// warnings are what a reader of the sentence must know beside it.
func (p *page) warnings() []string {
	v := p.s.Verdict
	var out []string
	if v.Dropped != "" {
		out = append(out, fmt.Sprintf("The reference %s is not a variant of this batch: nothing is said against it.", escape.Markdown(v.Dropped)))
	}
	if n := turned(v); len(n) > 0 {
		out = append(out, fmt.Sprintf("Without the withdrawn tasks the verdict on %s changes: see the column “without withdrawn”.", many(len(n), "pair")))
	}
	if v.Shock.Unstable {
		out = append(out, "Whole runs differ by more than rerun noise (unstable_runs): the intervals below contain that.")
	}
	if v.Untimed > 0 {
		out = append(out, fmt.Sprintf("%s no believable start: whether variants were measured apart is judged as if it stood alone, or not at all where none has one.", have(v.Untimed, "evaluation")))
	}
	if v.MoreJudges {
		out = append(out, "More judges voted than the statistics of judges take in.")
	}
	switch d := v.Description; {
	case v.MedianMDE == nil:
	case *v.MedianMDE >= 1:
		out = append(out, "Half of the pairs could not have shown any difference: what they can detect is wider than the scale.")
	case d.Spread == stats.Ceiling:
		out = append(out, fmt.Sprintf("The panel is at its ceiling: the worst variant is nearer to 1 than the difference of %s that half of the pairs can detect.", number(*v.MedianMDE)))
	case d.Spread == stats.Floor:
		out = append(out, fmt.Sprintf("The panel is at its floor: the best variant is nearer to 0 than the difference of %s that half of the pairs can detect.", number(*v.MedianMDE)))
	case d.Saturated:
		out = append(out, fmt.Sprintf("Only %d of %d tasks tell anything apart.", d.Informative, len(d.Tasks)))
	}
	return out
}

func have(n int, word string) string {
	if n == 1 {
		return "1 " + word + " has"
	}
	return strconv.Itoa(n) + " " + word + "s have"
}

// differences lists the pairs: those with the reference first.
func (p *page) differences() {
	v := p.s.Verdict
	if !v.Decided() || len(v.Pairs) == 0 {
		return
	}
	var with, other []int
	for i := range v.Pairs {
		switch {
		case v.Pairs[i].RepeatsA == 0 || v.Pairs[i].RepeatsB == 0:
		case p.refers(i) != stats.Nobody:
			with = append(with, i)
		case v.Pairs[i].Compared || v.Rule.Compare == stats.AllPairs:
			other = append(other, i)
		}
	}
	if len(with) > 0 {
		p.line("## Differences to the reference %s\n", escape.Markdown(v.Rule.Reference))
		p.pairTable(with)
	}
	if len(other) > 0 {
		title := "## Differences of all pairs\n"
		if len(with) > 0 {
			title = "## Differences of the other pairs\n"
		}
		p.line("%s", title)
		p.pairTable(other)
	}
	p.unmeasured()
	if len(with)+len(other) == 0 {
		return
	}
	p.line("A difference is that of the means over common tasks, with its 95 %% interval (not adjusted for the number of pairs; the p is). The range tie is a description: the best-to-worst ranges of two variants' runs overlap. It is no test, and may differ from the verdict. What each word and code means: docs/statistics.md of benchbatch.\n")
}

// unmeasured names the variants that are in no pair.
func (p *page) unmeasured() {
	var names []string
	for i := range p.s.Verdict.Description.Variants {
		if p.s.Verdict.Description.Variants[i].Repeats == 0 {
			names = append(names, p.name(i))
		}
	}
	if len(names) > 0 {
		p.line("Without a score, and so in no pair: %s.\n", strings.Join(names, ", "))
	}
}

// refers is the reference's side of a pair, else stats.Nobody.
func (p *page) refers(i int) int {
	v := p.s.Verdict
	for _, side := range []int{v.Pairs[i].A, v.Pairs[i].B} {
		if v.Rule.Reference != "" && p.s.Variants[side].Cell.Variant.String() == v.Rule.Reference {
			return side
		}
	}
	return stats.Nobody
}

func (p *page) pairTable(which []int) {
	v := p.s.Verdict
	head := []string{"pair", "verdict", "why", "difference [95 %]", "p adjusted", "detectable", "range tie", "cheapest repair"}
	if v.Reading(export.WithoutWithdrawn) != nil {
		head = append(head, "without withdrawn")
	}
	p.head(len(head), head...)
	for n, i := range which {
		if n == mostPairs {
			break
		}
		p.row(p.pairRow(i)...)
	}
	p.line("")
	if n := len(which) - mostPairs; n > 0 {
		p.line("%s in tables/pairs.parquet.\n", areIs(n, "further pair"))
	}
}

func areIs(n int, word string) string {
	if n == 1 {
		return "1 " + word + " is"
	}
	return strconv.Itoa(n) + " " + word + "s are"
}

func (p *page) pairRow(i int) []string {
	v := p.s.Verdict
	pair, sign := &v.Pairs[i], 1.0
	a, b := pair.A, pair.B
	if p.refers(i) == a { // shown as candidate − reference
		a, b, sign = b, a, -1
	}
	why := cmp.Or(strings.Join(pair.Codes.Strings(), ", "), "–")
	verdict := sentence(p.s, pair, escape.Markdown)
	if !pair.Compared {
		verdict, why = "not compared", "not asked for"
	}
	cells := []string{p.name(a) + " − " + p.name(b), verdict, escape.Markdown(why), interval(pair.Difference, pair.Interval, sign),
		adjusted(pair), detectable(pair.MDE), rangeTie(p.s.Pairs[i].RangeTie), repairs(pair)}
	if kept := v.Reading(export.WithoutWithdrawn); kept != nil {
		cells = append(cells, sentence(p.s, &kept.Pairs[i], escape.Markdown))
	}
	return cells
}

func (p *page) name(variant int) string {
	return escape.Markdown(p.s.Variants[variant].Cell.Variant.String())
}

func rangeTie(t *bool) string {
	switch {
	case t == nil:
		return "–"
	case *t:
		return "tie"
	}
	return "apart"
}

// interval prints a difference with its interval, both turned by sign.
func interval(d *float64, i *stats.Interval, sign float64) string {
	if d == nil {
		return "no data"
	}
	text := signed(sign * *d)
	if i == nil {
		return text + " [unknown]"
	}
	low, high := i.Low, i.High
	if sign < 0 {
		low, high = -high, -low
	}
	return fmt.Sprintf("%s [%s, %s]", text, signed(low), signed(high))
}

// signed prints a difference; what rounds to 0 has no sign.
func signed(v float64) string {
	if math.Abs(v) < 0.0005 {
		return number(0)
	}
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// adjusted is the p that decides; a claim about this list has its own.
func adjusted(pair *stats.Pair) string {
	if pair.Mark == stats.Ahead {
		return pValue(pair.PAdj) + " (this list " + pValue(pair.PListAdj) + ")"
	}
	return pValue(pair.PAdj)
}

func pValue(p *float64) string {
	switch {
	case p == nil:
		return "–"
	case *p < 0.0001:
		return "&#60;0.0001"
	}
	return strconv.FormatFloat(*p, 'f', 4, 64)
}

// detectable prints the difference that a pair would have shown.
func detectable(mde *float64) string {
	switch {
	case mde == nil:
		return "–"
	case *mde >= 1:
		return "none"
	}
	return number(*mde)
}

// repairs is the cheapest repair of a pair that cannot be told. Where the pair was
// refused for several reasons, each of them needs its own.
func repairs(pair *stats.Pair) string {
	var texts []string
	for i := range pair.Repairs {
		if r := &pair.Repairs[i]; refusals.Has(r.For) && pair.Codes&refusals != 0 {
			texts = append(texts, repair(r))
		}
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "; and ")
	case len(pair.Repairs) > 0:
		return repair(&pair.Repairs[0])
	}
	return "–"
}

func repair(r *stats.Repair) string {
	text := r.Action.String()
	switch {
	case r.Repeats > 0:
		text += fmt.Sprintf(": %d more", r.Repeats)
	case r.Tasks > 0:
		text += fmt.Sprintf(": %d more", r.Tasks)
	}
	if r.Cells > 0 {
		text += fmt.Sprintf(" (%s", many(r.Cells, "task run"))
		if r.CostUSD != nil {
			text += fmt.Sprintf(", about %.2f USD", *r.CostUSD)
		}
		text += ")"
	}
	return text
}
