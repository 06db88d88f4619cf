package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/note"
)

// live is the note of a batch that is not frozen, from its plan and its own
// evaluations so far.
func (p *Page) live(own []ledger.Entry, running bool) note.Batch {
	doc := &p.plan.Doc
	experiment := p.parent.Info.ExperimentID
	b := note.Batch{Running: running, AsOf: p.now(), Draft: doc.Draft, Calibration: doc.Calibration != nil, Question: doc.Question,
		AllRuns: p.links.View(experiment, p.views.Score)}
	b.Links = Links(p.links, p.views, experiment, note.Link{Label: "plan", Address: p.links.Artifact(experiment, p.parent.Info.RunID, batch.FilePlan)})
	b.Spent = spentOf(own)
	b.Spent.Ceiling = p.ceiling
	for _, e := range own {
		if e.Live() {
			b.Live++
		}
	}
	seats := seatsOf(p.plan.Slots, own)
	var slots []batch.Slot
	for i := range seats {
		slots = append(slots, seats[i].slot)
		b.Counts.Count(seats[i].slot.State)
	}
	b.Reasons = Reasons(slots)
	for len(seats) > 0 {
		n := 1
		for n < len(seats) && seats[n].slot.Cell == seats[0].slot.Cell {
			n++
		}
		b.Cells = append(b.Cells, p.cell(seats[:n]))
		seats = seats[n:]
	}
	return b
}

// seat is a planned slot with the evaluation that fills it, or failed to.
type seat struct {
	slot  batch.Slot
	entry *ledger.Entry // nil = none
}

// seatsOf fills the slots of a plan with what was reused, and with the evaluations
// of the batch itself. One that failed and is measured again has not failed yet.
func seatsOf(plan []planner.Slot, own []ledger.Entry) []seat {
	done, failed, live := map[planner.SlotKey]*ledger.Entry{}, map[planner.SlotKey]*ledger.Entry{}, map[planner.SlotKey]bool{}
	for i := range own {
		e := &own[i]
		k := planner.SlotKey{Cell: e.Identity.Cell, Slot: e.Slot}
		switch {
		case e.Live():
			live[k] = true
		case e.State.Counts():
			done[k] = e
		case e.State == batch.StateIncomplete:
			failed[k] = e
		}
	}
	seats := make([]seat, len(plan))
	for i, s := range plan {
		k := planner.SlotKey{Cell: s.Cell.Identity.Cell, Slot: s.Slot}
		seats[i].slot = batch.Slot{Variant: s.Cell.Variant, Cell: k.Cell, Slot: s.Slot, State: batch.SlotNotStarted}
		switch {
		case s.Entry != nil && !s.Own:
			seats[i].slot.State, seats[i].entry = batch.SlotReused, s.Entry
		case done[k] != nil:
			seats[i].slot.State, seats[i].entry = batch.SlotDone, done[k]
		case s.Entry != nil:
			seats[i].slot.State, seats[i].entry = batch.SlotDone, s.Entry
		case failed[k] != nil && !live[k]:
			seats[i].slot.State, seats[i].slot.Reason = batch.SlotFailed, failed[k].Reason
		}
	}
	return seats
}

// cell sums up the seats of one cell. A mean needs the scores of all repeats.
func (p *Page) cell(seats []seat) note.Cell {
	c := note.Cell{Variant: seats[0].slot.Variant, Planned: len(seats)}
	var scores, costs []float64
	for _, s := range seats {
		e := s.entry
		if e == nil {
			continue
		}
		r := note.Repeat{Slot: s.slot.Slot, Reused: s.slot.State == batch.SlotReused, Run: p.links.Run(e.Info.ExperimentID, e.Info.RunID)}
		if slices.ContainsFunc(e.Artifacts, func(a batch.Artifact) bool { return a.Path == batch.FileBundle }) {
			r.Raw = p.links.File(e.Info.RunID, batch.FileBundle)
		}
		c.Repeats = append(c.Repeats, r)
		if e.Score != nil {
			scores = append(scores, *e.Score)
		}
		if e.CostUSD != nil {
			costs = append(costs, *e.CostUSD)
		}
		c.AtLeast = c.AtLeast || e.CostUnknown != nil && *e.CostUnknown > 0
	}
	n := len(c.Repeats)
	if n > 0 && len(scores) == n {
		low, high := slices.Min(scores), slices.Max(scores)
		c.Score, c.Low, c.High = mean(scores), &low, &high
	}
	if n > 0 && len(costs) == n {
		c.USD = mean(costs)
	}
	return c
}

func mean(values []float64) *float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	sum /= float64(len(values))
	return &sum
}

// spentOf is what a batch's evaluations cost, those that don't count included.
func spentOf(own []ledger.Entry) note.Spent {
	zero := 0.0
	s := note.Spent{USD: &zero}
	known, ended := 0, 0
	unbilled := ledger.Unbilled(own)
	for i := range own {
		e := &own[i]
		if e.Live() {
			continue
		}
		ended++
		if e.CostUSD != nil {
			known++
			*s.USD += *e.CostUSD
		}
		s.Unknown = s.Unknown || unbilled[e.Info.RunID] || e.CostUnknown != nil && *e.CostUnknown > 0
	}
	if ended > 0 && known == 0 {
		s.USD = nil
	}
	return s
}

// mostNames is how many variants a reason names.
const mostNames = 3

// Reasons are the different reasons why slots have no repeat, the most frequent first.
func Reasons(slots []batch.Slot) []string {
	type kind struct {
		state  batch.SlotState
		reason string
		names  []string
		n      int
	}
	var kinds []*kind
	for _, s := range slots {
		if s.Reason == "" || s.State == batch.SlotNotStarted && s.Reason == "not started" {
			continue
		}
		i := slices.IndexFunc(kinds, func(k *kind) bool { return k.state == s.State && k.reason == s.Reason })
		if i < 0 {
			i = len(kinds)
			kinds = append(kinds, &kind{state: s.State, reason: s.Reason})
		}
		k := kinds[i]
		k.n++
		if name := s.Variant.String(); !slices.Contains(k.names, name) {
			k.names = append(k.names, name)
		}
	}
	slices.SortStableFunc(kinds, func(a, b *kind) int { return cmp.Compare(b.n, a.n) })
	var out []string
	for _, k := range kinds {
		names := k.names
		more := ""
		if len(names) > mostNames {
			more = fmt.Sprintf(" and %d more variants", len(names)-mostNames)
			names = names[:mostNames]
		}
		out = append(out, fmt.Sprintf("%d %s (%s%s): %s", k.n, strings.ReplaceAll(string(k.state), "_", " "), strings.Join(names, ", "), more, strings.Join(strings.Fields(k.reason), " ")))
	}
	return out
}
