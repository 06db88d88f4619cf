package calibration

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// Facts are the answers in one line each, in one order.
func (c *Calibration) Facts() []document.Fact {
	return []document.Fact{
		{Name: "panel", Text: c.panelFact()},
		{Name: "runs", Text: c.runsFact()},
		{Name: "failures", Text: c.failuresFact()},
		{Name: "detectable", Text: c.powerFact()},
		{Name: "the rest", Text: c.restFact()},
	}
}

// Measured says what the slice is, and what it is not.
func (c *Calibration) Measured() document.Text {
	out := document.Say("%d of %d tasks × %s × %s", c.Slice.Tasks, c.Slice.Of, count(c.Slice.Repeats, "repeat"), count(len(c.Variants), "variant"))
	if c.Slice.Whole {
		return append(out, document.Say(": the whole panel, so its repeats count in the batch")...)
	}
	return append(out, document.Say(": a slice, and no repeat of the batch")...)
}

func (c *Calibration) panelFact() document.Text {
	p := &c.Panel
	if p.Lowest == nil {
		return document.Say("unknown")
	}
	out := document.Say("%s; means %s to %s; %d of %d tasks tell something apart", document.Own(p.Spread), score(*p.Lowest), score(*p.Highest), p.Informative, c.Slice.Tasks)
	if len(p.Silent) > 0 {
		out = append(out, document.Say(", not %s", some(p.Silent))...)
	}
	return out
}

func (c *Calibration) runsFact() document.Text {
	r := &c.Runs
	if r.SingleRuns == nil {
		return document.Say("unknown")
	}
	state := document.Own("whole runs differ no more than reruns do")
	switch {
	case r.Unstable:
		state = "whole runs differ by more than reruns do"
	case r.P == nil:
		state = "no rerun differed at all"
	}
	out := document.Text(nil)
	if r.P != nil {
		out = document.Say(" (p %s)", document.Own(export.PValue(*r.P, stats.ShockLevel)))
	}
	return append(document.Say("%s%s", state, out), document.Say("; two single runs of one variant differ by up to %s", score(*r.SingleRuns))...)
}

func (c *Calibration) failuresFact() document.Text {
	f := &c.Failures
	if f.Started == 0 {
		return document.Say("unknown")
	}
	return document.Say("%d of %d task runs failed for reasons that are not the agents'", f.Failed, f.Started)
}

func (c *Calibration) powerFact() document.Text {
	w := c.Power
	if w == nil {
		return document.Say("unknown")
	}
	out := document.Say("a difference of %s%s, with %d tasks × %s and %s", score(w.MDE.Value), likely(&w.MDE, score), c.planned.Tasks,
		count(c.planned.Repeats, "repeat"), count(w.Pairs, "pair"))
	if w.Margin == nil {
		return append(out, document.Say("; no margin is declared")...)
	}
	out = append(out, document.Say("; %d of %d pairs could show the margin of %s", w.Seen, w.Known, score(*w.Margin))...)
	if w.Seen == w.Known {
		return out
	}
	return append(out, document.Say(". %s", c.needs())...)
}

func (c *Calibration) restFact() document.Text {
	r := &c.Rest
	if r.Evaluations == 0 {
		return document.Say("nothing is missing: nothing would be paid")
	}
	out := document.Say("%s; ", count(r.Evaluations, "evaluation"))
	return append(out, document.Join([]document.Text{
		estimate("cost", r.CostUSD, r.UnknownCost, money), estimate("time", r.WallS, r.UnknownTime, span)}, "; ")...)
}

func estimate(what document.Own, i *Interval, unknown int, say func(float64) document.Own) document.Text {
	if i == nil {
		return document.Say("%s unknown", what)
	}
	out := document.Say("about %s%s", say(i.Value), likely(i, say))
	if unknown > 0 {
		out = append(out, document.Say(" and the unknown %s of %s", what, count(unknown, "evaluation"))...)
	}
	return out
}

// likely is the interval of a figure in brackets.
func likely(i *Interval, say func(float64) document.Own) document.Text {
	if i.Low == nil || i.High == nil {
		return nil
	}
	return document.Say(" (likely %s to %s)", say(*i.Low), say(*i.High))
}

func count(n int, noun string) document.Own {
	if n == 1 {
		return document.Own("1 " + noun)
	}
	return document.Own(fmt.Sprintf("%d %ss", n, noun))
}
