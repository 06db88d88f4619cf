package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/export/chart"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// How much a page lists; the tables hold all.
const (
	mostListed = 40
	mostTasks  = 12
)

// Page is the report of the comparison.
func (c *Comparison) Page() *document.Document {
	d := &document.Document{Title: document.Say("%s: B against A", c.B.Benchmark).String(), Marks: c.marks()}
	d.Add(&document.Verdict{Question: c.question(), Sentence: c.Sentence(), Notes: c.notes()})
	d.Add(c.batches())
	if f := c.figure(); f != nil {
		d.Add(f)
	}
	d.Add(&document.Heading{Level: 2, ID: "variants", Text: document.Say("Variants")}, c.variantTable())
	if c.Mode == ByAnchors {
		d.Add(c.linkBlocks()...)
	}
	d.Add(c.readingBlocks()...)
	d.Add(c.changeBlocks()...)
	d.Add(c.sharedBlocks()...)
	d.Add(c.taskBlocks()...)
	d.Add(&document.Heading{Level: 2, ID: "limits", Text: document.Say("What this does not say")}, c.limits())
	d.Add(&document.Heading{Level: 2, ID: "verify", Text: document.Say("Verify")},
		&document.Paragraph{Text: document.Say("With both batches' folders beside this one, verify makes everything here again from them; without them it compares the hashes.")},
		&document.Code{Lines: []document.Own{document.Own("benchbatch verify " + c.Name), document.Own("duckdb -c \"FROM '" + c.Name + "/tables/pairs.parquet'\"")}})
	return d
}

func (c *Comparison) marks() []document.Mark {
	var out []document.Mark
	if c.Rule.PostHoc != "" {
		out = append(out, document.Mark{Word: "POST HOC", Text: document.Foreign(c.Rule.PostHoc)})
	}
	if c.A.Draft || c.B.Draft {
		out = append(out, document.Mark{Word: "DRAFT", Text: document.Say("the version of a batch may still change")})
	}
	if c.A.provisional || c.B.provisional {
		out = append(out, document.Mark{Word: "PROVISIONAL", Text: document.Say("a batch was not frozen")})
	}
	return out
}

func (c *Comparison) question() document.Text {
	if c.B.Question == "" {
		return document.Say("What changed from A to B?")
	}
	return document.Say("What changed from A to B? (The batches ask: %s)", c.B.Question)
}

func (c *Comparison) notes() []document.Text {
	var out []document.Text
	if o := c.Overall; o != nil && o.Difference != nil {
		var low, high *float64
		if o.Interval != nil {
			low, high = &o.Interval.Low, &o.Interval.High
		}
		out = append(out, document.Say("Over all, B − A is %s of the %s, on %s (p %s; 95 %% interval).", interval(o.Difference, low, high), metric(c.Rule.Metric), count(o.Tasks, "task"), pValue(o.P, c.Level)))
	}
	how := document.Say("Both batches have one recipe: %s, compared task by task.", count(len(c.Tasks), "task"))
	if c.Mode == ByAnchors {
		how = document.Say("The recipes differ: %s that are the same in both link the batches, with %s as the reference that tells drift from change.",
			count(c.Link.Anchors, "task"), c.Link.Reference.String())
	}
	out = append(out, how)
	rule := document.Own("no margin was declared")
	if c.Rule.Margin != nil {
		rule = document.Own("differences below " + short(*c.Rule.Margin) + " do not matter")
	}
	look := document.Own("this is the first look")
	if c.Rule.Look > 1 {
		look = document.Own("look " + short(float64(c.Rule.Look)) + " at this question, at a level lowered for it")
	}
	out = append(out, document.Say("Rule: %s, %s, %s tested at %s two-sided; %s.", metric(c.Rule.Metric), rule, count(c.Places, "variant"), document.Own(short(c.Level)), look))
	if c.apart() {
		out = append(out, document.Say("Measured apart: a difference may be the day's. Measuring A's side again beside B's takes %s, %s.",
			count(c.Again.Evaluations, "evaluation"), c.Again.words()))
	}
	return out
}

func (p Price) words() document.Own {
	if p.USD == nil {
		return "at an unknown price"
	}
	return "about " + dollars(p.USD) + " at A's mean cost"
}

// apart says whether any verdict was refused because the sides were measured apart.
func (c *Comparison) apart() bool {
	for i := range c.Variants {
		if p := c.Variants[i].Pair; p != nil && p.Codes.Has(stats.MeasuredApart) {
			return true
		}
	}
	return false
}

func (c *Comparison) batches() document.Block {
	t := &document.Table{Caption: document.Say("The two batches"), Columns: columns("", "batch", "begun", "measured", "brain", "run in MLflow")}
	for i, b := range []*Batch{&c.A, &c.B} {
		brain := document.Say("%s", document.Own(b.Brain.Short()[:min(8, len(b.Brain.Short()))]))
		if b.BrainPath != "" {
			brain = document.Say("%s, %s", b.BrainPath, brain)
		}
		t.Rows = append(t.Rows, document.Row{document.Say("%s", document.Own([]string{"A", "B"}[i])), document.Foreign(b.Name), document.Say("%s", document.Own(b.Started.UTC().Format("2006-01-02"))),
			document.Say("%s to %s", stamp(b.First), stamp(b.Last)), brain, document.Foreign(b.Run)})
	}
	return t
}

func stamp(t *time.Time) document.Own {
	if t == nil {
		return "unknown"
	}
	return document.Own(t.UTC().Format("2006-01-02 15:04 UTC"))
}

func columns(names ...document.Own) []document.Column {
	var out []document.Column
	for _, n := range names {
		out = append(out, document.Column{Text: document.Say("%s", n)})
	}
	return out
}

func numeric(c []document.Column, at ...int) []document.Column {
	for _, i := range at {
		c[i].Numeric = true
	}
	return c
}

// figure is the differences with their intervals; nil where there is none.
func (c *Comparison) figure() *document.Figure {
	what := "B − A of the " + string(metric(c.Rule.Metric))
	if c.Mode == ByAnchors {
		what += ", beyond the drift of the reference"
	}
	p := chart.Intervals{Head: chart.Head{Name: "change", Title: "What changed from A to B", Description: "The difference of each variant from A to B with its 95 % interval. The table of variants holds every figure."},
		Axis: what, Reference: "no change", Margin: c.Rule.Margin, Worse: "A is better", Better: "B is better"}
	for i := range c.Variants {
		v := &c.Variants[i]
		d, low, high := v.Difference()
		if d == nil || len(p.Rows) == mostListed {
			continue
		}
		verdict, why := v.Verdict()
		note := string(verdict)
		if why != "" {
			note += ": " + string(why)
		}
		p.Rows = append(p.Rows, chart.IntervalRow{Label: v.Variant.String(), Value: d, Low: low, High: high, Mark: drawn(v), Note: note})
	}
	if len(p.Rows) == 0 {
		return nil
	}
	narrow := p
	narrow.Name, narrow.Narrow = "change-narrow", true
	return &document.Figure{Name: "change", SVG: p.SVG(), Narrow: narrow.SVG(), Alt: document.Say("%s, with 95 %% intervals; the table below holds the figures", document.Own(what)),
		Caption: document.Say("Differences from A to B with 95 %% intervals, not adjusted; the verdicts are.")}
}

func drawn(v *Variant) chart.Mark {
	m := stats.CannotTell
	switch {
	case v.Pair != nil:
		m = v.Pair.Mark
	case v.Bridge != nil:
		m = v.Bridge.Mark
	}
	switch m {
	case stats.Beats:
		return chart.Beats
	case stats.Ahead:
		return chart.Ahead
	case stats.Equal:
		return chart.Equal
	case stats.Tied:
		return chart.Tied
	}
	return chart.CannotTell
}

func (c *Comparison) variantTable() document.Block {
	difference := document.Own("B − A [95 %]")
	if c.Mode == ByAnchors {
		difference = "change beyond drift [95 %]"
	}
	t := &document.Table{Caption: document.Say("Each variant of both batches"),
		Columns: numeric(columns("variant", "verdict", "why", difference, "adjusted p", "mean A", "mean B", "repeats A", "repeats B", "cost a task A", "cost a task B", "cheapest repair"), 3, 4, 5, 6, 7, 8, 9, 10)}
	for i := range c.Variants {
		v := &c.Variants[i]
		verdict, why := v.Verdict()
		d, low, high := v.Difference()
		var adjusted *float64
		switch {
		case v.Pair != nil:
			adjusted = v.Pair.PAdj
		case v.Bridge != nil:
			adjusted = v.Bridge.PAdj
		}
		t.Rows = append(t.Rows, document.Row{document.Foreign(v.Variant.String()), document.Say("%s", verdict), document.Say("%s", or(why)), document.Say("%s", interval(d, low, high)),
			document.Say("%s", pValue(adjusted, c.Level)), document.Say("%s", mean(v.A.Mean)), document.Say("%s", mean(v.B.Mean)), document.Say("%d", v.A.Repeats), document.Say("%d", v.B.Repeats),
			document.Say("%s", cost(v.A.CostUSD)), document.Say("%s", cost(v.B.CostUSD)), document.Say("%s", repair(v.Pair))})
	}
	t.Notes = append(t.Notes, document.Say("Means are over each batch's own runs of the compared tasks; the difference is over tasks that both have."))
	for _, only := range []struct {
		in   document.Own
		list []document.Text
	}{{"A", names(c.OnlyA)}, {"B", names(c.OnlyB)}} {
		if len(only.list) > 0 {
			t.Notes = append(t.Notes, document.Say("In %s alone, and so not compared: %s.", only.in, document.Join(only.list, ", ")))
		}
	}
	return t
}

func or(s document.Own) document.Own {
	if s == "" {
		return "–"
	}
	return s
}

func cost(v *float64) document.Own {
	if v == nil {
		return "–"
	}
	return dollars(v)
}

func names[T interface{ String() string }](list []T) []document.Text {
	var out []document.Text
	for i, v := range list {
		if i == mostListed {
			return append(out, document.Say("and %d more", len(list)-mostListed))
		}
		out = append(out, document.Foreign(v.String()))
	}
	return out
}

func metric(name string) document.Own {
	switch {
	case name == "passed":
		return "share of passes"
	case len(name) > 6 && name[:6] == "judge/":
		return "score of the judge that the rule names"
	}
	return "score"
}

// taskBlocks are the tasks that changed most.
func (c *Comparison) taskBlocks() []document.Block {
	type moved struct {
		t    *Task
		mean float64
	}
	var list []moved
	for i := range c.Tasks {
		sum, n := 0.0, 0
		for v := range c.Variants {
			if a, b := c.Tasks[i].A[v], c.Tasks[i].B[v]; a != nil && b != nil {
				sum += *b - *a
				n++
			}
		}
		if n > 0 && math.Abs(sum/float64(n)) >= 0.0005 {
			list = append(list, moved{&c.Tasks[i], sum / float64(n)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(x, y moved) int { return cmp.Compare(math.Abs(y.mean), math.Abs(x.mean)) })
	t := &document.Table{Caption: document.Say("Tasks whose mean over the variants changed most"), Columns: numeric(columns("task", "family", "mean change"), 2),
		Notes: []document.Text{document.Say("Where to look, not a verdict: single tasks are not tested. tables/tasks.parquet holds all of them by variant.")}}
	for i, m := range list {
		if i == mostTasks {
			break
		}
		t.Rows = append(t.Rows, document.Row{document.Foreign(m.t.ID), document.Foreign(m.t.Family), document.Say("%s", document.Own(signed(m.mean)))})
	}
	return []document.Block{&document.Heading{Level: 2, ID: "tasks", Text: document.Say("Tasks")}, t}
}
