package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Link is what connects two batches of different recipes.
type Link struct {
	Reference batch.Variant
	Panel     int      // tasks of the larger panel
	Anchors   int      // tasks that are the same in both
	Changed   []string // tasks marked as anchors in both that are not the same
	Drift     stats.Bridge
	Missing   int // anchors without a valid outcome of the reference on a side
	// Outcomes on the anchors by runs that served to choose a setting, and such that an
	// audit flagged: they are counted, and not looked at apart.
	Selection, Flagged int
}

// Bridge is F26 for one variant.
type Bridge struct {
	stats.Bridge
	Missing int         // anchors without a valid outcome on one of the four sides
	Codes   stats.Codes // why nothing can be claimed
	PAdj    *float64    // Holm over the variants; nil = refused
	Mark    stats.Mark
	Up      bool          // of a claim: B is better
	Second  *stats.Bridge // failures scored 0; nil = no failures
}

// anchors finds the tasks and the reference that link the batches, or refuses.
func (p *plan) anchors() error {
	a, b, c := p.a.Frozen, p.b.Frozen, p.c
	changes := recipeChanges(a, b)
	why, err := judgedOtherwise(a, b)
	if err != nil {
		return err
	}
	if len(why) > 0 {
		return c.refuse([]string{"their recipes differ, and no task can link them because answers are judged otherwise (" + strings.Join(first(why, 3), ", ") + ")"}, changes)
	}
	link := &Link{Panel: max(len(a.Tasks), len(b.Tasks))}
	for _, t := range b.Tasks {
		i := a.Position(t.ID)
		switch {
		case i < 0:
		case a.Tasks[i].InputDigest == t.InputDigest && a.Tasks[i].ExpectedDigest == t.ExpectedDigest:
			p.tasks = append(p.tasks, t)
		case a.Tasks[i].Anchor && t.Anchor:
			link.Changed = append(link.Changed, t.ID)
		}
	}
	link.Anchors = len(p.tasks)
	if least := max(10, (link.Panel+4)/5); link.Anchors < least {
		return c.refuse([]string{fmt.Sprintf("their recipes differ, and %d tasks are the same in both: at least %d of %d are needed to link them", link.Anchors, least, link.Panel)}, changes)
	}
	if lost := p.uncovered(); len(lost) > 0 {
		return c.refuse([]string{"their recipes differ, and the tasks that are the same in both do not cover all families: " + strings.Join(first(lost, 5), ", ") + " have none"}, changes)
	}
	if p.reference, err = p.findReference(); err != nil {
		return c.refuse([]string{"their recipes differ, and " + err.Error()}, changes)
	}
	link.Reference = p.both[p.reference]
	c.Link = link
	return nil
}

// uncovered are the families of either panel without an anchor.
func (p *plan) uncovered() []string {
	have := families(p.tasks)
	var lost []string
	for _, f := range append(families(p.a.Frozen.Tasks), families(p.b.Frozen.Tasks)...) {
		if !slices.Contains(have, f) && !slices.Contains(lost, f) {
			lost = append(lost, f)
		}
	}
	return lost
}

// findReference is the variant whose build did not change and that both froze as
// their reference, or that was asked for.
func (p *plan) findReference() (int, error) {
	x, y := variants(p.a.Frozen), variants(p.b.Frozen)
	var same []string
	for _, v := range p.both {
		if i, j := x[v].Identity, y[v].Identity; i.Agent == j.Agent && i.Model == j.Model && i.Brain == j.Brain {
			same = append(same, v.String())
		}
	}
	frozen := p.references[0]
	if frozen != p.references[1] {
		frozen = ""
	}
	want := p.c.asked.Reference
	switch {
	case len(same) == 0:
		return 0, fmt.Errorf("no variant is the same in both (agent, model and brain), so that nothing tells drift from change")
	case want == "" && frozen == "":
		return 0, fmt.Errorf("no reference was frozen in both, so that nothing tells drift from change: name one with --reference (the same in both: %s)", strings.Join(first(same, 6), ", "))
	case want == "":
		want = frozen
	case want != frozen:
		p.c.Rule.PostHoc = strings.TrimPrefix(p.c.Rule.PostHoc+"; the reference was named after both batches were frozen", "; ")
	}
	if !slices.Contains(same, want) {
		return 0, fmt.Errorf("the reference %s is not the same in both (agent, model and brain): these are: %s", want, strings.Join(first(same, 6), ", "))
	}
	return slices.IndexFunc(p.both, func(v batch.Variant) bool { return v.String() == want }), nil
}

// link computes the drift of the reference, and what changed beyond it.
func (m *merged) link() error {
	c := m.c
	ref := m.reference
	margin, alpha := 0.0, c.Rule.AlphaAtLook()
	if c.Rule.Margin != nil {
		margin = *c.Rule.Margin
	}
	c.Level = 2 * alpha
	anchors, places := m.measured(ref, ref, false)
	c.Link.Missing = len(m.tasks) - len(anchors)
	c.Link.Drift = stats.BridgeOf(anchors, c.Link.Panel, m.covers(places), margin, alpha)
	for i, p := range places {
		if c.Link.Drift.Anchors != nil {
			c.Tasks[p].Drift = &c.Link.Drift.Anchors[i]
		}
	}
	bridges, of := m.bridges(margin, alpha)
	c.Places = len(of)
	for _, i := range of {
		c.Variants[i].Bridge = bridges[i]
	}
	c.Link.Selection, c.Link.Flagged = m.left[1], m.left[2]
	if m.left[0] == 0 {
		return nil
	}
	m.skip = true
	again, _ := m.bridges(margin, alpha)
	r := Reading{Name: readings[0], Left: m.left[0]}
	for _, i := range of {
		if again[i].Mark != bridges[i].Mark || again[i].Up != bridges[i].Up {
			r.Turned = append(r.Turned, m.both[i])
		}
	}
	c.Readings = append(c.Readings, r)
	return nil
}

// bridges are those of all variants that both measured, by their places in of, with claims.
func (m *merged) bridges(margin, alpha float64) (out []*Bridge, of []int) {
	out = make([]*Bridge, len(m.both))
	var ps []float64
	for i := range m.both {
		if i == m.reference || m.columns[2*i].runs == 0 || m.columns[2*i+1].runs == 0 {
			continue
		}
		b := m.bridge(i, margin, alpha)
		out[i], of = b, append(of, i)
		if b.P == nil || b.Codes != 0 {
			ps = append(ps, 1) // it keeps its place
		} else {
			ps = append(ps, *b.P)
		}
	}
	claim(out, of, ps, m.c.Level)
	return out, of
}

// bridge is the first reading of one variant, and the second beside it.
func (m *merged) bridge(i int, margin, alpha float64) *Bridge {
	anchors, places := m.measured(m.reference, i, false)
	b := &Bridge{Bridge: stats.BridgeOf(anchors, m.c.Link.Panel, m.covers(places), margin, alpha), Missing: len(m.tasks) - len(anchors), Mark: stats.CannotTell}
	for _, col := range []int{2 * i, 2*i + 1, 2 * m.reference, 2*m.reference + 1} {
		if m.columns[col].runs < stats.MinRepeats {
			b.Codes = b.Codes.With(stats.NoRepeats)
		}
	}
	for side := range 2 { // the drift of a day is that of the runs of this day
		if stats.Apart(m.columns[2*i+side].starts, m.columns[2*m.reference+side].starts) {
			b.Codes = b.Codes.With(stats.MeasuredApart)
		}
	}
	if m.failures(i) || m.failures(m.reference) {
		again, places := m.measured(m.reference, i, true)
		second := stats.BridgeOf(again, m.c.Link.Panel, m.covers(places), margin, alpha)
		b.Second = &second
	}
	return b
}

// claim marks what is beyond the drift, in both readings.
func claim(bridges []*Bridge, of []int, ps []float64, level float64) {
	adjusted := stats.Holm(ps)
	second := make([]float64, len(ps))
	for n, i := range of {
		second[n] = ps[n]
		if b := bridges[i]; b.Second != nil && b.Codes == 0 {
			second[n] = 1
			if b.Second.P != nil {
				second[n] = *b.Second.P
			}
		}
	}
	again := stats.Holm(second)
	for n, i := range of {
		b := bridges[i]
		if b.P == nil || b.Codes != 0 {
			continue
		}
		b.PAdj = &adjusted[n]
		claimed, up := stats.Significant(adjusted[n], level), b.Difference.Value > 0
		if claimed {
			b.Mark, b.Up = stats.Beats, up
		}
		if b.Second == nil {
			continue
		}
		there := stats.Significant(again[n], level) && b.Second.Difference != nil
		if claimed != there || claimed && up != (b.Second.Difference.Value > 0) || b.Second.Link != b.Link {
			b.Mark, b.Up = stats.CannotTell, false
			b.Codes = b.Codes.With(stats.ProviderFailuresDecide)
		}
	}
}

// measured are the anchors that the reference and a variant have in both batches,
// with their places in the panel.
func (m *merged) measured(ref, i int, failuresZero bool) (anchors []stats.Anchor, places []int) {
	for t := range m.tasks {
		if m.skip && m.withdrawn(t) {
			continue
		}
		a := stats.Anchor{Task: m.tasks[t].ID}
		ok := true
		for _, x := range []struct {
			column int
			to     *stats.Measured
		}{{2 * ref, &a.RefOld}, {2*ref + 1, &a.RefNew}, {2 * i, &a.Old}, {2*i + 1, &a.New}} {
			values := m.columns[x.column].values[t]
			if failuresZero {
				values = m.columns[x.column].second[t]
			}
			ok = ok && len(values) > 0
			*x.to = measure(values)
		}
		if ok {
			anchors, places = append(anchors, a), append(places, t)
		}
	}
	return anchors, places
}

func measure(values []float64) stats.Measured {
	m := stats.Measured{Runs: len(values)}
	for _, v := range values {
		m.Mean += v
	}
	m.Mean /= max(1, float64(len(values)))
	if len(values) < 2 {
		return m
	}
	for _, v := range values {
		m.S2 += float64((v - m.Mean) * (v - m.Mean))
	}
	m.S2 /= float64(len(values) - 1)
	return m
}

// failures says whether the second reading of a variant differs from the first.
func (m *merged) failures(i int) bool {
	for _, col := range []int{2 * i, 2*i + 1} {
		for t := range m.tasks {
			if len(m.columns[col].values[t]) != len(m.columns[col].second[t]) {
				return true
			}
		}
	}
	return false
}

func first(list []string, n int) []string {
	if len(list) > n {
		return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
	}
	return list
}

// referenceOf is the one that a batch froze; "" = none.
func referenceOf(f *export.Frozen) string {
	var d struct {
		Reference string `json:"reference"`
	}
	if json.Unmarshal(f.Plan.Decision, &d) != nil {
		return "" // said where the rule is read
	}
	return d.Reference
}

// covers says whether some of the anchors still cover all families.
func (m *merged) covers(places []int) bool {
	var have []string
	for _, p := range places {
		have = append(have, m.tasks[p].Family)
	}
	for _, f := range families(m.tasks) {
		if !slices.Contains(have, f) {
			return false
		}
	}
	return true
}
