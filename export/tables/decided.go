package tables

import (
	"math"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

// decisionOf is the frozen rule of the batch, or why it was not applied.
func decisionOf(v *export.Verdict) Decision {
	if !v.Decided() {
		return Decision{Reason: text(&v.Refused)}
	}
	return Decision{Metric: text(&v.Metric), Look: whole(v.Look), Alpha: finite(&v.Alpha), Margin: finite(v.Rule.Margin)}
}

// describeVariant fills in what the rule and its description say of one variant.
func describeVariant(r *VariantRow, v *export.Verdict, i int) {
	d := &v.Description.Variants[i]
	r.Repeats = whole(d.Repeats)
	if d.Mean == nil {
		reason := "no valid outcome"
		r.Reason = &reason
	} else {
		r.Mean, r.MeanTasks, r.StandardError = finite(&d.Mean.Value), whole(d.Mean.Tasks), finite(d.Mean.SE)
		if d.Mean.SE != nil {
			r.Freedom = finite(&d.Mean.DF)
		}
	}
	shown, method := d.Preferred()
	if r.Low, r.High = limits(shown); shown != nil {
		r.Method = text(&method)
	}
	r.RankLow, r.RankHigh = rank(v.Verdicts, i)
	for _, o := range []struct {
		name      string
		low, high **int64
	}{{export.WithoutWithdrawn, &r.KeptRankLow, &r.KeptRankHigh}, {export.WithoutSelection, &r.SelectionRankLow, &r.SelectionRankHigh},
		{export.WithoutFlagged, &r.FlaggedRankLow, &r.FlaggedRankHigh}} {
		if reading := v.Reading(o.name); reading != nil {
			*o.low, *o.high = rank(reading.Verdicts, i)
		}
	}
	if v.Letters != nil {
		r.Letters = text(&v.Letters[i])
	}
	if v.Ranks != nil {
		best := v.Chosen() == i
		r.Best = &best
	}
	r.RerunVariance, r.FlipRate, r.SingleRuns = finite(d.Rerun), finite(d.FlipRate), finite(d.SingleRuns)
	if d.Rerun != nil {
		r.Unstable = &d.Unstable
	}
	if d.OneWay != nil {
		r.ICC, r.ICCMean = finite(d.OneWay.ICC), finite(d.OneWay.Mean)
	}
	if d.Band != nil {
		r.BandLow, r.BandHigh, r.Failures = finite(&d.Band.Low), finite(&d.Band.High), whole(d.Band.Failures)
	}
	passes(r, v, i)
	spending(r, d, v.Passes(i))
	against(&r.Routing, v.NonInferiority, v.Candidates, i)
	if j := v.Description.Judging; j != nil && j.Lost[i] != stats.Nobody {
		r.LostMost, r.LostMostMean = text(&v.JudgeNames[j.Lost[i]]), finite(j.Judges[j.Lost[i]].Means[i])
	}
}

func passes(r *VariantRow, v *export.Verdict, i int) {
	d := &v.Description.Variants[i]
	reason := ""
	switch n := len(d.PassAt); {
	case !v.Passes(i):
		reason = "some outcomes say nothing of passing"
		r.FlipRate = nil
	case n == 0:
		reason = "no valid outcome"
	default:
		at, hat := d.PassAt[n-1], d.PassHat[n-1]
		r.K, r.PassExcluded = whole(at.K), whole(at.Excluded)
		if at.Mean == nil || hat.Mean == nil {
			reason = "no task has k runs"
			break
		}
		r.PassTasks, r.PassAt, r.PassHat = whole(at.Mean.Tasks), finite(&at.Mean.Value), finite(&hat.Mean.Value)
		r.PassAtLow, r.PassAtHigh = limits(at.Mean.Interval)
		r.PassHatLow, r.PassHatHigh = limits(hat.Mean.Interval)
	}
	r.PassReason = text(&reason)
}

// spending fills in what a task and a pass cost, and how long a task took.
func spending(r *VariantRow, d *stats.VariantSummary, passes bool) {
	for _, c := range []struct {
		from                    *stats.Spending
		known                   **int64
		task, taskLow, taskHigh **float64
		pass, passLow, passHigh **float64
		method                  **string
	}{
		{&d.Cost, &r.CostKnown, &r.TaskCost, &r.TaskCostLow, &r.TaskCostHigh, &r.PassCost, &r.PassCostLow, &r.PassCostHigh, &r.PassCostBy},
		{&d.Repriced, &r.RepricedKnown, &r.RepricedTask, &r.RepricedTaskLow, &r.RepricedTaskHigh, &r.RepricedPass, &r.RepricedPassLow, &r.RepricedPassHigh, &r.RepricedPassBy},
	} {
		*c.known = whole(c.from.Known)
		if m := c.from.TaskUSD; m != nil {
			*c.task = finite(&m.Value)
			*c.taskLow, *c.taskHigh = limits(m.Interval)
		}
		if x := c.from.CostPerPass; x != nil && passes {
			*c.pass, *c.method = finite(&x.Value), text(&x.Method)
			*c.passLow, *c.passHigh = limits(x.Interval)
		}
	}
	if d.WallS != nil {
		r.TaskTime = finite(&d.WallS.Value)
		r.TaskTimeLow, r.TaskTimeHigh = limits(d.WallS.Interval)
	}
	r.WorkKnown, r.WorkMedian, r.WorkP90 = whole(d.WallKnown), finite(d.WallMedian), finite(d.WallP90)
}

// against is where a candidate stands against the reference.
func against(r *Routing, standings []stats.NonInferiority, candidates []stats.Candidacy, i int) {
	for n := range standings {
		c := &standings[n]
		if c.Candidate != i {
			continue
		}
		standing, codes := c.Standing.String(), strings.Join(c.Codes.Strings(), ",")
		r.Standing, r.StandingCodes = &standing, text(&codes)
		r.PNonInferior, r.PInferior = finite(c.PNIAdj), finite(c.PInfAdj)
		r.StandingLow, r.StandingHigh = limits(c.Interval)
	}
	for n := range candidates {
		c := &candidates[n]
		if c.Candidate != i {
			continue
		}
		var names []string
		for _, a := range c.Advantages {
			names = append(names, a.String())
		}
		advantages := strings.Join(names, ",")
		r.Recommended, r.Advantages, r.NotBecause = &c.Recommended, text(&advantages), text(&c.Why)
		r.CostRatio, r.CostRatioLow, r.CostRatioHigh = ratio(c.Cost)
		r.TimeRatio, r.TimeRatioLow, r.TimeRatioHigh = ratio(c.Wall)
		r.RerunRatio, r.RerunRatioLow, r.RerunRatioHigh = ratio(c.Consistency)
	}
}

func ratio(r *stats.Ratio) (value, low, high *float64) {
	if r == nil {
		return nil, nil, nil
	}
	low, high = limits(r.Interval)
	return finite(&r.Value), low, high
}

// names gives variants by index.
type names []string

func namesOf(s *export.Summary) names {
	var out names
	for i := range s.Variants {
		out = append(out, s.Variants[i].Cell.Variant.String())
	}
	return out
}

// of is a variant's name; null = nobody.
func (n names) of(variant int) *string {
	if variant == stats.Nobody {
		return nil
	}
	return &n[variant]
}

// decidePair fills in the verdict on one pair in all its readings.
func decidePair(r *PairRow, n names, v *export.Verdict, i int) {
	p := &v.Pairs[i]
	if reason := r.Ruling.fill(n, v.Verdicts, p); reason != "" {
		r.Reason = &reason
		return
	}
	stands := v.Stands(i)
	r.Stands = &stands
	for _, o := range []struct {
		name            string
		verdict, winner **string
		d, p            **float64
	}{
		{export.WithoutWithdrawn, &r.KeptVerdict, &r.KeptWinner, &r.KeptD, &r.KeptP},
		{export.WithoutSelection, &r.SelectionVerdict, &r.SelectionWinner, &r.SelectionD, &r.SelectionP},
		{export.WithoutFlagged, &r.FlaggedVerdict, &r.FlaggedWinner, &r.FlaggedD, &r.FlaggedP},
	} {
		if reading := v.Reading(o.name); reading != nil {
			k := &reading.Pairs[i]
			*o.verdict, *o.winner, *o.d, *o.p = mark(k.Mark), n.of(k.Winner), finite(k.Difference), finite(k.PAdj)
		}
	}
}

// fill takes over a pair's verdict; reason says why there is none.
func (r *Ruling) fill(n names, v *stats.Verdicts, p *stats.Pair) (reason string) {
	r.Level, r.Compared = finite(&v.Level), whole(v.Compared)
	r.Tasks, r.Families, r.Units, r.Differing = whole(p.Tasks), whole(p.Families), whole(p.Units), whole(p.Different)
	r.LostA, r.LostB, r.RepeatsA, r.RepeatsB = whole(p.LostA), whole(p.LostB), whole(p.RepeatsA), whole(p.RepeatsB)
	r.D = finite(p.Difference)
	if r.Low, r.High = limits(p.Interval); p.Interval != nil {
		r.Method = text(&p.Method)
	}
	if n := p.Noise; n != nil {
		se := math.Sqrt(n.V)
		r.StandardError, r.Freedom = finite(&se), finite(&n.DF)
		r.VarTask, r.VarRerun, r.VarRun = finite(&n.Task), finite(&n.Rerun), finite(&n.Run)
	}
	r.P, r.PT, r.PFlip, r.PAdjusted = finite(p.P), finite(p.PT), finite(p.PFlip), finite(p.PAdj)
	r.PList, r.PListAdjusted, r.PEqual, r.PEqualAdj = finite(p.PList), finite(p.PListAdj), finite(p.PTost), finite(p.PTostAdj)
	r.MDE = finite(p.MDE)
	if p.Range.Known {
		r.RangeChance = finite(&p.Range.Chance)
	}
	if !p.Compared {
		return notCompared(p)
	}
	r.Verdict, r.Winner, r.InsideMargin = mark(p.Mark), n.of(p.Winner), &p.InsideMargin
	codes, extent := strings.Join(p.Codes.Strings(), ","), p.Extent()
	r.Codes = text(&codes)
	if p.Winner != stats.Nobody {
		r.Extent = text(&extent)
	}
	r.FirstVerdict = mark(p.First.Mark)
	if p.Second != nil {
		r.SecondVerdict, r.SecondWinner, r.SecondD, r.SecondP = mark(p.Second.Mark), n.of(p.Second.Winner), finite(p.Second.Difference), finite(p.Second.PAdj)
	}
	if len(p.Repairs) > 0 {
		x := &p.Repairs[0]
		action, code := x.Action.String(), x.For.String()
		r.Repair, r.RepairFor, r.RepairTasks, r.RepairRepeats = &action, &code, whole(x.Tasks), whole(x.Repeats)
		r.RepairRuns, r.RepairUSD = whole(x.Cells), finite(x.CostUSD)
	}
	return ""
}

// notCompared says why a pair has no verdict.
func notCompared(p *stats.Pair) string {
	if p.RepeatsA == 0 || p.RepeatsB == 0 {
		return "not compared: a variant has no valid outcome"
	}
	return "not compared: the rule compares with the reference alone"
}

func mark(m stats.Mark) *string {
	s := m.String()
	return &s
}

func rank(v *stats.Verdicts, i int) (low, high *int64) {
	if v.Ranks == nil || v.Ranks[i] == nil {
		return nil, nil
	}
	return whole(v.Ranks[i].Low), whole(v.Ranks[i].High)
}

func limits(i *stats.Interval) (low, high *float64) {
	if i == nil {
		return nil, nil
	}
	return finite(&i.Low), finite(&i.High)
}

func whole(n int) *int64 {
	v := int64(n)
	return &v
}
