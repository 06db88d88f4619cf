package chart

import (
	"fmt"
	"strconv"
	"strings"
)

// Scatter is score against cost. Better is up and cheaper is left.
type Scatter struct {
	Head
	Points []Point
	XAxis  string // what the costs are, such as "USD per task"
	YAxis  string // what the scores are, such as "mean score"
	Corner string // what the upper left is, such as "better and cheaper"
}

// Point is one variant. Without a cost or a score it is listed below the chart.
type Point struct {
	Label               string
	Cost                *float64 // USD, 0 or more
	Score               *float64
	CostLow, CostHigh   *float64 // interval; nil: not drawn
	ScoreLow, ScoreHigh *float64 // interval; nil: not drawn
	Reference           bool     // drawn as a diamond
}

// spot is a point that can be drawn, in pixels.
type spot struct {
	Point
	cost, score float64
	x, y        float64
	number      int
}

// manyPoints is from how many on they bear numbers.
const manyPoints = 14

// wideSpan is the ratio of costs beyond which their axis is logarithmic.
const wideSpan = 30

// SVG draws the chart.
func (s Scatter) SVG() string {
	c := s.begin()
	spots, left := s.split()
	if len(spots) == 0 {
		c.paragraph(noteFont, "no variant has both a score and a cost", 2)
	} else {
		s.plot(c, spots)
	}
	for _, l := range left {
		c.paragraph(noteFont, l, 6)
	}
	return s.finish(c)
}

// split parts what can be drawn from what is listed.
func (s Scatter) split() (spots []spot, left []string) {
	var noCost, noScore []string
	for _, p := range s.Points {
		cost, hasCost := known(p.Cost)
		score, hasScore := known(p.Score)
		hasCost = hasCost && cost >= 0
		switch {
		case hasCost && hasScore:
			spots = append(spots, spot{Point: p, cost: cost, score: score, number: len(spots) + 1})
		case hasScore:
			noCost = append(noCost, p.Label+" ("+short(score)+")")
		case hasCost:
			noScore = append(noScore, p.Label+" ($"+short(cost)+")")
		default:
			noScore = append(noScore, p.Label+" (cost unknown too)")
		}
	}
	if noCost != nil {
		left = append(left, "cost unknown: "+strings.Join(noCost, ", "))
	}
	if noScore != nil {
		left = append(left, "no score: "+strings.Join(noScore, ", "))
	}
	return spots, left
}

func (s Scatter) plot(c *canvas, spots []spot) {
	x, y := s.axes(c, spots)
	c.frame(x, y, s.Corner)
	for n := range spots {
		spots[n].x, spots[n].y = x.at(spots[n].cost), y.at(spots[n].score)
	}
	whiskers := c.whiskers(spots, x, y)
	area := box{x.from - 8, y.to - 8, x.to + 8, y.from + 8}
	if s.Corner != "" {
		whiskers = append(whiskers, s.corner(area))
	}
	named, places := label(spots, area, whiskers)
	c.leaders(spots, places)
	for _, reference := range []bool{false, true} { // the reference is never covered
		for _, p := range spots {
			if p.Reference == reference {
				c.point(p)
			}
		}
	}
	for n, p := range spots {
		if at := places[n]; at.candidate >= 0 {
			c.text(haloFont, (at.x1+at.x2)/2, at.y2-4, middle, p.caption(named))
		}
	}
	c.y = y.from + 11
	c.ticks(x)
	title := s.XAxis
	if x.log {
		title = strings.TrimSpace(title + " (each step is ten times the one before)")
		if len(x.ticks) > 1 && x.ticks[1]/x.ticks[0] > 11 {
			title = strings.TrimSpace(s.XAxis + " (logarithmic)")
		}
	}
	if title != "" {
		c.paragraph(noteFont, title, 2)
	}
	if !named {
		c.list(spots, y)
	}
	if s.hasReference(spots) {
		c.legend([]entry{
			{func(x, y float64) { c.disc("fg", x, y, 4.5) }, "variant"},
			{func(x, y float64) { c.diamond("fn", x, y, 6.5) }, "reference"},
		})
	}
}

func (c *canvas) point(p spot) {
	if p.Reference {
		c.diamond("fn", p.x, p.y, 6.5)
	} else {
		c.disc("fg", p.x, p.y, 4.5)
	}
}

func (Scatter) hasReference(spots []spot) bool {
	for _, p := range spots {
		if p.Reference {
			return true
		}
	}
	return false
}

// axes makes both, below what stands above the frame.
func (s Scatter) axes(c *canvas, spots []spot) (x, y axis) {
	var costs, scores, positive extent
	for _, p := range spots {
		costs.add(p.Cost)
		scores.add(p.Score, p.ScoreLow, p.ScoreHigh)
		for _, bound := range []*float64{p.CostLow, p.CostHigh} {
			if v, ok := known(bound); ok && v >= 0 {
				costs.add(bound)
			}
		}
		positive.add(&p.cost)
	}
	y = linear(scores, 5)
	if positive.lo > 0 && positive.hi/positive.lo > wideSpan {
		x = logarithmic(positive)
	} else {
		costs.lo = 0
		x = linear(costs, c.steps()-1)
	}
	number := x.spell
	x.spell = func(v float64) string { return "$" + number(v) }
	c.plane(&x, &y, s.YAxis, 16, 0.62, 250)
	return x, y
}

// plane gives two axes their places below what stands already: beside the words of y's
// ticks and a gap, as high as a share of the width, at least so much.
func (c *canvas) plane(x, y *axis, name string, gap, share, least float64) {
	margin := 0.0
	for _, t := range y.ticks {
		margin = max(margin, width(y.spell(t), noteFont))
	}
	if name != "" {
		c.y += 18
		c.fit(noteFont, pad, c.y-5, start, "↑ "+name, c.w-2*pad)
	}
	x.from, x.to = pad+margin+gap, c.w-pad-gap+4
	y.to = c.y + 12
	y.from = y.to + max((x.to-x.from)*share, least)
}

// frame draws what a plane's points lie on. Corner says what is best in the upper left; "" = nothing.
func (c *canvas) frame(x, y axis, corner string) {
	left, right, top, bottom := x.from-8, x.to+8, y.to-8, y.from+8
	c.rect("lane", left, top, right-left, bottom-top)
	if corner != "" {
		r := (bottom - top) * 0.45
		fmt.Fprintf(&c.b, `<path class="band" d="M%s %sh%sA%[3]s %[3]s 0 0 1 %[1]s %[4]sz"/>`+"\n", num(left), num(top), num(r), num(top+r))
	}
	for _, t := range x.ticks {
		c.line("grid", x.at(t), top, x.at(t), bottom)
	}
	for _, t := range y.ticks {
		c.line("grid", left, y.at(t), right, y.at(t))
		c.text(noteFont, left-6, y.at(t)+4.5, end, y.spell(t))
	}
	c.line("axis", left, bottom, right, bottom)
	c.line("axis", left, top, left, bottom)
	if corner != "" {
		c.fit(plainFont, left+8, top+17, start, "↖ "+corner, right-left-16)
	}
}

// corner is where the words in the corner stand.
func (s Scatter) corner(area box) box {
	return box{area.x1, area.y1, area.x1 + 8 + width("↖ "+s.Corner, plainFont), area.y1 + 22}
}

// whiskers draws the intervals and returns where.
func (c *canvas) whiskers(spots []spot, x, y axis) []box {
	var out []box
	for _, p := range spots {
		low, hasLow := known(p.ScoreLow)
		high, hasHigh := known(p.ScoreHigh)
		if hasLow && hasHigh {
			c.line("thin", p.x, y.at(low), p.x, y.at(high))
			out = append(out, box{p.x - 1, min(y.at(high), y.at(low)), p.x + 1, max(y.at(low), y.at(high))})
		}
		low, hasLow = known(p.CostLow)
		high, hasHigh = known(p.CostHigh)
		if hasLow && hasHigh && (!x.log || low > 0 && high > 0) {
			c.line("thin", x.at(low), p.y, x.at(high), p.y)
			out = append(out, box{min(x.at(low), x.at(high)), p.y - 1, max(x.at(low), x.at(high)), p.y + 1})
		}
	}
	return out
}

// label places the names, or, where they are too many, numbers.
func label(spots []spot, area box, whiskers []box) (named bool, places []placed) {
	for _, named = range []bool{true, false} {
		if named && len(spots) >= manyPoints {
			continue
		}
		var targets []target
		for _, p := range spots {
			targets = append(targets, target{p.x, p.y, width(p.caption(named), plainFont), 18})
		}
		places = place(targets, area, whiskers)
		free := true
		for _, p := range places {
			free = free && p.candidate >= 0
		}
		if free {
			break
		}
	}
	return named, places
}

func (p spot) caption(named bool) string {
	if named {
		return cut(p.Label, plainFont, 190)
	}
	return strconv.Itoa(p.number)
}

// leaders joins labels to points that are not beside them.
func (c *canvas) leaders(spots []spot, places []placed) {
	for n, p := range places {
		if p.candidate >= near {
			c.line("leader", spots[n].x, spots[n].y, min(max(spots[n].x, p.x1), p.x2), min(max(spots[n].y, p.y1), p.y2))
		}
	}
}

// list names the points by their numbers.
func (c *canvas) list(spots []spot, y axis) {
	columns := 1
	if c.w == wide {
		columns = 2
	}
	w := (c.w - 2*pad) / float64(columns)
	lines := (len(spots) + columns - 1) / columns
	c.y += 4
	for n, p := range spots {
		x, base := pad+float64(n/lines)*w, c.y+float64(n%lines+1)*19-4
		figures := decimal(p.score, y.fine, 0) + " · $" + short(p.cost)
		room := w - 34 - width(figures, noteFont) - 16
		c.text(plainFont, x+24, base, end, strconv.Itoa(p.number))
		c.fit(plainFont, x+34, base, start, p.Label, room)
		c.text(noteFont, x+w-12, base, end, figures)
	}
	c.y += float64(lines) * 19
}
