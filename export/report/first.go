package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// spoken makes a text of a sentence: what it has shown is foreign, the rest is ours.
func spoken(make func(shown func(string) string) string) document.Text {
	var foreign []string
	sentence := make(func(s string) string {
		foreign = append(foreign, s)
		return fmt.Sprintf("\x00%d\x00", len(foreign)-1)
	})
	var out []document.Text
	for i, part := range strings.Split(sentence, "\x00") {
		if i%2 == 0 {
			out = append(out, say("%s", own(part)))
		} else if n, err := strconv.Atoi(part); err == nil {
			out = append(out, document.Foreign(foreign[n]))
		}
	}
	return document.Join(out, "")
}

func headline(s *export.Summary) document.Text {
	return spoken(func(shown func(string) string) string { return Headline(s, shown) })
}

// first is the first screen: the question, the verdict, and what it rests on.
func (p *page) first() {
	v := &document.Verdict{Question: document.Foreign(p.f.Plan.Question), Sentence: headline(p.s)}
	switch {
	case !p.v.Decided():
		v.Notes = append(v.Notes, say("This report describes; it does not rank. No winner is claimed here."))
	case !claims(p.v):
		v.Notes = append(v.Notes, say("This report describes; it does not rank. No variant is claimed to be better than another."))
	}
	if p.v.Decided() {
		v.Notes = append(v.Notes, p.routes()...)
	}
	p.add(v, &document.Facts{Facts: p.facts()})
	if p.v.Decided() {
		p.add(&document.Paragraph{Text: p.rule(), Small: true})
	}
	if w := p.warnings(); len(w) > 0 {
		p.add(&document.Callout{Title: say("To be read beside the verdict"), Items: w})
	}
}

// claims says whether any pair has a winner.
func claims(v *export.Verdict) bool {
	return slices.ContainsFunc(v.Pairs, func(p stats.Pair) bool { return p.Winner != stats.Nobody })
}

func (p *page) facts() []document.Fact {
	n := p.f.Result.Counts
	return []document.Fact{
		{Name: "Rests on", Text: say("%s × %s × %s; %d of %d planned repeats count", many(len(p.f.Tasks), "task"),
			many(p.f.Plan.Repeats, "repeat"), many(len(p.s.Variants), "variant"), n.Reused+n.Done, n.Planned)},
		{Name: "Coverage", Text: p.coverage()},
		{Name: "Measured", Text: p.measured()},
		{Name: "Cost", Text: p.price()},
	}
}

// coverage is how much of what counts has a score.
func (p *page) coverage() document.Text {
	scored, all, least := 0, 0, stats.Nobody
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		if v.Cover == nil {
			continue
		}
		n := (v.Slots.Done + v.Slots.Reused) * len(p.f.Tasks)
		all += n
		scored += int(*v.Cover*float64(n) + 0.5)
		if least == stats.Nobody || *v.Cover < *p.s.Variants[least].Cover {
			least = i
		}
	}
	if all == 0 {
		return say("nothing counts")
	}
	text := say("%s of counted task runs have a score", covered(float64(scored)/float64(all)))
	if scored < all {
		text = say("%s; least: %s with %s", text, p.name(least), covered(*p.s.Variants[least].Cover))
	}
	return text
}

// measured says when, and what was measured before this batch.
func (p *page) measured() document.Text {
	first, last := p.span()
	if first == nil {
		return say("at an unknown time; batch begun %s", day(p.f.Result.Started))
	}
	text := say("%s", day(*first))
	if day(*first) != day(*last) {
		text = say("%s to %s", day(*first), day(*last))
	}
	if n := p.s.Paid.Reused; n > 0 {
		text = say("%s; %d ran, %d reused", text, p.s.Paid.Ran, n)
	}
	return text
}

func (p *page) span() (first, last *time.Time) {
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		if v.First != nil && (first == nil || v.First.Before(*first)) {
			first = v.First
		}
		if v.Last != nil && (last == nil || v.Last.After(*last)) {
			last = v.Last
		}
	}
	return first, last
}

// price is what the batch cost, in a line; the section on spending has the rest.
func (p *page) price() document.Text {
	x := &p.s.Paid
	if x.Ran == 0 {
		return say("nothing was paid for in this batch")
	}
	text := say("%s paid, as reported", amount(x.Today.Reported))
	if j := x.Today.Judges; j.Known+j.Unknown > 0 {
		text = say("%s; judges apart: %s", text, amount(j))
	}
	if x.Reused > 0 {
		text = say("%s; value of what was reused: %s", text, amount(x.Value.Reported))
	}
	return text
}

// routes is what the rule recommends, and what is still open.
func (p *page) routes() []document.Text {
	var out []document.Text
	var names []string
	for i := range p.v.Candidates {
		if c := &p.v.Candidates[i]; c.Recommended {
			names = append(names, p.name(c.Candidate))
		}
	}
	if len(names) > 0 {
		out = append(out, say("By the same rule %s may replace the reference %s: not worse by more than the margin, with a material %s.",
			document.Strong(document.Foreign(strings.Join(names, ", "))), p.v.Rule.Reference, document.Link(say("advantage"), "#candidates")))
	}
	if p.v.Families != nil {
		out = append(out, say("The rule decides by family: see the %s.", document.Link(say("routing table"), "#families")))
	}
	if n := p.open(); len(n) > 0 && p.v.Chosen() == stats.Nobody {
		out = append(out, say("%s told: %s.", cannotBe(len(n)), document.Link(say("what would make it conclusive"), "#repairs")))
	}
	return out
}

// rule says what decides: metric, margin, level, look.
func (p *page) rule() document.Text {
	v := p.v
	margin := say("no margin was declared")
	if v.Rule.Margin != nil {
		margin = say("differences below %s do not matter", own(short(*v.Rule.Margin)))
	}
	scope := own("about tasks like these")
	if v.Rule.Scope == stats.List {
		scope = "about exactly these tasks"
	}
	return say("Decided on %s, %s; %s. %s at this question: %s tested at %s two-sided, shared by all (Holm). Rule %s, %s.",
		cmp.Or(v.Metric, "score"), scope, margin, look(v.Look), areIs(v.Compared, "pair"), own(short(v.Level)), p.f.Plan.DecisionDigest.Short(), p.chosen())
}

// chosen says when the rule was chosen.
func (p *page) chosen() own {
	if p.f.PostHoc != nil {
		return "chosen after the run"
	}
	return "frozen before the run"
}

func look(n int) document.Text {
	if n == 1 {
		return say("This is the first look")
	}
	return say("This is look %d, at a level lowered for it,", n)
}

// warnings are what a reader of the sentence must know beside it.
func (p *page) warnings() []document.Text {
	out := p.folderWarnings()
	if n := p.f.Result.Counts; n.Reused+n.Done < n.Planned {
		missing := 0
		for i := range p.s.Variants {
			missing += truth(p.s.Variants[i].Mean == nil)
		}
		out = append(out, say("%d of %d planned repeats are not there, and %s no score: see %s.", n.Planned-n.Reused-n.Done, n.Planned,
			have(missing, "variant"), document.Link(say("Planned repeats"), "#counts")))
	}
	if !p.v.Decided() {
		return out
	}
	v := p.v
	if v.Dropped != "" {
		out = append(out, say("The reference %s is not a variant of this batch: nothing is said against it.", v.Dropped))
	}
	for i := range v.Readings {
		if r := &v.Readings[i]; len(r.Turned) > 0 {
			out = append(out, say("Without %s the verdict on %s changes: see %s.", without(r.Name), many(len(r.Turned), "pair"),
				document.Link(say("Does the verdict hold?"), "#holds")))
		}
	}
	if v.Shock.Unstable {
		out = append(out, say("Whole runs differ by more than rerun noise: the intervals below contain that."))
	}
	if v.Untimed > 0 {
		out = append(out, say("%s no believable start: whether variants were measured apart is judged as if it stood alone, or not at all where none has one.", have(v.Untimed, "evaluation")))
	}
	if v.MoreJudges {
		out = append(out, say("More judges voted than the statistics of judges take in."))
	}
	return append(out, p.resolution()...)
}

// folderWarnings are about the folder, whatever the verdict.
func (p *page) folderWarnings() []document.Text {
	var out []document.Text
	if old := p.f.Supersedes; old != nil {
		out = append(out, superseded(old))
	}
	if len(p.f.Withheld) > 0 {
		out = append(out, say("Withheld from this folder: %s. The digests are in manifest.json.", strings.Join(p.f.Withheld, ", ")))
	}
	return out
}

// without names what a reading leaves out.
func without(name string) own {
	switch name {
	case export.WithoutWithdrawn:
		return "the withdrawn tasks"
	case export.WithoutSelection:
		return "the runs of selection"
	}
	return "the flagged outcomes"
}

// resolution says what the panel could not have shown.
func (p *page) resolution() []document.Text {
	v := p.v
	switch d := v.Description; {
	case v.MedianMDE == nil:
	case *v.MedianMDE >= 1:
		return []document.Text{say("Half of the pairs could not have shown any difference: what they can detect is wider than the scale.")}
	case d.Spread == stats.Ceiling:
		return []document.Text{say("The panel is at its ceiling: the worst variant is nearer to 1 than the difference of %s that half of the pairs can detect.", number(*v.MedianMDE))}
	case d.Spread == stats.Floor:
		return []document.Text{say("The panel is at its floor: the best variant is nearer to 0 than the difference of %s that half of the pairs can detect.", number(*v.MedianMDE))}
	case d.Saturated:
		return []document.Text{say("Only %d of %d tasks tell anything apart.", d.Informative, len(d.Tasks))}
	}
	return nil
}
