package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/export/escape"
)

// canvas collects elements from top to bottom; y is how far down it is filled.
type canvas struct {
	b, defs strings.Builder
	id      string
	w, y    float64
}

type anchor string

const (
	start  anchor = ""
	middle anchor = ` text-anchor="middle"`
	end    anchor = ` text-anchor="end"`
)

// num writes a coordinate with at most two decimals.
func num(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// text writes s on one line, with its baseline at y.
func (c *canvas) text(f font, x, y float64, a anchor, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s"%s>%s</text>`+"\n", f.class, num(x), num(y), a, escape.HTML(s))
}

// fit is text cut to a width; what was cut is in the tooltip.
func (c *canvas) fit(f font, x, y float64, a anchor, s string, width float64) {
	short := cut(s, f, width)
	switch short {
	case "":
		return
	case visible(s):
		c.text(f, x, y, a, s)
		return
	}
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s"%s>%s<title>%s</title></text>`+"\n", f.class, num(x), num(y), a, escape.HTML(short), escape.HTML(s))
}

// paragraph wraps s below y.
func (c *canvas) paragraph(f font, s string, lines int) {
	for _, line := range wrap(s, f, c.w-2*pad, lines) {
		c.y += f.size + 5
		c.text(f, pad, c.y-4, start, line)
	}
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, num(x), num(y), num(w), num(h))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sL%s %s"/>`+"\n", class, num(x1), num(y1), num(x2), num(y2))
}

func (c *canvas) disc(class string, x, y, r float64) {
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`+"\n", class, num(x), num(y), num(r))
}

func (c *canvas) square(class string, x, y, r float64) { c.rect(class, x-r, y-r, 2*r, 2*r) }

func (c *canvas) diamond(class string, x, y, r float64) {
	fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sl%[4]s %[4]sl-%[4]s %[4]sl-%[4]s -%[4]sz"/>`+"\n", class, num(x), num(y-r), num(r))
}

// whisker is a horizontal line with ends.
func (c *canvas) whisker(class string, x1, x2, y, r float64) {
	fmt.Fprintf(&c.b, `<path class="%s" d="M%[2]s %[4]sH%[3]sM%[2]s %[5]sv%[6]sM%[3]s %[5]sv%[6]s"/>`+"\n",
		class, num(x1), num(x2), num(y), num(y-r), num(2*r))
}

// steps is about how many an axis has.
func (c *canvas) steps() int {
	if c.w == narrow {
		return 4
	}
	return 6
}

// entry is one sign of a legend with its words.
type entry struct {
	sign  func(x, y float64) // drawn around the point, 12 to each side
	words string
}

// legend sets the entries from left to right, line by line.
func (c *canvas) legend(entries []entry) {
	if len(entries) == 0 {
		return
	}
	const sign, gap, height = 38.0, 14.0, 21.0
	c.y += 4
	x := float64(pad)
	for _, e := range entries {
		room := c.w - 2*pad - sign
		words := cut(e.words, noteFont, room)
		w := sign + width(words, noteFont)
		if x > pad && x+w > c.w-pad {
			x = pad
			c.y += height
		}
		e.sign(x+16, c.y+height/2)
		c.fit(noteFont, x+sign, c.y+height/2+4.5, start, e.words, room)
		x += w + gap
	}
	c.y += height
}
