package calibration

import (
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

// The thresholds. docs/statistics.md explains them.
const (
	failedEverywhere = 0.5 // share of failed task runs from which nothing else is worth asking
	leastFailures    = 2   // of a variant, before they can dominate: one may be an accident
)

// Decide answers for the slice that the collector has seen, whose folder was
// rendered with it, or for none (from nil): then nothing is known, and the verdict
// is stop.
func Decide(from *Collector, planned Planned) *Calibration {
	c := &Calibration{planned: planned, Panel: Panel{Silent: []string{}, Families: []Family{}, SilentGroups: []string{}}, Failures: Failures{Dominate: []string{}},
		Variants: []Variant{}, Reasons: []Reason{}}
	for _, r := range planned.Variants {
		c.Rest.Evaluations += r.Missing
	}
	c.Slice = Slice{Version: planned.Version, Of: planned.Tasks}
	if from == nil || from.sum == nil {
		c.Rest.UnknownCost, c.Rest.UnknownTime = c.Rest.Evaluations, c.Rest.Evaluations
		c.say(Stop, "no_data", c.again())
		return c.conclude()
	}
	c.plan = &from.f.Plan
	c.describe(from)
	c.Rest = Missing{}
	c.rest(from)
	v := from.sum.Verdict
	switch {
	case c.measured() == 0:
		c.say(Stop, "no_data", c.again())
	case !v.Decided():
		c.say(Stop, "no_verdict", v.Refused)
	default:
		c.judge(from, v)
	}
	return c.conclude()
}

// describe fills in what was measured.
func (c *Calibration) describe(from *Collector) {
	f, s := from.f, from.sum
	c.Slice = Slice{Batch: f.Result.Batch, Benchmark: f.Plan.Benchmark, Version: c.planned.Version, Tasks: len(f.Tasks), Of: c.planned.Tasks, Repeats: f.Plan.Repeats}
	if of := f.Plan.Calibration; of != nil && len(f.Plan.Cells) > 0 {
		c.Slice.Whole = of.Whole(f.Plan.Cells[0].Identity.Recipe)
	}
	for i := range s.Variants {
		n := &s.Variants[i]
		v := Variant{Variant: n.Cell.Variant, Repeats: n.Slots.Done + n.Slots.Reused, Mean: n.Mean}
		v.Lowest, v.Highest = n.Range()
		if spent := from.spent[v.Variant.String()]; spent != nil {
			v.CostUSD = spent.mean()
			if m, _, ok := spent.duration(len(f.Tasks), c.planned.Tasks); ok {
				v.WallS = &m
			}
		}
		for _, r := range c.planned.Variants {
			if r.Variant == v.Variant.String() {
				v.Missing = r.Missing
			}
		}
		c.Variants = append(c.Variants, v)
	}
}

// measured is how many variants have a repeat with a score.
func (c *Calibration) measured() int {
	n := 0
	for i := range c.Variants {
		if c.Variants[i].Mean != nil {
			n++
		}
	}
	return n
}

// judge answers and gives the reasons, in their one order.
func (c *Calibration) judge(from *Collector, v *export.Verdict) {
	c.Power = c.planned.power(v)
	c.failures(v)
	c.panel(from.f, v)
	c.Runs = Runs{P: v.Shock.P, Unstable: v.Shock.Unstable}
	for i := range v.Description.Variants {
		if w := v.Description.Variants[i].Rerun; w != nil {
			if x, ok := stats.SingleRunDifference(*w, c.planned.Tasks); ok && (c.Runs.SingleRuns == nil || x > *c.Runs.SingleRuns) {
				c.Runs.SingleRuns = &x
			}
		}
	}
	c.spread(v)
	if float64(c.Failures.Failed) >= failedEverywhere*float64(c.Failures.Started) {
		c.say(Stop, "failures_everywhere", c.Failures.Failed, c.Failures.Started, c.again())
		return
	}
	c.aboutFailures(v)
	c.aboutPanel()
	c.aboutRuns(v)
	c.aboutPlan()
	c.aboutRest()
	c.aboutSlice()
}

func (c *Calibration) failures(v *export.Verdict) {
	limit := v.Rule.Margin
	if limit == nil && c.Power != nil {
		limit = &c.Power.MDE.Value
	}
	for i := range v.Description.Variants {
		b := v.Description.Variants[i].Band
		if b == nil {
			continue
		}
		c.Variants[i].Failed = b.Failures
		c.Failures.Failed += b.Failures
		c.Failures.Started += b.Failures + b.Valid
		if b.Failures >= leastFailures && b.Dominates(nil, limit) {
			c.Failures.Dominate = append(c.Failures.Dominate, c.Variants[i].Variant.String())
		}
	}
}

// panel fills in which tasks and families tell anything apart.
func (c *Calibration) panel(f *export.Frozen, v *export.Verdict) {
	d := v.Description
	c.Panel.Informative, c.Panel.Saturated = d.Informative, d.Saturated
	for t := range d.Tasks {
		if !d.Tasks[t].Informative {
			c.Panel.Silent = append(c.Panel.Silent, f.Tasks[t].ID)
		}
	}
	for i := range d.Families {
		x := &d.Families[i]
		out := Family{Family: x.Family, Tasks: len(x.Tasks), Verdict: x.Verdict.String()}
		for _, t := range x.Tasks {
			if d.Tasks[t].Informative {
				out.Informative++
			}
		}
		c.Panel.Families = append(c.Panel.Families, out)
		if out.Informative == 0 {
			c.Panel.SilentGroups = append(c.Panel.SilentGroups, x.Family)
		}
	}
	for i := range c.Variants {
		if m := c.Variants[i].Mean; m != nil {
			if c.Panel.Lowest == nil || *m < *c.Panel.Lowest {
				c.Panel.Lowest = m
			}
			if c.Panel.Highest == nil || *m > *c.Panel.Highest {
				c.Panel.Highest = m
			}
		}
	}
}

// spread is F23 against what the planned batch could detect.
func (c *Calibration) spread(v *export.Verdict) {
	var means []float64
	for i := range v.Description.Variants {
		if m := v.Description.Variants[i].Mean; m != nil {
			means = append(means, m.Value)
		}
	}
	var mde *float64
	if c.Power != nil {
		mde = &c.Power.MDE.Value
	}
	if c.fewUnits() { // that the batch detects little is not the tasks' doing
		mde = &c.Power.noise
	}
	if mde != nil && len(means) > 0 && 1-slices.Min(means) <= *mde && slices.Max(means) <= *mde {
		mde = nil // neither end is near: the batch detects next to nothing
	}
	c.Panel.Spread = stats.SpreadOf(means, mde).String()
}

// fewUnits says whether the panel has too few independent units to separate any pair.
func (c *Calibration) fewUnits() bool { return c.Power != nil && c.Power.Units > c.planned.Units }

// conclude takes the heaviest reason and puts the reasons in order.
func (c *Calibration) conclude() *Calibration {
	weight := map[Verdict]int{Stop: 0, Change: 1, note: 2}
	slices.SortStableFunc(c.Reasons, func(a, b Reason) int { return weight[a.Weight] - weight[b.Weight] })
	c.Verdict = Go
	if len(c.Reasons) > 0 && c.Reasons[0].Weight != note {
		c.Verdict = c.Reasons[0].Weight
	}
	return c
}
