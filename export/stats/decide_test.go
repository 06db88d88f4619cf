package stats

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const digits = 5.01e-7 // vectors are given to 6 digits

type wantPair struct {
	name                                          string
	d, vTask, vRerun, v, t, df                    float64
	pt, flip, p, adj, list, listAdj, tostAdj, mde float64
	mark                                          Mark
	codes                                         []string
}

func near6(t *testing.T, want float64, got *float64, what ...any) {
	t.Helper()
	require.NotNil(t, got, what...)
	assert.InDelta(t, want, *got, digits, what...)
}

func TestT27(t *testing.T) {
	v := ruled(t, build(t, t27()), t27Rule())
	want := []wantPair{
		{"AB", .111111, .005612, .006944, .006944, 1.333333, 2.684365, .284273, .125000, .284273, .284273, .284273, .284273, .516832, .671445, CannotTell, []string{"powerless"}},
		{"AC", .472222, .005822, .009259, .009259, 4.907477, 4.010918, .007945, .007812, .007945, .046875, .007945, .031781, 1, .556393, Beats, nil},
		{"AD", .722222, .001403, .007716, .007716, 8.221922, 3.134599, .003195, .007812, .007812, .046875, .003195, .015975, 1, .608921, Beats, nil},
		{"BC", .361111, .012556, .011574, .012556, 3.222650, 5.648020, .019681, .015625, .019681, .059043, .019007, .057021, 1, .546710, CannotTell, []string{"provider_failures_decide", "powerless"}},
		{"BD", .611111, .008137, .010031, .010031, 6.101702, 4.427012, .002607, .007812, .007812, .046875, .002607, .015642, 1, .546953, Beats, nil},
		{"CD", .250000, .006944, .012346, .012346, 2.250000, 5.555094, .068968, .062500, .068968, .137937, .068968, .137937, 1, .545694, CannotTell, []string{"powerless"}},
	}
	require.Len(t, v.Pairs, 6)
	for i, w := range want {
		p := v.Pairs[i]
		near6(t, w.d, p.Difference, w.name)
		require.NotNil(t, p.Noise)
		assert.InDelta(t, w.vTask, p.Noise.Task, digits, w.name)
		assert.InDelta(t, w.vRerun, p.Noise.Rerun, digits, w.name)
		assert.InDelta(t, w.v, p.Noise.V, digits, w.name)
		assert.InDelta(t, w.df, p.Noise.DF, digits, w.name)
		assert.Zero(t, p.Noise.Run, w.name)
		near6(t, w.pt, p.PT, w.name)
		near6(t, w.flip, p.PFlip, w.name)
		near6(t, w.p, p.P, w.name)
		near6(t, w.adj, p.PAdj, w.name)
		near6(t, w.list, p.PList, w.name)
		near6(t, w.listAdj, p.PListAdj, w.name)
		near6(t, w.tostAdj, p.PTostAdj, w.name)
		near6(t, w.mde, p.MDE, w.name)
		assert.Equal(t, w.mark, p.Mark, w.name)
		assert.Equal(t, w.codes, p.Codes.Strings(), w.name)
		assert.Equal(t, 12, p.Tasks, w.name)
		assert.Equal(t, 8, p.Units, w.name)
		assert.Equal(t, w.name == "AB", p.Range.Tie, w.name)
	}
	bc := v.Pairs[3].Second
	require.NotNil(t, bc)
	near6(t, .388889, bc.Difference)
	near6(t, .015625, bc.P)
	near6(t, .046875, bc.PAdj)
	assert.Equal(t, Beats, bc.Mark)
	assert.Equal(t, []*Rank{{1, 2}, {1, 3}, {2, 4}, {3, 4}}, v.Ranks)
	assert.Equal(t, []string{"a", "ab", "bc", "c"}, v.Letters)
	assert.Equal(t, Nobody, v.Best)
	assert.Equal(t, 8.0, v.Shock.DF)
	assert.Zero(t, v.Shock.Excess)
	assert.InDelta(t, 2.718813, v.Shock.Phi, digits)
	near6(t, .950746, v.Shock.P)
	ni := v.NonInferiority
	require.Len(t, ni, 3)
	near6(t, .258416, ni[0].PNIAdj)
	near6(t, .023239, ni[2].PInfAdj)
	assert.Equal(t, []Standing{Inconclusive, Inconclusive, Inferior}, []Standing{ni[0].Standing, ni[1].Standing, ni[2].Standing})
}

func TestT28SecondLook(t *testing.T) {
	rule := t27Rule()
	rule.Look = 2
	v := ruled(t, build(t, t27()), rule)
	assert.InDelta(t, .003125, v.Alpha, 1e-15)
	assert.InDelta(t, .006250, v.Level, 1e-15)
	mde := []float64{1.380755, .907677, 1.127762, .793720, .857575, .795763}
	adj := []float64{.284273, .046875, .046875, .059043, .046875, .137937}
	for i, p := range v.Pairs {
		near6(t, mde[i], p.MDE)
		near6(t, adj[i], p.PAdj)
		assert.Equal(t, CannotTell, p.Mark)
		assert.Equal(t, []string{"powerless"}, p.Codes.Strings())
	}
	near6(t, .031781, v.Pairs[1].PListAdj)
	near6(t, .015975, v.Pairs[2].PListAdj)
	near6(t, .015642, v.Pairs[4].PListAdj)
	for i := range v.Ranks {
		assert.Equal(t, &Rank{1, 4}, v.Ranks[i])
		assert.Equal(t, "a", v.Letters[i])
	}
}

func TestT29MeasuredApart(t *testing.T) {
	b := t27()
	for r := range b.Variants[2].Runs {
		b.Variants[2].Runs[r].Started = b.Variants[2].Runs[r].Started.Add(-60 * 24 * time.Hour)
	}
	v := ruled(t, build(t, b), t27Rule())
	for _, i := range []int{1, 3, 5} {
		assert.Equal(t, CannotTell, v.Pairs[i].Mark)
		assert.Equal(t, []string{"measured_apart"}, v.Pairs[i].Codes.Strings())
		assert.Nil(t, v.Pairs[i].P)
	}
	for _, i := range []int{2, 4} {
		near6(t, .046875, v.Pairs[i].PAdj)
		assert.Equal(t, Beats, v.Pairs[i].Mark)
	}
	near6(t, 1, v.Pairs[0].PAdj)
	assert.Equal(t, CannotTell, v.Pairs[0].Mark)
	assert.Equal(t, 6, v.Compared)
	assert.Equal(t, []*Rank{{1, 3}, {1, 3}, {1, 4}, {3, 4}}, v.Ranks)
	assert.Equal(t, []string{"a", "a", "ab", "b"}, v.Letters)

	one := t27()
	one.Variants[2].Runs[1].Started = one.Variants[2].Runs[1].Started.Add(-60 * 24 * time.Hour)
	assert.Equal(t, ruled(t, build(t, t27()), t27Rule()), ruled(t, build(t, one), t27Rule()))
}

func TestT30SmallPanel(t *testing.T) {
	a, b := repeat("11111", 9)+repeat("11110", 3), repeat("00000 10000 01100", 4)
	for _, c := range []struct {
		families string
		flip     float64
		mark     Mark
		extent   string
	}{{"aaabbbcccddd", .125, Ahead, "these families only"}, {"", 1.0 / 2048, Beats, ""}} {
		v := ruled(t, build(t, Batch{Metric: Pass, Tasks: panel(12, c.families),
			Variants: []Variant{{ID: "A", Runs: runsOf(a)}, {ID: "B", Runs: runsOf(b)}}}), DefaultRule())
		p := v.Pairs[0]
		assert.InDelta(t, .003106, p.Noise.Task, digits)
		assert.InDelta(t, .003611, p.Noise.Rerun, digits)
		assert.InDelta(t, .013889, v.Shock.Excess, digits)
		assert.InDelta(t, .009167, p.Noise.V, digits)
		assert.InDelta(t, 6.370840, p.Noise.DF, digits)
		assert.InDelta(t, 7.833495, *p.Difference/math.Sqrt(p.Noise.V), digits)
		near6(t, .000169, p.PT)
		near6(t, c.flip, p.PFlip)
		near6(t, .000169, p.PList)
		assert.Equal(t, c.mark, p.Mark)
		assert.Equal(t, c.extent, p.Extent())
		assert.Equal(t, 0, p.Winner)
		assert.Equal(t, []string{"unstable_runs"}, p.Codes.Strings())
		assert.InDelta(t, 21.6, v.Shock.Phi, 1e-9)
		near6(t, .005713, v.Shock.P)
	}
}

func TestT31CoverageIsNotFailure(t *testing.T) {
	b := "01010 00100 10010 00000 01000"
	batch := func(hole string, place Place) *Data {
		a := runsOf(repeat("111"+hole+hole, 8) + repeat("110"+hole+hole, 2))
		a[3].Place, a[4].Place = place, place
		return build(t, Batch{Metric: Pass, Tasks: panel(10, ""), Variants: []Variant{{ID: "A", Runs: a}, {ID: "B", Runs: runsOf(b + " " + b)}}})
	}
	v := ruled(t, batch(".", Unfilled), DefaultRule())
	p := v.Pairs[0]
	assert.Equal(t, [2]int{3, 5}, [2]int{p.RepeatsA, p.RepeatsB})
	near6(t, .693333, p.Difference)
	assert.InDelta(t, .002390, p.Noise.Task, digits)
	assert.InDelta(t, .006222, p.Noise.Rerun, digits)
	assert.InDelta(t, .004030, p.Noise.Run, digits)
	assert.InDelta(t, .010252, p.Noise.V, digits)
	assert.InDelta(t, 3.029926, p.Noise.DF, digits)
	assert.InDelta(t, 6.847640, *p.Difference/math.Sqrt(p.Noise.V), digits)
	near6(t, .006175, p.P)
	assert.Equal(t, Beats, p.Mark)

	d := batch("-", Unfilled)
	again := ruled(t, d, DefaultRule()).Pairs[0]
	assert.Equal(t, p.Noise, again.Noise)
	assert.Equal(t, Beats, again.First.Mark)
	require.NotNil(t, again.Second)
	near6(t, .320000, again.Second.Difference)
	near6(t, .230769, again.Second.P)
	assert.Equal(t, CannotTell, again.Mark)
	assert.Equal(t, Nobody, again.Winner)
	assert.Equal(t, []string{"provider_failures_decide"}, again.Codes.Strings())
	second := d.read(true)
	s := newScratch(10)
	pp := second.pair(0, 1, s)
	tt := pp.population(pp.shocks(&second.shock, pairExcess(&second.columns[0], &second.columns[1])))
	assert.InDelta(t, .059200, tt.v, digits)
	assert.InDelta(t, 6.848023, tt.df, digits)
	assert.InDelta(t, 1.315192, pp.mean/math.Sqrt(tt.v), digits)
	band := d.variants[0].band(10)
	assert.InDelta(t, .56, band.Low, 1e-12)
	assert.InDelta(t, .96, band.High, 1e-12)
	band = batch(".", Unfilled).variants[0].band(10)
	assert.InDelta(t, .933333, band.Low, digits)
	assert.InDelta(t, .933333, band.High, digits)
}

func TestT32ReferenceAndList(t *testing.T) {
	rule := t27Rule()
	rule.Compare = WithReference
	v := ruled(t, build(t, t27()), rule)
	assert.Equal(t, 3, v.Compared)
	for i, w := range []struct {
		adj  float64
		mark Mark
	}{{.284273, CannotTell}, {.023438, Beats}, {.023438, Beats}} {
		p := v.Pairs[i]
		assert.Equal(t, 0, p.B)
		assert.Negative(t, *p.Difference)
		near6(t, w.adj, p.PAdj)
		assert.Equal(t, w.mark, p.Mark)
		if w.mark == Beats {
			assert.Equal(t, 0, p.Winner)
		}
	}
	for _, p := range v.Pairs[3:] {
		assert.False(t, p.Compared)
		assert.Nil(t, p.PAdj)
		assert.NotNil(t, p.P)
	}
	assert.Equal(t, []*Rank{{1, 2}, {1, 4}, {2, 4}, {2, 4}}, v.Ranks)
	assert.Nil(t, v.Letters)

	rule = t27Rule()
	rule.Scope = List
	v = ruled(t, build(t, t27()), rule)
	want := []wantPair{
		{name: "AB", p: .284273, adj: .284273}, {name: "AC", p: .007945, adj: .031781, mark: Ahead}, {name: "AD", p: .003195, adj: .015975, mark: Ahead},
		{name: "BC", p: .019007, adj: .057021}, {name: "BD", p: .002607, adj: .015642, mark: Ahead}, {name: "CD", p: .068968, adj: .137937}}
	for i, w := range want {
		near6(t, w.p, v.Pairs[i].P, w.name)
		near6(t, w.adj, v.Pairs[i].PAdj, w.name)
		assert.Equal(t, w.mark, v.Pairs[i].Mark, w.name)
		assert.Nil(t, v.Pairs[i].PFlip)
	}
	assert.Equal(t, Ahead, v.Pairs[3].Second.Mark)
	assert.Equal(t, []*Rank{{1, 2}, {1, 3}, {2, 4}, {3, 4}}, v.Ranks)
	assert.Equal(t, []string{"a", "ab", "bc", "c"}, v.Letters)
}

func TestT33EqualPowerlessUndeclared(t *testing.T) {
	a := repeat("11111", 20) + repeat("00000", 18) + "11011 00100"
	b := repeat("11111", 20) + repeat("00000", 18) + "11111 00000"
	d := build(t, Batch{Metric: Pass, Tasks: panel(40, ""), Variants: []Variant{{ID: "A", Runs: runsOf(a)}, {ID: "B", Runs: runsOf(b)}}})
	for _, c := range []struct {
		margin *float64
		tost   float64
		mark   Mark
		codes  []string
	}{{ptr(.15), .003944, Equal, nil}, {ptr(.05), .073397, CannotTell, []string{"powerless"}},
		{nil, 0, CannotTell, []string{"powerless", "margin_undeclared"}}} {
		rule := DefaultRule()
		rule.Margin = c.margin
		p := ruled(t, d, rule).Pairs[0]
		assert.Zero(t, *p.Difference)
		assert.InDelta(t, .000050, p.Noise.Rerun, digits)
		assert.InDelta(t, .000051, p.Noise.V, digits)
		assert.Equal(t, 2, p.Different)
		near6(t, .087622, p.MDE)
		if c.margin != nil {
			near6(t, c.tost, p.PTost)
		} else {
			assert.Nil(t, p.PTost)
		}
		assert.Equal(t, c.mark, p.Mark)
		assert.Equal(t, c.codes, p.Codes.Strings())
	}
}

func TestT27Description(t *testing.T) {
	d := build(t, t27())
	x := Describe(d, t27Rule(), ruled(t, d, t27Rule()))
	assert.Equal(t, 3, x.Repeats)
	for i, want := range []struct{ mean, low, high, w, hat float64 }{
		{.916667, .820881, 1, .083333, .75}, {.805556, .663962, .947149, .166667, .5},
		{.444444, .256454, .632435, .25, .090909}, {.194444, .085388, .303501, .194444, 0}} {
		s := x.Variants[i]
		assert.InDelta(t, want.mean, s.Mean.Value, digits)
		assert.InDelta(t, want.low, s.Mean.Interval.Low, digits)
		assert.InDelta(t, want.high, s.Mean.Interval.High, digits)
		assert.Equal(t, 11.0, s.Mean.DF)
		near6(t, want.w, s.Rerun)
		require.Len(t, s.PassHat, 3)
		assert.InDelta(t, want.hat, s.PassHat[2].Mean.Value, digits)
	}
	c := x.Variants[2]
	assert.InDeltaSlice(t, []float64{.416667, .505051, .416667}, c.RunMeans, digits)
	assert.Equal(t, [2]int{11, 1}, [2]int{c.PassHat[2].Mean.Tasks, c.PassHat[2].Excluded})
	assert.InDelta(t, .416667, c.Band.Low, digits)
	assert.InDelta(t, .444444, c.Band.High, digits)
	assert.True(t, c.Band.Dominates(ptr(.01), nil))
	assert.False(t, c.Band.Dominates(ptr(.1), ptr(.3)))
	assert.Equal(t, 12, x.Informative)
	assert.Nil(t, x.Panel, "a hole leaves the panel unbalanced")
	i, method := x.Variants[0].Preferred()
	assert.Equal(t, ByWilson, method, "3 tasks fail")
	assert.Less(t, i.High, 1.0)
	_, method = x.Variants[2].Preferred()
	assert.Equal(t, ByT, method)
	assert.Len(t, x.Families, 8)
}
