package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLinearAxis(t *testing.T) {
	for _, tt := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{-0.098, 0.091, "−0.10 −0.05 0.00 0.05 0.10"},
		{0.5, 0.5, "0.44 0.46 0.48 0.50 0.52 0.54 0.56"},
		{0, 0, "−0.6 −0.4 −0.2 0.0 0.2 0.4 0.6"},
		{3, 1090, "0 200 400 600 800 1000 1200"},
		{-1e300, 1e300, "−1e+300 −5e+299 0 5e+299 1e+300"},
		{0, 5e-324, "−0.6 −0.4 −0.2 0.0 0.2 0.4 0.6"},
	} {
		a := linear(extent{tt.lo, tt.hi, true}, 6)
		var got []string
		for _, tick := range a.ticks {
			got = append(got, a.spell(tick))
		}
		assert.Equal(t, tt.want, strings.Join(got, " "))
	}
}

func TestLogarithmicAxis(t *testing.T) {
	a := logarithmic(extent{0.004, 0.9, true})
	assert.InDeltaSlice(t, []float64{0.001, 0.01, 0.1, 1}, a.ticks, 1e-12)
	a.from, a.to = 0, 300
	assert.InDelta(t, 100, a.at(0.01), 1e-9)
	assert.InDelta(t, 250, a.at(math.Sqrt(0.1)), 1e-9)
	assert.LessOrEqual(t, len(logarithmic(extent{1e-300, 1e300, true}).ticks), 8)
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.42: "0.42", 0.0123456: "0.0123", 0.5: "0.5", 1234.4: "1234", 12.34: "12.3", -0.2: "−0.2", 1e9: "1e+09", 0.00001: "0.00001", 1e-9: "1e−09", 99.96: "100"} {
		assert.Equal(t, want, short(v))
	}
	assert.Equal(t, "0.00", decimal(-0.001, 0.01, 0), "no minus before nothing")
	assert.Equal(t, "+0.06", signed(decimal(0.06, 0.01, 0)))
	assert.Equal(t, "0.00", signed("0.00"))
	assert.Equal(t, "−0.06", signed(decimal(-0.06, 0.01, 0)))
}

func TestCutKeepsBothEnds(t *testing.T) {
	short := cut(longLabel, plainFont, 200)
	assert.LessOrEqual(t, width(short, plainFont), 200.0)
	assert.True(t, strings.HasPrefix(short, "claude-code") && strings.HasSuffix(short, "2026-08-15"), short)
	assert.Equal(t, "opencode", cut("opencode", plainFont, 200))
	assert.Equal(t, "⟨U+202E⟩x", cut("\u202ex", plainFont, 200), "what is hidden is shown")
	assert.Equal(t, "…", cut("opencode", plainFont, 0))
	assert.NotContains(t, cut(strings.Repeat("e\u0301", 90), plainFont, 90), "…\u0301", "no accent without its letter")
}

func TestWrap(t *testing.T) {
	lines := wrap(strings.Repeat("word ", 40), plainFont, 200, 3)
	require.Len(t, lines, 3)
	for _, l := range lines {
		assert.LessOrEqual(t, width(l, plainFont), 200.0)
	}
	assert.Contains(t, lines[2], ellipsis)
	assert.Empty(t, wrap("  ", plainFont, 200, 3))
}

func TestPile(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2, 0, 1, 0}, pile([]float64{1, 1, 5, 11, 11, 21}, 10))
}

// A label with room around it is written, at its first place; where there is none, it is left out.
func TestLabelsWithRoom(t *testing.T) {
	area := box{0, 0, 300, 200}
	far := place([]target{{60, 60, 40, 18}, {200, 150, 40, 18}}, area, nil)
	assert.Equal(t, []int{0, 0}, []int{far[0].candidate, far[1].candidate})
	near := place([]target{{60, 60, 40, 18}, {76, 60, 40, 18}}, area, nil)
	assert.GreaterOrEqual(t, near[0].candidate, 0)
	assert.Positive(t, near[1].candidate+near[0].candidate, "one of both makes way")
	assert.Negative(t, place([]target{{150, 100, 400, 18}}, area, nil)[0].candidate, "wider than the area")
}

func TestLabelsMakeWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		area := box{0, 0, 300, 200}
		targets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) target {
			return target{rapid.Float64Range(8, 292).Draw(t, "x"), rapid.Float64Range(8, 192).Draw(t, "y"), rapid.Float64Range(5, 150).Draw(t, "w"), 18}
		}), 0, 20).Draw(t, "targets")
		places := place(targets, area, nil)
		for n, p := range places {
			if p.candidate < 0 {
				continue
			}
			require.True(t, p.within(area))
			for _, o := range targets {
				require.False(t, p.hits(box{o.x - 7, o.y - 7, o.x + 7, o.y + 7}), "on a point")
			}
			for _, o := range places[:n] {
				require.False(t, o.candidate >= 0 && p.hits(o.box), "on another label")
			}
		}
	})
}

// TestWhatIsMissingIsSaid leaves figures out one by one.
func TestWhatIsMissingIsSaid(t *testing.T) {
	v, not := new(0.5), new(math.NaN())
	for _, tt := range []struct {
		chart drawing
		words string
	}{
		{Intervals{}, "no data"},
		{Intervals{Rows: []IntervalRow{{Label: "a"}}}, "no data"},
		{Intervals{Rows: []IntervalRow{{Label: "a", Value: not, Low: v, High: v}}}, "no value"},
		{Intervals{Rows: []IntervalRow{{Label: "a", Value: v, Low: v}}}, "no upper bound"},
		{Intervals{Rows: []IntervalRow{{Label: "a", Value: v, Low: new(math.Inf(-1)), High: v}}}, "no lower bound"},
		{Intervals{Rows: []IntervalRow{{Label: "a", Value: v}}}, "no interval"},
		{Scatter{}, "no variant has both"},
		{Scatter{Points: []Point{{Label: "a", Cost: v, Score: v}, {Label: "b", Score: v}}}, "cost unknown: b (0.5)"},
		{Scatter{Points: []Point{{Label: "b", Cost: v}}}, "no score: b ($0.5)"},
		{Scatter{Points: []Point{{Label: "b"}}}, "no score: b (cost unknown too)"},
		{Dots{}, "no data"},
		{Dots{Rows: []DotRow{{Label: "a", Runs: []float64{math.NaN()}}}}, "no data"},
		{Dots{Rows: []DotRow{{Label: "a", Runs: []float64{1}}}}, "no mean"},
		{Dots{Rows: []DotRow{{Label: "a", Mean: v}}}, "no runs"},
		{Dots{Rows: []DotRow{{Label: "a", Runs: []float64{1}, Mean: v}}}, "no interval"},
		{Heat{}, "no data"},
		{Bars{}, "no data"},
		{Bars{Parts: []string{"p"}, Rows: []BarRow{{Label: "a"}}}, "no data"},
		{Bars{Parts: []string{"p", "q"}, Rows: []BarRow{{Label: "a", Values: []*float64{v, new(-1.0)}}}}, "no data: q"},
	} {
		text, _ := wellFormed(t, tt.chart.SVG())
		assert.Contains(t, text, tt.words, fmt.Sprintf("%+v", tt.chart))
	}
	h := Heat{Columns: []string{"a", "b"}, Rows: []HeatRow{{Label: "t", Values: []*float64{v}}}}
	assert.Contains(t, h.SVG(), `stroke="url(#chart--none)" d="M`, "missing cells are hatched")
}
