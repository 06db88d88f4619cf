package compare

import (
	"strconv"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// anchorLevel is the level at which the reference moved on an anchor.
const anchorLevel = 0.05

// linkBlocks say how anchors link the batches.
func (c *Comparison) linkBlocks() []document.Block {
	l := c.Link
	d := &l.Drift
	facts := &document.Facts{Facts: []document.Fact{
		{Name: "Reference", Text: document.Say("%s, the same agent, model and brain in both", l.Reference.String())},
		{Name: "Anchors", Text: document.Say("%d tasks of %d are the same in both", l.Anchors, l.Panel)},
		{Name: "Link", Text: document.Say("%s", document.Own(d.Link.String()))},
	}}
	if d.Drift != nil {
		var low, high *float64
		if d.Drift.Interval != nil {
			low, high = &d.Drift.Interval.Low, &d.Drift.Interval.High
		}
		facts.Facts = append(facts.Facts, document.Fact{Name: "Drift of the reference", Text: document.Say("%s, p that it is within the margin %s", interval(&d.Drift.Value, low, high), pValue(d.PLink, c.Level/2))})
	}
	if l.Missing > 0 {
		facts.Facts = append(facts.Facts, document.Fact{Name: "Left out", Text: document.Say("%s without a valid outcome of the reference on a side", count(l.Missing, "anchor"))})
	}
	if l.Selection+l.Flagged > 0 {
		facts.Facts = append(facts.Facts, document.Fact{Name: "Not looked at apart", Text: document.Say("%s of runs that served to choose the brain or a setting, %s that an audit flagged", count(l.Selection, "outcome"), count(l.Flagged, "outcome"))})
	}
	out := []document.Block{&document.Heading{Level: 2, ID: "link", Text: document.Say("How the batches are linked")}, facts}
	var moved []document.Text
	for i := range c.Tasks {
		if p := c.Tasks[i].Drift; p != nil && stats.Significant(*p, anchorLevel) {
			moved = append(moved, document.Say("%s (adjusted p %s)", c.Tasks[i].ID, pValue(p, anchorLevel)))
		}
	}
	if len(moved) > 0 {
		out = append(out, &document.Callout{Title: document.Say("Anchors on which the reference itself moved; none is dropped for it"), Items: moved})
	}
	if len(l.Changed) > 0 {
		var items []document.Text
		for i, id := range l.Changed {
			if i == mostListed {
				items = append(items, document.Say("and %d more", len(l.Changed)-mostListed))
				break
			}
			items = append(items, document.Foreign(id))
		}
		out = append(out, &document.Callout{Title: document.Say("Marked as anchors in both, but not the same: they link nothing"), Items: items})
	}
	t := &document.Table{Caption: document.Say("Raw differences, where they may be told"), Columns: numeric(columns("variant", "link", "raw B − A", "anchors left out"), 2, 3)}
	for i := range c.Variants {
		v := &c.Variants[i]
		if v.Bridge == nil {
			continue
		}
		raw := document.Own("withheld")
		if r := v.Bridge.Raw; r != nil {
			raw = document.Own(signed(*r))
		}
		t.Rows = append(t.Rows, document.Row{document.Foreign(v.Variant.String()), document.Say("%s", document.Own(v.Bridge.Link.String())), document.Say("%s", raw), document.Say("%d", v.Bridge.Missing)})
	}
	if len(t.Rows) > 0 {
		out = append(out, t)
	}
	return out
}

var readingWords = map[string]document.Own{export.WithoutWithdrawn: "withdrawn tasks", export.WithoutSelection: "runs that served to choose the brain or a setting", export.WithoutFlagged: "outcomes that an audit flagged"}

// readingBlocks say what the same rule gives without some outcomes.
func (c *Comparison) readingBlocks() []document.Block {
	if len(c.Readings) == 0 {
		return nil
	}
	l := &document.List{}
	for _, r := range c.Readings {
		text := document.Say("Without %s (%s): ", readingWords[r.Name], count(r.Left, "outcome"))
		switch {
		case r.Over && len(r.Turned) > 0:
			text = document.Say("%sthe verdict over all is another one, and those on %s.", text, document.Join(names(r.Turned), ", "))
		case r.Over:
			text = document.Say("%sthe verdict over all is another one.", text)
		case len(r.Turned) > 0:
			text = document.Say("%sthe verdicts on %s are others.", text, document.Join(names(r.Turned), ", "))
		default:
			text = document.Say("%severy verdict is the same.", text)
		}
		l.Items = append(l.Items, text)
	}
	return []document.Block{&document.Heading{Level: 2, ID: "readings", Text: document.Say("The same without some outcomes")}, l}
}

// changeBlocks say what differs between the batches.
func (c *Comparison) changeBlocks() []document.Block {
	out := []document.Block{&document.Heading{Level: 2, ID: "changes", Text: document.Say("What differs between A and B")}}
	if len(c.Changes) == 0 {
		return append(out, &document.Paragraph{Text: document.Say("Nothing of what identifies brain, agents, models and recipe: only the day, and what can't be seen.")})
	}
	t := &document.Table{Caption: document.Say("Changes by part"), Columns: columns("part", "what", "A", "B"), Headers: 2}
	for i, x := range c.Changes {
		if i == mostListed {
			t.Notes = append(t.Notes, document.Say("and %d more: tables/changes.parquet", len(c.Changes)-mostListed))
			break
		}
		t.Rows = append(t.Rows, document.Row{document.Say("%s", document.Own(x.Part)), document.Foreign(x.Item), absent(x.Old), absent(x.New)})
	}
	return append(out, t)
}

func absent(v string) document.Text {
	if v == "" {
		return document.Say("absent")
	}
	return document.Foreign(cut(shorten(v)))
}

// cut keeps a value short enough for a table.
func cut(v string) string {
	const most = 60
	r := []rune(v)
	if len(r) <= most {
		return v
	}
	return string(r[:most]) + "…"
}

// sharedBlocks name the runs that both count.
func (c *Comparison) sharedBlocks() []document.Block {
	if len(c.Shared) == 0 {
		return nil
	}
	l := &document.List{}
	for i := range c.Variants {
		v := &c.Variants[i]
		if n := v.A.Shared + v.B.Shared; n > 0 {
			l.Items = append(l.Items, document.Say("%s: %s", v.Variant.String(), count(n, "run")))
		}
	}
	return []document.Block{&document.Heading{Level: 2, ID: "shared", Text: document.Say("Runs that both batches count")},
		&document.Paragraph{Text: document.Say("A reused run is one measurement: it stands on the side that paid for it, and is not compared with itself. tables/shared.parquet names each one.")}, l}
}

// limits are what nobody may read into the comparison.
func (c *Comparison) limits() document.Block {
	l := &document.List{Items: []document.Text{
		document.Say("A difference has every cause that differs between the batches: the list of changes above, and what no digest covers, such as a provider that changed a model behind its name."),
	}}
	if c.Mode == SameRecipe {
		l.Items = append(l.Items, document.Say("Runs of one side without a counterpart of the other within 24 hours tell the day from the change no more: such a pair cannot be told."))
	} else {
		l.Items = append(l.Items, document.Say("The change is told on the anchors alone, and rests on the reference drifting as the other variants do."))
	}
	if c.Families > 1 && c.Families < 5 {
		l.Items = append(l.Items, document.Say("Only %s of tasks: claims are about these.", document.Own(strconv.Itoa(c.Families)+" families")))
	}
	if c.Rule.Scope == stats.List {
		l.Items = append(l.Items, document.Say("The rule is about exactly these tasks, not about others like them."))
	}
	return l
}

// Readme is the README of the comparison's folder.
func (c *Comparison) Readme() *document.Document {
	d := &document.Document{Title: c.Name, Marks: c.marks()}
	d.Add(&document.Verdict{Question: c.question(), Sentence: c.Sentence()},
		&document.Facts{Facts: []document.Fact{
			{Name: "A", Text: document.Say("%s, begun %s, result.json SHA-256 %s", c.A.Name, stamp(&c.A.Started), document.Own(c.A.Result))},
			{Name: "B", Text: document.Say("%s, begun %s, result.json SHA-256 %s", c.B.Name, stamp(&c.B.Started), document.Own(c.B.Result))},
			{Name: "Compared by", Text: document.Say("%s", document.Own(c.Mode))},
		}},
		&document.List{Items: []document.Text{
			document.Say("%s and %s: what changed, with its reasons", document.Link(document.Say("report.html"), "report.html"), document.Link(document.Say("report.md"), "report.md")),
			document.Say("tables/: pairs, overall, tasks, changes and shared as Parquet"),
			document.Say("%s: both batches with their digests, and those of every file", document.Link(document.Say("manifest.json"), "manifest.json")),
		}},
		&document.Paragraph{Text: document.Say("Put the folders of A and B beside this one, and verify makes everything again:")},
		&document.Code{Lines: []document.Own{document.Own("benchbatch verify " + c.Name)}})
	return d
}
