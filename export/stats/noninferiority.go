package stats

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

// noninferiority is F16 over all candidates of all parts, from the first reading.
// Where the pair is refused or flips (F20, F22), so does this.
func noninferiority(rule Rule, reference int, first, second stage, out []*Verdicts) {
	if reference < 0 {
		return
	}
	for _, n := range first.candidates(rule, reference) {
		p := &out[n.part].Pairs[n.pair]
		if turned := p.Codes & (1<<ProviderFailuresDecide | 1<<JudgeDependent); turned != 0 {
			n.Standing = Inconclusive
			n.Codes |= turned
		}
		out[n.part].NonInferiority = append(out[n.part].NonInferiority, n.NonInferiority)
	}
	if second.readings == nil {
		return
	}
	place := make([]int, len(out))
	for _, n := range second.candidates(rule, reference) {
		out[n.part].NonInferiority[place[n.part]].Second = &n.Standing
		place[n.part]++
	}
}

// standing is a candidate of one part with the place of its pair.
type standing struct {
	NonInferiority
	part, pair int
}

// candidates is every candidate of every part, adjusted together and decided.
func (s stage) candidates(rule Rule, reference int) []standing {
	var out []standing
	for part, contests := range s.contests {
		for pair := range contests {
			if c := &contests[pair]; c.a == reference || c.b == reference {
				out = append(out, standing{candidate(c, rule, reference), part, pair})
			}
		}
	}
	s.stand(out, rule)
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
	i := around(sign*c.mean, c.halfWidth(c.decides, rule.AlphaAtLook())).clip(-1, 1)
	n.Interval = &i
	if rule.Margin != nil && c.refused == 0 {
		n.PNI = ptr(c.boundP(c.decides, *n.Difference+*rule.Margin))
		n.PInf = ptr(c.boundP(c.decides, -*n.Difference-*rule.Margin))
	}
	return n
}

// stand adjusts the candidates' p-values (Holm; a refused one keeps its place with
// p = 1, one without any outcome has none) and decides.
func (s stage) stand(out []standing, rule Rule) {
	var ni, inf []float64
	var who []int
	for j := range out {
		n := &out[j]
		if rule.Margin == nil {
			n.Codes = n.Codes.With(MarginUndeclared)
		}
		if s.readings[n.part].columns[n.Candidate].k == 0 {
			continue
		}
		p, q := 1.0, 1.0
		if n.PNI != nil {
			p, q = *n.PNI, *n.PInf
		}
		ni, inf, who = append(ni, p), append(inf, q), append(who, j)
	}
	ni, inf = Holm(ni), Holm(inf)
	for i, j := range who {
		if n := &out[j]; n.PNI != nil {
			n.PNIAdj, n.PInfAdj = ptr(ni[i]), ptr(inf[i])
			n.decide(&s.contests[n.part][n.pair], rule.AlphaAtLook())
		}
	}
}

func (n *NonInferiority) decide(c *contest, alpha float64) {
	switch {
	case Significant(*n.PNIAdj, alpha) && c.mark == Beats && c.winner == n.Candidate:
		n.Standing = Superior
	case Significant(*n.PNIAdj, alpha):
		n.Standing = NonInferior
	case Significant(*n.PInfAdj, alpha):
		n.Standing = Inferior
	default:
		n.Codes = n.Codes.With(Powerless)
	}
}
