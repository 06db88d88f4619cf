package stats

import (
	"math"
	"slices"
)

// VariantSummary is one variant over its own tasks. Nil is undefined or unknown.
type VariantSummary struct {
	Variant int
	Repeats int // counted runs with a valid outcome
	Scored  int // cells of counted runs
	Failed  int
	NotRun  int

	Mean     *Mean     // F3, F4
	Wilson   *Interval // F5 with n_eff, of 0/1 scores: to be preferred where fewer than 5 tasks pass or fail
	Few      bool      // fewer than 5 tasks pass, or fewer than 5 fail
	RunMeans []float64 // R_vr (F8)
	Rerun    *float64  // w: rerun variance of a single run of a task
	OneWay   *OneWay   // F17
	Band     *Band     // F22
	PassAt   []PassK   // F1 for k = 1 … 20 and Repeats of the batch, as far as it has them
	PassHat  []PassK   // F2

	FlipRate   *float64 // share of tasks that neither always pass nor always fail; grows with k
	SingleRuns *float64 // F25: two single runs differ by less than this in 95 of 100 cases
	Unstable   bool     // F25

	Cost     Spending // as reported
	Repriced Spending // from tokens and the frozen prices

	WallS      *Mean    // seconds a task run, over tasks
	WallMedian *float64 // over scored cells, interpolated (type 7); nil = none is known
	WallP90    *float64
	WallKnown  int // scored cells with a known time
}

// Spending is F21 for one kind of cost.
type Spending struct {
	TaskUSD       *Mean  // USD a task run, over tasks
	PassPerDollar *Ratio // nil = unknown, or nothing was spent
	CostPerPass   *Ratio // its inverse, USD; nil = nothing passed
	Known         int    // scored cells with a known cost, the base of the above

	cost, pass []float64 // by task of the panel, over the cells with a known cost
}

// Preferred is the interval to show: Wilson's where few tasks pass or fail (F5), else F3 or F4.
func (s *VariantSummary) Preferred() (i *Interval, method string) {
	switch {
	case s.Few && s.Wilson != nil:
		return s.Wilson, ByWilson
	case s.Mean != nil:
		return s.Mean.Interval, s.Mean.Method
	}
	return nil, ""
}

// summary is one variant without the intervals that are drawn.
func (d *Data) summary(i int, c *column, rule Rule, v *Verdicts, common int) *VariantSummary {
	s := &VariantSummary{Variant: i, Repeats: c.k, RunMeans: c.runs.means, Band: d.variants[i].band(len(d.tasks))}
	for t := range d.tasks {
		for r, run := range d.variants[i].runs {
			if run.place == Counted {
				switch d.variants[i].state[t*len(d.variants[i].runs)+r] {
				case Scored:
					s.Scored++
				case Failed:
					s.Failed++
				case NotRun:
					s.NotRun++
				}
			}
		}
	}
	var x []float64
	var family []int
	for t, n := range c.valid {
		if n > 0 {
			x, family = append(x, c.mean[t]), append(family, d.unit[t])
		}
	}
	if m, ok := MeanOf(x, family, 0, 1); ok {
		s.Mean = &m
	}
	if c.noisy {
		s.Rerun = ptr(c.w)
		if limit, ok := SingleRunDifference(c.w, c.tasks); ok {
			s.SingleRuns = &limit
		}
		s.Unstable = Unstable(c.w, c.tasks, rule.Margin, v.Shock)
	}
	if o, ok := OneWayOf(c.valid, c.mean, c.s2); ok {
		s.OneWay = &o
	}
	d.passes(s, c, common)
	d.costs(&s.Cost, i, d.variants[i].cost)
	d.costs(&s.Repriced, i, d.variants[i].repriced)
	d.times(s)
	return s
}

// mostK is up to which k pass@k and pass^k are given one by one.
const mostK = 20

// passes fills in F1, F2, F5 and the flip rate from the passes of the counted runs.
func (d *Data) passes(s *VariantSummary, c *column, common int) {
	n, passed := d.passCounts(s.Variant)
	for k := 1; k <= common && c.k > 0; k++ {
		if k > mostK && k < common {
			continue
		}
		s.PassAt = append(s.PassAt, PassTable(n, passed, d.unit, k, PassAtK))
		s.PassHat = append(s.PassHat, PassTable(n, passed, d.unit, k, PassHatK))
	}
	if f, ok := FlipRate(n, passed); ok {
		s.FlipRate = &f
	}
	pass, fail, runs, all := 0, 0, 0, 0
	for t := range n {
		if passed[t] > 0 {
			pass++
		}
		if passed[t] < n[t] {
			fail++
		}
		runs += n[t]
		all += passed[t]
	}
	s.Few = c.tasks > 0 && (pass < fewUnits || fail < fewUnits)
	if c.tasks == 0 || !d.binary(s.Variant) {
		return
	}
	icc := 1.0 // all scores equal: a task's runs tell nothing beyond its first
	if s.OneWay == nil {
		icc = 0
	} else if s.OneWay.ICC != nil {
		icc = *s.OneWay.ICC
	}
	trials := EffectiveTrials(runs, c.tasks, icc)
	if i, ok := Wilson(c.ybar*trials, trials); ok {
		s.Wilson = &i
	}
}

// passCounts is, by task, the valid runs and the passes among them.
func (d *Data) passCounts(v int) (n, passed []int) {
	n, passed = make([]int, len(d.tasks)), make([]int, len(d.tasks))
	d.eachScored(v, func(t, cell int) {
		n[t]++
		if d.variants[v].pass[cell] {
			passed[t]++
		}
	})
	return n, passed
}

// eachScored calls f for the scored cells of the counted runs, task by task.
func (d *Data) eachScored(v int, f func(task, cell int)) {
	col := &d.variants[v]
	k := len(col.runs)
	for t := range d.tasks {
		for r := range k {
			if col.runs[r].place == Counted && col.state[t*k+r] == Scored {
				f(t, t*k+r)
			}
		}
	}
}

// binary says whether all scores of the variant are 0 or 1.
func (d *Data) binary(v int) bool {
	all := true
	d.eachScored(v, func(_, cell int) {
		y := d.variants[v].y[cell]
		all = all && (y == 0 || y == 1)
	})
	return all
}

// costs fills in F21 over the scored cells whose cost is known.
func (d *Data) costs(s *Spending, v int, cost []float64) {
	if cost == nil {
		return
	}
	n := len(d.tasks)
	spent, sum, pass := make([]int, n), make([]float64, n), make([]float64, n)
	d.eachScored(v, func(t, cell int) {
		if c := cost[cell]; !math.IsNaN(c) {
			spent[t]++
			s.Known++
			sum[t] += c
			pass[t] += indicator(d.variants[v].pass[cell])
		}
	})
	s.cost, s.pass = perTask(sum, spent), perTask(pass, spent)
	c, family := compact(s.cost, spent, d.unit)
	if m, ok := MeanOf(c, family, 0, math.Inf(1)); ok {
		s.TaskUSD = &m
	}
	p, _ := compact(s.pass, spent, d.unit)
	if r, ok := PassPerDollar(p, c); ok {
		if r.Tasks >= mostBootstrap {
			r.clustered(p, c, family)
		}
		s.PassPerDollar = &r
	}
}

// times fills in the seconds of the scored cells.
func (d *Data) times(s *VariantSummary) {
	n, wall := len(d.tasks), d.variants[s.Variant].wall
	timed, sum := make([]int, n), make([]float64, n)
	var all []float64
	d.eachScored(s.Variant, func(t, cell int) {
		if w := wall[cell]; !math.IsNaN(w) {
			timed[t]++
			sum[t] += w
			all = append(all, w)
		}
	})
	x, family := compact(perTask(sum, timed), timed, d.unit)
	if m, ok := MeanOf(x, family, 0, math.Inf(1)); ok {
		s.WallS = &m
	}
	slices.Sort(all)
	s.WallKnown, s.WallMedian, s.WallP90 = len(all), quantile(all, 0.5), quantile(all, 0.9)
}

// quantile interpolates between the two nearest of sorted values (type 7, as SQL's
// quantile_cont); nil without any.
func quantile(sorted []float64, q float64) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return ptr(sorted[low] + float64((at-float64(low))*(sorted[high]-sorted[low])))
}

// invert makes CostPerPass from PassPerDollar.
func (s *Spending) invert() {
	r := s.PassPerDollar
	if r == nil || r.Value <= 0 {
		return
	}
	s.CostPerPass = &Ratio{Value: 1 / r.Value, Method: r.Method, Tasks: r.Tasks, Unbounded: r.Unbounded}
	if r.Interval != nil && r.Interval.Low > 0 {
		s.CostPerPass.Interval = &Interval{1 / r.Interval.High, 1 / r.Interval.Low}
	}
}

// perTask divides sums by counts; 0 for tasks without any.
func perTask(sum []float64, n []int) []float64 {
	mean := make([]float64, len(sum))
	for t := range n {
		if n[t] > 0 {
			mean[t] = sum[t] / float64(n[t])
		}
	}
	return mean
}

// compact leaves out the tasks without any.
func compact(mean []float64, n, unit []int) (x []float64, family []int) {
	for t := range n {
		if n[t] > 0 {
			x, family = append(x, mean[t]), append(family, unit[t])
		}
	}
	return x, family
}
