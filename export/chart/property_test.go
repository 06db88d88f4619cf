package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const hostile = `</text></svg><script>alert(1)</script><!--]]>"'&amp;`

var (
	labels = rapid.SampledFrom([]string{"", "a", "opencode+qwen-27b", longLabel, wideLabel, hebrewLabel, arabicLabel, hostile,
		strings.Repeat("w", 300), strings.Repeat("word ", 60), "\x00\xff\u202e\u200d\ufeff", "e" + strings.Repeat("\u0301", 50), "&#0;"})
	numbers = rapid.OneOf(
		rapid.Float64Range(0, 1), rapid.Float64Range(-1, 1), rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
			math.SmallestNonzeroFloat64, 1e-300, 1 + 1e-15, 1e12, 123456789}),
	)
	figures = rapid.Custom(func(t *rapid.T) *float64 {
		if rapid.IntRange(0, 3).Draw(t, "none") == 0 {
			return nil
		}
		return new(numbers.Draw(t, "number"))
	})
	heads = rapid.Custom(func(t *rapid.T) Head {
		return Head{Name: labels.Draw(t, "name"), Title: labels.Draw(t, "title"), Description: labels.Draw(t, "description"), Narrow: rapid.Bool().Draw(t, "narrow")}
	})
)

func some[T any](t *rapid.T, most int, one func(t *rapid.T) T) []T {
	return rapid.SliceOfN(rapid.Custom(one), 0, most).Draw(t, "some")
}

func anyIntervals(t *rapid.T) drawing {
	return Intervals{Head: heads.Draw(t, "head"), Axis: labels.Draw(t, "axis"), Reference: labels.Draw(t, "reference"), Margin: figures.Draw(t, "margin"),
		Worse: labels.Draw(t, "worse"), Better: labels.Draw(t, "better"),
		Rows: some(t, 8, func(t *rapid.T) IntervalRow {
			return IntervalRow{labels.Draw(t, "label"), figures.Draw(t, "value"), figures.Draw(t, "low"), figures.Draw(t, "high"),
				Mark(rapid.Uint8Range(0, 6).Draw(t, "mark")), labels.Draw(t, "note")}
		})}
}

func anyScatter(t *rapid.T) drawing {
	return Scatter{Head: heads.Draw(t, "head"), XAxis: labels.Draw(t, "x"), YAxis: labels.Draw(t, "y"), Corner: labels.Draw(t, "corner"),
		Points: some(t, 20, func(t *rapid.T) Point {
			return Point{labels.Draw(t, "label"), figures.Draw(t, "cost"), figures.Draw(t, "score"), figures.Draw(t, "l"), figures.Draw(t, "h"),
				figures.Draw(t, "l"), figures.Draw(t, "h"), rapid.Bool().Draw(t, "reference")}
		})}
}

func anyDots(t *rapid.T) drawing {
	return Dots{Head: heads.Draw(t, "head"), Axis: labels.Draw(t, "axis"), Rows: some(t, 8, func(t *rapid.T) DotRow {
		return DotRow{labels.Draw(t, "label"), some(t, 30, func(t *rapid.T) float64 { return numbers.Draw(t, "run") }),
			figures.Draw(t, "mean"), figures.Draw(t, "low"), figures.Draw(t, "high"), labels.Draw(t, "note")}
	})}
}

func anyHeat(t *rapid.T) drawing {
	h := Heat{Head: heads.Draw(t, "head"), Marked: labels.Draw(t, "marked"), Value: labels.Draw(t, "value"),
		Columns: some(t, 9, func(t *rapid.T) string { return labels.Draw(t, "column") }),
		Rows: some(t, 6, func(t *rapid.T) HeatRow {
			return HeatRow{labels.Draw(t, "label"), some(t, 9, func(t *rapid.T) *float64 { return figures.Draw(t, "value") }), rapid.Bool().Draw(t, "marked")}
		})}
	if n := rapid.SampledFrom([]int{1, 20, 200}).Draw(t, "times"); len(h.Rows) > 0 {
		for len(h.Rows) < n {
			h.Rows = append(h.Rows, h.Rows[len(h.Rows)%7%min(len(h.Rows), 6)])
		}
	}
	return h
}

func anyBars(t *rapid.T) drawing {
	return Bars{Head: heads.Draw(t, "head"), Axis: labels.Draw(t, "axis"), Prefix: rapid.SampledFrom([]string{"", "$"}).Draw(t, "prefix"),
		Parts: some(t, 12, func(t *rapid.T) string { return labels.Draw(t, "part") }),
		Rows: some(t, 6, func(t *rapid.T) BarRow {
			return BarRow{labels.Draw(t, "label"), some(t, 12, func(t *rapid.T) *float64 { return figures.Draw(t, "value") }), labels.Draw(t, "note")}
		})}
}

func anyCurve(t *rapid.T) drawing {
	return Curve{Head: heads.Draw(t, "head"), XAxis: labels.Draw(t, "x"), YAxis: labels.Draw(t, "y"), Legend: labels.Draw(t, "legend"),
		Marked: labels.Draw(t, "marked"), Level: figures.Draw(t, "level"), At: labels.Draw(t, "at"),
		Points: some(t, 12, func(t *rapid.T) CurvePoint {
			return CurvePoint{rapid.Int().Draw(t, "number"), figures.Draw(t, "value"), figures.Draw(t, "low"), figures.Draw(t, "high"), rapid.Bool().Draw(t, "marked")}
		})}
}

var (
	odd        = regexp.MustCompile(`NaN|[+-]?Inf\b|undefined|%!`)
	horizontal = regexp.MustCompile(` (?:x|cx)="([^"]*)"| d="M([^ ]+) `)
	frame      = regexp.MustCompile(`viewBox="0 0 (\d+) ([0-9.]+)"`)
)

// TestAnything draws charts of all kinds of figures and labels.
func TestAnything(t *testing.T) {
	for name, drawn := range map[string]func(*rapid.T) drawing{
		"intervals": anyIntervals, "scatter": anyScatter, "dots": anyDots, "heat": anyHeat, "bars": anyBars, "curve": anyCurve,
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			c := drawn(t)
			svg := c.SVG()
			assert.Equal(t, svg, c.SVG(), "the same bytes each time")
			require.NotRegexp(t, odd, svg)
			_, names := wellFormed(t, svg)
			require.Equal(t, 1, names["svg"])
			require.Equal(t, 1, names["desc"])
			require.Zero(t, names["script"])
			size := frame.FindStringSubmatch(svg)
			require.NotNil(t, size)
			w, _ := strconv.ParseFloat(size[1], 64)
			_, body, _ := strings.Cut(svg, ` rx="6"/>`) // after the definitions
			for _, m := range horizontal.FindAllStringSubmatch(body, -1) {
				x, err := strconv.ParseFloat(m[1]+m[2], 64)
				require.NoError(t, err, m[0])
				require.True(t, x >= 0 && x <= w, "%s is outside", m[0])
			}
		}))
	}
}

// TestHostileText puts markup into every string there is.
func TestHostileText(t *testing.T) {
	h := Head{Name: hostile, Title: hostile, Description: hostile}
	v := new(0.5)
	for _, c := range []drawing{
		Intervals{Head: h, Axis: hostile, Reference: hostile, Margin: v, Worse: hostile, Better: hostile, Rows: []IntervalRow{{hostile, v, v, v, Beats, hostile}}},
		Scatter{Head: h, XAxis: hostile, YAxis: hostile, Corner: hostile, Points: []Point{{Label: hostile, Cost: v, Score: v}, {Label: hostile, Cost: v}, {Label: hostile, Score: v}}},
		Dots{Head: h, Axis: hostile, Rows: []DotRow{{hostile, []float64{1}, v, v, v, hostile}}},
		Heat{Head: h, Columns: []string{hostile}, Marked: hostile, Value: hostile, Rows: []HeatRow{{hostile, []*float64{v}, true}}},
		Bars{Head: h, Parts: []string{hostile, hostile}, Axis: hostile, Prefix: hostile, Rows: []BarRow{{hostile, []*float64{v, nil}, hostile}}},
	} {
		svg := c.SVG()
		text, names := wellFormed(t, svg)
		assert.Zero(t, names["script"])
		assert.Equal(t, 1, names["svg"])
		assert.NotContains(t, svg, "<script")
		assert.NotContains(t, svg, "<!--")
		assert.Contains(t, text, "alert(1)")
	}
}
