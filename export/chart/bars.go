package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Bars is a bar a row, each of parts in a fixed order, such as attempts by class of
// outcome. Parts differ by colour and by pattern.
type Bars struct {
	Head
	Parts  []string // what the parts are, in the order of the rows' Values
	Rows   []BarRow
	Axis   string // what the lengths are, such as "attempts"
	Prefix string // before every figure, such as "$"
}

// BarRow is one bar.
type BarRow struct {
	Label  string
	Values []*float64 // one a part, 0 or more; nil, missing or below 0: no data for this part
	Note   string
}

const barHeight = 26

// SVG draws the chart.
func (b Bars) SVG() string {
	c := b.begin()
	if len(b.Rows) == 0 {
		return b.empty(c)
	}
	c.patterns(len(b.Parts))
	e := extent{any: true}
	for _, r := range b.Rows {
		total := r.total(b.Parts)
		e.add(&total)
	}
	if e.hi == 0 {
		e.hi = 1
	}
	a := linear(e, c.steps())
	a.hi = e.hi // the longest bar ends at the edge
	a.ticks = slices.DeleteFunc(a.ticks, func(t float64) bool { return t > a.hi })
	a.from, a.to = pad, c.w-pad
	number := a.spell
	a.spell = func(v float64) string { return b.Prefix + number(v) }
	for _, r := range b.Rows {
		b.row(c, a, r)
	}
	c.ticks(a)
	if b.Axis != "" {
		c.paragraph(noteFont, b.Axis, 2)
	}
	var entries []entry
	for n, part := range b.Parts {
		entries = append(entries, entry{func(x, y float64) { c.part(n, x-11, y-7, 22, 14) }, part})
	}
	c.legend(entries)
	return b.finish(c)
}

// part is the figure of a part, or false where there is none.
func (r BarRow) part(n int) (float64, bool) {
	if n >= len(r.Values) {
		return 0, false
	}
	v, ok := known(r.Values[n])
	return v, ok && v >= 0
}

func (r BarRow) total(parts []string) float64 {
	sum := 0.0
	for n := range parts {
		if v, ok := r.part(n); ok {
			sum = min(sum+v, largest)
		}
	}
	return sum
}

func (b Bars) row(c *canvas, a axis, r BarRow) {
	var small, missing []string
	for n, part := range b.Parts {
		v, ok := r.part(n)
		switch {
		case !ok:
			missing = append(missing, part)
		case v > 0 && !b.fits(a, v):
			small = append(small, part+" "+b.figure(v))
		}
	}
	total := "total " + b.figure(r.total(b.Parts))
	switch {
	case len(missing) == len(b.Parts):
		total = "no data"
	case len(missing) > 0:
		total = "known " + total
	}
	c.heading(r.Label, join(r.Note, total))
	sum := 0.0
	c.rect("lane", a.from, c.y, a.to-a.from, barHeight)
	for n := range b.Parts {
		v, ok := r.part(n)
		if !ok || v == 0 {
			continue
		}
		x1, x2 := a.at(sum), a.at(min(sum+v, largest))
		sum = min(sum+v, largest)
		c.part(n, x1, c.y, x2-x1, barHeight)
		if b.fits(a, v) {
			c.tag((x1+x2)/2, c.y+barHeight/2, b.figure(v))
		}
	}
	c.y += barHeight + 1
	if len(missing) > 0 && len(missing) < len(b.Parts) {
		small = append(small, "no data: "+strings.Join(missing, ", "))
	}
	if len(small) > 0 {
		c.paragraph(noteFont, strings.Join(small, " · "), 4)
	}
	c.y += 7
}

// figure writes a whole number as it is, and anything else with two decimals or,
// where that says little, three digits.
func (b Bars) figure(v float64) string {
	if v == math.Trunc(v) && b.whole() {
		return b.Prefix + decimal(v, 1, 0)
	}
	if v != 0 && v < 0.1 {
		return b.Prefix + short(v)
	}
	return b.Prefix + decimal(v, 0.01, 0)
}

// whole says whether the chart counts.
func (b Bars) whole() bool {
	for _, r := range b.Rows {
		for n := range b.Parts {
			if v, ok := r.part(n); ok && v != math.Trunc(v) {
				return false
			}
		}
	}
	return true
}

// fits says whether the figure of a part has room inside it.
func (b Bars) fits(a axis, v float64) bool {
	return a.at(v)-a.at(0) >= width(b.figure(v), plainFont)+14
}

// tag is a figure on a ground of its own, centred on a point.
func (c *canvas) tag(x, y float64, s string) {
	w := width(s, plainFont) + 8
	fmt.Fprintf(&c.b, `<rect class="bg" x="%s" y="%s" width="%s" height="18" rx="3"/>`+"\n", num(x-w/2), num(y-9), num(w))
	c.text(plainFont, x, y+4.5, middle, s)
}

// part is a rectangle in the colour and pattern of a part.
func (c *canvas) part(n int, x, y, w, h float64) {
	if w > 2 {
		w-- // a gap to the next one
	}
	c.rect(series[n%len(series)].name, x, y, w, h)
	if p := n % len(strokes); strokes[p] != "" {
		fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="url(#%s-p%d)"/>`+"\n", num(x), num(y), num(w), num(h), c.id, p)
	}
}

// strokes are drawn over the parts' colours, in tiles of 8 by 8. Their number has
// no divisor in common with that of the colours, so that many parts still differ.
var strokes = []string{
	"",                             // plain
	"M-2 2L2 -2M0 8L8 0M6 10L10 6", // rising lines
	"M0 4H8",                       // level lines
	"M2 2h2v2h-2zM6 6h2v2h-2z",     // dots
	"M-2 6L2 10M0 0L8 8M6 -2L10 2", // falling lines
	"M4 0V8",                       // upright lines
	"M0 0L8 8M0 8L8 0",             // crossed lines
	"M0 4H8M4 0V8",                 // grid
	"M0 2H8M0 6H8",                 // close level lines
}

// patterns defines those that so many parts need.
func (c *canvas) patterns(parts int) {
	for n := 1; n < min(parts, len(strokes)); n++ {
		fmt.Fprintf(&c.defs, `<pattern id="%s-p%d" width="8" height="8" patternUnits="userSpaceOnUse"><path class="cut" d="%s"/></pattern>`, c.id, n, strokes[n])
	}
}
