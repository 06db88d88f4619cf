package stats

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestT1PassK(t *testing.T) {
	undefined := math.NaN()
	for _, c := range []struct {
		n, c, k int
		at, hat float64
	}{
		{5, 3, 1, .6, .6}, {5, 3, 2, .9, .3}, {5, 3, 3, 1, .1}, {5, 3, 5, 1, 0},
		{5, 0, 3, 0, 0}, {5, 5, 3, 1, 1}, {5, 1, 5, 1, 0}, {10, 4, 3, .833333, .033333}, {20, 1, 10, .5, 0}, {1, 1, 1, 1, 1},
		{3, 2, 5, undefined, undefined}, {0, 0, 1, undefined, undefined}, {3, 3, 5, undefined, undefined}, {3, 0, 5, undefined, undefined},
	} {
		at, okAt := PassAtK(c.n, c.c, c.k)
		hat, okHat := PassHatK(c.n, c.c, c.k)
		assert.Equal(t, !math.IsNaN(c.at), okAt, "%+v", c)
		assert.Equal(t, !math.IsNaN(c.hat), okHat, "%+v", c)
		if okAt {
			assert.InDelta(t, c.at, at, digits, "%+v", c)
			assert.InDelta(t, c.hat, hat, digits, "%+v", c)
		}
	}
}

// airline is tau-bench's published gpt-4o airline result: passes of 4 runs, by task.
var airline = []int{0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 4, 2, 0, 2, 1, 1, 4, 0, 4, 3, 0, 0, 4, 0, 2, 2, 0, 1, 2, 2, 0, 0, 3, 4, 4, 3, 4, 1, 3, 2, 4, 1, 2, 2, 2, 1, 4, 4}

func airlineMoments() (n []int, mean, s2 []float64) {
	for _, c := range airline {
		p := float64(c) / 4
		n, mean, s2 = append(n, 4), append(mean, p), append(s2, 4*p*(1-p)/3)
	}
	return n, mean, s2
}

func TestT2RealData(t *testing.T) {
	n, mean, s2 := airlineMoments()
	for i, want := range [][2]float64{{.42, .42}, {.566667, .273333}, {.66, .22}, {.72, .2}} {
		at, hat := PassTable(n, airline, nil, i+1, PassAtK), PassTable(n, airline, nil, i+1, PassHatK)
		assert.InDelta(t, want[0], at.Mean.Value, digits)
		assert.InDelta(t, want[1], hat.Mean.Value, digits)
		assert.Zero(t, hat.Excluded)
	}
	m, ok := MeanOf(mean, nil, 0, 1)
	require.True(t, ok)
	near6(t, .052216, m.SE)
	assert.InDelta(t, .315068, m.Interval.Low, digits)
	assert.InDelta(t, .524932, m.Interval.High, digits)
	o, ok := OneWayOf(n, mean, s2)
	require.True(t, ok)
	assert.InDelta(t, .545306, o.Between, digits)
	assert.InDelta(t, .146667, o.Within, digits)
	near6(t, .404584, o.ICC)
	trials := EffectiveTrials(200, 50, *o.ICC)
	assert.InDelta(t, 90.344311, trials, digits)
	assert.InDelta(t, 2.213753, 200/trials, digits)
	w, ok := Wilson(.42*trials, trials)
	require.True(t, ok)
	assert.InDelta(t, .323533, w.Low, digits)
	assert.InDelta(t, .522993, w.High, digits)
	limit, ok := SingleRunDifference(.146667, 50)
	require.True(t, ok)
	assert.InDelta(t, .150122, limit, digits)
	// the published run means .42 .44 .40 .42, with w as above
	phi := 3 * 50 * variance([]float64{.42, .44, .40, .42}) / o.Within
	assert.InDelta(t, .272727, phi, digits)
	assert.InDelta(t, .965073, chiSquareTail(phi, 3), digits)
}

func TestT3Wilson(t *testing.T) {
	for _, c := range []struct{ x, n, low, high float64 }{
		{0, 10, 0, .277533}, {10, 10, .722467, 1}, {5, 10, .236593, .763407}, {9, 10, .595850, .982124},
		{18, 20, .698966, .972134}, {1, 1, .206549, 1}, {50, 50, .928652, 1}, {0, 25, 0, .133192}, {25, 25, .866808, 1}, {7, 7, .645670, 1},
	} {
		i, ok := Wilson(c.x, c.n)
		require.True(t, ok)
		assert.InDelta(t, c.low, i.Low, digits)
		assert.InDelta(t, c.high, i.High, digits)
	}
	_, ok := Wilson(0, 0)
	assert.False(t, ok)
}

func TestT4UnequalRuns(t *testing.T) {
	rows := []string{"111", "101", "00", "1001", "0"}
	var n, c []int
	var mean, s2 []float64
	for _, row := range rows {
		k, passes := len(row), strings.Count(row, "1")
		p := float64(passes) / float64(k)
		n, c, mean = append(n, k), append(c, passes), append(mean, p)
		s2 = append(s2, float64(k)*p*(1-p)/float64(max(1, k-1)))
	}
	m, _ := MeanOf(mean, nil, 0, 1)
	assert.InDelta(t, .433333, m.Value, digits)
	o, ok := OneWayOf(n, mean, s2)
	require.True(t, ok)
	assert.InDelta(t, .391026, o.Between, digits)
	assert.InDelta(t, .208333, o.Within, digits)
	assert.InDelta(t, 2.5, o.N0, digits)
	near6(t, .259681, o.ICC)
	hat, at := PassTable(n, c, nil, 2, PassHatK), PassTable(n, c, nil, 2, PassAtK)
	assert.InDelta(t, .375, hat.Mean.Value, digits)
	assert.InDelta(t, .708333, at.Mean.Value, digits)
	assert.Equal(t, 1, hat.Excluded)
	assert.Equal(t, 4, hat.Mean.Tasks)
}

func TestT4bMissing(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(4, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf("111 10- --- 011")}, {ID: "B", Runs: runsOf("101 001 111 0--")}}})
	r := d.read(false)
	s := newScratch(4)
	p := r.pair(0, 1, s)
	assert.Equal(t, 3, p.tasks)
	assert.InDeltaSlice(t, []float64{.333333, .166667, .666667}, s.d, digits)
	assert.InDelta(t, .388889, p.mean, digits)
	assert.InDelta(t, .021605, p.vTask, digits)
	assert.InDelta(t, .277778, p.wA, digits)
	assert.InDelta(t, .333333, p.wB, digits)
	assert.InDelta(t, .101852, p.vRerun, digits)
	pair := ruled(t, d, DefaultRule()).Pairs[0]
	assert.Equal(t, [2]int{0, 1}, [2]int{pair.LostA, pair.LostB})
	assert.True(t, pair.Codes.Has(TooFewTasks))
}

// passesOf makes runs with the given number of passes of k, all at the front.
func passesOf(k int, passes ...int) string {
	var words []string
	for _, c := range passes {
		words = append(words, strings.Repeat("1", c)+strings.Repeat("0", k-c))
	}
	return strings.Join(words, " ")
}

func TestT5RerunRules(t *testing.T) {
	a, b := []int{3, 3, 2, 3, 1, 0, 2, 3, 3, 1}, []int{3, 2, 1, 3, 0, 0, 2, 1, 3, 1}
	d := build(t, Batch{Metric: Pass, Tasks: panel(10, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf(passesOf(3, a...))}, {ID: "B", Runs: runsOf(passesOf(3, b...))}}})
	r := d.read(false)
	s := newScratch(10)
	p := r.pair(0, 1, s)
	assert.InDelta(t, .7, r.columns[0].ybar, digits)
	assert.InDelta(t, .533333, r.columns[1].ybar, digits)
	assert.InDelta(t, .166667, p.mean, digits)
	assert.InDelta(t, .100000, math.Sqrt(p.vRerun), digits)
	plain, ok := PairedT(s.d)
	require.True(t, ok)
	assert.InDelta(t, .074536, plain.SE, digits)
	assert.InDelta(t, 2.236068, plain.Difference/plain.SE, digits)
	assert.InDelta(t, .052177, plain.P, digits)
	assert.InDelta(t, -.001945, plain.Difference-studentUpper(.025, 9)*plain.SE, digits)
	assert.InDelta(t, .335278, plain.Difference+studentUpper(.025, 9)*plain.SE, digits)
	assert.InDelta(t, -.044444, 10*(p.vTask-p.vRerun), digits)
	flip, ok := SignFlip(s.sums[:10])
	require.True(t, ok)
	assert.InDelta(t, .125, flip, digits)
	assert.Equal(t, 4, p.nonzero)
	assert.InDelta(t, 1.666667, p.mean/math.Sqrt(math.Max(p.vTask, p.vRerun)), digits)
	assert.InDelta(t, .129931, studentTwoSided(p.mean/math.Sqrt(math.Max(p.vTask, p.vRerun)), 9), digits)
	design := p.design(&shock{}, 0, Population, .05)
	assert.Zero(t, design.Interaction)
	mde, ok := design.MDE(10, 3, 3)
	require.True(t, ok)
	assert.InDelta(t, .280159, mde, digits) // 2.8015852 × .1
	ma, _ := MeanOf(r.columns[0].mean, nil, 0, 1)
	mb, _ := MeanOf(r.columns[1].mean, nil, 0, 1)
	assert.InDelta(t, .169604, math.Hypot(*ma.SE, *mb.SE), digits)
}

func TestT6T22Newcombe(t *testing.T) {
	for _, c := range []struct {
		d                  Discordance
		diff, low, high, p float64
	}{
		{Discordance{30, 12, 4, 4}, .16, .001239, .310390, .076813},
		{Discordance{36, 12, 2, 0}, .20, .056930, .340428, .012939},
		{Discordance{55, 25, 5, 15}, .20, .096271, .298547, .000325},
	} {
		diff, i, ok := c.d.Newcombe()
		require.True(t, ok)
		assert.InDelta(t, c.diff, diff, digits)
		assert.InDelta(t, c.low, i.Low, digits)
		assert.InDelta(t, c.high, i.High, digits)
		assert.InDelta(t, c.p, c.d.McNemar(), digits)
		var x []float64
		for range c.d.OnlyA {
			x = append(x, 1)
		}
		for range c.d.OnlyB {
			x = append(x, -1)
		}
		flip, ok := SignFlip(x)
		require.True(t, ok)
		assert.InDelta(t, c.d.McNemar(), flip, 1e-12)
	}
	b := Batch{Metric: Pass, Tasks: panel(100, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf(repeat("1", 80) + repeat("0", 20))}, {ID: "B", Runs: runsOf(repeat("1", 55) + repeat("0", 25) + repeat("1", 5) + repeat("0", 15))}}}
	p := ruled(t, build(t, b), DefaultRule()).Pairs[0]
	assert.Equal(t, ByNewcombe, p.Method)
	assert.InDelta(t, .096271, p.Interval.Low, digits)
	assert.InDelta(t, .298547, p.Interval.High, digits)
	assert.Equal(t, []string{"no_repeats"}, p.Codes.Strings())
	assert.Equal(t, CannotTell, p.Mark)
	assert.Nil(t, p.P)
	assert.Nil(t, ruled(t, build(t, b), DefaultRule()).Ranks)
}

func TestT7ZeroTaskVariance(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(4, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf("110 100 111 010")}, {ID: "B", Runs: runsOf("100 000 110 000")}}})
	r := d.read(false)
	assert.InDeltaSlice(t, []float64{.75, .75, .25}, r.columns[0].runs.means, digits)
	assert.InDeltaSlice(t, []float64{.5, .25, 0}, r.columns[1].runs.means, digits)
	p := ruled(t, d, DefaultRule()).Pairs[0]
	assert.InDelta(t, .25, p.Noise.WA, digits)
	assert.InDelta(t, .166667, p.Noise.WB, digits)
	assert.Zero(t, p.Noise.Task)
	assert.InDelta(t, .034722, p.Noise.Rerun, digits)
	assert.InDelta(t, .020833, r.shock.excess, digits)
	assert.InDelta(t, .013889, p.Noise.Run, digits)
	assert.InDelta(t, .048611, p.Noise.V, digits)
	assert.InDelta(t, 1.511858, *p.Difference/math.Sqrt(p.Noise.V), digits)
	assert.InDelta(t, .052083, r.shock.expected, digits)
	assert.InDelta(t, 1.986486, p.Noise.DF, digits)
	assert.InDelta(t, .270514, studentTwoSided(*p.Difference/math.Sqrt(p.Noise.V), p.Noise.DF), digits)
	assert.InDelta(t, 5.666667, r.shock.phi, digits)
	near6(t, .225463, r.shock.p)
}

func TestT8PublishedRuns(t *testing.T) {
	x := []float64{.730, .704, .704, .687, .704, .609, .748, .652}
	m := average(x)
	w := m * (1 - m) * (1 - .456)
	assert.InDelta(t, 1.917314, 115*variance(x)/w, digits)
	assert.InDelta(t, 13.421197, 7*115*variance(x)/w, digits)
	assert.InDelta(t, .062487, chiSquareTail(7*115*variance(x)/w, 7), digits)
}

func TestT9Bounds(t *testing.T) {
	d := []float64{0, 0, 1. / 3, 0, -1. / 3, 0, 0, 0, 1. / 3, 0, 0, -1. / 3, 0, 0, 0, 0, 1. / 3, 0, 0, 0}
	m, ok := MeanOf(d, nil, -1, 1)
	require.True(t, ok)
	assert.InDelta(t, .016667, m.Value, digits)
	near6(t, .038044, m.SE)
	assert.InDelta(t, -.062961, m.Interval.Low, digits)
	assert.InDelta(t, .096294, m.Interval.High, digits)
	p := pairing{tasks: 20, units: 20, mean: m.Value, nonzero: 5}
	tt := test{v: *m.SE * *m.SE, df: 19}
	assert.InDelta(t, .016667-.065783, m.Value-p.halfWidth(tt, .05), 1e-5)
	assert.InDelta(t, -.049117, m.Value-p.halfWidth(tt, .05), digits)
	assert.InDelta(t, .082450, m.Value+p.halfWidth(tt, .05), digits)
	assert.InDelta(t, .003175, p.boundP(tt, .10+m.Value), digits)
	assert.InDelta(t, .020584, p.boundP(tt, .10-m.Value), digits)
	assert.False(t, Significant(p.boundP(tt, .05+m.Value), .025))
	assert.True(t, Significant(p.boundP(tt, .05+m.Value), .05))
}

func TestT10NothingDiffers(t *testing.T) {
	for n, want := range map[int]float64{10: .277533, 20: .161125, 50: .071348, 100: .036993, 500: .007624} {
		half, ok := FewHalfWidth(.025, n)
		require.True(t, ok)
		assert.InDelta(t, want, half, digits)
	}
	for _, word := range []string{"111", "000"} {
		d := build(t, Batch{Metric: Pass, Tasks: panel(20, ""), Variants: []Variant{
			{ID: "A", Runs: runsOf(repeat(word, 20))}, {ID: "B", Runs: runsOf(repeat(word, 20))}, {ID: "C", Runs: runsOf(repeat(word, 20))}}})
		rule := DefaultRule()
		rule.Margin, rule.Reference = ptr(.05), "A"
		v := ruled(t, d, rule)
		p := v.Pairs[0]
		assert.InDelta(t, .161125, p.Interval.High, digits)
		assert.Equal(t, ByFew, p.Method)
		assert.Equal(t, CannotTell, p.Mark)
		near6(t, 1, p.P)
		x := Describe(d, rule, v)
		assert.Nil(t, x.Variants[0].OneWay.ICC)
		assert.Nil(t, x.Tasks[0].ItemRest)
		assert.Zero(t, x.Informative)
		assert.True(t, x.Saturated)
		assert.Nil(t, x.Panel.Rho2)
	}
	first := 0
	for n := 10; n < 100 && first == 0; n++ {
		p := pairing{units: n}
		if Significant(p.boundP(test{v: 1e-9, df: 50}, .05), .025) {
			first = n
		}
	}
	assert.Equal(t, 73, first)
}

func TestT10bAllAgainstNothing(t *testing.T) {
	variants := []Variant{{ID: "A", Runs: runsOf(repeat("111", 10))}, {ID: "B", Runs: runsOf(repeat("000", 10))}}
	p := ruled(t, build(t, Batch{Metric: Pass, Tasks: panel(10, ""), Variants: variants}), DefaultRule()).Pairs[0]
	assert.Zero(t, p.Noise.Task)
	assert.InDelta(t, .002222, p.Noise.V, digits)
	near6(t, math.Ldexp(1, -9), p.P)
	assert.Equal(t, Beats, p.Mark)

	for _, id := range []string{"C", "D", "E", "F", "G", "H", "I", "J", "K", "L"} {
		variants = append(variants, Variant{ID: id, Runs: runsOf(repeat("111", 5) + repeat("000", 5))})
	}
	v := ruled(t, build(t, Batch{Metric: Pass, Tasks: panel(10, ""), Variants: variants}), DefaultRule())
	require.Equal(t, 66, v.Compared)
	p = v.Pairs[0]
	assert.Equal(t, 9.0, p.Noise.DF)
	near6(t, .128906, p.PAdj)
	assert.InDelta(t, 5.4e-9, *p.PList, 0.05e-9)
	assert.Equal(t, Ahead, p.Mark)
}

func TestT11Families(t *testing.T) {
	x := []float64{.5, .25, .5, 0, -.25, .25, .25, 0, .25}
	f := []int{0, 0, 0, 1, 1, 2, 2, 2, 2}
	m, ok := MeanOf(x, f, -1, 1)
	require.True(t, ok)
	assert.InDelta(t, .194444, m.Value, digits)
	near6(t, .125712, m.SE)
	assert.Equal(t, 2.0, m.DF)
	assert.Equal(t, ByCluster, m.Method)
	assert.InDelta(t, -.346452, m.Interval.Low, digits)
	assert.InDelta(t, .735341, m.Interval.High, digits)
	plain, _ := MeanOf(x, nil, -1, 1)
	near6(t, .080985, plain.SE)
	_, _, ok = ClusteredVariance(x, make([]int, 9))
	assert.False(t, ok, "one family is no cluster, not a variance of 0")
}
