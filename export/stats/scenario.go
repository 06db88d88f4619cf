package stats

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Scenario is a world with known truth, from which batches are drawn. A task's
// difficulty is Beta(.7,.7) distributed (its runs then have an ICC of about .42);
// everything else shifts its log-odds.
type Scenario struct {
	Variants    int
	Tasks       int
	Families    int     // 0 = none; else tasks are spread over so many
	Repeats     []int   // of the variants, repeated if shorter
	Spread      float64 // log-odds between the best and the worst variant; 0 = all equal on tasks like these
	Interaction float64 // SD over variant and task: some agents like some tasks
	FamilySD    float64 // SD over variant and family
	Shock       float64 // SD over variant and run
	Shocked     int     // variants that have shocks; 0 = all
	Continuous  bool    // scores Beta(4p, 4(1-p)) instead of passes
	Missing     float64 // chance that an outcome is a failure, in [0,1)
}

func (s Scenario) check() error {
	if s.Variants < 2 || s.Variants > 200 || s.Tasks < 1 || s.Tasks > 100000 {
		return errors.New("scenario: needs 2 to 200 variants and 1 to 100,000 tasks")
	}
	if len(s.Repeats) == 0 || s.Families < 0 || s.Families > s.Tasks || s.Shocked < 0 || s.Shocked > s.Variants {
		return errors.New("scenario: needs repeats, and no more families than tasks or shocked variants than variants")
	}
	for _, k := range s.Repeats {
		if k < 1 || k > 1000 {
			return errors.New("scenario: repeats must be 1 to 1,000")
		}
	}
	for _, x := range []float64{s.Spread, s.Interaction, s.FamilySD, s.Shock} {
		if !(x >= 0 && x <= 20) {
			return errors.New("scenario: spread and SDs must be log-odds from 0 to 20")
		}
	}
	if !(s.Missing >= 0 && s.Missing < 1) {
		return errors.New("scenario: missing must be a chance below 1")
	}
	return nil
}

// draw makes one batch of the scenario.
func (s Scenario) draw(g *rand.Rand) *Data {
	d := &Data{metric: Pass, tasks: make([]Task, s.Tasks), unit: make([]int, s.Tasks), variants: make([]variant, s.Variants)}
	if s.Continuous {
		d.metric = Score
	}
	difficulty := make([]float64, s.Tasks)
	for t := range difficulty {
		difficulty[t] = math.Log(gammaVariate(g, .7)) - math.Log(gammaVariate(g, .7))
		d.unit[t] = t
		if s.Families > 0 {
			d.unit[t] = t * s.Families / s.Tasks
		}
	}
	for v := range d.variants {
		s.fill(g, &d.variants[v], v, difficulty, d.unit)
	}
	return d
}

// fill draws one variant's cells.
func (s Scenario) fill(g *rand.Rand, out *variant, v int, difficulty []float64, unit []int) {
	k := s.Repeats[v%len(s.Repeats)]
	out.runs, out.state, out.y = make([]runInfo, k), make([]State, k*s.Tasks), make([]float64, k*s.Tasks)
	shocks := make([]float64, k)
	for r := range shocks {
		if s.Shocked == 0 || v < s.Shocked {
			shocks[r] = float64(s.Shock * g.NormFloat64())
		}
	}
	var family []float64
	if s.FamilySD > 0 {
		family = make([]float64, s.Tasks)
		for f := range family {
			family[f] = float64(s.FamilySD * g.NormFloat64())
		}
	}
	for t, x := range difficulty {
		x += s.effect(v)
		if s.Interaction > 0 {
			x += float64(s.Interaction * g.NormFloat64())
		}
		if family != nil {
			x += family[unit[t]]
		}
		for r := range k {
			i := t*k + r
			if s.Missing > 0 && g.Float64() < s.Missing {
				out.state[i] = Failed
				out.runs[r].failed++
				continue
			}
			out.state[i], out.y[i] = Scored, s.score(g, 1/(1+math.Exp(-x-shocks[r])))
		}
	}
}

// effect is the variant's true place: the first is the best.
func (s Scenario) effect(v int) float64 {
	return float64(s.Spread * (0.5 - float64(v)/float64(s.Variants-1)))
}

func (s Scenario) score(g *rand.Rand, p float64) float64 {
	if !s.Continuous {
		return indicator(g.Float64() < p)
	}
	a, b := gammaVariate(g, math.Max(4*p, 1e-6)), gammaVariate(g, math.Max(4*(1-p), 1e-6))
	if a+b == 0 {
		return indicator(p > .5)
	}
	return a / (a + b)
}

// gammaVariate draws from a gamma distribution of the given shape (Marsaglia and Tsang).
func gammaVariate(g *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return float64(gammaVariate(g, shape+1) * math.Pow(1-g.Float64(), 1/shape))
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := g.NormFloat64()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-g.Float64()) < float64(x*x/2)+d-float64(d*v)+float64(d*math.Log(v)) {
			return float64(d * v)
		}
	}
}
