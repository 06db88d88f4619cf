package stats

import "math"

// F14: where fewer than 5 units differ, a variance of almost 0 is no knowledge.
// Limits are then at least as wide as the score limits of Newcombe and Tango for
// no discordant pair.
const fewUnits = 5

// fewHalfWidth is z²/(U+z²), the least half-width at one-sided level a over U units.
func fewHalfWidth(a float64, units int) float64 {
	z := normalUpper(a)
	return z * z / (float64(units) + float64(z*z))
}

// halfWidth is F14's half-width of an interval of one-sided level a.
func (p *pairing) halfWidth(t test, a float64) float64 {
	half := studentUpper(a, t.df) * math.Sqrt(t.v)
	if p.nonzero < fewUnits {
		half = math.Max(half, fewHalfWidth(a, p.units))
	}
	return half
}

// boundP is the one-sided p against a bound at distance gap from the observed
// difference; .5 or more where the bound is reached (gap <= 0).
func (p *pairing) boundP(t test, gap float64) float64 {
	tail := studentTail(gap/math.Sqrt(t.v), t.df)
	if p.nonzero >= fewUnits {
		return tail
	}
	switch {
	case gap <= 0:
		return math.Max(tail, 0.5)
	case gap >= 1:
		return tail
	}
	return math.Max(tail, normalTail(math.Sqrt(float64(p.units)*gap/(1-gap))))
}

// FewHalfWidth is F14's least half-width (two-sided 95 % at a = .025) of a
// difference of scores in [0,1] over n units of which fewer than 5 differ.
func FewHalfWidth(a float64, n int) (half float64, ok bool) {
	if !(a > 0 && a < 1) || n < 1 {
		return 0, false
	}
	return fewHalfWidth(a, n), true
}
