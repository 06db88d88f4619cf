package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// mostSaid is how many names of feedback the report lists.
const mostSaid = 40

// feedback says what people said of outcomes in MLflow. Nothing else in the report follows from it.
func (p *page) feedback() {
	f := p.f.Feedback
	if f == nil {
		return
	}
	p.section("feedback", "What people said")
	asOf := stamp(f.AsOf)
	if f.Refreshed {
		asOf += ", read again after the freeze"
	}
	switch {
	case f.Unread != "":
		p.say("MLflow did not say what people think of these outcomes (%s): %s", asOf, document.Foreign(clip(f.Unread)))
		return
	case f.Rows == 0:
		p.say("Nobody had said anything of %s in MLflow (%s).", many(f.Traces, "traced outcome"), asOf)
		return
	}
	said := f.Said()
	outcomes, people := map[string]bool{}, map[string]bool{}
	for i := range said {
		outcomes[said[i].Trace] = true
		if said[i].Who != "" {
			people[said[i].Who] = true
		}
	}
	p.say("%s on %s of %d traced, by %s, read from MLflow as of %s. They stand beside the measurement: no score, rank or verdict here follows from them.",
		many(len(said), "assessment"), many(len(outcomes), "outcome"), f.Traces, named(len(people)), asOf)
	t := &document.Table{Caption: say("What people said, by the name that they gave it; means of what is a number, shares of what is yes or no"),
		Columns: columns("name", "#said", "#people", "#mean", "#of numbers", "#yes", "#of yes or no")}
	names := opinionsOf(said)
	for _, o := range names[:min(len(names), mostSaid)] {
		t.Rows = append(t.Rows, o.row())
	}
	t.Notes = more(len(names)-len(t.Rows), "name", "tables/feedback.parquet")
	p.table(t)
	p.note("Each with its words, who said it and when: tables/feedback.parquet. People are told apart by the name that MLflow has of them, which is the same for all on a server without logins.")
}

// named is how many people MLflow tells apart.
func named(n int) own {
	switch n {
	case 0:
		return "people whom MLflow does not name"
	case 1:
		return "1 person"
	}
	return whole(n) + " people"
}

// opinion is all that was said under one name.
type opinion struct {
	name, kind  string
	said        int
	people      map[string]bool
	sum         float64
	numbers     int
	yes, truths int
}

// opinionsOf are the names in order.
func opinionsOf(said []batch.Assessment) []*opinion {
	var out []*opinion
	at := map[[2]string]*opinion{}
	for i := range said {
		a := &said[i]
		o := at[[2]string{a.Name, a.Kind}]
		if o == nil {
			o = &opinion{name: a.Name, kind: a.Kind, people: map[string]bool{}}
			at[[2]string{a.Name, a.Kind}] = o
			out = append(out, o)
		}
		o.said++
		if a.Who != "" {
			o.people[a.Who] = true
		}
		if n := a.Number(); n != nil {
			o.numbers++
			o.sum += *n
		}
		if is := a.Bool(); is != nil {
			o.truths++
			o.yes += truth(*is)
		}
	}
	slices.SortFunc(out, func(a, b *opinion) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind)) })
	return out
}

func (o *opinion) row() document.Row {
	name := document.Foreign(clip(o.name))
	if strings.TrimSpace(o.name) == "" {
		name = say("(no name)")
	}
	if o.kind == batch.KindExpectation {
		name = say("%s (what would have been right)", name)
	}
	r := document.Row{name, say("%d", o.said), say("%d", len(o.people)), say("–"), say("%d", o.numbers), say("–"), say("%d", o.truths)}
	if o.numbers > 0 {
		mean := o.sum / float64(o.numbers)
		r[3] = say("%s", maybe(&mean))
	}
	if o.truths > 0 {
		r[5] = say("%s", percent(float64(o.yes)/float64(o.truths)))
	}
	return r
}

// superseded says which folder this one replaces.
func superseded(s *export.Superseded) document.Text {
	return say("This folder supersedes %s, whose manifest.json has the SHA-256 %s.", s.Folder, own(s.Manifest))
}
