package stats

import "slices"

// Verdicts is what a batch decides. Variants are indices into Data.Variants.
type Verdicts struct {
	Look     int     // 1 = first
	Alpha    float64 // alpha_L, one-sided, after the price of earlier looks
	Level    float64 // two-sided level of the family of pairs, 2 alpha_L
	Compared int     // F: pairs that share the level, over all parts
	Shock    Shock
	Pairs    []Pair
	Ranks    []*Rank  // by variant, nil = not measured; a nil slice: every pair was refused, no ranks
	Letters  []string // by variant, "" = not measured; nil under WithReference and where there are too many groups
	Best     int      // the variant alone at rank 1; else Nobody

	NonInferiority []NonInferiority // by candidate; nil without a reference
	Judges         []JudgeBias      // F20, one a judge that shares a variant's family
	MedianMDE      *float64         // of the compared pairs (F23); nil = none has one
}

// Shock is F8 over the batch.
type Shock struct {
	Excess   float64  // sigma2_run, variance of a run's mean beyond rerun noise
	Expected float64  // E, variance of a run's mean by rerun noise alone
	DF       float64  // nu
	Phi      float64  // chi-squared statistic
	PhiDF    float64  // its degrees of freedom
	P        *float64 // nil = nothing varies
	Unstable bool     // P < ShockLevel
}

// Pair is the verdict on two variants; differences are A - B.
type Pair struct {
	A, B     int
	Compared bool // false under WithReference for pairs without the reference, and where a variant has no outcome: numbers, no mark

	Tasks     int // common tasks
	Families  int // among them; a task without one counts as its own
	Units     int // independent units: families where they are fewer than tasks
	LostA     int // tasks of A that B has no valid outcome for
	LostB     int // the other way round
	RepeatsA  int // counted runs
	RepeatsB  int
	Different int // units that differ at all

	Difference *float64  // nil = no common task
	Interval   *Interval // 95 %, not adjusted; nil = undefined
	Method     string    // of the interval: "t", "few differences", "newcombe", "tasks only"
	Noise      *Noise    // nil = rerun noise unknown

	P        *float64 // F9, with F13 where few units differ; nil = refused
	PT       *float64 // F9 alone
	PFlip    *float64 // F13; nil = not asked
	PAdj     *float64 // Holm; nil = refused or not compared
	PList    *float64 // on exactly these tasks
	PListAdj *float64
	PTost    *float64 // equivalence; nil = no margin, or refused
	PTostAdj *float64
	MDE      *float64 // difference this pair would have shown with a chance of 80 %
	Design   *Design  // what the pair tells about a next batch (F18), at the level of the next look; nil where Noise is

	Mark         Mark
	Winner       int // of a claim, else Nobody
	InsideMargin bool
	Codes        Codes

	First  Reading  // before F22 and F20
	Second *Reading // failures scored 0; nil = no failures, so the same
	Range  RangeTie // the published rule, as a description

	Repairs []Repair // of a "?", cheapest first
}

// Extent is what a claim about the pair has to add: "this family only" for a single
// family, "these families only" where fewer than 5 of them are the units (F4), "" else.
func (p *Pair) Extent() string {
	switch {
	case p.Families == 1 && p.Tasks > 1:
		return "this family only"
	case p.Units < p.Tasks && p.Families < 5:
		return "these families only"
	}
	return ""
}

// Noise is F9's variance in its parts.
type Noise struct {
	Task, Rerun float64 // V_task, V_rerun
	Run         float64 // V_c
	V           float64
	DF          float64
	WA, WB      float64 // rerun variance of a single run of a task
}

// Reading is a mark as one reading of the data gives it.
type Reading struct {
	Mark       Mark
	Winner     int
	Difference *float64
	P, PAdj    *float64
}

// Rank is F11's interval of ranks: Low == High only where all others are separated.
type Rank struct{ Low, High int }

// Decide applies the rule to the data. Errors are of the rule: a level, margin or
// reference that means nothing. Empty data give verdicts that cannot tell.
func Decide(d *Data, rule Rule) (*Verdicts, error) {
	all, err := decide(rule, d)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// decide applies the rule to parts of the data that share one level.
func decide(rule Rule, parts ...*Data) ([]*Verdicts, error) {
	reference, err := rule.check(parts[0])
	if err != nil {
		return nil, err
	}
	first := readAll(parts, false)
	c := judge(rule, reference, first...)
	places := 0
	for i := range c {
		for j := range c[i] {
			places += int(indicator(c[i][j].compared))
		}
	}
	out := make([]*Verdicts, len(parts))
	for i, r := range first {
		out[i] = &Verdicts{Look: rule.Look, Alpha: rule.AlphaAtLook(), Level: rule.level(), Compared: places,
			Shock: r.shock.public(), Best: Nobody, Pairs: make([]Pair, len(c[i]))}
		for j := range c[i] {
			out[i].Pairs[j] = r.publish(&c[i][j], rule, places)
		}
	}
	var second []*reading
	var again [][]contest
	if slices.ContainsFunc(parts, (*Data).differs) {
		second = readAll(parts, true)
		again = judge(rule, reference, second...)
		for i := range out {
			for j := range out[i].Pairs {
				out[i].Pairs[j].failuresDecide(&again[i][j])
			}
		}
	}
	ownJudges(parts, rule, reference, c, out)
	noninferiority(rule, reference, stage{first, c}, stage{second, again}, out)
	for i, v := range out {
		v.rank(first[i], rule)
		v.MedianMDE = medianMDE(v.Pairs)
		for j := range v.Pairs {
			v.Pairs[j].Repairs = parts[i].repairs(&v.Pairs[j], &c[i][j], first[i], rule, places)
		}
	}
	return out, nil
}

// stage is one reading of every part with its contests.
type stage struct {
	readings []*reading
	contests [][]contest
}

func readAll(parts []*Data, failuresZero bool) []*reading {
	out := make([]*reading, len(parts))
	for i, d := range parts {
		out[i] = d.read(failuresZero)
	}
	return out
}

func (s *shock) public() Shock {
	return Shock{Excess: s.excess, Expected: s.expected, DF: s.nu, Phi: s.phi, PhiDF: s.phiDF, P: s.p, Unstable: s.unstable()}
}

// publish makes the first reading's contest the pair that is shown.
func (r *reading) publish(c *contest, rule Rule, places int) Pair {
	a, b := &r.columns[c.a], &r.columns[c.b]
	p := Pair{A: c.a, B: c.b, Compared: c.compared, Tasks: c.tasks, Families: c.families, Units: c.units,
		LostA: a.tasks - c.tasks, LostB: b.tasks - c.tasks, RepeatsA: a.k, RepeatsB: b.k, Different: c.nonzero,
		Mark: c.mark, Winner: c.winner, InsideMargin: c.inside, Codes: c.codes,
		Range: rangeTie(a.runs.means, b.runs.means)}
	if c.tasks > 0 {
		p.Difference = ptr(c.mean)
	}
	p.Interval, p.Method = r.interval(c)
	if c.ok {
		p.Noise = &Noise{Task: c.vTask, Rerun: c.vRerun, Run: c.decides.vRun, V: c.decides.v, DF: c.decides.df, WA: c.wA, WB: c.wB}
		design := c.design(&r.shock, c.excess, rule.Scope, rule.nextLevel(places))
		p.Design = &design
		p.MDE = ptr(c.measured(c.decides, rule.level()/float64(max(1, places))))
	}
	if c.refused == 0 {
		p.PT, p.P, p.PList = ptr(c.pT), ptr(c.p), ptr(c.pList)
		if c.asked {
			p.PFlip = ptr(c.pFlip)
		}
		if rule.Margin != nil {
			p.PTost = ptr(c.pTost)
		}
		if c.compared {
			p.PAdj, p.PListAdj = ptr(c.pAdj), ptr(c.pListAdj)
			if rule.Margin != nil {
				p.PTostAdj = ptr(c.pTostAdj)
			}
		}
	}
	p.First = c.reading()
	return p
}

func (c *contest) reading() Reading {
	r := Reading{Mark: c.mark, Winner: c.winner}
	if c.tasks > 0 {
		r.Difference = ptr(c.mean)
	}
	if c.refused == 0 {
		r.P = ptr(c.p)
		if c.compared {
			r.PAdj = ptr(c.pAdj)
		}
	}
	return r
}

// flip makes the pair one that cannot tell.
func (p *Pair) flip(c Code) {
	p.Codes = p.Codes.With(c)
	p.Mark, p.Winner, p.InsideMargin = CannotTell, Nobody, false
}
