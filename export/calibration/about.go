package calibration

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

func (c *Calibration) aboutFailures(v *export.Verdict) {
	var lost []string
	for i := range c.Variants {
		if c.Variants[i].Mean == nil {
			lost = append(lost, c.Variants[i].Variant.String())
		}
	}
	if len(lost) > 0 {
		c.say(Change, "unmeasured", some(lost))
	}
	switch {
	case len(c.Failures.Dominate) == 0 && c.Failures.Failed > 0:
		c.say(note, "failures_seen", c.Failures.Failed, c.Failures.Started)
	case len(c.Failures.Dominate) == 0:
	case v.Rule.Margin != nil:
		c.say(Change, "failures", some(c.Failures.Dominate), score(*v.Rule.Margin))
	default:
		c.say(Change, "failures_undeclared", some(c.Failures.Dominate))
	}
}

// aboutPanel judges the tasks; one variant alone tells nothing about them.
func (c *Calibration) aboutPanel() {
	p := &c.Panel
	if c.measured() < 2 {
		return
	}
	switch {
	case p.Informative == 0:
		c.say(Stop, "tells_nothing", c.Slice.Tasks)
	case p.Spread == stats.Ceiling.String():
		c.say(Change, "ceiling", score(*p.Lowest))
	case p.Spread == stats.Floor.String():
		c.say(Change, "floor", score(*p.Highest))
	case p.Saturated:
		c.say(Change, "saturated", p.Informative, c.Slice.Tasks)
	}
	if p.Informative > 0 && len(p.SilentGroups) > 0 {
		c.say(note, "silent_families", some(p.SilentGroups))
	}
}

func (c *Calibration) aboutRuns(v *export.Verdict) {
	if c.Runs.Unstable {
		c.say(Change, "unstable_runs")
	}
	if x, margin := c.Runs.SingleRuns, v.Rule.Margin; x != nil && margin != nil && *x > *margin {
		c.say(note, "single_runs", score(*x), score(*margin))
	}
}

// aboutPlan judges the design of the batch: a single variant is compared with nothing.
func (c *Calibration) aboutPlan() {
	p := &c.planned
	if len(p.Variants) < 2 {
		c.say(note, "one_variant")
		return
	}
	if p.Repeats < stats.MinRepeats {
		c.say(Change, "no_repeats", p.Repeats, stats.MinRepeats)
	}
	if p.Tasks < stats.MinTasks {
		c.say(Change, "too_few_tasks", p.Tasks, stats.MinTasks)
	}
	w := c.Power
	switch {
	case w == nil && c.measured() > 1:
		c.say(Change, "power_unknown")
	case c.fewUnits():
		c.say(Change, "too_few_units", w.Units, w.Pairs, p.Units)
	}
	if w == nil {
		return
	}
	switch delta := w.Margin; {
	case delta == nil:
		c.say(note, "margin_undeclared", score(w.MDE.Value))
	case w.MDE.Value > *delta:
		c.say(Change, "powerless", score(*delta), score(w.MDE.Value), c.needs())
	case w.MDE.High != nil && *w.MDE.High > *delta:
		c.say(note, "perhaps_powerless", score(*delta), score(*w.MDE.High))
	}
}

func (c *Calibration) aboutRest() {
	r, ceiling := &c.Rest, c.planned.CeilingUSD
	if ceiling == nil {
		if r.untold > 0 {
			c.say(note, "cost_unknown", r.untold)
		}
		return
	}
	left := max(0, *ceiling-c.planned.SpentUSD)
	switch {
	case r.CostUSD != nil && r.CostUSD.Value > left:
		c.say(Change, "over_budget", money(r.CostUSD.Value), money(left))
	case r.untold > 0:
		c.say(Change, "ceiling_unkept", r.untold, money(*ceiling))
	case r.CostUSD != nil && r.CostUSD.High != nil && *r.CostUSD.High > left:
		c.say(note, "perhaps_over_budget", money(*r.CostUSD.High), money(left))
	}
}

func (c *Calibration) aboutSlice() {
	if c.Slice.Whole {
		c.say(note, "whole_panel")
	}
	if n := len(c.planned.Variants) - len(c.Variants); n > 0 {
		c.say(note, "left_out", n)
	}
}
