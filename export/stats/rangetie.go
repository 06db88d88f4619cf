package stats

import (
	"math"
	"slices"
)

// RangeTie is the published rule "closer than the spread is a tie": two variants
// tie where the ranges of their run means overlap. It stands beside the verdict as
// a description; its false-separation rate is 2/C(2k,k), set by k, not by choice.
type RangeTie struct {
	Known  bool // both sides have a run
	Tie    bool
	A, B   Interval // lowest and highest run mean
	Ahead  bool     // not a tie, and A is the higher one
	Chance float64  // 2/C(kA+kB,kA): how often equal variants separate
}

func rangeTie(a, b []float64) RangeTie {
	if len(a) == 0 || len(b) == 0 {
		return RangeTie{}
	}
	r := RangeTie{Known: true, A: Interval{slices.Min(a), slices.Max(a)}, B: Interval{slices.Min(b), slices.Max(b)}}
	r.Ahead = r.A.Low > r.B.High+nought
	r.Tie = !r.Ahead && r.A.High >= r.B.Low-nought
	r.Chance = math.Min(1, 2/choose(len(a)+len(b), len(a)))
	return r
}

// TTest is a t test's result.
type TTest struct {
	Difference, SE, DF, P float64
}

// PairedT is the plain paired t test on tasks, unadjusted: what many tools do. It
// ignores run shocks and multiplicity. ok is false below 2 tasks and for equal differences.
func PairedT(d []float64) (t TTest, ok bool) {
	n := len(d)
	v := variance(d) / float64(max(1, n))
	if n < 2 || v <= nought*nought {
		return t, false
	}
	t = TTest{Difference: average(d), SE: math.Sqrt(v), DF: float64(n - 1)}
	t.P = studentTwoSided(t.Difference/t.SE, t.DF)
	return t, true
}

// welch is Welch's t test on the runs of a and b. ok is false below 2 runs and without
// any spread.
func welch(a, b Measured) (t TTest, ok bool) {
	if a.Runs < 2 || b.Runs < 2 {
		return t, false
	}
	na, nb := float64(a.Runs), float64(b.Runs)
	va, vb := a.S2/na, b.S2/nb
	if va+vb <= 0 {
		return t, false
	}
	t = TTest{Difference: a.Mean - b.Mean, SE: math.Sqrt(va + vb)}
	t.DF = (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	t.P = studentTwoSided(t.Difference/t.SE, t.DF)
	return t, true
}

// choose is the binomial coefficient as a float; exact while it fits 53 bits.
func choose(n, k int) float64 {
	c := 1.0
	for i := range min(k, n-k) {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}
