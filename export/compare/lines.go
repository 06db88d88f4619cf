package compare

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// View is a comparison in brief, as data. Texts in it may be foreign.
type View struct {
	Name     string       `json:"name"`
	A        Batch        `json:"a"`
	B        Batch        `json:"b"`
	Mode     Mode         `json:"mode"`
	Verdict  string       `json:"verdict"` // one sentence
	Decision batch.Digest `json:"decision_sha256"`
	PostHoc  string       `json:"post_hoc,omitempty"`
	Look     int          `json:"look"`
	Level    float64      `json:"level"` // two-sided

	Overall  *OverallView    `json:"overall"` // null by anchors, and where no variant was measured by both
	Link     *LinkView       `json:"link"`    // null where the recipe is the same
	Variants []VariantView   `json:"variants"`
	OnlyA    []batch.Variant `json:"only_in_a"`
	OnlyB    []batch.Variant `json:"only_in_b"`
	Shared   []Shared        `json:"shared_runs"`
	Changes  []batch.Change  `json:"changes"`
	Again    *PriceView      `json:"measure_a_again,omitempty"` // where the sides were measured apart
	Stands   bool            `json:"stands"`                    // in every reading
	Folder   string          `json:"folder,omitempty"`
}

// OverallView is the verdict over all variants together.
type OverallView struct {
	Variants   int      `json:"variants"`
	Mark       string   `json:"verdict"`
	Better     string   `json:"better,omitempty"` // a or b
	Codes      []string `json:"codes,omitempty"`
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"ci_low"` // 95 %
	High       *float64 `json:"ci_high"`
	P          *float64 `json:"p"`
}

// LinkView is how anchors link the batches.
type LinkView struct {
	Link      string   `json:"link"`
	Reference string   `json:"reference"`
	Anchors   int      `json:"anchors"`
	Panel     int      `json:"panel"`
	Drift     *float64 `json:"drift"`
	Changed   []string `json:"changed_anchors,omitempty"`
}

// VariantView is one variant of both batches.
type VariantView struct {
	batch.Variant
	Verdict    string   `json:"verdict"`
	Why        string   `json:"why,omitempty"` // Codes in words
	Codes      string   `json:"codes,omitempty"`
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"ci_low"` // 95 %, not adjusted
	High       *float64 `json:"ci_high"`
	PAdjusted  *float64 `json:"p_adjusted"`
	MeanA      *float64 `json:"mean_a"`
	MeanB      *float64 `json:"mean_b"`
	RepeatsA   int      `json:"repeats_a"`
	RepeatsB   int      `json:"repeats_b"`
	SameCell   bool     `json:"same_cell"`
}

// PriceView is what measuring A's side again would cost.
type PriceView struct {
	Evaluations int      `json:"evaluations"`
	USD         *float64 `json:"usd"` // null = unknown
}

// View is the comparison in brief.
func (c *Comparison) View() *View {
	v := &View{Name: c.Name, A: c.A, B: c.B, Mode: c.Mode, Verdict: c.Sentence().String(), Decision: c.Rule.Digest, PostHoc: c.Rule.PostHoc, Look: c.Rule.Look, Level: c.Level,
		OnlyA: c.OnlyA, OnlyB: c.OnlyB, Shared: c.Shared, Changes: c.Changes, Stands: c.Stands()}
	if o := c.Overall; o != nil {
		v.Overall = &OverallView{Variants: o.Pairs, Mark: o.Mark.String(), Codes: o.Codes.Strings(), Difference: o.Difference, P: o.P}
		if o.Interval != nil {
			v.Overall.Low, v.Overall.High = &o.Interval.Low, &o.Interval.High
		}
		if o.Mark == stats.Beats || o.Mark == stats.Ahead {
			v.Overall.Better = *side(o.Up)
		}
	}
	if l := c.Link; l != nil {
		v.Link = &LinkView{Link: l.Drift.Link.String(), Reference: l.Reference.String(), Anchors: l.Anchors, Panel: l.Panel, Changed: l.Changed}
		if l.Drift.Drift != nil {
			v.Link.Drift = &l.Drift.Drift.Value
		}
	}
	for i := range c.Variants {
		v.Variants = append(v.Variants, viewOf(&c.Variants[i]))
	}
	if c.apart() {
		v.Again = &PriceView{c.Again.Evaluations, c.Again.USD}
	}
	return v
}

func viewOf(x *Variant) VariantView {
	verdict, why := x.Verdict()
	out := VariantView{Variant: x.Variant, Verdict: string(verdict), Why: string(why), Codes: x.codes(), RepeatsA: x.A.Repeats, RepeatsB: x.B.Repeats, SameCell: x.SameCell}
	out.Difference, out.Low, out.High = x.Difference()
	switch {
	case x.Pair != nil:
		out.PAdjusted = x.Pair.PAdj
	case x.Bridge != nil:
		out.PAdjusted = x.Bridge.PAdj
	}
	out.MeanA, _ = meanOf(x.A.Mean)
	out.MeanB, _ = meanOf(x.B.Mean)
	return out
}

// mostRows is how many variants and changes a terminal shows.
const mostRows = 16

// Lines are the comparison for a terminal, none wider than terminal.Columns.
func (v *View) Lines(style terminal.Style) []string {
	l := &lines{style: style}
	for _, b := range []struct {
		name string
		b    *Batch
	}{{"A", &v.A}, {"B", &v.B}} {
		l.fact(b.name, fmt.Sprintf("%s, measured %s", b.b.Name, days(b.b.First, b.b.Last)))
	}
	if v.PostHoc != "" {
		l.add("")
		l.bold("POST HOC: " + v.PostHoc)
	}
	l.add("")
	l.bold(v.Verdict)
	l.add("")
	l.variants(v)
	if o := v.Overall; o != nil && o.Variants > 1 {
		l.fact("over all", "B − A "+string(interval(o.Difference, o.Low, o.High))+", p "+string(pValue(o.P, v.Level)))
	}
	if k := v.Link; k != nil {
		l.fact("linked by", fmt.Sprintf("%d of %d tasks, reference %s (%s)", k.Anchors, k.Panel, k.Reference, k.Link))
	}
	if v.Again != nil {
		l.fact("apart", fmt.Sprintf("measuring A's side again beside B's takes %s, %s", count(v.Again.Evaluations, "evaluation"), Price{v.Again.Evaluations, v.Again.USD}.words()))
	}
	if n := len(v.Shared); n > 0 {
		l.fact("shared", string(count(n, "run"))+" that both count: one measurement each, not compared with itself")
	}
	l.only("only in A", v.OnlyA)
	l.only("only in B", v.OnlyB)
	l.changes(v.Changes)
	return l.out
}

type lines struct {
	style terminal.Style
	out   []string
}

func (l *lines) add(s string) { l.out = append(l.out, s) }

func (l *lines) bold(text string) {
	for _, t := range terminal.Wrap(text, terminal.Columns) {
		l.add(l.style.Bold(t))
	}
}

func (l *lines) fact(name, text string) {
	for i, t := range terminal.Wrap(text, terminal.Columns-11) {
		if i > 0 {
			name = ""
		}
		l.add(fmt.Sprintf("%-11s%s", name, t))
	}
}

func (l *lines) variants(v *View) {
	t := terminal.Table{Right: []bool{false, false, true, true, true}, Fits: []int{0, 1}, Most: terminal.Columns}
	t.Add("variant", "B against A", "A", "B", "B − A [95 %]")
	for i, x := range v.Variants {
		if i == mostRows {
			break
		}
		t.Add(x.Variant.String(), x.Verdict, string(figure(x.MeanA)), string(figure(x.MeanB)), string(interval(x.Difference, x.Low, x.High)))
	}
	rows := t.Lines()
	l.add(l.style.Faint(rows[0]))
	l.out = append(l.out, rows[1:]...)
	if n := len(v.Variants) - mostRows; n > 0 {
		l.add("and " + string(count(n, "variant")) + " more, in the report")
	}
	why := map[string]bool{}
	for _, x := range v.Variants {
		for _, c := range strings.Split(x.Why, ", ") {
			if c != "" && !why[c] {
				why[c] = true
				l.fact("because", c)
			}
		}
	}
	l.add("")
}

func (l *lines) only(name string, list []batch.Variant) {
	var ids []string
	for i, v := range list {
		if i == mostRows {
			ids = append(ids, "and "+strconv.Itoa(len(list)-mostRows)+" more")
			break
		}
		ids = append(ids, v.String())
	}
	if len(ids) > 0 {
		l.fact(name, strings.Join(ids, ", "))
	}
}

func (l *lines) changes(list []batch.Change) {
	if len(list) == 0 {
		l.fact("differs", "nothing that a digest covers: only the day")
	}
	for i, c := range list {
		name := ""
		if i == 0 {
			name = "differs"
		}
		if i == mostRows {
			l.fact(name, fmt.Sprintf("and %d more, in the report", len(list)-mostRows))
			return
		}
		l.fact(name, ChangeText(c))
	}
}

func days(first, last *time.Time) string {
	if first == nil {
		return "at an unknown time"
	}
	a, b := first.Format("2006-01-02"), last.Format("2006-01-02")
	if a == b {
		return a
	}
	return a + " to " + b
}
