package planner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// choose fills the slots with valid repeats. With Confirm, a repeat whose record
// is not what was logged of it is ignored, and the next one is taken.
func (p *Plan) choose(ctx context.Context, l *ledger.Ledger, in Input) error {
	usable := p.usable()
	checked := map[string]bool{}
	for {
		p.fill(usable)
		if !in.Confirm || p.Finished != nil { // what is frozen is checked by its export
			break
		}
		bad, err := p.confirm(ctx, l, checked)
		if err != nil {
			return err
		}
		if len(bad) == 0 {
			break
		}
		usable = slices.DeleteFunc(usable, func(e ledger.Entry) bool { return bad[e.Info.RunID] != nil })
		for id, reason := range bad {
			p.Ignored = append(p.Ignored, batch.Ignored{RunID: id, Reason: reason.Error()})
		}
	}
	if p.Finished == nil && (p.Joined == nil || p.Joined.Plan == "") { // the plan is yet to be stored
		p.Doc.Reused = p.reused()
	}
	return nil
}

// usable are the valid repeats that the spec's reuse rule and --fresh let count.
func (p *Plan) usable() []ledger.Entry {
	since := p.notBefore()
	var out []ledger.Entry
	for _, e := range p.Valid {
		own := p.own(e)
		variant := batch.Variant{Agent: e.Agent, Model: e.Model}.String()
		for _, c := range p.Doc.Cells {
			if c.Identity.Cell == e.Identity.Cell {
				variant = c.Variant.String()
			}
		}
		switch {
		case own:
		case slices.Contains(p.Doc.Fresh, variant):
			if p.Finished == nil { // of a frozen batch it is history
				p.skip(e, "older than --fresh "+variant)
			}
			continue
		case e.Started().Before(since):
			p.skip(e, fmt.Sprintf("started %s, before the reuse limit %s", e.Started().Format(time.RFC3339), since.Format(time.RFC3339)))
			continue
		}
		out = append(out, e)
	}
	return out
}

func (p *Plan) skip(e ledger.Entry, reason string) {
	p.Ignored = append(p.Ignored, batch.Ignored{RunID: e.Info.RunID, Cell: e.Identity.Cell.Short(), Reason: reason})
}

// own says whether an evaluation was measured by the batch that this plan joins.
func (p *Plan) own(e ledger.Entry) bool {
	for _, b := range []*ledger.Parent{p.Joined, p.Finished} {
		if b != nil && e.Batch == b.Info.RunID {
			return true
		}
	}
	return false
}

// notBefore is the earliest start that may be reused, seen from the batch's start.
func (p *Plan) notBefore() time.Time {
	r := p.resolved.Spec.Reuse
	since := r.NotBeforeTime()
	if r.MaxAge > 0 {
		if t := p.Doc.Created.Add(-r.MaxAge); t.After(since) {
			since = t
		}
	}
	return since
}

// fill gives every cell its repeats: first what the batch itself measured, then
// what it chose at its start, then the earliest of the others; never the best.
func (p *Plan) fill(usable []ledger.Entry) {
	p.Slots = p.Slots[:0]
	planned := map[string]bool{}
	for _, r := range p.Doc.Reused {
		planned[r.RunID] = true
	}
	rank := func(e ledger.Entry) int {
		switch {
		case p.own(e):
			return 0
		case planned[e.Info.RunID]:
			return 1
		}
		return 2
	}
	byCell := map[batch.Digest][]ledger.Entry{}
	for _, e := range usable { // in order of start time
		byCell[e.Identity.Cell] = append(byCell[e.Identity.Cell], e)
	}
	for _, c := range p.Doc.Cells {
		entries := slices.Clone(byCell[c.Identity.Cell])
		slices.SortStableFunc(entries, func(a, b ledger.Entry) int { return rank(a) - rank(b) })
		if len(entries) > p.Doc.Repeats {
			entries = entries[:p.Doc.Repeats]
		}
		p.Slots = append(p.Slots, p.seat(c, entries)...)
	}
}

// seat gives entries their slots: one keeps its own number where that is free.
func (p *Plan) seat(c batch.Cell, entries []ledger.Entry) []Slot {
	slots := make([]Slot, p.Doc.Repeats)
	for i := range slots {
		slots[i] = Slot{Cell: c, Slot: i + 1}
	}
	var rest []ledger.Entry
	for _, e := range entries {
		if e.Slot >= 1 && e.Slot <= len(slots) && slots[e.Slot-1].Entry == nil {
			slots[e.Slot-1].Entry, slots[e.Slot-1].Own = &e, p.own(e)
			continue
		}
		rest = append(rest, e)
	}
	for i := range slots {
		if slots[i].Entry == nil && len(rest) > 0 {
			slots[i].Entry, slots[i].Own = &rest[0], p.own(rest[0])
			rest = rest[1:]
		}
	}
	return slots
}

// confirm downloads the records of chosen repeats that were not read yet, and
// returns the runs whose record is not what its digest says, or no valid repeat.
func (p *Plan) confirm(ctx context.Context, l *ledger.Ledger, checked map[string]bool) (map[string]error, error) {
	var todo []ledger.Entry
	for _, s := range p.Slots {
		if s.Entry != nil && !s.Entry.Foreign && !checked[s.Entry.Info.RunID] {
			todo = append(todo, *s.Entry)
			checked[s.Entry.Info.RunID] = true
		}
	}
	q := QueryOf(p.resolved)
	reasons := make([]error, len(todo))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, e := range todo {
		g.Go(func() (err error) {
			reasons[i], err = l.CheckRecord(ctx, &e, q)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	bad := map[string]error{}
	for i, e := range todo {
		if reasons[i] != nil {
			bad[e.Info.RunID] = reasons[i]
		}
	}
	return bad, nil
}

func (p *Plan) reused() []batch.Repeat {
	out := []batch.Repeat{}
	for _, s := range p.Slots {
		if s.Entry != nil && !s.Own {
			out = append(out, batch.Repeat{Cell: s.Cell.Identity.Cell, Slot: s.Slot, RunID: s.Entry.Info.RunID, Evaluation: s.Entry.UUID, Started: s.Entry.Started()})
		}
	}
	return out
}
