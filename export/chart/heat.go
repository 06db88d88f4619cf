package chart

import (
	"fmt"
	"math"
	"strings"
)

// Heat is a grid of values from 0 to 1, such as the mean score of every task under
// every variant.
type Heat struct {
	Head
	Columns []string
	Rows    []HeatRow
	Marked  string // what a marked row means; for the legend
	Value   string // what the values are, such as "mean score"; for the legend
}

// HeatRow is one line of the grid.
type HeatRow struct {
	Label  string
	Values []*float64 // one a column, cut to 0..1; nil or missing: hatched
	Marked bool       // a sign stands before the row
}

// grid is where the cells of a Heat are.
type grid struct {
	x, y          float64 // of the first cell
	width, height float64 // of a cell
	gap           float64 // between cells
	every         int     // how many rows share a label
	figures       bool    // cells hold text
}

// SVG draws the chart.
func (h Heat) SVG() string {
	c := h.begin()
	c.hatch()
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		return h.empty(c)
	}
	g := h.layout(c)
	h.columns(c, &g)
	g.y = c.y
	h.cells(c, g)
	h.labels(c, g)
	c.y += float64(len(h.Rows))*g.height + 4
	h.key(c)
	return h.finish(c)
}

// layout chooses sizes: rows of text where there are few, thin rows where many.
func (h Heat) layout(c *canvas) grid {
	label := 0.0
	for _, r := range h.Rows {
		label = max(label, width(r.Label, plainFont))
	}
	label = min(label, c.w*0.3)
	g := grid{x: pad + 16 + label + 8}
	g.width = min((c.w-pad-g.x)/float64(len(h.Columns)), 96)
	if g.width > 8 {
		g.width = math.Floor(g.width) // sharp edges
	}
	switch n := len(h.Rows); {
	case n <= 60:
		g.height = 23
	case n <= 120:
		g.height = 17
	case n <= 1000:
		g.height = 4
	default:
		g.height = 2
	}
	g.every = int(math.Ceil(16 / g.height))
	g.figures = g.height > 18 && g.width >= width("0.00", plainFont)+3
	if g.height > 8 && g.width > 8 {
		g.gap = 1
	}
	return g
}

// columns names the columns above the grid, upright where level text has no room.
func (h Heat) columns(c *canvas, g *grid) {
	longest := 0.0
	for _, s := range h.Columns {
		longest = max(longest, width(s, plainFont))
	}
	if longest <= g.width-6 {
		c.y += 20
		for n, s := range h.Columns {
			c.text(plainFont, g.x+(float64(n)+0.5)*g.width, c.y-6, middle, s)
		}
		return
	}
	height := min(longest, 190) + 8
	every := int(math.Ceil(16 / g.width))
	for n := 0; n < len(h.Columns); n += every {
		fmt.Fprintf(&c.b, `<g transform="translate(%s %s) rotate(-90)">`, num(g.x+(float64(n)+0.5)*g.width+4.5), num(c.y+height-5))
		c.fit(plainFont, 0, 0, start, h.Columns[n], height-8)
		c.b.WriteString("</g>\n")
	}
	c.y += height
}

// cells draws one path for each colour, of level strokes as high as a cell; where
// no gap parts them, equal neighbours are one stroke.
func (h Heat) cells(c *canvas, g grid) {
	var paths [12]strings.Builder // the last is for missing values
	for i, r := range h.Rows {
		y := num(g.y + float64(i)*g.height + (g.height-g.gap)/2)
		for j := 0; j < len(h.Columns); {
			level, next := r.level(j), j+1
			for g.gap == 0 && next < len(h.Columns) && r.level(next) == level {
				next++
			}
			fmt.Fprintf(&paths[level], "M%s %sh%s", num(g.x+float64(j)*g.width), y, num(float64(next-j)*g.width-g.gap))
			j = next
		}
	}
	fmt.Fprintf(&c.b, `<g fill="none" stroke-width="%s" shape-rendering="crispEdges">`+"\n", num(g.height-g.gap))
	for level := range paths {
		stroke := fmt.Sprintf("url(#%s-none)", c.id)
		if level < len(ramp) {
			stroke = "var(--bbc-" + ramp[level].name + ")"
		}
		if paths[level].Len() > 0 {
			fmt.Fprintf(&c.b, `<path stroke="%s" d="%s"/>`+"\n", stroke, paths[level].String())
		}
	}
	c.b.WriteString("</g>\n")
	c.rect("axis", g.x-0.5, g.y-0.5, g.width*float64(len(h.Columns))-g.gap+1, g.height*float64(len(h.Rows))-g.gap+1)
	if !g.figures {
		return
	}
	for i, r := range h.Rows {
		for j := range h.Columns {
			if v, ok := r.at(j); ok {
				c.text(figure(step(v)), g.x+(float64(j)+0.5)*g.width, g.y+float64(i)*g.height+15.5, middle, decimal(v, 0.01, 0))
			}
		}
	}
}

func (r HeatRow) at(column int) (float64, bool) {
	if column >= len(r.Values) {
		return 0, false
	}
	v, ok := known(r.Values[column])
	return min(max(v, 0), 1), ok
}

// level is the colour of a cell; after those of the ramp, none.
func (r HeatRow) level(column int) int {
	if v, ok := r.at(column); ok {
		return step(v)
	}
	return len(ramp)
}

// step is the colour of a value.
func step(v float64) int { return int(math.Round(v * float64(len(ramp)-1))) }

// figure is the font that reads on a colour of the ramp, in light and in dark.
func figure(level int) font {
	if level < turn {
		return font{"p", 13, false}
	}
	return font{"r", 13, false}
}

// turn is the first step of the ramp on which text has the colour of the ground.
const turn = 6

// labels names the rows and marks some.
func (h Heat) labels(c *canvas, g grid) {
	next := 0
	for i, r := range h.Rows {
		y := g.y + (float64(i)+0.5)*g.height - g.gap/2
		if r.Marked {
			if g.height > 8 {
				c.diamond("fi", g.x-8, y, 4.5)
			} else {
				c.rect("fi", g.x-12, y-g.height/2, 9, g.height-0.5)
			}
		}
		if i >= next {
			c.fit(plainFont, g.x-18, y+4.5, end, r.Label, g.x-18-pad/2)
			next = i + g.every
		}
	}
}

// key is the legend: the ramp from 0 to 1, the hatching, the mark.
func (h Heat) key(c *canvas) {
	c.y += 8
	const box, ends = 15.0, 12.0
	x := pad + ends
	c.text(noteFont, pad, c.y+12, start, "0")
	for n := range ramp {
		c.rect(ramp[n].name, x+float64(n)*box, c.y, box, 15)
	}
	right := x + box*float64(len(ramp))
	c.rect("axis", x-0.5, c.y-0.5, right-x+1, 16)
	c.fit(noteFont, right+5, c.y+12, start, strings.TrimSpace("1 "+h.Value), c.w-pad-right-5)
	c.y += 18
	entries := []entry{{func(x, y float64) {
		fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="20" height="14" fill="url(#%s-none)"/>`+"\n", num(x-10), num(y-7), c.id)
		c.rect("axis", x-10, y-7, 20, 14)
	}, "no data"}}
	for _, r := range h.Rows {
		if r.Marked {
			thin := len(h.Rows) > 120
			entries = append(entries, entry{func(x, y float64) {
				if thin {
					c.rect("fi", x-5, y-3, 10, 6)
				} else {
					c.diamond("fi", x, y, 4.5)
				}
			}, h.Marked})
			break
		}
	}
	c.legend(entries)
}

// hatch defines the pattern of missing values.
func (c *canvas) hatch() {
	fmt.Fprintf(&c.defs, `<pattern id="%s-none" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="bg" width="6" height="6"/>`+
		`<path class="axis" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/></pattern>`, c.id)
}
