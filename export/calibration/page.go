package calibration

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export/document"
)

// endings are what each verdict advises.
var endings = map[Verdict]document.Own{
	Go:     "Go: nothing that was measured speaks against the batch as planned.",
	Change: "Change: do not start the batch as it is planned.",
	Stop:   "Stop: do not start the batch.",
}

// Ending is the verdict in one sentence.
func (c *Calibration) Ending() document.Own { return endings[c.Verdict] }

// Page is the calibration as a document.
func (c *Calibration) Page() *document.Document {
	d := &document.Document{Title: "Calibration of " + c.Slice.Benchmark + " " + c.Slice.Version,
		Marks: []document.Mark{{Word: "CALIBRATION", Text: c.Measured()}}}
	if c.plan != nil {
		d.Title += ", " + c.plan.Created.UTC().Format("2006-01-02")
	}
	var notes []document.Text
	for _, r := range c.Reasons {
		notes = append(notes, document.Say("%s: %s", document.Own(r.Weight), r.Said))
	}
	d.Add(
		&document.Verdict{Question: document.Say("Is the whole batch worth its money as it is planned?"), Sentence: document.Say("%s", c.Ending()), Notes: notes},
		&document.Heading{Level: 2, ID: "answers", Text: document.Say("Answers")},
		c.answers(),
		&document.Heading{Level: 2, ID: "variants", Text: document.Say("Variants")},
		c.variantTable(),
	)
	d.Add(c.repeatsSection()...)
	if len(c.Panel.Families) > 0 {
		d.Add(&document.Heading{Level: 2, ID: "families", Text: document.Say("Families")}, c.familyTable())
	}
	d.Add(&document.Heading{Level: 2, ID: "slice", Text: document.Say("What this is")}, &document.Facts{Facts: []document.Fact{
		{Name: "slice", Text: c.Measured()},
		{Name: "MLflow run", Text: document.Foreign(c.Slice.Batch)},
	}}, &document.Paragraph{Small: true, Text: document.Say("Variants are described here and not compared: a calibration decides nothing about them. " +
		"Figures from so few tasks are rough; their intervals say how rough.")})
	return d
}

// questions are what each of Facts answers, in their order.
var questions = []document.Own{
	"Does the panel leave room, and which tasks tell something apart?",
	"Do whole runs agree?",
	"How much failed?",
	"Which difference could the batch detect?",
	"What will the rest cost, and how long will it take?",
}

func (c *Calibration) answers() *document.Table {
	t := &document.Table{Caption: document.Say("What was asked of the slice"), Columns: []document.Column{{Text: document.Say("question")}, {Text: document.Say("answer")}}}
	for i, f := range c.Facts() {
		t.Rows = append(t.Rows, document.Row{document.Say("%s", questions[i]), f.Text})
	}
	return t
}

func (c *Calibration) variantTable() *document.Table {
	t := &document.Table{Caption: document.Say("One row a variant"), Columns: []document.Column{{Text: document.Say("variant")},
		{Text: document.Say("repeats"), Numeric: true}, {Text: document.Say("mean"), Numeric: true}, {Text: document.Say("runs, lowest to highest"), Numeric: true},
		{Text: document.Say("failed"), Numeric: true}, {Text: document.Say("USD a task run"), Numeric: true},
		{Text: document.Say("an evaluation of the batch"), Numeric: true}, {Text: document.Say("missing in it"), Numeric: true}}}
	for i := range c.Variants {
		v := &c.Variants[i]
		t.Rows = append(t.Rows, document.Row{document.Foreign(v.Variant.String()), document.Say("%d", v.Repeats), maybe(v.Mean, score), v.runs(),
			document.Say("%d", v.Failed), maybe(v.CostUSD, money), maybe(v.WallS, span), document.Say("%d", v.Missing)})
	}
	return t
}

func (v *Variant) runs() document.Text {
	if v.Lowest == nil || v.Highest == nil {
		return document.Say("–")
	}
	return document.Say("%s–%s", score(*v.Lowest), score(*v.Highest))
}

func (c *Calibration) familyTable() *document.Table {
	t := &document.Table{Caption: document.Say("One row a family, over the tasks of the slice"), Columns: []document.Column{{Text: document.Say("family")},
		{Text: document.Say("tasks"), Numeric: true}, {Text: document.Say("tell something apart"), Numeric: true}, {Text: document.Say("family as a whole")}}}
	for _, f := range c.Panel.Families {
		t.Rows = append(t.Rows, document.Row{document.Foreign(f.Family), document.Say("%d", f.Tasks), document.Say("%d", f.Informative), document.Say("%s", document.Own(f.Verdict))})
	}
	return t
}

func maybe(v *float64, say func(float64) document.Own) document.Text {
	if v == nil {
		return document.Say("–")
	}
	return document.Say("%s", say(*v))
}

// Cells are the variants as rows of plain cells, for a terminal; the first row is the head.
func (c *Calibration) Cells() [][]string {
	out := [][]string{{"variant", "mean", "lowest–highest", "failed", "task", "missing"}}
	for i := range c.Variants {
		v := &c.Variants[i]
		out = append(out, []string{v.Variant.String(), maybe(v.Mean, score).String(), v.runs().String(), fmt.Sprint(v.Failed), maybe(v.CostUSD, money).String(), fmt.Sprint(v.Missing)})
	}
	return out
}
