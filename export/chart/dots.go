package chart

import (
	"math"
	"slices"
)

// Dots shows every run of a row as a dot, with their mean and its interval, so that
// the spread is seen.
type Dots struct {
	Head
	Rows []DotRow
	Axis string // what the figures are, such as "mean score of a run"
}

// DotRow is the runs of one variant.
type DotRow struct {
	Label     string
	Runs      []float64 // one figure a run; NaN and infinities count as missing
	Mean      *float64  // nil: not drawn
	Low, High *float64  // interval of the mean; nil: not drawn
	Note      string
}

const dot = 4.5 // radius

// SVG draws the chart.
func (d Dots) SVG() string {
	c := d.begin()
	if len(d.Rows) == 0 {
		return d.empty(c)
	}
	a, means := d.scale(c)
	for n, r := range d.Rows {
		missing := r.missing()
		note := r.Note
		if missing != "" {
			note = join(note, missing)
		}
		c.heading(r.Label, note)
		c.dots(a, r)
		if means[n] != "" {
			c.text(plainFont, c.w-pad, c.y-laneHeight/2+4.5, end, means[n])
		}
		c.y += 6
	}
	c.ticks(a)
	if d.Axis != "" {
		c.paragraph(noteFont, d.Axis, 2)
	}
	c.legend([]entry{
		{func(x, y float64) { c.disc("og", x, y, dot) }, "one run"},
		{func(x, y float64) { c.mean(&x, new(x-12), new(x+12), y, 8) }, "mean with its interval"},
	})
	return d.finish(c)
}

func (d Dots) scale(c *canvas) (axis, []string) {
	var e extent
	for _, r := range d.Rows {
		e.add(r.Mean, r.Low, r.High)
		for n := range r.Runs {
			e.add(&r.Runs[n])
		}
	}
	if !e.any {
		e.hi = 1
	}
	a := linear(e, c.steps())
	means := make([]string, len(d.Rows))
	column := 0.0
	for n, r := range d.Rows {
		if v, ok := known(r.Mean); ok {
			means[n] = decimal(v, a.fine, 0)
			column = max(column, width(means[n], plainFont)+10)
		}
	}
	a.from, a.to = pad+6, c.w-pad-column-6
	return a, means
}

// missing says what the row lacks.
func (r DotRow) missing() string {
	if len(r.known()) == 0 {
		if _, ok := known(r.Mean); !ok {
			return "no data"
		}
		return "no runs"
	}
	if _, ok := known(r.Mean); !ok {
		return "no mean"
	}
	if _, ok := known(r.Low); !ok {
		return "no interval"
	}
	if _, ok := known(r.High); !ok {
		return "no interval"
	}
	return ""
}

func (r DotRow) known() []float64 {
	var out []float64
	for n := range r.Runs {
		if v, ok := known(&r.Runs[n]); ok {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// dots draws the runs, piled where they would cover each other, above the mean's
// lane.
func (c *canvas) dots(a axis, r DotRow) {
	var xs []float64
	for _, v := range r.known() {
		xs = append(xs, a.at(v))
	}
	levels := pile(xs, 2*dot+1)
	highest := 0
	for _, l := range levels {
		highest = max(highest, l)
	}
	rise := 2*dot + 1
	if highest > 5 { // many equal runs: they overlap in part
		rise = 5 * rise / float64(highest)
	}
	height := float64(highest)*rise + 2*dot + 6
	base := c.y + height
	c.rect("lane", a.from-6, c.y, a.to-a.from+12, height+laneHeight)
	for _, t := range a.ticks {
		c.line("grid", a.at(t), c.y, a.at(t), base+laneHeight)
	}
	for n, x := range xs {
		c.disc("og", x, base-dot-1-float64(levels[n])*rise, dot)
	}
	y := base + laneHeight/2
	var mean, low, high *float64
	for _, p := range []struct {
		from *float64
		to   **float64
	}{{r.Mean, &mean}, {r.Low, &low}, {r.High, &high}} {
		if v, ok := known(p.from); ok {
			*p.to = new(a.at(v))
		}
	}
	c.mean(mean, low, high, y, 8)
	c.y = base + laneHeight
}

// mean draws a mean and its interval at pixels, each if there is one.
func (c *canvas) mean(at, low, high *float64, y, r float64) {
	if low != nil && high != nil {
		c.whisker("gn", *low, *high, y, 4)
	}
	if at != nil {
		c.rect("fi", *at-1.5, y-r, 3, 2*r)
	}
}

// pile gives every one of the sorted positions the lowest level on which nothing
// is nearer than apart.
func pile(xs []float64, apart float64) []int {
	levels := make([]int, len(xs))
	var last []float64 // position on each level
	for n, x := range xs {
		level := slices.IndexFunc(last, func(l float64) bool { return x-l >= apart })
		if level < 0 {
			level = len(last)
			last = append(last, math.Inf(-1))
		}
		last[level] = x
		levels[n] = level
	}
	return levels
}
