package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestResampleBySums(t *testing.T) {
	x := make([]float64, 40)
	ones := make([]float64, 40)
	for i := range x {
		x[i], ones[i] = float64(i), 1
	}
	r := NewResample(40, nil, 4000, NewKey("b", "m", "quantiles"))
	sums := r.Sums(x, ones, x, x, x, x, x, x, x, ones)
	var means []float64
	for _, s := range sums {
		require.Len(t, s, 10)
		assert.Equal(t, 40.0, s[1])
		assert.Equal(t, s[0], s[8])
		assert.Equal(t, 40.0, s[9])
		means = append(means, s[0]/s[1])
	}
	assert.InDelta(t, 19.5, average(means), .15)
	assert.InDelta(t, math.Sqrt((40*40-1)/12.0/40), math.Sqrt(variance(means)), .05)
}

// Families are drawn first, then tasks within them: a family's size follows it.
func TestResampleKeepsFamilies(t *testing.T) {
	families := []int{7, 7, 7, 9, 9, 4}
	big, all := []float64{1, 1, 1, 0, 0, 0}, []float64{1, 1, 1, 1, 1, 1}
	seen := map[float64]bool{}
	for _, s := range NewResample(6, families, 500, NewKey("b", "m", "families")).Sums(big, all) {
		assert.Zero(t, math.Mod(s[0], 3), "a family comes whole in number")
		seen[s[1]] = true
	}
	assert.True(t, seen[3] && seen[9], "the number of tasks varies: %v", seen)
	single := NewResample(6, make([]int, 6), 500, NewKey("b", "m", "families"))
	assert.Nil(t, single.families, "one family is no unit")
}

func TestNthIsTheSortedPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 50).Draw(t, "x")
		k := rapid.IntRange(0, len(x)-1).Draw(t, "k")
		sorted := slices.Sorted(slices.Values(x))
		assert.Equal(t, sorted[k], nth(x, k))
	})
}

func TestPercentileReadsTheOrderStatistics(t *testing.T) {
	x := make([]float64, Draws)
	for i := range x {
		x[i] = float64((i*7919)%Draws + 1)
	}
	i, ok := Percentile(x)
	require.True(t, ok)
	assert.Equal(t, Interval{250, 9750}, i)
	_, ok = Percentile(nil)
	assert.False(t, ok)
}

// spent is the passes per dollar of one run of a variant, as they are described.
func spent(t *testing.T, pass, cost []float64, families []int) Ratio {
	t.Helper()
	b := Batch{Metric: Pass, Digest: "b", Tasks: panel(len(pass), ""), Variants: []Variant{{ID: "A", Runs: []Run{{Cells: make([]Cell, len(pass))}}}}}
	for i := range pass {
		b.Variants[0].Runs[0].Cells[i] = Cell{State: Scored, Score: pass[i], Passed: pass[i] == 1, CostUSD: &cost[i]}
		if families != nil {
			b.Tasks[i].Family = fmt.Sprint(families[i])
		}
	}
	d := build(t, b)
	r := Describe(d, DefaultRule(), ruled(t, d, DefaultRule())).Variants[0].Cost.PassPerDollar
	require.NotNil(t, r)
	return *r
}

func TestRatioMethods(t *testing.T) {
	for n, method := range map[int]string{20: ByFieller, 40: ByBootstrapBCa, 60: ByBootstrap} {
		pass, cost := make([]float64, n), make([]float64, n)
		for i := range pass {
			pass[i], cost[i] = indicator(i%3 > 0), .1+.01*float64(i%11)
		}
		r := spent(t, pass, cost, nil)
		assert.Equal(t, method, r.Method)
		fieller, _ := PassPerDollar(pass, cost)
		assert.InDelta(t, fieller.Interval.Low, r.Interval.Low, .25*fieller.Value)
		assert.InDelta(t, fieller.Interval.High, r.Interval.High, .25*fieller.Value)
	}
}

func TestUnboundedCostHasNoInterval(t *testing.T) {
	r, ok := PassPerDollar([]float64{1, 0, 1}, []float64{.01, 5, .02})
	require.True(t, ok)
	assert.GreaterOrEqual(t, r.Unbounded, 1.0)
	assert.Nil(t, r.Interval)
}

// The batch's digest seeds the drawings; nothing that is not drawn depends on it.
func TestDigestSeedsDrawings(t *testing.T) {
	describe := func(digest string) *Description {
		b := Batch{Metric: Pass, Digest: digest, Tasks: panel(60, ""), Variants: []Variant{priced("A", .1, [4]int{5, 3, 4, 1}), priced("B", .2, [4]int{5, 3, 2, 1})}}
		d := build(t, b)
		return Describe(d, DefaultRule(), ruled(t, d, DefaultRule()))
	}
	a, b := describe("first"), describe("second")
	assert.Equal(t, a, describe("first"))
	assert.NotEqual(t, a.Variants[0].Cost.PassPerDollar.Interval, b.Variants[0].Cost.PassPerDollar.Interval)
	assert.Equal(t, a.Variants[0].Cost.PassPerDollar.Value, b.Variants[0].Cost.PassPerDollar.Value)
	assert.Equal(t, a.Variants[0].Mean, b.Variants[0].Mean)
}

// From 1,000 tasks on nothing is drawn: the interval is Fieller's, with families as
// units where they matter (F4 of the residuals says how wide it is), else without.
func TestLargeRatioNeedsNoDraws(t *testing.T) {
	g := rand.New(NewKey("b", "pass", "large").stream(0))
	for _, spread := range []float64{0, .8} {
		n := 1200
		pass, cost, families, residuals := make([]float64, n), make([]float64, n), make([]int, n), make([]float64, n)
		shift := 0.0
		for i := range pass {
			if families[i] = i / 10; i%10 == 0 {
				shift = spread * (g.Float64() - .5)
			}
			pass[i], cost[i] = indicator(g.Float64()+shift > .5), .1+.2*g.Float64()
		}
		if spread == 0 {
			families = nil
		}
		r := spent(t, pass, cost, families)
		assert.Equal(t, ByFieller, r.Method)
		for i := range residuals {
			residuals[i] = pass[i] - r.Value*cost[i]
		}
		plain, _ := PassPerDollar(pass, cost)
		half := (r.Interval.High - r.Interval.Low) / 2
		if spread == 0 {
			assert.Equal(t, plain.Interval, r.Interval)
			continue
		}
		v, _, ok := ClusteredVariance(residuals, families)
		require.True(t, ok)
		assert.InEpsilon(t, studentUpper(.025, 119)*math.Sqrt(v)/average(cost), half, .01)
		assert.Less(t, (plain.Interval.High-plain.Interval.Low)/2, .8*half, "as if tasks of a family were independent")
		r.resampled(pass, cost, NewResample(n, families, Draws, NewKey("b", "pass", "ratio")).Sums(pass, cost), 0, 1)
		assert.InEpsilon(t, (r.Interval.High-r.Interval.Low)/2, half, .15)
	}
}
