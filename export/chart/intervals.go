package chart

// Intervals is a forest plot: the difference of every row to a reference, with its
// interval.
type Intervals struct {
	Head
	Rows      []IntervalRow
	Axis      string   // what the figures are, such as "difference in mean score"
	Reference string   // what 0 means, such as "same as opencode+qwen"; empty: not said
	Margin    *float64 // half the width of the shaded band around 0; nil: no band
	Worse     string   // words at the lower end of the axis
	Better    string   // words at the upper end
}

// IntervalRow is one difference.
type IntervalRow struct {
	Label     string
	Value     *float64 // nil: no data
	Low, High *float64 // nil: no interval to that side
	Mark      Mark
	Note      string // the mark in words, with reasons
}

// Mark is how a difference is drawn. A claim is filled, anything less is hollow.
type Mark uint8

// From none to the strongest.
const (
	CannotTell Mark = iota // hollow disc, dashed interval
	Tied                   // hollow disc
	Equal                  // filled square
	Ahead                  // filled diamond: on these tasks
	Beats                  // filled disc; left of 0 the row is beaten
)

var markWords = [...]string{"cannot tell", "tied (within noise)", "equal within the margin", "ahead or behind on this list", "beats or is beaten"}

const laneHeight = 24

// SVG draws the chart.
func (i Intervals) SVG() string {
	c := i.begin()
	if len(i.Rows) == 0 {
		return i.empty(c)
	}
	a, values := i.scale(c)
	i.directions(c, a)
	for n, r := range i.Rows {
		i.row(c, a, r, values[n])
	}
	c.ticks(a)
	if i.Axis != "" {
		c.paragraph(noteFont, i.Axis, 2)
	}
	i.signs(c)
	return i.finish(c)
}

// scale makes the axis and, for the column at the right, the rows' figures.
func (i Intervals) scale(c *canvas) (axis, []string) {
	nought := 0.0
	e := extent{}
	e.add(&nought)
	for _, r := range i.Rows {
		e.add(r.Value, r.Low, r.High)
	}
	if m, ok := known(i.Margin); ok {
		m = max(m, -m)
		below := -m
		e.add(&m, &below)
	}
	if e.lo == 0 && e.hi == 0 {
		e.lo, e.hi = -0.1, 0.1
	}
	span := e.hi - e.lo // both directions are always seen
	e.lo, e.hi = min(e.lo, -span/8), max(e.hi, span/8)
	a := linear(e, c.steps())
	a.spell = func(v float64) string { return signed(decimal(v, a.step, 0)) }
	values := make([]string, len(i.Rows))
	column := 0.0
	for n, r := range i.Rows {
		if v, ok := known(r.Value); ok {
			values[n] = signed(decimal(v, a.fine, 0))
			column = max(column, width(values[n], plainFont)+10)
		}
	}
	a.from, a.to = pad+6, c.w-pad-column-6
	return a, values
}

// directions says above the rows what left, right and 0 mean.
func (i Intervals) directions(c *canvas, a axis) {
	if i.Worse != "" || i.Better != "" {
		worse, better := pointed("← ", i.Worse, ""), pointed("", i.Better, " →")
		room := a.to - a.from + 12
		c.y += 18
		c.fit(noteFont, a.from-6, c.y-5, start, worse, room)
		if width(worse, noteFont)+width(better, noteFont)+12 > room {
			c.y += 18
		}
		c.fit(noteFont, a.to+6, c.y-5, end, better, room)
	}
	if i.Reference != "" {
		c.y += 18
		c.above(plainFont, a.at(0), c.y-5, i.Reference)
		c.line("zero", a.at(0), c.y, a.at(0), c.y+5)
		c.y += 7
	}
}

// pointed is words with an arrow, or nothing.
func pointed(before, words, after string) string {
	if visible(words) == "" {
		return ""
	}
	return before + words + after
}

// above centres s over x as far as the edges allow.
func (c *canvas) above(f font, x, y float64, s string) {
	s = cut(s, f, c.w-2*pad)
	half := width(s, f) / 2
	switch {
	case x-half < pad:
		c.text(f, pad, y, start, s)
	case x+half > c.w-pad:
		c.text(f, c.w-pad, y, end, s)
	default:
		c.text(f, x, y, middle, s)
	}
}

func (i Intervals) row(c *canvas, a axis, r IntervalRow, value string) {
	c.heading(r.Label, r.notes())
	c.lane(a)
	top, y := c.y, c.y+laneHeight/2
	zero := a.at(0)
	if m, ok := known(i.Margin); ok && m != 0 {
		m = max(m, -m)
		left, right := a.at(-m), a.at(m)
		c.rect("band", left, top, right-left, laneHeight)
		c.line("edge", left, top, left, top+laneHeight)
		c.line("edge", right, top, right, top+laneHeight)
	}
	c.line("zero", zero, top-2, zero, top+laneHeight+2)
	r.draw(c, a, y)
	if value != "" {
		c.text(plainFont, c.w-pad, y+4.5, end, value)
	}
	c.y += laneHeight + 6
}

// notes adds to the note what cannot be drawn.
func (r IntervalRow) notes() string {
	_, low := known(r.Low)
	_, high := known(r.High)
	_, value := known(r.Value)
	switch {
	case !value && !low && !high:
		return join(r.Note, "no data")
	case !value:
		return join(r.Note, "no value")
	case !low && !high:
		return join(r.Note, "no interval")
	case !low:
		return join(r.Note, "no lower bound")
	case !high:
		return join(r.Note, "no upper bound")
	}
	return r.Note
}

func join(a, b string) string {
	if visible(a) == "" {
		return b
	}
	return a + " · " + b
}

func (r IntervalRow) draw(c *canvas, a axis, y float64) {
	value, has := known(r.Value)
	low, hasLow := known(r.Low)
	high, hasHigh := known(r.High)
	tone := "n"
	if r.Mark >= Ahead && has {
		tone = "g"
		if value < 0 {
			tone = "b"
		}
	}
	stroke := "g" + tone
	if r.Mark == CannotTell {
		stroke = "gd"
	}
	switch {
	case hasLow && hasHigh:
		c.bar(stroke, a.at(low), a.at(high), y)
	case hasLow && has:
		c.bar(stroke, a.at(low), a.at(value), y)
	case hasHigh && has:
		c.bar(stroke, a.at(value), a.at(high), y)
	}
	if has {
		c.mark(r.Mark, tone, a.at(value), y)
	}
}

// bar is an interval; its ends are never dashed.
func (c *canvas) bar(stroke string, x1, x2, y float64) {
	if stroke != "gd" {
		c.whisker(stroke, x1, x2, y, 5)
		return
	}
	c.line(stroke, x1, y, x2, y)
	c.line("gn", x1, y-5, x1, y+5)
	c.line("gn", x2, y-5, x2, y+5)
}

func (c *canvas) mark(m Mark, tone string, x, y float64) {
	switch m {
	case Beats:
		c.disc("f"+tone, x, y, 5.5)
	case Ahead:
		c.diamond("f"+tone, x, y, 7)
	case Equal:
		c.square("fn", x, y, 4.5)
	default:
		c.disc("on", x, y, 5)
	}
}

// signs is the legend of the marks that occur.
func (i Intervals) signs(c *canvas) {
	var used [len(markWords)]bool
	for _, r := range i.Rows {
		if _, ok := known(r.Value); ok && int(r.Mark) < len(used) {
			used[r.Mark] = true
		}
	}
	var entries []entry
	for m := len(used) - 1; m >= 0; m-- {
		if used[m] {
			entries = append(entries, entry{func(x, y float64) {
				IntervalRow{Value: new(0.5), Low: new(0.0), High: new(1.0), Mark: Mark(m)}.draw(c, axis{lo: 0, hi: 1, from: x - 15, to: x + 15}, y)
			}, markWords[m]})
		}
	}
	if m, ok := known(i.Margin); ok && m != 0 {
		entries = append(entries, entry{func(x, y float64) {
			c.rect("band", x-10, y-7, 20, 14)
			c.line("edge", x-10, y-7, x-10, y+7)
			c.line("edge", x+10, y-7, x+10, y+7)
		}, "within the margin of ±" + short(max(m, -m))})
	}
	c.legend(entries)
}
