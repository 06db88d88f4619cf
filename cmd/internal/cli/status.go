package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// batchStatus is what `status --json` prints.
type batchStatus struct {
	Batch  string       `json:"batch"`
	Name   string       `json:"name"`
	Frozen bool         `json:"frozen"`
	Counts batch.Counts `json:"counts"`
	Cells  []statusCell `json:"cells"`
	Page   string       `json:"page"`
}

// statusCell counts the slots of a cell by state.
type statusCell struct {
	batch.Variant
	Reused  int `json:"reused"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Left    int `json:"left"` // neither ended nor running
}

func (a *App) statusCommand() *cobra.Command {
	var experiment string
	c := &cobra.Command{
		Use:     "status [BATCH]",
		Short:   "Show the grid of a batch, live from MLflow",
		Example: "  benchbatch status\n  benchbatch status support-bench-v1_2026-11-30_7f3a9c --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "latest"
			if len(args) == 1 {
				name = args[0]
			}
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			l, p, err := a.findBatch(cmd.Context(), conn, experiment, name)
			if err != nil {
				return err
			}
			out, err := batchStatusOf(cmd.Context(), l, p)
			if err != nil {
				return err
			}
			out.Page = conn.page(p.Info.ExperimentID, p.Info.RunID)
			if err := a.result(out, func() { a.showStatus(out) }); err != nil {
				return err
			}
			if n := out.Counts; n.Failed+n.Skipped+n.NotStarted > 0 {
				return incomplete{fmt.Sprintf("%d of %d repeats are there", n.Reused+n.Done, n.Planned)}
			}
			return nil
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "look for BATCH in this experiment only")
	return c
}

// batchStatusOf reads a frozen batch's result, or counts what an unfinished one holds.
func batchStatusOf(ctx context.Context, l *ledger.Ledger, p ledger.Parent) (*batchStatus, error) {
	out := &batchStatus{Batch: p.Info.RunID, Name: p.Name(), Frozen: p.Frozen()}
	var slots []batch.Slot
	running := map[batch.Digest]int{}
	if out.Frozen {
		r, _, err := l.ReadResult(ctx, p)
		if err != nil {
			return nil, err
		}
		slots, out.Counts = r.Slots, r.Counts
	} else {
		var err error
		if slots, err = liveSlots(ctx, l, p, running); err != nil {
			return nil, err
		}
		for _, s := range slots {
			out.Counts.Count(s.State)
		}
	}
	for i := 0; i < len(slots); {
		row := statusCell{Variant: slots[i].Variant}
		cell := slots[i].Cell
		for ; i < len(slots) && slots[i].Cell == cell; i++ {
			row.count(slots[i].State)
		}
		row.Running = min(running[cell], row.Left)
		row.Left -= row.Running
		out.Cells = append(out.Cells, row)
	}
	return out, nil
}

// liveSlots are the slots of an unfinished batch as MLflow shows them now.
func liveSlots(ctx context.Context, l *ledger.Ledger, p ledger.Parent, running map[batch.Digest]int) ([]batch.Slot, error) {
	plan, _, err := l.ReadPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	own, err := l.Children(ctx, p)
	if err != nil {
		return nil, err
	}
	have := map[batch.Digest]int{}
	for _, r := range plan.Reused {
		have[r.Cell]++
	}
	done := map[batch.Digest]int{}
	for _, e := range own {
		switch {
		case e.Live():
			running[e.Identity.Cell]++
		case e.State.Counts():
			done[e.Identity.Cell]++
		}
	}
	var slots []batch.Slot
	for _, c := range plan.Cells {
		id := c.Identity.Cell
		for n := 1; n <= plan.Repeats; n++ {
			s := batch.Slot{Variant: c.Variant, Cell: id, Slot: n, State: batch.SlotNotStarted}
			switch {
			case n <= have[id]:
				s.State = batch.SlotReused
			case n <= have[id]+done[id]:
				s.State = batch.SlotDone
			}
			slots = append(slots, s)
		}
	}
	return slots, nil
}

func (row *statusCell) count(s batch.SlotState) {
	switch s {
	case batch.SlotReused:
		row.Reused++
	case batch.SlotDone:
		row.Done++
	case batch.SlotFailed:
		row.Failed++
	case batch.SlotSkipped:
		row.Skipped++
	default:
		row.Left++
	}
}

func (a *App) showStatus(s *batchStatus) {
	state := "unfinished"
	if s.Frozen {
		state = "frozen"
	}
	n := s.Counts
	a.print("%s  %s", s.Name, state)
	a.print("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started\n", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)
	var t table
	t.add("agent", "model", "reused", "done", "running", "failed", "skipped", "left")
	for _, c := range s.Cells {
		row := []string{c.Agent, c.Model}
		for _, v := range []int{c.Reused, c.Done, c.Running, c.Failed, c.Skipped, c.Left} {
			row = append(row, fmt.Sprint(v))
		}
		t.add(row...)
	}
	t.write(a.Stdout)
	a.print("\nMLflow  %s", s.Page)
}
