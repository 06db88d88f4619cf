package stats

import "math"

// Ratio is a ratio with its 95 % interval.
type Ratio struct {
	Value     float64
	Interval  *Interval // nil = unbounded: the denominator's interval reaches 0
	Unbounded float64   // g of Fieller's method; 1 or more leaves no interval
	Method    string
	Tasks     int
}

// PassPerDollar is F21: passes per USD as a ratio of sums over tasks, with
// Fieller's interval. pass and cost are the tasks' means; the mean of the tasks'
// ratios would be ruled by cheap tasks. ok is false below 2 tasks, or where the
// cost is unknown, 0 or not finite: never infinite.
func PassPerDollar(pass, cost []float64) (r Ratio, ok bool) {
	n := len(pass)
	if n < 2 || len(cost) != n {
		return r, false
	}
	p, c := average(pass), average(cost)
	if !(c > 0) || math.IsInf(c, 0) || math.IsNaN(p) {
		return r, false
	}
	fn := float64(n)
	r = Ratio{Value: p / c, Method: ByFieller, Tasks: n}
	r.fieller(c, fn-1, variance(pass)/fn, variance(cost)/fn, covariance(pass, cost)/fn)
	return r, true
}

// fieller fills in Fieller's interval from the denominator's mean, the degrees of
// freedom and the variances and covariance of the means.
func (r *Ratio) fieller(c, df, vp, vc, pc float64) {
	t := t95(df)
	r.Interval, r.Unbounded = nil, t*t*vc/(c*c)
	if r.Unbounded >= 1-guard {
		return
	}
	g := r.Unbounded
	slope := 0.0
	if vc > 0 {
		slope = pc / vc
	}
	inner := vp - 2*r.Value*pc + r.Value*r.Value*vc - g*(vp-pc*slope)
	half := t / c * math.Sqrt(math.Max(0, inner)) / (1 - g)
	i := around((r.Value-g*slope)/(1-g), half)
	r.Interval = &i
}

// clustered is Fieller's interval with families as the units, where theirs is the
// larger variance of the ratio (as F4).
func (r *Ratio) clustered(pass, cost []float64, families []int) {
	g := distinct(families)
	if g < 2 || g >= len(pass) {
		return
	}
	p, c := average(pass), average(cost)
	sums := map[int][2]float64{}
	for t, f := range families {
		s := sums[f]
		sums[f] = [2]float64{s[0] + pass[t] - p, s[1] + cost[t] - c}
	}
	var vp, vc, pc, own float64
	seen := map[int]bool{}
	for _, f := range families {
		if s := sums[f]; !seen[f] {
			seen[f] = true
			vp, vc, pc = vp+float64(s[0]*s[0]), vc+float64(s[1]*s[1]), pc+float64(s[0]*s[1])
		}
	}
	n := float64(len(pass))
	scale := float64(g) / float64(g-1) / (n * n)
	for t := range pass {
		e := pass[t] - p - r.Value*(cost[t]-c)
		own += float64(e * e)
	}
	if scale*(vp-2*r.Value*pc+r.Value*r.Value*vc) <= own/(n*(n-1)) {
		return
	}
	r.fieller(c, float64(g-1), scale*vp, scale*vc, scale*pc)
}

func distinct(families []int) int {
	seen := map[int]bool{}
	for _, f := range families {
		seen[f] = true
	}
	return len(seen)
}

// leastBootstrap is from how many tasks on a ratio's interval is drawn; percentiles
// need no correction from leastPercentile on. From mostBootstrap on nothing is drawn.
const (
	leastBootstrap  = 30
	leastPercentile = 50
	mostBootstrap   = 1000
)

// resampled replaces Fieller's interval by that of the draws, whose sums of passes
// and costs stand in columns p and c.
func (r *Ratio) resampled(pass, cost []float64, sums [][]float64, p, c int) {
	draws := make([]float64, len(sums))
	for b, s := range sums {
		if s[c] <= 0 {
			return // a draw without cost
		}
		draws[b] = s[p] / s[c]
	}
	if r.Tasks < leastPercentile {
		passes, spent := total(pass), total(cost)
		without := make([]float64, len(pass))
		for t := range without {
			if spent-cost[t] <= 0 {
				return
			}
			without[t] = (passes - pass[t]) / (spent - cost[t])
		}
		if i, ok := BCaOf(draws, r.Value, without); ok {
			r.Interval, r.Method = &i.Interval, ByBootstrapBCa
			return
		}
	}
	i, _ := Percentile(draws)
	r.Interval, r.Method = &i, ByBootstrap
}

// GeometricRatio is F21's comparison of cost, time or tokens of A and B on common
// tasks: exp(mean log(a/b)) with its t interval. ok is false below 2 tasks, or where
// a value is not above 0.
func GeometricRatio(a, b []float64) (r Ratio, ok bool) {
	n := len(a)
	if n < 2 || len(b) != n {
		return r, false
	}
	logs := make([]float64, n)
	for i := range a {
		if !(a[i] > 0 && b[i] > 0) || math.IsInf(a[i], 0) || math.IsInf(b[i], 0) {
			return r, false
		}
		logs[i] = math.Log(a[i] / b[i])
	}
	m := average(logs)
	half := t95(float64(n-1)) * math.Sqrt(variance(logs)/float64(n))
	return Ratio{Value: math.Exp(m), Interval: &Interval{math.Exp(m - half), math.Exp(m + half)}, Method: ByT, Tasks: n}, true
}

// Projection is F21's cost of more task runs, USD, from pilot ones: the total with
// its 95 % interval, m c ± t s sqrt(m + m²/n), not below 0. With a single pilot
// there is no interval; ok is false without one.
func Projection(pilot []float64, more int) (total float64, i *Interval, ok bool) {
	n := len(pilot)
	if n == 0 || more < 0 {
		return 0, nil, false
	}
	m := float64(more)
	total = m * average(pilot)
	if n == 1 {
		return total, nil, true
	}
	half := t95(float64(n-1)) * math.Sqrt(variance(pilot)*(m+m*m/float64(n)))
	out := around(total, half).clip(0, math.Inf(1))
	return total, &out, true
}
