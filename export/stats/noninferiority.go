package stats

import "math"

// Standing is where a candidate stands against the reference (F16).
type Standing uint8

// From the strongest claim to the weakest.
const (
	Inconclusive Standing = iota // the interval reaches over the margin
	Inferior                     // worse by more than the margin
	NonInferior                  // not worse by more than the margin
	Superior                     // non-inferior, and the pair's mark is Beats for the candidate
)

var standingNames = [...]string{"inconclusive", "inferior", "non-inferior", "superior"}

// String is the standing's name.
func (s Standing) String() string { return standingNames[s] }

// NonInferiority is F16 for one candidate; differences are candidate - reference.
type NonInferiority struct {
	Candidate  int
	Difference *float64  // nil = no common task
	Interval   *Interval // one-sided alpha_L on either side; nil = rerun noise unknown
	PNI, PInf  *float64  // not worse, worse than the margin; nil = no margin, or refused
	PNIAdj     *float64  // Holm over the candidates
	PInfAdj    *float64
	Standing   Standing
	Second     *Standing // with failures scored 0, for display; nil = no failures, so the same
	Codes      Codes     // why it is inconclusive
}

// noninferiority is F16 over all candidates, from the first reading. Where the
// pair is refused or flips (F20, F22), so does this.
func noninferiority(first *reading, c []contest, second *reading, again []contest, pairs []Pair, rule Rule, reference int) []NonInferiority {
	if reference < 0 {
		return nil
	}
	var at []int // the pairs with the reference
	for i := range c {
		if c[i].a == reference || c[i].b == reference {
			at = append(at, i)
		}
	}
	out := make([]NonInferiority, len(at))
	for j, i := range at {
		out[j] = candidate(&c[i], rule, reference)
	}
	standings(out, first, c, at, rule)
	for j, i := range at {
		if pairs[i].Mark == CannotTell && pairs[i].Codes&(1<<ProviderFailuresDecide|1<<JudgeDependent) != 0 {
			out[j].Standing = Inconclusive
			out[j].Codes |= pairs[i].Codes & (1<<ProviderFailuresDecide | 1<<JudgeDependent)
		}
	}
	if second == nil {
		return out
	}
	turned := make([]NonInferiority, len(at))
	for j, i := range at {
		turned[j] = candidate(&again[i], rule, reference)
	}
	standings(turned, second, again, at, rule)
	for j := range out {
		out[j].Second = &turned[j].Standing
	}
	return out
}

// candidate is one candidate's numbers; a refused one has no p.
func candidate(c *contest, rule Rule, reference int) NonInferiority {
	n := NonInferiority{Candidate: c.a + c.b - reference, Codes: c.refused}
	sign := 1.0
	if c.a == reference {
		sign = -1
	}
	if c.tasks > 0 {
		n.Difference = ptr(sign * c.mean)
	}
	if !c.ok {
		return n
	}
	i := around(sign*c.mean, c.halfWidth(c.decides, rule.AlphaAtLook()))
	n.Interval = &i
	if rule.Margin != nil && c.refused == 0 {
		n.PNI = ptr(c.boundP(c.decides, *n.Difference+*rule.Margin))
		n.PInf = ptr(c.boundP(c.decides, -*n.Difference-*rule.Margin))
	}
	return n
}

// standings adjusts and decides; at gives the contest of each candidate.
func standings(out []NonInferiority, r *reading, c []contest, at []int, rule Rule) {
	var ni, inf []float64
	var who []int
	for j := range out {
		if r.columns[out[j].Candidate].k == 0 {
			continue
		}
		p, q := 1.0, 1.0
		if out[j].PNI != nil {
			p, q = *out[j].PNI, *out[j].PInf
		}
		ni, inf, who = append(ni, math.Min(1, p)), append(inf, math.Min(1, q)), append(who, j)
	}
	ni, inf = Holm(ni), Holm(inf)
	alpha := rule.AlphaAtLook()
	for i, j := range who {
		n := &out[j]
		if n.PNI != nil {
			n.PNIAdj, n.PInfAdj = ptr(ni[i]), ptr(inf[i])
		}
		switch {
		case n.PNI == nil:
		case significant(ni[i], alpha):
			n.Standing = NonInferior
			if k := &c[at[j]]; k.mark == Beats && k.winner == n.Candidate {
				n.Standing = Superior
			}
		case significant(inf[i], alpha):
			n.Standing = Inferior
		default:
			n.Codes = n.Codes.with(Powerless)
		}
	}
	if rule.Margin == nil {
		for j := range out {
			out[j].Codes = out[j].Codes.with(MarginUndeclared)
		}
	}
}
