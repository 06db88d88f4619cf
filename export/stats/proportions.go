package stats

import "math"

// Wilson is F5: the 95 % interval of a proportion of x passes in n independent
// trials (n may be an effective number, not whole). ok is false for n <= 0.
func Wilson(x, n float64) (i Interval, ok bool) {
	if !(n > 0) || !(x >= 0 && x <= n) {
		return i, false
	}
	z := normalUpper(0.025)
	p, z2 := x/n, z*z
	scale := 1 + z2/n
	half := z / scale * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	i = around((p+z2/(2*n))/scale, half).clip(0, 1)
	if x == 0 {
		i.Low = 0
	}
	if x == n {
		i.High = 1
	}
	return i, true
}

// AtLeast is the chance of x or more passes in n independent trials that each pass
// with chance p: how far an observed rate lies beyond a stated one.
func AtLeast(x, n int, p float64) float64 {
	switch {
	case x <= 0:
		return 1
	case x > n:
		return 0
	}
	return betaRegularised(float64(x), float64(n-x+1), p, 1-p)
}

// EffectiveTrials is F5's n_eff: how many independent trials the runs of several
// tasks are worth, (sum k)/(1+(kbar-1) ICC). A negative ICC counts as 0.
func EffectiveTrials(runs, tasks int, icc float64) float64 {
	if tasks == 0 {
		return 0
	}
	k := float64(runs) / float64(tasks)
	return float64(runs) / (1 + (k-1)*math.Max(0, icc))
}

// Discordance counts the tasks of two variants run once each by who passes.
type Discordance struct{ Both, OnlyA, OnlyB, Neither int }

// Newcombe is Newcombe's method 10: the 95 % interval of a difference of paired
// proportions (F14). ok is false without tasks.
func (d Discordance) Newcombe() (diff float64, i Interval, ok bool) {
	n := float64(d.Both + d.OnlyA + d.OnlyB + d.Neither)
	if n <= 0 {
		return 0, i, false
	}
	e, f, g, h := float64(d.Both), float64(d.OnlyA), float64(d.OnlyB), float64(d.Neither)
	pa, pb := (e+f)/n, (e+g)/n
	wa, _ := Wilson(e+f, n)
	wb, _ := Wilson(e+g, n)
	phi := newcombePhi(e, f, g, h, n)
	diff = (f - g) / n
	limit := func(x, y float64) float64 {
		return math.Sqrt(math.Max(0, x*x-2*phi*x*y+y*y))
	}
	i.Low = diff - limit(pa-wa.Low, wb.High-pb)
	i.High = diff + limit(wa.High-pa, pb-wb.Low)
	return diff, i.clip(-1, 1), true
}

// newcombePhi is the correlation of the two sides, with Newcombe's continuity
// correction where it is positive.
func newcombePhi(e, f, g, h, n float64) float64 {
	margins := (e + f) * (g + h) * (e + g) * (f + h)
	if margins == 0 {
		return 0
	}
	cross := e*h - f*g
	if cross > 0 {
		cross = math.Max(cross-n/2, 0)
	}
	return cross / math.Sqrt(margins)
}

// McNemar is the exact two-sided test of F13 on 0/1 data run once.
func (d Discordance) McNemar() float64 {
	m, small := d.OnlyA+d.OnlyB, min(d.OnlyA, d.OnlyB)
	if m == 0 || d.OnlyA == d.OnlyB {
		return 1
	}
	sum := 0.0
	for i := range small + 1 {
		sum += math.Exp(logGamma(float64(m+1)) - logGamma(float64(i+1)) - logGamma(float64(m-i+1)) - float64(m)*math.Ln2)
	}
	return math.Min(1, 2*sum)
}

// discordance counts the common tasks; ok is false unless both sides have one run
// of 0/1 scores.
func (r *reading) discordance(a, b int) (d Discordance, ok bool) {
	ca, cb := &r.columns[a], &r.columns[b]
	for t, va := range ca.valid {
		vb := cb.valid[t]
		if va == 0 || vb == 0 {
			continue
		}
		x, y := ca.mean[t], cb.mean[t]
		switch {
		case va > 1 || vb > 1 || (x != 0 && x != 1) || (y != 0 && y != 1):
			return d, false
		case x == 1 && y == 1:
			d.Both++
		case x == 1:
			d.OnlyA++
		case y == 1:
			d.OnlyB++
		default:
			d.Neither++
		}
	}
	return d, true
}

// Methods of intervals.
const (
	ByT            = "t"                         // F9, or F3/F4 for one variant
	ByFew          = "few differences (F14)"     // fewer than 5 units differ
	ByNewcombe     = "Newcombe 10"               // one run of 0/1 scores
	ByTasksOnly    = "t over tasks, one run"     // rerun noise and shocks unknown
	ByCluster      = "t over families"           // F4 for one variant
	ByWilson       = "Wilson"                    // F5
	ByFieller      = "Fieller"                   // F21
	ByBootstrap    = "task bootstrap"            // F15, percentile
	ByBootstrapBCa = "task bootstrap, corrected" // F15, BCa
)

// interval is the displayed 95 % interval of a pair, unadjusted at any look.
func (r *reading) interval(c *contest) (i *Interval, method string) {
	switch {
	case c.tasks < 2:
		return nil, ""
	case c.ok:
		half := c.halfWidth(c.decides, 0.025)
		method = ByT
		if c.nonzero < fewUnits && half == fewHalfWidth(0.025, c.units) {
			method = ByFew
		}
		out := around(c.mean, half).clip(-1, 1)
		return &out, method
	}
	if c.kA == 1 && c.kB == 1 {
		if d, ok := r.discordance(c.a, c.b); ok {
			if _, out, ok := d.Newcombe(); ok {
				return &out, ByNewcombe
			}
		}
	}
	out := around(c.mean, c.halfWidth(test{v: c.vTask, df: c.dfTask}, 0.025)).clip(-1, 1)
	return &out, ByTasksOnly
}
