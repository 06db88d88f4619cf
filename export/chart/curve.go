package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Curve is a figure that falls or rises with a number, such as the detectable
// difference with the number of repeats. The number's axis is logarithmic.
type Curve struct {
	Head
	Points []CurvePoint
	XAxis  string   // what the numbers are, such as "repeats of each variant"
	YAxis  string   // what the figures are
	Legend string   // what a point is
	Marked string   // what the marked points are
	Level  *float64 // a line at which the curve is to arrive; nil: none
	At     string   // what the level is, such as "margin 0.050"
}

// CurvePoint is the figure at one number. Without a figure, or below 1, it is not drawn.
type CurvePoint struct {
	X         int
	Value     *float64
	Low, High *float64 // interval; nil: not drawn
	Marked    bool     // drawn as a diamond
}

// SVG draws the chart.
func (v Curve) SVG() string {
	c := v.begin()
	points := slices.DeleteFunc(slices.Clone(v.Points), func(p CurvePoint) bool {
		_, ok := known(p.Value)
		return !ok || p.X < 1
	})
	if len(points) == 0 {
		return v.empty(c)
	}
	slices.SortStableFunc(points, func(a, b CurvePoint) int { return cmp.Compare(a.X, b.X) })
	x, y := v.axes(c, points)
	c.frame(x, y, "")
	v.draw(c, points, x, y)
	c.y = y.from + 11
	c.ticks(x)
	if v.XAxis != "" {
		c.paragraph(noteFont, v.XAxis+" (logarithmic)", 2)
	}
	c.legend(v.entries(c, points))
	return v.finish(c)
}

// axes makes both: ticks below every point, and a figure's axis from 0.
func (v Curve) axes(c *canvas, points []CurvePoint) (x, y axis) {
	x = axis{log: true, lo: float64(points[0].X), hi: float64(points[len(points)-1].X), spell: func(n float64) string { return strconv.Itoa(int(n)) }}
	if x.lo == x.hi {
		x.lo, x.hi = x.lo/2, x.hi*2
	}
	e := extent{any: true}
	e.add(v.Level)
	for _, p := range points {
		x.ticks = append(x.ticks, float64(p.X))
		e.add(p.Value, p.Low, p.High)
	}
	x.ticks = slices.Compact(x.ticks)
	y = linear(e, 5)
	c.plane(&x, &y, v.YAxis, 18, 0.45, 200)
	return x, y
}

func (v Curve) draw(c *canvas, points []CurvePoint, x, y axis) {
	if level, ok := known(v.Level); ok {
		c.line("gd", x.from-8, y.at(level), x.to+8, y.at(level))
	}
	var path strings.Builder
	for i, p := range points {
		at, value := x.at(float64(p.X)), y.at(*p.Value)
		low, hasLow := known(p.Low)
		high, hasHigh := known(p.High)
		if hasLow && hasHigh {
			c.line("thin", at, y.at(low), at, y.at(high))
		}
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%s %s", command, num(at), num(value))
	}
	fmt.Fprintf(&c.b, `<path class="gg" d="%s"/>`+"\n", path.String())
	for _, p := range points {
		c.at(p.Marked, x.at(float64(p.X)), y.at(*p.Value))
	}
}

// at draws a point.
func (c *canvas) at(marked bool, x, y float64) {
	if marked {
		c.diamond("fi", x, y, 7.5)
	} else {
		c.disc("fg", x, y, 3.5)
	}
}

func (v Curve) entries(c *canvas, points []CurvePoint) []entry {
	out := []entry{{func(x, y float64) { c.line("thin", x, y-8, x, y+8); c.at(false, x, y) }, v.Legend}}
	if slices.ContainsFunc(points, func(p CurvePoint) bool { return p.Marked }) {
		out = append(out, entry{func(x, y float64) { c.at(true, x, y) }, v.Marked})
	}
	if _, ok := known(v.Level); ok {
		out = append(out, entry{func(x, y float64) { c.line("gd", x-12, y, x+12, y) }, v.At})
	}
	return slices.DeleteFunc(out, func(e entry) bool { return e.words == "" })
}
