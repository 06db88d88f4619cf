package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// freeze plans anew and, where every slot has its fate, stores the result. Where
// another launcher of the batch was first, its result is the batch's. A batch of
// which no model answered stays open: there is nothing to freeze.
func (r *runner) freeze(ctx context.Context, report *Report) error {
	in := r.Input
	in.Join, in.Confirm = r.parent.Info.RunID, true
	p, err := planner.Make(ctx, r.Ledger, in)
	if err != nil {
		return err
	}
	report.Plan = p
	if p.Finished != nil {
		return r.adopt(ctx, *p.Finished, report)
	}
	result, err := planner.Freeze(p, r.parent, r.Ledger.ExperimentName(), r.fates, time.Now())
	if err != nil {
		return err
	}
	if c := result.Counts; c.NotStarted > 0 || c.Skipped == c.Planned {
		return r.Ledger.SetNote(ctx, r.parent, endNote(p, result.Counts, false))
	}
	body, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	at := result.Frozen.UnixMilli()
	won, err := r.Ledger.FinishBatch(ctx, &r.parent, body, batchMetrics(p, result, at), endNote(p, result.Counts, true))
	if err != nil {
		return err
	}
	if !won {
		return r.adopt(ctx, r.parent, report)
	}
	report.Parent, report.Result = r.parent, result
	return nil
}

// adopt takes the result that another launcher has frozen.
func (r *runner) adopt(ctx context.Context, parent ledger.Parent, report *Report) error {
	result, _, err := r.Ledger.ReadResult(ctx, parent)
	report.Parent, report.Result = parent, result
	return err
}

// batchMetrics are the parent's metrics, named apart from those of evaluations.
func batchMetrics(p *planner.Plan, r *batch.Result, at int64) []mlflow.Metric {
	c := r.Counts
	var out []mlflow.Metric
	for _, m := range []struct {
		name string
		n    int
	}{{"planned", c.Planned}, {"reused", c.Reused}, {"done", c.Done}, {"failed", c.Failed}, {"skipped", c.Skipped}, {"not_started", c.NotStarted}} {
		out = append(out, mlflow.Metric{Key: "batch/" + m.name, Value: float64(m.n), Timestamp: at})
	}
	var spent float64
	known := false
	for _, e := range append(append([]ledger.Entry(nil), p.Valid...), p.Ended...) {
		if e.Batch == r.Batch && e.CostUSD != nil {
			spent += *e.CostUSD
			known = true
		}
	}
	if known {
		out = append(out, mlflow.Metric{Key: "batch/cost_usd", Value: round6(spent), Timestamp: at})
	}
	return out
}

// startNote is the parent's note while the batch runs. It holds ids and numbers only.
func startNote(p *planner.Plan) string {
	c := p.Counts()
	return fmt.Sprintf("Running: %d planned = %d reused + %d to do.%s\n", c.Planned, c.Reused+c.Done, c.NotStarted, draftMark(p))
}

func draftMark(p *planner.Plan) string {
	if p.Doc.Draft {
		return " DRAFT: the version label is `draft`."
	}
	return ""
}

// endNote is the parent's note at the end. It holds ids and numbers only, no foreign text.
func endNote(p *planner.Plan, c batch.Counts, frozen bool) string {
	var b strings.Builder
	word := "Incomplete, can be continued"
	if frozen {
		word = "Frozen"
	}
	fmt.Fprintf(&b, "%s: %d planned = %d reused + %d done + %d failed + %d skipped + %d not started.%s\n\n",
		word, c.Planned, c.Reused, c.Done, c.Failed, c.Skipped, c.NotStarted, draftMark(p))
	b.WriteString("| agent&nbsp;&nbsp; | model&nbsp;&nbsp; | repeats |\n|---|---|---|\n")
	for i, cell := range p.Doc.Cells {
		row := fmt.Sprintf("| %s&nbsp;&nbsp; | %s&nbsp;&nbsp; | %s |\n", cell.Agent, cell.Model, repeatLinks(p, cell))
		if b.Len()+len(row) > noteLimit {
			fmt.Fprintf(&b, "\nand %d more cells\n", len(p.Doc.Cells)-i)
			break
		}
		b.WriteString(row)
	}
	return b.String()
}

const (
	noteLimit = 7500 // bytes; MLflow cuts a note at 8,000 characters
	linkLimit = 10   // links a cell
)

// repeatLinks are links to the runs that count for a cell.
func repeatLinks(p *planner.Plan, cell batch.Cell) string {
	var links []string
	n := 0
	for _, s := range p.Slots {
		if s.Entry == nil || s.Cell.Identity.Cell != cell.Identity.Cell {
			continue
		}
		if n++; n <= linkLimit {
			links = append(links, fmt.Sprintf("[%d](#/experiments/%s/runs/%s)", s.Slot, s.Entry.Info.ExperimentID, s.Entry.Info.RunID))
		}
	}
	if n > linkLimit {
		links = append(links, fmt.Sprintf("and %d more", n-linkLimit))
	}
	return strings.Join(links, " ")
}
