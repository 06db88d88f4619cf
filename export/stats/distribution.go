package stats

import (
	"math"
	"sync/atomic"
)

// The three distributions behind every p-value and interval. The tails are
// computed directly (never as 1 - CDF), so that small p-values keep their digits.

// normalTail is P(Z > z).
func normalTail(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// normalUpper is the z with P(Z > z) = a, 0 < a < 1.
func normalUpper(a float64) float64 {
	if a > 0.5 {
		return -normalUpper(1 - a)
	}
	return upper(a, normalTail, func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) })
}

// studentTail is P(T > t) for df > 0 degrees of freedom, which need not be whole.
func studentTail(t, df float64) float64 {
	if math.IsInf(t, 0) {
		if t > 0 {
			return 0
		}
		return 1
	}
	t2 := t * t
	half := 0.5 * betaRegularised(df/2, 0.5, df/(df+t2), t2/(df+t2))
	if t < 0 {
		return 1 - half
	}
	return half
}

// studentTwoSided is P(|T| > |t|).
func studentTwoSided(t, df float64) float64 {
	return math.Min(1, 2*studentTail(math.Abs(t), df))
}

// studentUpper is the t with P(T > t) = a, 0 < a < 1.
func studentUpper(a, df float64) float64 {
	if a > 0.5 {
		return -studentUpper(1-a, df)
	}
	scale := logGamma((df+1)/2) - logGamma(df/2) - 0.5*math.Log(df*math.Pi)
	return upper(a, func(t float64) float64 { return studentTail(t, df) },
		func(t float64) float64 { return math.Exp(scale - (df+1)/2*math.Log1p(t*t/df)) })
}

// fewDF is up to which whole number of degrees of freedom t95 remembers.
const fewDF = 128

var remembered [fewDF]atomic.Uint64 // bits of t95; 0 = not asked yet

// t95 is studentUpper(0.025, df), of 95 % intervals. Most are asked for again and
// again: by a panel's families, which have few sizes.
func t95(df float64) float64 {
	i := int(df)
	if float64(i) != df || i < 0 || i >= fewDF {
		return studentUpper(0.025, df)
	}
	if have := remembered[i].Load(); have != 0 {
		return math.Float64frombits(have)
	}
	t := studentUpper(0.025, df)
	remembered[i].Store(math.Float64bits(t))
	return t
}

// upper solves tail(x) = a for a <= 0.5, where tail falls from 0.5 at x = 0. It
// brackets the root and takes Newton steps, or bisects where they would leave the bracket.
func upper(a float64, tail, density func(float64) float64) float64 {
	if a == 0.5 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for tail(hi) > a && hi < 1e300 {
		lo, hi = hi, hi*2
	}
	x := (lo + hi) / 2
	for range 200 {
		f := tail(x) - a
		if f > 0 {
			lo = x
		} else {
			hi = x
		}
		next := x + f/density(x)
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-15*math.Abs(next) || hi-lo <= 1e-15*hi {
			return next
		}
		x = next
	}
	return x
}

// chiSquareTail is P(X > x) for df > 0 degrees of freedom.
func chiSquareTail(x, df float64) float64 {
	if x <= 0 {
		return 1
	}
	a, z := df/2, x/2
	scale := math.Exp(float64(a*math.Log(z)) - z - logGamma(a))
	if z < a+1 {
		return 1 - gammaSeries(a, z)*scale
	}
	return gammaFraction(a, z) * scale
}

// gammaSeries is the lower incomplete gamma function over its scale.
func gammaSeries(a, z float64) float64 {
	term := 1 / a
	sum := term
	for i := 1; i < 100000; i++ {
		term *= z / (a + float64(i))
		sum += term
		if term < sum*1e-17 {
			break
		}
	}
	return sum
}

// gammaFraction is the upper incomplete gamma function over its scale.
func gammaFraction(a, z float64) float64 {
	b := z + 1 - a
	f := newLentz(b)
	for i := 1; i < 100000; i++ {
		n := float64(i)
		b += 2
		if f.step(n*(a-n), b) {
			break
		}
	}
	return 1 / f.value
}

// betaRegularised is I_x(a,b); y is 1-x, given apart so that nothing cancels.
func betaRegularised(a, b, x, y float64) float64 {
	if x <= 0 {
		return 0
	}
	if y <= 0 {
		return 1
	}
	scale := math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + float64(a*math.Log(x)) + float64(b*math.Log(y)))
	if x < (a+1)/(a+b+2) {
		return scale / (a * betaFraction(a, b, x))
	}
	return 1 - scale/(b*betaFraction(b, a, y))
}

func betaFraction(a, b, x float64) float64 {
	f := newLentz(1)
	for i := range 100000 {
		m := float64(i)
		if i > 0 && f.step(m*(b-m)*x/((a+2*m-1)*(a+2*m)), 1) {
			break
		}
		if f.step(-(a+m)*(a+b+m)*x/((a+2*m)*(a+2*m+1)), 1) {
			break
		}
	}
	return f.value
}

// lentz evaluates a continued fraction b0 + a1/(b1 + a2/(b2 + …)) from the front.
type lentz struct{ value, c, d float64 }

const lentzTiny = 1e-300

func newLentz(b0 float64) lentz {
	if b0 == 0 {
		b0 = lentzTiny
	}
	return lentz{value: b0, c: b0}
}

// step adds a term and reports whether the value has settled.
func (f *lentz) step(a, b float64) bool {
	f.d = b + float64(a*f.d)
	if f.d == 0 {
		f.d = lentzTiny
	}
	f.d = 1 / f.d
	f.c = b + a/f.c
	if f.c == 0 {
		f.c = lentzTiny
	}
	delta := f.c * f.d
	f.value *= delta
	return math.Abs(delta-1) < 1e-16
}

func logGamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}
