package report

import (
	"cmp"
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// How many rows the report shows. The tables of the folder hold all of them.
const (
	mostPairs    = 100
	mostTasks    = 60
	mostFamilies = 60
	mostFlags    = 100
	mostAcross   = 12 // variants side by side
)

// page is a report being made.
type page struct {
	f     *export.Frozen
	s     *export.Summary
	v     *export.Verdict
	seen  *seen
	doc   *document.Document
	order []int // variants as the leaderboard lists them
	base  int   // variant to which differences are shown; stats.Nobody where there is none
}

// newDocument is the report of a batch as a page.
func newDocument(f *export.Frozen, s *export.Summary, seen *seen) *document.Document {
	p := &page{f: f, s: s, v: s.Verdict, seen: seen, doc: &document.Document{Title: title(f), Marks: marks(f)}}
	p.order = p.ordered()
	p.base = p.compared()
	p.first()
	p.differences()
	p.leaderboard()
	p.matrix()
	p.otherPairs()
	p.candidates()
	p.repairs()
	p.holds()
	p.flags()
	p.families()
	p.costs()
	p.runs()
	p.tasks()
	p.judges()
	p.feedback()
	p.reliability()
	p.spend()
	p.dates()
	p.counts()
	p.notCounted()
	p.limits()
	p.basis()
	p.howTo()
	return p.doc
}

func title(f *export.Frozen) string {
	return f.Plan.Benchmark + " " + f.Plan.Version + ", " + f.Result.Started.UTC().Format("2006-01-02")
}

// marks say on every page what a reader must not miss.
func marks(f *export.Frozen) []document.Mark {
	var out []document.Mark
	if f.Plan.Draft {
		out = append(out, document.Mark{Word: "DRAFT", Text: say("this version may still change.")})
	}
	if of := f.Plan.Calibration; of != nil {
		out = append(out, document.Mark{Word: "CALIBRATION", Text: say("a slice of %d of %d tasks. Nothing here is claimed, and no repeat counts in the batch unless the slice is the whole panel.", len(f.Tasks), of.Tasks)})
	}
	if f.Provisional {
		out = append(out, document.Mark{Word: "PROVISIONAL", Text: say("the batch was not frozen.")})
	}
	if f.PostHoc != nil {
		out = append(out, document.Mark{Word: "POST HOC", Text: say("decided by rule %s, which was not the frozen one (%s).", f.PostHoc.Digest.Short(), f.PostHoc.Frozen.Short())})
	}
	return out
}

// ordered lists the variants by rank where there are ranks, else as the plan does.
func (p *page) ordered() []int {
	order := make([]int, len(p.s.Variants))
	for i := range order {
		order[i] = i
	}
	if p.ranked() {
		slices.SortStableFunc(order, p.byRank)
	}
	return order
}

func (p *page) ranked() bool { return p.v.Decided() && p.v.Ranks != nil }

// byRank orders variants by rank, then mean; unmeasured ones stand last.
func (p *page) byRank(a, b int) int {
	x, y := p.v.Ranks[a], p.v.Ranks[b]
	if x == nil || y == nil {
		return cmp.Compare(truth(x == nil), truth(y == nil))
	}
	return cmp.Or(cmp.Compare(x.Low, y.Low), cmp.Compare(x.High, y.High),
		cmp.Compare(p.v.Description.Variants[b].Mean.Value, p.v.Description.Variants[a].Mean.Value))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compared is the variant to which differences are shown: the reference, else the
// first of the leaderboard.
func (p *page) compared() int {
	if !p.v.Decided() {
		return stats.Nobody
	}
	if p.v.Rule.Reference != "" {
		for i := range p.s.Variants {
			if p.name(i) == p.v.Rule.Reference {
				return i
			}
		}
	}
	for _, i := range p.order {
		if p.v.Description.Variants[i].Repeats > 0 {
			return i
		}
	}
	return stats.Nobody
}

func (p *page) name(variant int) string { return p.s.Variants[variant].Cell.Variant.String() }

func (p *page) add(blocks ...document.Block) { p.doc.Add(blocks...) }

func (p *page) section(id string, title document.Own, args ...any) {
	p.add(&document.Heading{Level: 2, ID: id, Text: say(title, args...)})
}

func (p *page) say(format document.Own, args ...any) {
	p.add(&document.Paragraph{Text: say(format, args...)})
}

func (p *page) note(format document.Own, args ...any) {
	p.add(&document.Paragraph{Text: say(format, args...), Small: true})
}

// table adds a table that has rows.
func (p *page) table(t *document.Table) {
	if len(t.Rows) > 0 {
		p.add(t)
	}
}

// folded adds a table whose rows beyond the first few are folded.
func (p *page) folded(t *document.Table, few int, what string) {
	if len(t.Rows) <= few+few/2 {
		p.table(t)
		return
	}
	rest := &document.Table{Caption: say("%s, continued", t.Caption), Columns: t.Columns, Headers: t.Headers, Rows: t.Rows[few:], Notes: t.Notes}
	t.Rows, t.Notes = t.Rows[:few], nil
	p.add(t, &document.Details{Summary: say("%s", many(len(rest.Rows), "further "+what)), Blocks: []document.Block{rest}})
}

func say(format document.Own, args ...any) document.Text { return document.Say(format, args...) }

// columns are heads of a table; those that start with # are numbers.
func columns(names ...document.Own) []document.Column {
	var out []document.Column
	for _, n := range names {
		c := document.Column{Numeric: n[0] == '#'}
		if c.Numeric {
			n = n[1:]
		}
		c.Text = say("%s", n)
		out = append(out, c)
	}
	return out
}

// link leads to the record of a run, where the folder holds it.
func (p *page) link(t document.Text, row *export.Row) document.Text {
	if row == nil || p.f.Withholds(export.WithholdRaw) || row.Artifacts != "complete" && row.Artifacts != "outcomes" {
		return t
	}
	return document.Link(t, "raw/"+row.RunID+"/outcomes.jsonl")
}

// more says how many rows were left out, and where they are.
func more(left int, what string, table document.Own) []document.Text {
	if left <= 0 {
		return nil
	}
	return []document.Text{say("%s in %s.", areIs(left, "further "+what), table)}
}
