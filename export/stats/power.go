package stats

import "math"

// Design is what F18 needs to plan a comparison of two variants.
type Design struct {
	Interaction float64 // s2_int: variance over tasks of the true difference; 0 under Scope List
	NoiseA      float64 // w_A: rerun variance of a single run of a task
	NoiseB      float64 // w_B
	Shock       float64 // sigma2: variance of a run's shock
	Alpha       float64 // two-sided level of this pair, 2 alpha_L / F
}

// power is the chance of seeing the MDE.
const power = 0.8

func (d Design) z() float64 { return normalUpper(d.Alpha/2) + normalUpper(1-power) }

// MDE is F18's planned smallest difference that n tasks with kA and kB repeats
// show with a chance of 80 %. ok is false without tasks or repeats.
func (d Design) MDE(n, kA, kB int) (mde float64, ok bool) {
	if n < 1 || kA < 1 || kB < 1 || !(d.Alpha > 0 && d.Alpha < 1) {
		return 0, false
	}
	a, b := float64(kA), float64(kB)
	v := (d.Interaction+d.NoiseA/a+d.NoiseB/b)/float64(n) + d.Shock*(1/a+1/b)
	return d.z() * math.Sqrt(v), true
}

// TasksFor is N* of F18: tasks that show the difference with kA and kB repeats.
// ok is false where no number of tasks helps: then runs on other days do.
func (d Design) TasksFor(difference float64, kA, kB int) (n int, ok bool) {
	if difference <= 0 || kA < 1 || kB < 1 || !(d.Alpha > 0 && d.Alpha < 1) {
		return 0, false
	}
	a, b, z := float64(kA), float64(kB), d.z()
	room := difference*difference/(z*z) - d.Shock*(1/a+1/b)
	return count((d.Interaction+d.NoiseA/a+d.NoiseB/b)/room, room)
}

// RepeatsFor is k* of F18: repeats of both variants that show the difference on n
// tasks. ok is false where no number of repeats helps: then tasks do.
func (d Design) RepeatsFor(difference float64, n int) (k int, ok bool) {
	if difference <= 0 || n < 1 || !(d.Alpha > 0 && d.Alpha < 1) {
		return 0, false
	}
	z := d.z()
	room := difference*difference/(z*z) - d.Interaction/float64(n)
	return count(((d.NoiseA+d.NoiseB)/float64(n)+2*d.Shock)/room, room)
}

// count rounds up to a whole number of at least 1; not ok where room is used up.
func count(x, room float64) (int, bool) {
	if room <= 0 || x > 1e9 {
		return 0, false
	}
	return max(1, int(math.Ceil(x-guard))), true
}

// measured is F18's MDE of a measured pair at two-sided level a, F14's least included.
func (p *pairing) measured(t test, a float64) float64 {
	mde := (studentUpper(a/2, t.df) + studentUpper(1-power, t.df)) * math.Sqrt(t.v)
	if p.nonzero < fewUnits {
		mde = math.Max(mde, fewHalfWidth(a/2, p.units))
	}
	return mde
}

// design is what the pair tells about the next batch.
func (p *pairing) design(s *shock, excess float64, scope Scope, alpha float64) Design {
	d := Design{NoiseA: p.wA, NoiseB: p.wB, Shock: math.Max(s.excess, excess), Alpha: alpha}
	if scope == Population {
		d.Interaction = math.Max(0, float64(p.tasks)*(p.vTask-p.vRerun))
	}
	return d
}

// UnitsFor is how many units (families, or tasks) must differ before F13 can
// separate one of F pairs at a two-sided level under Holm: the least m with
// F 2^(1-m) <= level. ok is false where the level or the number of pairs means nothing.
func UnitsFor(pairs int, level float64) (m int, ok bool) {
	if pairs < 1 || !(level > 0 && level < 1) {
		return 0, false
	}
	for m = 1; !Significant(float64(pairs)*math.Ldexp(1, 1-m), level); m++ {
		if m == 1000 {
			return 0, false
		}
	}
	return m, true
}

// SpreadLimits are the 95 % limits of a true standard deviation as multiples of one
// that was estimated with df degrees of freedom, from the chi-squared distribution:
// how far an MDE that rests on few tasks can be off. ok is false for df < 1.
func SpreadLimits(df float64) (low, high float64, ok bool) {
	if !(df >= 1) {
		return 0, 0, false
	}
	return math.Sqrt(df / chiSquareUpper(0.025, df)), math.Sqrt(df / chiSquareUpper(0.975, df)), true
}

// chiSquareUpper is the x with P(X > x) = a, by bisection.
func chiSquareUpper(a, df float64) float64 {
	lo, hi := 0.0, df
	for chiSquareTail(hi, df) > a {
		lo, hi = hi, 2*hi
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if chiSquareTail(mid, df) > a {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
