package stats

import (
	"math"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

var someDF = []float64{1, 1.5, 2, 2.684365, 3, 5.65, 9, 11, 29.5, 49, 99, 199, 499, 999, 5000}

func TestDistributionsAgainstGonum(t *testing.T) {
	for _, df := range someDF {
		oracle := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
		for _, x := range []float64{-6, -2, -.5, 0, .1 /* nearer to 0 the oracle loses digits */, 1, 1.96, 3, 8} {
			assert.InDelta(t, 1-oracle.CDF(x), studentTail(x, df), 1e-12, "t %v df %v", x, df)
		}
		chi := distuv.ChiSquared{K: df}
		for _, r := range []float64{.01, .3, .9, 1, 1.2, 2, 4} {
			assert.InDelta(t, 1-chi.CDF(r*df), chiSquareTail(r*df, df), 1e-12, "chi2 %v df %v", r*df, df)
		}
	}
	for _, a := range []float64{1e-12, 1e-5, .003125, .025, .2, .5, .8, .975} {
		assert.InEpsilon(t, 1, a/normalTail(normalUpper(a)), 1e-12)
		assert.InDelta(t, -distuv.UnitNormal.Quantile(a), normalUpper(a), 1e-8)
	}
}

// The quantile must invert the tail to the last digits, also far out.
func TestAtLeastAgainstGonum(t *testing.T) {
	for _, n := range []int{1, 25, 400, 2000} {
		for _, p := range []float64{.001, .05, .5} {
			b := distuv.Binomial{N: float64(n), P: p}
			for _, x := range []int{1, n / 20, n/20 + 9, n} {
				if x > 0 && x <= n {
					assert.InDelta(t, b.Survival(float64(x)-1), AtLeast(x, n, p), 1e-9, "%d of %d at %v", x, n, p)
				}
			}
			assert.Equal(t, []float64{1, 0}, []float64{AtLeast(0, n, p), AtLeast(n+1, n, p)})
		}
	}
}

func TestStudentUpperInverts(t *testing.T) {
	for _, df := range someDF {
		for _, a := range []float64{1e-10, 1e-6, .05 / 4950 / 2, .003125, .025, .2, .4999, .5, .8, .975} {
			x := studentUpper(a, df)
			assert.InEpsilon(t, a, studentTail(x, df), 1e-11, "a %v df %v", a, df)
		}
	}
	// df = 1 and 2 have closed forms
	for _, a := range []float64{1e-6, .01, .025, .3} {
		assert.InEpsilon(t, 1/math.Tan(math.Pi*a), studentUpper(a, 1), 1e-12)
		u := 1 - 2*a
		assert.InEpsilon(t, u*math.Sqrt(2/(1-u*u)), studentUpper(a, 2), 1e-10)
	}
	assert.InDelta(t, .5-math.Atan(1e-6)/math.Pi, studentTail(1e-6, 1), 1e-15)
	// small tails in closed form: P(T > t) for df 1 is atan(1/t)/π
	for _, x := range []float64{1, 10, 1e4, 1e8} {
		assert.InEpsilon(t, math.Atan(1/x)/math.Pi, studentTail(x, 1), 1e-12)
	}
	assert.Equal(t, 0.0, studentTail(math.Inf(1), 3))
	assert.Equal(t, 1.0, studentTail(math.Inf(-1), 3))
}

func TestTTestsAgainstMoremath(t *testing.T) {
	a := []float64{.62, .64, .60, .71, .55, .58, .66}
	b := []float64{.58, .61, .57, .70, .56, .50, .61}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	want, err := moremath.PairedTTest(a, b, 0, moremath.LocationDiffers)
	require.NoError(t, err)
	got, ok := PairedT(d)
	require.True(t, ok)
	assert.InDelta(t, want.T, got.Difference/got.SE, 1e-12)
	assert.InDelta(t, want.P, got.P, 1e-10)
	theirs, err := moremath.TwoSampleWelchTTest(moremath.Sample{Xs: a}, moremath.Sample{Xs: b[:5]}, moremath.LocationDiffers)
	require.NoError(t, err)
	got, ok = welch(measured(a), measured(b[:5]))
	require.True(t, ok)
	assert.InDelta(t, theirs.DoF, got.DF, 1e-10)
	assert.InDelta(t, theirs.P, got.P, 1e-10)
	assert.InDelta(t, gonum.Variance(a, nil), variance(a), 1e-15)
	assert.InDelta(t, gonum.Covariance(a, b, nil), covariance(a, b), 1e-15)
	r, ok := correlation(a, b)
	require.True(t, ok)
	assert.InDelta(t, gonum.Correlation(a, b, nil), r, 1e-14)
}

// The range tie is the Mann-Whitney test at its smallest p.
func TestRangeTieIsMannWhitney(t *testing.T) {
	for k := 2; k <= 6; k++ {
		a, b := make([]float64, k), make([]float64, k)
		for i := range k {
			a[i], b[i] = float64(i), float64(k+i)
		}
		u, err := moremath.MannWhitneyUTest(a, b, moremath.LocationDiffers)
		require.NoError(t, err)
		r := rangeTie(b, a)
		assert.False(t, r.Tie)
		assert.True(t, r.Ahead)
		assert.InDelta(t, u.P, r.Chance, 1e-12)
	}
}

// Sign flips by brute force over all patterns.
func TestSignFlipAgainstAllPatterns(t *testing.T) {
	for _, d := range [][]float64{{.5, -.25, .75, 0, .1, -.6, .3, .3, -.05}, {1, -1}, {1, 1, -1}, {.2, .2, .2, -.2, .4, -.4, .6, .1, .7, -.1, .3}} {
		sum, n := 0.0, len(d)
		for _, v := range d {
			sum += v
		}
		reached := 0
		for bits := range 1 << n {
			s := 0.0
			for i, v := range d {
				if bits>>i&1 == 1 {
					v = -v
				}
				s += v
			}
			if math.Abs(s) >= math.Abs(sum)-1e-12 {
				reached++
			}
		}
		p, ok := SignFlip(d)
		require.True(t, ok)
		assert.InDelta(t, float64(reached)/float64(int(1)<<n), p, 1e-12)
	}
	long := make([]float64, 60)
	for i := range long {
		long[i] = .01*float64(i%7) - .02
	}
	_, ok := SignFlip(long)
	assert.False(t, ok)
	drawn := SignFlipDrawn(long, Draws, NewKey("b", "score", "test"))
	v := 0.0
	sum := 0.0
	for _, x := range long {
		v += x * x
		sum += x
	}
	assert.InDelta(t, 2*normalTail(math.Abs(sum)/math.Sqrt(v)), drawn, .03)
	assert.Equal(t, drawn, SignFlipDrawn(long, Draws, NewKey("b", "score", "test")))
}
