package stats

import "math"

// Description is what a batch shows beside its verdicts. Indices are those of Data.
type Description struct {
	Repeats     int // smallest number of counted runs of a measured variant: the k of PassAt and PassHat
	Variants    []VariantSummary
	Tasks       []TaskSummary
	Families    []FamilySummary
	Spread      Spread // F23
	Informative int    // tasks on which not every score is equal
	Saturated   bool   // they are less than a fifth
	Panel       *Generalisability
	Judging     *Judging // nil = no unit has two votes
}

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
	PassAt   []PassK   // F1 for k = 1 … Repeats of the batch
	PassHat  []PassK   // F2

	FlipRate   *float64 // share of tasks that neither always pass nor always fail; grows with k
	SingleRuns *float64 // F25: two single runs differ by less than this in 95 of 100 cases
	Unstable   bool     // F25

	CostUSD       *Mean  // USD a task run, over tasks
	WallS         *Mean  // seconds a task run, over tasks
	PassPerDollar *Ratio // F21
	CostPerPass   *Ratio // its inverse, USD; nil = nothing passed
	CostKnown     int    // scored cells with a known cost, the base of the three above
}

// Preferred is the interval to show: Wilson's where few tasks pass or fail (F5), else F3 or F4.
func (v *VariantSummary) Preferred() (i *Interval, method string) {
	switch {
	case v.Few && v.Wilson != nil:
		return v.Wilson, ByWilson
	case v.Mean != nil:
		return v.Mean.Interval, v.Mean.Method
	}
	return nil, ""
}

// TaskSummary is one task over the variants.
type TaskSummary struct {
	Means       []*float64 // by variant; nil = no valid run
	Runs        []int      // by variant: valid runs
	Informative bool       // not every valid score is equal
	ItemRest    *float64   // F24; nil = constant, or fewer than 3 variants
}

// FamilySummary is F24 for one family of the panel.
type FamilySummary struct {
	Family  string
	Tasks   []int
	P       *float64 // of the permutation test over tasks that every measured variant has; nil = not computable
	Exact   bool     // all permutations were tried
	Verdict Discrimination
}

// Describe computes what the report shows beside the verdicts of the same data and rule.
func Describe(d *Data, rule Rule, v *Verdicts) *Description {
	first := d.read(false)
	out := &Description{}
	for i := range first.columns {
		if k := first.columns[i].k; k > 0 && (out.Repeats == 0 || k < out.Repeats) {
			out.Repeats = k
		}
	}
	var means []float64
	for i := range first.columns {
		s := d.summary(i, &first.columns[i], rule, v, out.Repeats)
		if s.Mean != nil {
			means = append(means, s.Mean.Value)
		}
		out.Variants = append(out.Variants, s)
	}
	out.Spread = SpreadOf(means, v.MedianMDE)
	d.describeTasks(first, out)
	out.Saturated = len(d.tasks) > 0 && Saturated(out.Informative, len(d.tasks))
	out.Families = d.families(first, rule)
	out.Panel = first.generalisability()
	out.Judging = d.judging()
	return out
}

func (d *Data) summary(i int, c *column, rule Rule, v *Verdicts, common int) VariantSummary {
	s := VariantSummary{Variant: i, Repeats: c.k, RunMeans: c.runs.means, Band: d.variants[i].band(len(d.tasks))}
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
	d.passes(&s, c, common)
	d.costs(&s, i)
	return s
}

// passes fills in F1, F2, F5 and the flip rate from the passes of the counted runs.
func (d *Data) passes(s *VariantSummary, c *column, common int) {
	n, passed := d.passCounts(s.Variant)
	for k := 1; k <= common && c.k > 0; k++ {
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
func (d *Data) costs(s *VariantSummary, v int) {
	col, n := &d.variants[v], len(d.tasks)
	spent, cost, pass := make([]int, n), make([]float64, n), make([]float64, n)
	timed, wall := make([]int, n), make([]float64, n)
	d.eachScored(v, func(t, cell int) {
		if c := col.cost[cell]; !math.IsNaN(c) {
			spent[t]++
			s.CostKnown++
			cost[t] += c
			pass[t] += indicator(col.pass[cell])
		}
		if w := col.wall[cell]; !math.IsNaN(w) {
			timed[t]++
			wall[t] += w
		}
	})
	c, family := perTask(cost, spent, d.unit)
	if m, ok := MeanOf(c, family, 0, math.Inf(1)); ok {
		s.CostUSD = &m
	}
	w, families := perTask(wall, timed, d.unit)
	if m, ok := MeanOf(w, families, 0, math.Inf(1)); ok {
		s.WallS = &m
	}
	p, _ := perTask(pass, spent, d.unit)
	r, ok := RatioOf(p, c, family, d.key("pass_per_dollar/"+col.id))
	if !ok {
		return
	}
	s.PassPerDollar = &r
	if r.Value > 0 {
		inverse := Ratio{Value: 1 / r.Value, Method: r.Method, Tasks: r.Tasks, Unbounded: r.Unbounded}
		if r.Interval != nil && r.Interval.Low > 0 {
			inverse.Interval = &Interval{1 / r.Interval.High, 1 / r.Interval.Low}
		}
		s.CostPerPass = &inverse
	}
}

// perTask divides sums by counts and leaves out the tasks without any.
func perTask(sum []float64, n, unit []int) (mean []float64, family []int) {
	for t := range n {
		if n[t] > 0 {
			mean, family = append(mean, sum[t]/float64(n[t])), append(family, unit[t])
		}
	}
	return mean, family
}

// describeTasks fills in F23's informative tasks and F24's correlations.
func (d *Data) describeTasks(r *reading, out *Description) {
	means, has := make([][]float64, len(r.columns)), make([][]bool, len(r.columns))
	for v := range r.columns {
		means[v], has[v] = r.columns[v].mean, make([]bool, len(d.tasks))
		for t, n := range r.columns[v].valid {
			has[v][t] = n > 0
		}
	}
	sums := totals(means, has)
	for t := range d.tasks {
		s := TaskSummary{Means: make([]*float64, len(r.columns)), Runs: make([]int, len(r.columns))}
		var first *float64
		for v := range r.columns {
			c := &r.columns[v]
			s.Runs[v] = c.valid[t]
			if c.valid[t] == 0 {
				continue
			}
			s.Means[v] = ptr(c.mean[t])
			if first == nil {
				first = s.Means[v]
			}
			s.Informative = s.Informative || c.s2[t] > 0 || *first != c.mean[t]
		}
		if s.Informative {
			out.Informative++
		}
		if x, ok := sums.itemRest(means, has, t); ok {
			s.ItemRest = &x
		}
		out.Tasks = append(out.Tasks, s)
	}
}

// generalisability is F17's panel form over the measured variants; nil unless it is balanced.
func (r *reading) generalisability() *Generalisability {
	var mean, s2 [][]float64
	k := 0
	for v := range r.columns {
		c := &r.columns[v]
		if c.k == 0 {
			continue
		}
		if k == 0 {
			k = c.k
		}
		for _, n := range c.valid {
			if n != k {
				return nil
			}
		}
		mean, s2 = append(mean, c.mean), append(s2, c.s2)
	}
	if g, ok := GeneralisabilityOf(mean, s2, k); ok {
		return &g
	}
	return nil
}
