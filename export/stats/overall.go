package stats

import (
	"errors"
	"math"
)

// Overall is one verdict on several pairs together: how far the first variants of
// all chosen pairs stand above the second ones, on average.
type Overall struct {
	Pairs      int
	Tasks      int       // that all of the variants have
	Units      int       // families where they are the units, else tasks
	Difference *float64  // nil = no common task
	Interval   *Interval // 95 %; nil = rerun noise unknown
	Noise      *Noise
	P, PFlip   *float64 // a single test, not in the pairs' Holm; PFlip nil = not asked
	PList      *float64
	Mark       Mark
	Up         bool // of a claim: the first ones are ahead
	Codes      Codes
	Second     *Reading // failures scored 0; nil = no failures
}

// DecideOverall is F9 for the mean over the chosen pairs of their differences: for
// two dated batches of the same variants, "has anything changed, over all?". Each
// variant stands in one pair only, and has shocks of its own. A judge of a
// variant's own family (F20) is not looked at here; the pairs' verdicts do that.
func DecideOverall(d *Data, rule Rule) (*Overall, error) {
	if _, err := rule.check(d); err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, p := range rule.Pairs {
		if seen[p[0]] || seen[p[1]] {
			return nil, errors.New("pairs: a variant stands in more than one")
		}
		seen[p[0]], seen[p[1]] = true, true
	}
	if len(rule.Pairs) == 0 {
		return nil, errors.New("pairs: list those to be taken together, with ChosenPairs")
	}
	c := d.read(false).overall(rule)
	o := &Overall{Pairs: len(rule.Pairs), Tasks: c.tasks, Units: c.units, Mark: c.mark, Codes: c.codes, Up: c.winner == c.a}
	r := c.reading()
	o.Difference = r.Difference
	if c.ok {
		i := around(c.mean, c.halfWidth(c.decides, 0.025)).clip(-1, 1)
		o.Interval = &i
		o.Noise = &Noise{Task: c.vTask, Rerun: c.vRerun, Run: c.decides.vRun, V: c.decides.v, DF: c.decides.df, WA: c.wA, WB: c.wB}
	}
	if c.refused == 0 {
		o.P, o.PList = ptr(c.p), ptr(c.pList)
		if c.asked {
			o.PFlip = ptr(c.pFlip)
		}
	}
	if d.differs() {
		again := d.read(true).overall(rule)
		second := again.reading()
		o.Second = &second
		if c.mark != again.mark || c.winner != again.winner {
			o.Mark, o.Up, o.Codes = CannotTell, false, o.Codes.With(ProviderFailuresDecide)
		}
	}
	return o, nil
}

// overall averages the chosen pairs into one contest; their noises add up.
func (r *reading) overall(rule Rule) contest {
	c := contest{a: 0, b: 1, compared: true}
	c.rerun, c.kA, c.kB = true, math.MaxInt, math.MaxInt
	s := newScratch(len(r.unit))
	sub := r.restricted(r.common(rule.Pairs))
	share := 1 / float64(len(rule.Pairs))
	sub.averages(rule.Pairs, s, &c.pairing)
	for i, p := range rule.Pairs {
		a, b := &sub.columns[p[0]], &sub.columns[p[1]]
		wA, wB, v, ok := rerunVariance(a, b, max(1, c.tasks))
		c.rerun = c.rerun && ok
		c.wA, c.wB, c.vRerun = c.wA+share*wA, c.wB+share*wB, c.vRerun+share*share*v
		c.kA, c.kB = min(c.kA, a.k), min(c.kB, b.k)
		if r.apart(rule.Pairs[i][0], rule.Pairs[i][1]) {
			c.refused = c.refused.With(MeasuredApart)
		}
	}
	c.settle(rule, s, func() shockTerms { return sub.sumShocks(rule.Pairs) })
	c.pAdj, c.pListAdj, c.pTostAdj = c.p, c.pList, c.pTost
	c.decide(rule, 1, &r.shock)
	return c
}

// averages leaves the mean differences of the pairs in s and their spread in p.
func (r *reading) averages(pairs [][2]int, s *scratch, p *pairing) {
	for t, n := range r.columns[pairs[0][0]].valid {
		if n == 0 {
			continue
		}
		d := 0.0
		for _, q := range pairs {
			d += r.columns[q[0]].mean[t] - r.columns[q[1]].mean[t]
		}
		if d /= float64(len(pairs)); math.Abs(d) < nought {
			d = 0
		}
		s.d, s.unit = append(s.d, d), append(s.unit, r.unit[t])
	}
	if p.tasks = len(s.d); p.tasks == 0 {
		return
	}
	if p.mean = average(s.d); math.Abs(p.mean) < nought {
		p.mean = 0
	}
	s.spread(p)
}

// sumShocks adds up the pairs' run shocks; the pooled run spread is one estimate
// for all of them, so its terms add up before they are squared.
func (r *reading) sumShocks(pairs [][2]int) shockTerms {
	var out shockTerms
	share, raw := 1/float64(len(pairs)), 0.0
	for _, q := range pairs {
		p := pairing{kA: r.columns[q[0]].k, kB: r.columns[q[1]].k}
		x := p.shocks(&r.shock, pairExcess(&r.columns[q[0]], &r.columns[q[1]]))
		out.vRun += float64(share * share * x.vRun)
		raw += float64(share * share * math.Sqrt(x.raw))
		out.own += share * share * share * share * x.own
	}
	out.raw = raw * raw
	return out
}

// common says which tasks all variants of the pairs have.
func (r *reading) common(pairs [][2]int) []bool {
	keep := make([]bool, len(r.unit))
	for t := range keep {
		keep[t] = true
		for _, p := range pairs {
			keep[t] = keep[t] && r.columns[p[0]].valid[t] > 0 && r.columns[p[1]].valid[t] > 0
		}
	}
	return keep
}

// restricted is the reading with no valid run on other tasks; shocks stay those of all tasks.
func (r *reading) restricted(keep []bool) *reading {
	out := *r
	out.columns = make([]column, len(r.columns))
	for v := range r.columns {
		c := r.columns[v]
		c.valid = append([]int(nil), c.valid...)
		for t := range keep {
			if !keep[t] {
				c.valid[t] = 0
			}
		}
		out.columns[v] = c
	}
	return &out
}
