// Package chart draws the pictures of a report as static SVG: Intervals (a forest
// plot), Scatter (score against cost), Dots (every run), Heat (tasks by variants),
// Bars (shares of a whole) and Curve (what more repeats show). Fill a struct, call SVG, and use the result as a
// file of its own or inside an HTML page, several on a page if their Names differ.
//
// Text is text, in the reader's own sans-serif font, and is cut by an estimate of
// its width. Colours follow the reader's light or dark preference, paper is light,
// and shape, pattern or words carry what colour carries. Every chart is drawn 640
// wide, or, with Narrow, 360 wide for a phone; neither grows beyond that width, and
// both shrink with their container. A page that holds both and shows one, by a media
// query on its width, reads well everywhere.
//
// The package is pure: equal structs give equal bytes. A figure that is nil, NaN or
// infinite is shown as missing, in words. Labels, notes, titles and all other strings
// may be foreign text. There are no errors: every input has a picture.
package chart

import (
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export/escape"
)

// Head is what every chart has.
type Head struct {
	Name        string // distinguishes the charts of a page; letters, digits, - and _, others become -
	Title       string // drawn above the chart, and its accessible name
	Description string // what the chart shows, in sentences, for those who cannot see it
	Narrow      bool   // 360 wide, for phones, instead of 640
}

// Widths of a drawing in CSS pixels.
const (
	wide   = 640
	narrow = 360
	pad    = 14
)

// id is the prefix of the chart's identifiers.
func (h Head) id() string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, h.Name)
	if h.Narrow {
		name += "-narrow"
	}
	return "chart-" + name
}

// begin returns a canvas on which the title stands already.
func (h Head) begin() *canvas {
	c := &canvas{id: h.id(), w: wide, y: pad}
	if h.Narrow {
		c.w = narrow
	}
	for _, line := range wrap(h.Title, titleFont, c.w-2*pad, 3) {
		c.y += 20
		c.text(titleFont, pad, c.y-3, start, line)
	}
	c.y += 8
	return c
}

// empty finishes a chart without rows.
func (h Head) empty(c *canvas) string {
	c.paragraph(noteFont, "no data", 1)
	return h.finish(c)
}

// finish closes the drawing at the canvas's y.
func (h Head) finish(c *canvas) string {
	height := c.y + pad
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="bbc" viewBox="0 0 %s %[2]s" width="%[1]s" height="%[2]s" style="max-width:100%%;height:auto"`,
		num(c.w), num(height))
	fmt.Fprintf(&b, ` role="img" aria-labelledby="%[1]s-title" aria-describedby="%[1]s-desc">`+"\n", c.id)
	fmt.Fprintf(&b, `<title id="%s-title">%s</title>`+"\n", c.id, escape.HTML(h.Title))
	fmt.Fprintf(&b, `<desc id="%s-desc">%s</desc>`+"\n", c.id, escape.HTML(h.Description))
	b.WriteString("<style>" + css + "</style>\n")
	if c.defs.Len() > 0 {
		b.WriteString("<defs>" + c.defs.String() + "</defs>\n")
	}
	fmt.Fprintf(&b, `<rect class="bg" width="%s" height="%s" rx="6"/>`+"\n", num(c.w), num(height))
	b.WriteString(c.b.String())
	b.WriteString("</svg>\n")
	return b.String()
}
