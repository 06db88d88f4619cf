package calibration

import (
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export/chart"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// AtRepeats is what the batch could detect with another number of repeats of each
// variant, all else as planned.
type AtRepeats struct {
	Repeats int      `json:"repeats"`
	MDE     Interval `json:"mde"` // as Power.MDE
}

// numbers of repeats that are looked at, as far as they are of use.
var numbers = []int{3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000}

// repeatsToShow are the planned number and those around it, up to twice as many, at
// least 10, or what is needed. Below 3 nothing would be claimed.
func (p *Planned) repeatsToShow(needed *int) []int {
	most := max(10, 2*p.Repeats)
	out := []int{p.Repeats}
	if needed != nil && *needed <= numbers[len(numbers)-1] {
		most = max(most, *needed)
		out = append(out, *needed)
	}
	for _, k := range numbers {
		if k <= most {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(k int) bool { return k < stats.MinRepeats })
}

// byRepeats is the median pair's MDE at each number of repeats.
func (p *Planned) byRepeats(pairs []known, needed *int, interval func(mde float64) Interval) []AtRepeats {
	out := []AtRepeats{}
	for _, k := range p.repeatsToShow(needed) {
		var mde []float64
		for _, x := range pairs {
			noise, least := p.detectable(x.design, x.pair, k)
			mde = append(mde, max(noise, least))
		}
		out = append(out, AtRepeats{k, interval(median(mde))})
	}
	return out
}

// Repeats says what the batch could detect with other numbers of repeats, in one line;
// nil = unknown.
func (c *Calibration) Repeats() document.Text {
	if c.Power == nil {
		return nil
	}
	var parts []document.Text
	for _, r := range c.Power.ByRepeats {
		part := document.Say("%d: %s", r.Repeats, score(r.MDE.Value))
		if r.Repeats == c.planned.Repeats {
			part = append(part, document.Say(" (planned)")...)
		}
		parts = append(parts, part)
	}
	return document.Join(parts, ", ")
}

// repeatsSection shows the same as a chart and as a table.
func (c *Calibration) repeatsSection() []document.Block {
	w := c.Power
	if w == nil || len(w.ByRepeats) == 0 {
		return nil
	}
	const title = "Detectable difference by number of repeats"
	v := chart.Curve{Head: chart.Head{Name: "repeats", Title: title,
		Description: "One point a number of repeats of each variant: the difference that the median pair would show with a chance of 80 %, with its 95 % interval, all else as planned."},
		XAxis: "repeats of each variant", YAxis: "detectable difference", Legend: "median pair, with its interval"}
	t := &document.Table{Caption: document.Say("What the median pair would show with a chance of 80 %%"), Columns: []document.Column{
		{Text: document.Say("repeats of each variant")}, {Text: document.Say("detectable difference"), Numeric: true}, {Text: document.Say("likely"), Numeric: true}}}
	if w.Margin != nil {
		t.Columns = append(t.Columns, document.Column{Text: document.Say("the margin of %s", score(*w.Margin))})
		v.Level, v.At = w.Margin, "margin "+string(score(*w.Margin))
	}
	for _, r := range w.ByRepeats {
		planned := r.Repeats == c.planned.Repeats
		v.Points = append(v.Points, chart.CurvePoint{X: r.Repeats, Value: &r.MDE.Value, Low: r.MDE.Low, High: r.MDE.High, Marked: planned})
		name := document.Say("%d", r.Repeats)
		if planned {
			v.Marked = "as planned: " + string(count(r.Repeats, "repeat")) + ", " + string(score(r.MDE.Value))
			name = append(name, document.Say(" (planned)")...)
		}
		row := document.Row{name, document.Say("%s", score(r.MDE.Value)), between(&r.MDE)}
		if w.Margin != nil {
			row = append(row, document.Say("%s", shows[r.MDE.Value <= *w.Margin]))
		}
		t.Rows = append(t.Rows, row)
	}
	narrow := v
	narrow.Narrow = true
	out := []document.Block{
		&document.Heading{Level: 2, ID: "repeats", Text: document.Say("More repeats, or fewer")},
		&document.Figure{Name: "repeats-" + c.plain(), SVG: v.SVG(), Narrow: narrow.SVG(), Alt: document.Say("%s. %s", document.Own(v.Title), document.Own(v.Description))},
		t,
	}
	if w.Margin != nil && w.Seen < w.Known {
		out = append(out, &document.Paragraph{Text: c.needs()})
	}
	return append(out, &document.Paragraph{Small: true, Text: document.Say("F18 for %d tasks, from the noise of the slice. Below %d repeats nothing would be claimed.", c.planned.Tasks, stats.MinRepeats)})
}

// plain is the beginning of the slice's run id, for the name of a file.
func (c *Calibration) plain() string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, c.Slice.Batch)
	return name[:min(len(name), 16)]
}

func between(i *Interval) document.Text {
	if i.Low == nil || i.High == nil {
		return document.Say("–")
	}
	return document.Say("%s–%s", score(*i.Low), score(*i.High))
}

// shows says whether the margin is in reach.
var shows = map[bool]document.Own{true: "would show", false: "could stay unseen"}
