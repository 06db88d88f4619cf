package compare

import (
	"math"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// Sentence is the comparison as one fixed sentence for each end state.
func (c *Comparison) Sentence() document.Text {
	if c.Mode == ByAnchors {
		return c.linked()
	}
	o := c.Overall
	if o == nil {
		return document.Say("Nothing to compare: no variant was measured by both.")
	}
	over := document.Say("on average over the %s that both measured", count(o.Pairs, "variant"))
	if o.Pairs == 1 {
		over = document.Say("for %s", c.paired()[0].Variant.String())
	}
	up, down := c.claims()
	against := up + down // claims that the one over all does not cover
	switch claim := o.Mark >= stats.Ahead; {
	case claim && o.Up:
		against = down
	case claim:
		against = up
	}
	mixed := against > 0 && o.Pairs > 1
	var out document.Text
	switch o.Mark {
	case stats.Beats:
		out = document.Say("B is %s than A %s", better(o.Up), over)
	case stats.Ahead:
		out = document.Say("B is %s than A on exactly these tasks, %s", better(o.Up), over)
	case stats.Equal:
		out = document.Say("%sA and B are equal within the margin of %s, %s", nothing("No change: ", mixed), document.Own(short(*c.Rule.Margin)), over)
	case stats.Tied:
		out = document.Say("%sA and B are tied (within noise), %s", nothing("No change shown: ", mixed), over)
	default:
		out = document.Say("Cannot tell B from A, %s: %s", over, document.Own(o.Codes.Words()))
	}
	if mixed {
		out = document.Say("%s; taken one by one, %d better and %d worse in B", out, up, down)
	}
	if !c.Stands() {
		out = document.Say("%s; this does not stand in every reading", out)
	}
	return document.Say("%s.", out)
}

// nothing opens a sentence that denies a change, unless single variants changed.
func nothing(text document.Own, mixed bool) document.Own {
	if mixed {
		return ""
	}
	return text
}

// claims counts the variants that are better and worse in B by themselves.
func (c *Comparison) claims() (up, down int) {
	for _, v := range c.paired() {
		switch v.Pair.Winner {
		case v.Pair.A:
			up++
		case v.Pair.B:
			down++
		}
	}
	return up, down
}

func better(up bool) document.Own {
	if up {
		return "better"
	}
	return "worse"
}

// linked is the sentence of two batches that anchors link.
func (c *Comparison) linked() document.Text {
	up, down, open := 0, 0, 0
	for i := range c.Variants {
		switch b := c.Variants[i].Bridge; {
		case b == nil:
		case b.Mark != stats.Beats:
			open++
		case b.Up:
			up++
		default:
			down++
		}
	}
	n := up + down + open
	var how document.Own
	switch c.Link.Drift.Link {
	case stats.Linked:
		how = "The reference stayed within the margin"
	case stats.Drift:
		how = "The reference drifted"
	case stats.DriftUnresolved:
		how = "Whether the reference drifted can't be told"
	default:
		return document.Say("Not comparable: %s.", c.Link.Drift.Why)
	}
	switch {
	case n == 0:
		return document.Say("%s; no other variant is in both.", how)
	case up+down == 0:
		return document.Say("%s; beyond its drift no change is shown for any of %s.", how, count(n, "variant"))
	}
	return document.Say("%s; of %s, %d better and %d worse in B beyond its drift.", how, count(n, "variant"), up, down)
}

// paired are the variants that both measured.
func (c *Comparison) paired() []*Variant {
	var out []*Variant
	for i := range c.Variants {
		if c.Variants[i].Pair != nil {
			out = append(out, &c.Variants[i])
		}
	}
	return out
}

// Verdict is what is said of one variant, with its reasons in words.
func (v *Variant) Verdict() (verdict, why document.Own) {
	switch {
	case v.Pair != nil:
		p := v.Pair
		return pairVerdict(p), document.Own(p.Codes.Words())
	case v.Bridge != nil:
		b := v.Bridge
		why := document.Own(b.Codes.Words())
		switch {
		case b.Link == stats.NotComparable:
			return "not comparable", document.Own(b.Why)
		case b.Mark != stats.Beats:
			return "cannot tell", why
		}
		return "B is " + better(b.Up) + ", beyond the drift", why
	case v.A.Shared+v.B.Shared > 0 && (v.A.Repeats == 0 || v.B.Repeats == 0):
		return "one measurement", "both batches count the same runs"
	case v.A.Repeats == 0 && v.B.Repeats == 0:
		return "not measured", "no valid outcome in either"
	case v.A.Repeats == 0:
		return "not measured in A", "no valid outcome there"
	case v.B.Repeats == 0:
		return "not measured in B", "no valid outcome there"
	}
	return "the reference", ""
}

// codes are the reasons as tables and JSON have them: codes where there are some.
func (v *Variant) codes() string {
	switch {
	case v.Pair != nil:
		return strings.Join(v.Pair.Codes.Strings(), ", ")
	case v.Bridge != nil && v.Bridge.Link != stats.NotComparable:
		return strings.Join(v.Bridge.Codes.Strings(), ", ")
	}
	_, why := v.Verdict()
	return string(why)
}

func pairVerdict(p *stats.Pair) document.Own {
	extent := ""
	if e := p.Extent(); e != "" {
		extent = " (" + e + ")"
	}
	inside := ""
	if p.InsideMargin {
		inside = ", inside the margin"
	}
	switch p.Mark {
	case stats.Beats:
		return document.Own("B is " + string(better(p.Winner == p.A)) + inside + extent)
	case stats.Ahead:
		return document.Own("B is " + string(better(p.Winner == p.A)) + " on exactly these tasks" + inside + extent)
	case stats.Equal:
		return "equal within the margin"
	case stats.Tied:
		return "tied (within noise)"
	}
	return "cannot tell"
}

// Difference is B - A of a variant with its 95 % interval; nil = none.
func (v *Variant) Difference() (d, low, high *float64) {
	switch {
	case v.Pair != nil:
		if i := v.Pair.Interval; i != nil {
			low, high = &i.Low, &i.High
		}
		return v.Pair.Difference, low, high
	case v.Bridge != nil && v.Bridge.Bridge.Difference != nil:
		m := v.Bridge.Bridge.Difference
		if m.Interval != nil {
			low, high = &m.Interval.Low, &m.Interval.High
		}
		return &m.Value, low, high
	}
	return nil, nil, nil
}

func interval(d, low, high *float64) document.Own {
	switch {
	case d == nil:
		return "–"
	case low == nil:
		return document.Own(signed(*d) + " [unknown]")
	}
	return document.Own(signed(*d) + " [" + signed(*low) + ", " + signed(*high) + "]")
}

// signed prints a difference; what rounds to 0 has no sign.
func signed(v float64) string {
	if math.Abs(v) < 0.0005 {
		return "0.000"
	}
	if v > 0 {
		return "+" + strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func mean(m *stats.Mean) document.Own {
	if m == nil {
		return "–"
	}
	return document.Own(strconv.FormatFloat(m.Value, 'f', 3, 64))
}

func figure(v *float64) document.Own {
	if v == nil {
		return "–"
	}
	return document.Own(strconv.FormatFloat(*v, 'f', 3, 64))
}

func pValue(p *float64, level float64) document.Own {
	if p == nil {
		return "–"
	}
	return document.Own(export.PValue(*p, level))
}

func dollars(v *float64) document.Own {
	if v == nil {
		return "unknown"
	}
	return document.Own("$" + export.Dollars(*v))
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func count(n int, word string) document.Own {
	if n == 1 {
		return document.Own("1 " + word)
	}
	return document.Own(strconv.Itoa(n) + " " + word + "s")
}

// repair is the cheapest repair of a pair that cannot be told.
func repair(p *stats.Pair) document.Own {
	if p == nil || len(p.Repairs) == 0 {
		return "–"
	}
	r := &p.Repairs[0]
	text := r.Action.String()
	if r.Repeats > 0 {
		text += ": " + strconv.Itoa(r.Repeats) + " more"
	} else if r.Tasks > 0 {
		text += ": " + strconv.Itoa(r.Tasks) + " more"
	}
	if r.Cells > 0 {
		text += " (" + string(count(r.Cells, "task run"))
		if r.CostUSD != nil {
			text += ", about $" + export.Dollars(*r.CostUSD)
		}
		text += ")"
	}
	return document.Own(text)
}
