package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// Fate is how a slot that was missing ended without a repeat.
type Fate struct {
	State  batch.SlotState // failed, skipped or not_started
	Reason string
	RunID  string // of the last evaluation that failed; "" = none
}

// SlotKey names a slot.
type SlotKey struct {
	Cell batch.Digest
	Slot int
}

// Freeze makes the batch's result: the plan's slots as they stand now, and the
// fate of those without a repeat. The plan must have been made anew after the last evaluation.
func Freeze(p *Plan, parent ledger.Parent, experiment string, fates map[SlotKey]Fate, now time.Time) (*batch.Result, error) {
	r := &batch.Result{
		Schema: batch.ResultSchema, Tool: p.Doc.Tool, Batch: parent.Info.RunID, Name: parent.Name(), Experiment: experiment,
		Started: parent.Started(), Frozen: now.UTC().Truncate(time.Millisecond),
		Plan: parent.Plan, Spec: p.Doc.SpecDigest, Panel: p.Doc.Panel.Digest, Key: p.Doc.Key, Ignored: p.Ignored,
	}
	slices.SortFunc(r.Ignored, func(a, b batch.Ignored) int { return cmp.Compare(a.RunID, b.RunID) })
	for _, s := range p.Slots {
		slot := batch.Slot{Variant: s.Cell.Variant, Cell: s.Cell.Identity.Cell, Slot: s.Slot}
		if s.Entry == nil {
			f, ok := fates[SlotKey{slot.Cell, s.Slot}]
			if !ok {
				f = Fate{State: batch.SlotNotStarted, Reason: "not started"}
			}
			slot.State, slot.Reason, slot.RunID = f.State, f.Reason, f.RunID
		} else {
			slot.State, slot.RunID = batch.SlotReused, s.Entry.Info.RunID
			if s.Own {
				slot.State = batch.SlotDone
			}
			r.Evaluations = append(r.Evaluations, evaluationOf(*s.Entry, s.Cell.Variant, s.Slot, true, !s.Own))
		}
		r.Counts.Count(slot.State)
		r.Slots = append(r.Slots, slot)
	}
	p.addUncounted(r, parent)
	unbilled := ledger.Unbilled(append(slices.Clone(p.Valid), p.Ended...))
	for i := range r.Evaluations {
		e := &r.Evaluations[i]
		e.Unbilled = !e.Counted && len(e.Artifacts) == 0 && unbilled[e.RunID]
	}
	slices.SortFunc(r.Evaluations, func(a, b batch.Evaluation) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.RunID, b.RunID))
	})
	if !r.Counts.AddUp() {
		return nil, fmt.Errorf("counts do not add up: %+v", r.Counts)
	}
	return r, nil
}

// addUncounted adds the evaluations of this batch that ended without counting:
// their attempts and their cost belong to the record.
func (p *Plan) addUncounted(r *batch.Result, parent ledger.Parent) {
	for _, e := range p.Ended {
		if e.Batch != parent.Info.RunID {
			continue
		}
		for _, c := range p.Doc.Cells {
			if c.Identity.Cell == e.Identity.Cell {
				r.Evaluations = append(r.Evaluations, evaluationOf(e, c.Variant, e.Slot, false, false))
				break
			}
		}
	}
}

func evaluationOf(e ledger.Entry, v batch.Variant, slot int, counted, reused bool) batch.Evaluation {
	artifacts := slices.Clone(e.Artifacts)
	slices.SortFunc(artifacts, func(a, b batch.Artifact) int { return cmp.Compare(a.Path, b.Path) })
	if artifacts == nil {
		artifacts = []batch.Artifact{}
	}
	return batch.Evaluation{
		Variant: v, RunID: e.Info.RunID, Evaluation: e.UUID, Cell: e.Identity.Cell, Slot: slot, State: e.State, Counted: counted, Reused: reused,
		Foreign: e.Foreign, Batch: e.Batch, RunName: e.Info.RunName, User: e.User, Role: e.Role, Reason: e.Reason,
		Started: e.Started(), Ended: e.Ended(), ArtifactURI: e.Info.ArtifactURI, Artifacts: artifacts,
	}
}
