package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestT12Holm(t *testing.T) {
	assert.InDeltaSlice(t, []float64{.04, .09, .09, .025, .2}, Holm([]float64{.01, .04, .03, .005, .2}), 1e-12)
}

func TestT12bRanksAndLetters(t *testing.T) {
	r := &reading{columns: make([]column, 4)}
	for i := range r.columns {
		r.columns[i] = column{id: string(rune('A' + i)), k: 3, ybar: .9 - .1*float64(i)}
	}
	v := &Verdicts{Best: Nobody}
	for _, p := range r.pairs(DefaultRule(), Nobody) {
		pair := Pair{A: p.a, B: p.b, Compared: true, RepeatsA: 3, RepeatsB: 3, Winner: Nobody}
		if p.a == 0 && p.b > 1 || p.a == 1 && p.b == 3 {
			pair.Mark, pair.Winner = Beats, p.a
		}
		v.Pairs = append(v.Pairs, pair)
	}
	v.rank(r, DefaultRule())
	assert.Equal(t, []*Rank{{1, 2}, {1, 3}, {2, 4}, {3, 4}}, v.Ranks)
	assert.Equal(t, []string{"a", "ab", "bc", "c"}, v.Letters)
	assert.Equal(t, "z", letter(25))
	assert.Equal(t, "aa", letter(26))
	assert.Equal(t, "zz", letter(maxGroups-1))
}

// everyDraw is the mean of all n^n resamples.
func everyDraw(x []float64) []float64 {
	n := len(x)
	var out []float64
	total := int(math.Pow(float64(n), float64(n)))
	for i := range total {
		sum, rest := 0.0, i
		for range n {
			sum += x[rest%n]
			rest /= n
		}
		out = append(out, sum/float64(n))
	}
	return out
}

func TestT13BCa(t *testing.T) {
	leave := func(x []float64) []float64 {
		out, m := make([]float64, len(x)), average(x)
		for i := range x {
			out[i] = (m*6 - x[i]) / 5
		}
		return out
	}
	x := []float64{0, 0, 0, 0, 0, 1}
	draws := everyDraw(x)
	i, ok := Percentile(draws)
	require.True(t, ok)
	assert.InDelta(t, 0, i.Low, digits)
	assert.InDelta(t, .5, i.High, digits)
	c, ok := BCaOf(draws, average(x), leave(x))
	require.True(t, ok)
	assert.InDelta(t, .089951, c.Bias, digits)
	assert.InDelta(t, .121716, c.Acceleration, digits)
	assert.InDelta(t, .075880, c.Low, digits)
	assert.InDelta(t, .997609, c.High, digits)
	assert.InDelta(t, 0, c.Interval.Low, digits)
	assert.InDelta(t, .666667, c.Interval.High, digits)

	x = []float64{0, 0, 1. / 3, 2. / 3, 1, 1}
	draws = everyDraw(x)
	i, _ = Percentile(draws)
	c, ok = BCaOf(draws, average(x), leave(x))
	require.True(t, ok)
	for _, got := range []Interval{i, c.Interval} {
		assert.InDelta(t, .166667, got.Low, digits)
		assert.InDelta(t, .833333, got.High, digits)
	}
}

func TestT14BootstrapSE(t *testing.T) {
	_, mean, _ := airlineMoments()
	const draws = 200000
	var got []float64
	for _, s := range NewResample(50, nil, draws, NewKey("t14", "score", "test")).Sums(mean) {
		got = append(got, s[0]/50)
	}
	se := math.Sqrt(variance(got))
	// exact: .051691; the SE of an SE over 200,000 draws is about .00008
	assert.InDelta(t, .051691, se, .0003)
	assert.InDelta(t, .051691, math.Sqrt(variance(mean)*49/50/50), digits)
	// task-then-run would add the rerun noise again: Var2 = Var1 + (1/N²) Σ popvar/k
	nested := variance(mean) * 49 / 50 / 50
	for _, p := range mean {
		nested += p * (1 - p) / 4 / 2500
	}
	assert.InDelta(t, .056763, math.Sqrt(nested), digits)
	assert.InDelta(t, 1.098107, math.Sqrt(nested/(variance(mean)*49/50/50)), digits)
}

func TestT15Panel(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(4, ""), Variants: []Variant{
		{ID: "v1", Runs: runsOf("11 10 11 00")}, {ID: "v2", Runs: runsOf("11 00 10 00")}, {ID: "v3", Runs: runsOf("10 00 00 00")}}})
	x := Describe(d, DefaultRule(), ruled(t, d, DefaultRule()))
	g := x.Panel
	require.NotNil(t, g)
	assert.InDelta(t, .5, g.Variants, digits)
	assert.InDelta(t, .819444, g.Tasks, digits)
	assert.InDelta(t, .111111, g.Interaction, digits)
	assert.InDelta(t, .125, g.Error, digits)
	assert.Zero(t, g.VarianceInteraction)
	assert.InDelta(t, .048611, g.VarianceVariants, digits)
	near6(t, .777778, g.Rho2)
	near6(t, .755929, x.Tasks[0].ItemRest)
	near6(t, .755929, x.Tasks[1].ItemRest)
	near6(t, 1, x.Tasks[2].ItemRest)
	assert.Nil(t, x.Tasks[3].ItemRest)
	rows := d.read(false).rows([]int{0, 1, 2, 3})
	p, ok := FamilyTest(rows, Key{})
	require.True(t, ok)
	assert.InDelta(t, .111111, p.P, digits)
	assert.Zero(t, p.Draws)
	drawn := drawnLabels(rows, 0, 8.75-1e-9, NewKey("t15", "pass", "test"))
	assert.InDelta(t, .111111, drawn.P, .05)
	assert.Less(t, drawn.Draws, Draws, "it is clear early that p is above .05")
}

func TestT16Agreement(t *testing.T) {
	a, ok := Cohen(20, 5, 10, 15)
	require.True(t, ok)
	near6(t, .4, a.Value)
	a, _ = Cohen(45, 3, 2, 0)
	near6(t, -.050420, a.Value)
	assert.InDelta(t, .9, a.Raw, digits)
	a, ok = Cohen(50, 0, 0, 0)
	assert.True(t, ok)
	assert.Nil(t, a.Value)
	a, ok = Fleiss([][2]int{{3, 0}, {2, 1}, {3, 0}, {0, 3}, {1, 2}, {3, 0}})
	require.True(t, ok)
	near6(t, .5, a.Value)

	var units [][]float64
	rows := []string{"123321412---", "1233224125-3", "-3332342251-", "12332441251-"}
	for u := range rows[0] {
		var votes []float64
		for _, row := range rows {
			if row[u] != '-' {
				votes = append(votes, float64(row[u]-'0'))
			}
		}
		units = append(units, votes)
	}
	a, ok = Krippendorff(units, Nominal)
	require.True(t, ok)
	near6(t, .743421, a.Value)
	a, _ = Krippendorff(units, IntervalScale)
	near6(t, .849107, a.Value)
	a, ok = Krippendorff([][]float64{{1, 1}, {1, 1, 1}}, Nominal)
	assert.True(t, ok)
	assert.Nil(t, a.Value)
}

func TestT18Cost(t *testing.T) {
	pass, cost := []float64{1, 0, 1, 1, 0, 1, .5, 1}, []float64{.2, .35, .25, .3, .6, .15, .4, .25}
	r, ok := PassPerDollar(pass, cost)
	require.True(t, ok)
	assert.InDelta(t, 2.2, r.Value, digits)
	assert.InDelta(t, .141863, r.Unbounded, digits)
	assert.InDelta(t, .738512, r.Interval.Low, digits)
	assert.InDelta(t, 5.267577, r.Interval.High, digits)
	_, ok = PassPerDollar(pass, make([]float64, 8))
	assert.False(t, ok, "free is not infinitely good")

	total, i, ok := Projection(cost, 100)
	require.True(t, ok)
	assert.InDelta(t, 31.25, total, digits)
	assert.InDelta(t, 19.018027, i.Low, digits)
	assert.InDelta(t, 43.481973, i.High, digits)
	g, ok := GeometricRatio([]float64{.2, .35, .25, .3}, []float64{.1, .4, .2, .15})
	require.True(t, ok)
	assert.InDelta(t, 1.446254, g.Value, digits)
	assert.InDelta(t, .763281, g.Interval.Low, digits)
	assert.InDelta(t, 2.740341, g.Interval.High, digits)
}

func TestT19Planning(t *testing.T) {
	d := Design{Interaction: .05, NoiseA: .15, NoiseB: .15, Alpha: .05}
	assert.InDelta(t, 7.848880, d.z()*d.z(), digits)
	for _, c := range []struct {
		n, k int
		mde  float64
	}{{50, 1, .234397}, {50, 5, .131406}, {200, 3, .076725}, {500, 5, .041554}} {
		mde, ok := d.MDE(c.n, c.k, c.k)
		require.True(t, ok)
		assert.InDelta(t, c.mde, mde, digits)
	}
	for k, want := range map[int]int{1: 1099, 3: 471, 5: 346} {
		n, ok := d.TasksFor(.05, k, k)
		assert.True(t, ok)
		assert.Equal(t, want, n)
	}
	for n, want := range map[int]int{50: 0, 150: 0, 200: 22, 400: 4} {
		k, ok := d.RepeatsFor(.05, n)
		assert.Equal(t, want != 0, ok)
		assert.Equal(t, want, k)
	}
	d.Shock = .001
	mde, _ := d.MDE(500, 3, 3)
	assert.InDelta(t, .087105, mde, digits)
	_, ok := d.TasksFor(.05, 3, 3)
	assert.False(t, ok, "no number of tasks outruns the shocks")
}

func TestT20FailuresDecide(t *testing.T) {
	a := repeat("1", 30) + repeat("0", 6) + repeat("-", 4)
	b := repeat("0", 8) + repeat("1", 32)
	d := build(t, Batch{Metric: Pass, Tasks: panel(40, ""), Variants: []Variant{{ID: "A", Runs: runsOf(a)}, {ID: "B", Runs: runsOf(b)}}})
	p := ruled(t, d, DefaultRule()).Pairs[0]
	assert.Equal(t, []string{"no_repeats", "provider_failures_decide"}, p.Codes.Strings())
	assert.InDelta(t, -.05, *p.Second.Difference, digits)
	band := d.variants[0].band(40)
	assert.InDelta(t, .75, band.Low, digits)
	assert.InDelta(t, .85, band.High, digits)
	x, ok := FailureBand(30, 36, 4)
	require.True(t, ok)
	assert.Equal(t, *band, x)
}

func TestT21Anchors(t *testing.T) {
	ref1 := []float64{.6, .8, .4, 1, .2, .6, .8, .6, .4, 1}
	ref2 := []float64{.6, .6, .4, 1, .2, .4, .8, .6, .2, 1}
	older := []float64{.4, .8, .2, 1, .2, .4, .6, .6, .4, .8}
	newer := []float64{.6, .8, .4, 1, .4, .4, .8, .6, .4, 1}
	anchors := make([]Anchor, 10)
	for i := range anchors {
		anchors[i] = Anchor{RefOld: Measured{Mean: ref1[i]}, RefNew: Measured{Mean: ref2[i]}, Old: Measured{Mean: older[i]}, New: Measured{Mean: newer[i]}}
	}
	b := BridgeOf(anchors, 50, true, .05, .025)
	near6(t, .0078125, b.P) // t gives .000203, eight flips of one sign 2^-7
	assert.Equal(t, DriftUnresolved, b.Link)
	assert.InDelta(t, -.06, b.Drift.Value, digits)
	assert.InDelta(t, -.129110, b.Drift.Interval.Low, digits)
	assert.InDelta(t, .009110, b.Drift.Interval.High, digits)
	assert.Nil(t, b.Raw)
	assert.InDelta(t, .16, b.Difference.Value, digits)
	near6(t, .026667, b.Difference.SE)
	assert.InDelta(t, .099676, b.Difference.Interval.Low, digits)
	assert.InDelta(t, .220324, b.Difference.Interval.High, digits)
	assert.Equal(t, NotComparable, BridgeOf(anchors, 51, true, .05, .025).Link)
	assert.Equal(t, NotComparable, BridgeOf(anchors[:9], 20, true, .05, .025).Link)
	assert.Equal(t, NotComparable, BridgeOf(anchors, 20, false, .05, .025).Link)
	sum, se, ok := Chain([]Bridge{b, b})
	require.True(t, ok)
	assert.InDelta(t, .32, sum, digits)
	assert.InDelta(t, .026667*math.Sqrt2, se, digits)
}

func TestT23RangeAndWelch(t *testing.T) {
	a, b := []float64{.62, .64, .60}, []float64{.58, .61, .57}
	assert.True(t, rangeTie(a, b).Tie)
	w, ok := welch(measured(a), measured(b))
	require.True(t, ok)
	assert.InDelta(t, .033333, w.Difference, digits)
	assert.InDelta(t, .016667, w.SE, digits)
	assert.InDelta(t, 3.993610, w.DF, digits)
	assert.InDelta(t, .116229, w.P, digits)
	for k, want := range []float64{1, .333333, .100000, .028571, .007937, .002165} {
		x := make([]float64, k+1)
		assert.InDelta(t, want, rangeTie(x, x).Chance, digits)
	}
}

func TestT24SmallestP(t *testing.T) {
	for m, want := range map[int]float64{4: .125, 5: .0625, 6: .03125, 8: .007812, 11: .000977, 12: .000488} {
		x := make([]float64, m)
		for i := range x {
			x[i] = .1 * float64(i+1)
		}
		p, ok := SignFlip(x)
		require.True(t, ok)
		assert.InDelta(t, want, p, digits)
	}
	least := []int{6, 7, 8, 9, 10, 11, 11, 12}
	for i, f := range []int{1, 3, 6, 10, 15, 28, 45, 66} {
		m, ok := UnitsFor(f, .05)
		assert.True(t, ok)
		assert.Equal(t, least[i], m)
	}
}

func TestT26Spread(t *testing.T) {
	assert.Equal(t, Ceiling, SpreadOf([]float64{.985, .990, 1}, ptr(.05)))
	assert.Equal(t, Floor, SpreadOf([]float64{.02, 0, .01}, ptr(.05)))
	assert.Equal(t, Room, SpreadOf([]float64{.2, .9}, ptr(.05)))
	assert.Equal(t, SpreadUnknown, SpreadOf([]float64{.9}, ptr(.05)))
	assert.Equal(t, SpreadUnknown, SpreadOf([]float64{.9, .8}, nil))
}

func TestTwoFormulasForPassHat(t *testing.T) {
	p := PassTable([]int{4, 5, 2, 1}, []int{2, 4, 2, 1}, nil, 2, PassHatK)
	assert.InDelta(t, .588889, p.Mean.Value, digits)
	assert.Equal(t, 3, p.Mean.Tasks)
	assert.Equal(t, 1, p.Excluded)
	assert.Nil(t, PassTable([]int{1, 1}, []int{1, 1}, nil, 2, PassHatK).Mean)
}
