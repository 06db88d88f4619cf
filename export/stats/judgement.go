package stats

import "math"

// Below MinRepeats repeats of each side, or MinTasks common tasks, nothing is claimed (step 2).
const (
	MinRepeats = 3
	MinTasks   = 10
)

// pairsPerPart is how many pairs one core takes at a time.
const pairsPerPart = 128

// contest is one pair in one reading: numbers, p-values and the mark of steps 2 and 3.
type contest struct {
	a, b     int
	compared bool // has its place in Holm
	pairing
	excess  float64 // sigma2_AB
	decides test    // F9, or the list test under Scope List
	onList  test
	ok      bool // the tests are defined
	refused Codes
	asked   bool // the sign-flip test was asked

	pT, pFlip, p, pList, pTost float64
	pAdj, pListAdj, pTostAdj   float64

	mark   Mark
	winner int // of a claim; else Nobody
	codes  Codes
	inside bool // the difference lies inside the margin (TOST)
}

// judge applies steps 2 and 3 to every pair of every reading. Readings given
// together share one level: Holm runs over all their pairs.
func judge(rule Rule, reference int, readings ...*reading) [][]contest {
	out := make([][]contest, len(readings))
	for i, r := range readings {
		out[i] = r.measureAll(rule, reference)
	}
	places := adjust(out)
	for i, r := range readings {
		for j := range out[i] {
			out[i][j].decide(rule, places, &r.shock)
		}
	}
	return out
}

func (r *reading) judge(rule Rule, reference int) []contest { return judge(rule, reference, r)[0] }

func (r *reading) measureAll(rule Rule, reference int) []contest {
	contests := r.pairs(rule, reference)
	parts := (len(contests) + pairsPerPart - 1) / pairsPerPart
	parallel(parts, func(part int) {
		s := newScratch(len(r.unit))
		for i := part * pairsPerPart; i < min(len(contests), (part+1)*pairsPerPart); i++ {
			r.measure(&contests[i], rule, s)
		}
	})
	return contests
}

// pairs lists all pairs in the order of the variants; the compared ones with the
// reference are (candidate, reference). Chosen pairs are listed as they were chosen.
func (r *reading) pairs(rule Rule, reference int) []contest {
	alive := func(a, b int) bool { return r.columns[a].k > 0 && r.columns[b].k > 0 }
	var contests []contest
	if rule.Compare == ChosenPairs {
		for _, p := range rule.Pairs {
			contests = append(contests, contest{a: p[0], b: p[1], compared: alive(p[0], p[1])})
		}
		return contests
	}
	for a := range r.columns {
		for b := a + 1; b < len(r.columns); b++ {
			c := contest{a: a, b: b, compared: alive(a, b)}
			if rule.Compare == WithReference {
				if a == reference {
					c.a, c.b = b, a
				}
				c.compared = c.compared && c.b == reference
			}
			contests = append(contests, c)
		}
	}
	return contests
}

// measure fills in a pair's numbers and its raw p-values.
func (r *reading) measure(c *contest, rule Rule, s *scratch) {
	c.pairing = r.pair(c.a, c.b, s)
	if r.apart(c.a, c.b) {
		c.refused = c.refused.With(MeasuredApart)
	}
	c.excess = pairExcess(&r.columns[c.a], &r.columns[c.b])
	c.settle(rule, s, func() shockTerms { return c.shocks(&r.shock, c.excess) })
}

// settle applies step 2 and makes the tests; a refused contest has p = 1. The
// units' differences stand in s.
func (c *contest) settle(rule Rule, s *scratch, shocks func() shockTerms) {
	c.winner = Nobody
	c.pT, c.pFlip, c.p, c.pList, c.pTost = 1, 1, 1, 1, 1
	if min(c.kA, c.kB) < MinRepeats || !c.rerun {
		c.refused = c.refused.With(NoRepeats)
	}
	if c.tasks < MinTasks {
		c.refused = c.refused.With(TooFewTasks)
	}
	c.ok = c.tasks > 1 && c.rerun && min(c.kA, c.kB) > 1
	if !c.ok {
		return
	}
	x := shocks()
	c.onList = c.list(x)
	c.decides = c.onList
	if rule.Scope == Population {
		c.decides = c.population(x)
	}
	if c.refused != 0 {
		return
	}
	c.pT, c.pList = c.decides.p(c.mean), c.onList.p(c.mean)
	c.p = c.pT
	if c.asked = rule.Scope == Population && (c.units < 30 || c.nonzero < 12); c.asked {
		c.pFlip, _ = signFlip(s.sums[:c.units], &s.signs)
		c.p = math.Max(c.p, c.pFlip)
	}
	if rule.Margin != nil {
		c.pTost = c.boundP(c.decides, *rule.Margin-math.Abs(c.mean))
	}
}

// adjust applies Holm to the three families of p-values and returns F.
func adjust(readings [][]contest) int {
	var all []*contest
	var p, list, tost []float64
	for _, contests := range readings {
		for i := range contests {
			c := &contests[i]
			c.pAdj, c.pListAdj, c.pTostAdj = 1, 1, 1
			if c.compared {
				all = append(all, c)
				p, list, tost = append(p, c.p), append(list, c.pList), append(tost, c.pTost)
			}
		}
	}
	p, list, tost = Holm(p), Holm(list), Holm(tost)
	for i, c := range all {
		c.pAdj, c.pListAdj, c.pTostAdj = p[i], list[i], tost[i]
	}
	return len(all)
}

// decide gives the pair the first mark of step 3 that holds, and its codes.
func (c *contest) decide(rule Rule, places int, s *shock) {
	level := rule.level()
	switch {
	case !c.compared:
		c.codes = c.refused // no mark: see Pair.Compared
		return
	case c.refused != 0:
		c.codes = c.refused
	default:
		c.choose(rule, level, places)
	}
	if s.unstable() {
		c.codes = c.codes.With(UnstableRuns)
	}
}

func (c *contest) choose(rule Rule, level float64, places int) {
	within := rule.Margin != nil && Significant(c.pTostAdj, level)
	switch {
	case rule.Scope == Population && Significant(c.pAdj, level):
		c.claim(Beats, within)
	case c.mean != 0 && Significant(c.pListAdj, level):
		c.claim(Ahead, within)
	case within:
		c.mark = Equal
	case rule.Margin != nil && c.measured(c.decides, level/float64(places)) <= *rule.Margin-guard:
		c.mark = Tied
	default:
		if rule.Margin != nil || c.asked && float64(places)*math.Ldexp(1, 1-c.nonzero) > level {
			c.codes = c.codes.With(Powerless)
		}
		if rule.Margin == nil {
			c.codes = c.codes.With(MarginUndeclared)
		}
	}
}

func (c *contest) claim(m Mark, within bool) {
	c.mark, c.inside, c.winner = m, within, c.a
	if c.mean < 0 {
		c.winner = c.b
	}
}
