package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// LabelTaken says that a version label belongs to another recipe.
type LabelTaken struct {
	Benchmark, Version string
	Run                string // the first valid repeat, or the frozen batch, under the label
	Frozen             bool   // Run is a batch
	Changes            []batch.Change
	// Old and New are the recipes' digests. Old is "" where it is not known.
	Old, New batch.Digest
}

func (e *LabelTaken) Error() string {
	var b strings.Builder
	what := "first repeat: run"
	if e.Frozen {
		what = "frozen batch: run"
	}
	fmt.Fprintf(&b, "version %q of %s is taken by another recipe (%s %s)\n", e.Version, e.Benchmark, what, e.Run)
	for _, c := range e.Changes {
		fmt.Fprintf(&b, "  %s: %s changed\n    was %s\n    is  %s\n", c.Part, strings.TrimPrefix(c.Item, "file "), orAbsent(c.Old), orAbsent(c.New))
	}
	if len(e.Changes) == 0 {
		fmt.Fprintf(&b, "  recipe was %s\n         is  %s\n", cmp.Or(string(e.Old), "another"), e.New)
	}
	b.WriteString("  give the spec a new version: then exactly the affected cells are missing; or undo the change")
	return b.String()
}

func orAbsent(s string) string {
	if s == "" {
		return "(absent)"
	}
	return s
}

// labelTaken explains the conflict from the plan of the batch that took the label.
func labelTaken(ctx context.Context, l *ledger.Ledger, r *spec.Resolved, h *ledger.LabelHolder) error {
	e := &LabelTaken{Benchmark: r.Spec.Benchmark, Version: r.Spec.Version, Run: h.Run, Frozen: h.Frozen, Old: h.Identity.Recipe, New: r.Recipe}
	if h.Batch != "" {
		if parent, err := l.Batch(ctx, h.Batch); err == nil {
			if old, _, err := l.ReadPlan(ctx, parent); err == nil {
				e.Changes = append(batch.Explain(batch.PartExecution, old.Execution, r.Execution), batch.Explain(batch.PartScoring, old.Scoring, r.Scoring)...)
				return e
			}
		}
	}
	if h.Frozen {
		return e
	}
	id := h.Identity
	mine := r.Cells[0].Identity
	if id.Execution != mine.Execution {
		e.Changes = append(e.Changes, batch.Change{Part: batch.PartExecution, Item: "digest", Old: string(id.Execution), New: string(mine.Execution)})
	}
	if id.Scoring != mine.Scoring {
		e.Changes = append(e.Changes, batch.Change{Part: batch.PartScoring, Item: "digest", Old: string(id.Scoring), New: string(mine.Scoring)})
	}
	return e
}

// OtherScheme says that measurements exist under another identity scheme only.
type OtherScheme struct {
	Count  int
	Scheme string
}

func (e *OtherScheme) Error() string {
	return fmt.Sprintf("%d finished evaluations were recorded under identity scheme %s, which this version (scheme %d) cannot compare; "+
		"use the version that wrote them, or measure everything anew with --measure-again", e.Count, e.Scheme, batch.Scheme)
}

// Explain lists how the spec differs from the newest batch of its experiment that
// holds the same variant, part by part. Nil batch: there is none.
func Explain(ctx context.Context, l *ledger.Ledger, r *spec.Resolved, cell batch.Cell) (*ledger.Parent, []batch.Change, error) {
	if l.ExperimentID() == "" {
		return nil, nil, nil
	}
	all, err := l.Batches(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range all {
		if b.Benchmark != r.Spec.Benchmark || b.Plan == "" {
			continue
		}
		old, _, err := l.ReadPlan(ctx, b)
		var damaged *ledger.PlanError
		if errors.As(err, &damaged) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if _, ok := old.Agents[cell.Agent]; !ok {
			continue
		}
		if _, ok := old.Models[cell.Model]; !ok {
			continue
		}
		changes := batch.Explain(batch.PartAgent, old.Agents[cell.Agent], r.Agents[cell.Agent])
		changes = append(changes, batch.Explain(batch.PartModel, old.Models[cell.Model], r.Models[cell.Model])...)
		changes = append(changes, batch.Explain(batch.PartBrain, old.Brain, r.Brain)...)
		changes = append(changes, batch.Explain(batch.PartExecution, old.Execution, r.Execution)...)
		changes = append(changes, batch.Explain(batch.PartScoring, old.Scoring, r.Scoring)...)
		return &b, changes, nil
	}
	return nil, nil, nil
}
