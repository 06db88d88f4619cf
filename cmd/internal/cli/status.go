package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// batchStatus is what `status --json` prints.
type batchStatus struct {
	Batch       string          `json:"batch"`
	Name        string          `json:"name"`
	Frozen      bool            `json:"frozen"`
	Stop        string          `json:"stop,omitempty"` // who asked its launchers to start nothing new
	Counts      batch.Counts    `json:"counts"`
	Running     int             `json:"running"` // of those not started
	Cells       []statusCell    `json:"cells"`
	Slots       []gridSlot      `json:"slots,omitempty"` // of an unfinished batch
	SpentUSD    *float64        `json:"spent_usd"`       // by this batch, the known part; null = unknown
	CostUnknown int             `json:"cost_unknown"`    // evaluations at a cost that is not known
	CeilingUSD  *float64        `json:"ceiling_usd"`     // null = none
	End         string          `json:"estimated_end,omitempty"`
	Page        string          `json:"page"`
	Waiting     []executor.Kept `json:"waiting,omitempty"` // in the state folder of this machine: measured, not logged
}

// statusCell counts the slots of a cell by state.
type statusCell struct {
	batch.Variant
	Reused   int            `json:"reused"`
	Done     int            `json:"done"`
	Running  int            `json:"running"`
	Failed   int            `json:"failed"`
	Skipped  int            `json:"skipped"`
	Left     int            `json:"left"`                // neither ended nor running
	PutBack  int            `json:"put_back"`            // of those left: their model was given up for now
	Classes  map[string]int `json:"classes,omitempty"`   // of those failed, by why
	WaitsFor string         `json:"waits_for,omitempty"` // what those left are queued behind
}

type statusFlags struct {
	experiment string
	state      string
	watch      bool
	every      time.Duration
}

func (a *App) statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [BATCH]",
		Short: "Show the grid of a batch, live from MLflow",
		Long: `status shows what became of every slot of a batch, what runs where and since
when, what the rest waits for, what was spent, and when it will probably be done.
It asks MLflow alone, so it works from any machine. BATCH may also be a spec: its
newest batch, calibrations that have ended aside.

On the machine of the launcher it also says which results are measured but wait on
disk for MLflow.

Exit codes: 0 all repeats are there, 4 incomplete, 1 failed.`,
		Example: "  benchbatch status\n  benchbatch status support-bench-v1_2026-11-30_7f3a9c --json\n  benchbatch status my-bench/benchmark.yaml --watch",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.status(cmd.Context(), strings.Join(args, ""), f)
		},
	}
	c.Flags().StringVar(&f.experiment, "experiment", "", "look for BATCH in experiment `NAME` only")
	c.Flags().StringVar(&f.state, "state", "", "`DIR` for evaluations that are not logged yet (default: .benchbatch here, or beside the spec)")
	c.Flags().BoolVar(&f.watch, "watch", false, "show it again and again until the batch is frozen")
	c.Flags().DurationVar(&f.every, "every", 5*time.Second, "`DURATION` between two looks of --watch")
	return c
}

// status shows a batch once, or until it is frozen.
func (a *App) status(ctx context.Context, name string, f statusFlags) error {
	if err := a.nameBatch(&name, &f); err != nil {
		return err
	}
	seen, away := false, false
	for {
		waiting, launcher, err := executor.LookAt(f.state)
		if err != nil {
			return err
		}
		out, err := a.look(ctx, name, f)
		if seen && errors.Is(err, mlflow.ErrUnreachable) && ctx.Err() == nil {
			if !away {
				a.say("MLflow is away, and is asked again and again: %s", oneLine(err.Error()))
			}
			if away, err = true, pause(ctx, f.every); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if !a.asJSON {
				a.showWaiting(waiting, launcher)
			}
			return err
		}
		name, seen, away = out.Batch, f.watch, false // the same one, whatever begins meanwhile
		out.waiting(waiting)
		if f.watch && a.Terminal && !a.asJSON {
			a.print("\x1b[H\x1b[2J")
		}
		if err := a.result(out, func() { a.showStatus(out); a.showWaiting(waiting, launcher) }); err != nil {
			return err
		}
		if n := out.Counts; !f.watch || out.Frozen {
			if n.Failed+n.Skipped+n.NotStarted > 0 {
				return incomplete{fmt.Sprintf("%d of %d repeats are there", n.Reused+n.Done, n.Planned)}
			}
			return nil
		}
		if err := pause(ctx, f.every); err != nil {
			return err
		}
	}
}

// pause waits between two looks.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(max(time.Second, d)):
		return nil
	}
}

// nameBatch turns a spec into the newest batch of its experiment.
func (a *App) nameBatch(name *string, f *statusFlags) error {
	dir := a.Dir
	if ext := filepath.Ext(*name); ext == ".yaml" || ext == ".yml" {
		s, err := spec.Load(*name, a.Env)
		if err != nil {
			return err
		}
		*name, dir, f.experiment = "", s.Dir, cmp.Or(f.experiment, s.Experiment)
	}
	*name = cmp.Or(*name, ledger.Latest)
	f.state = cmp.Or(f.state, filepath.Join(dir, ".benchbatch"))
	return nil
}

func (a *App) look(ctx context.Context, name string, f statusFlags) (*batchStatus, error) {
	conn, err := a.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	l, p, err := a.findLive(ctx, conn, f.experiment, name, func(p ledger.Parent) bool { return !p.Frozen() || p.Role != batch.RoleCalibration })
	if err != nil {
		return nil, err
	}
	out, err := batchStatusOf(ctx, conn.client, l, p, a.Now())
	if err != nil {
		return nil, err
	}
	out.Page = conn.page(p.Info.ExperimentID, p.Info.RunID)
	return out, nil
}

// batchStatusOf reads a frozen batch's result, or the grid of an unfinished one.
func batchStatusOf(ctx context.Context, client *mlflow.Client, l *ledger.Ledger, p ledger.Parent, now time.Time) (*batchStatus, error) {
	out := &batchStatus{Batch: p.Info.RunID, Name: p.Name(), Frozen: p.Frozen()}
	if out.Frozen {
		r, _, err := l.ReadResult(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, s := range r.Slots {
			out.count(gridSlot{Variant: s.Variant, State: s.State})
		}
		out.Counts = r.Counts
		return out, nil
	}
	out.Stop = p.Stop
	if p.Plan == "" {
		return nil, errors.New("batch " + p.Name() + " has no plan yet: its launcher is about to store it, or died before; `benchbatch run` goes on with it")
	}
	g, err := gridOf(ctx, client, l, p)
	if err != nil {
		return nil, err
	}
	for _, s := range g.slots {
		out.count(s)
	}
	out.Slots, out.SpentUSD, out.CostUnknown = g.slots, g.spent, g.unknown
	if g.standing != nil {
		out.CeilingUSD = g.standing.CeilingUSD
	}
	if end := g.end(now); end != nil {
		out.End = timeText(*end)
	}
	return out, nil
}

// count adds a slot to the last row, or begins one where its cell is another.
func (s *batchStatus) count(slot gridSlot) {
	n := len(s.Cells)
	if n == 0 || s.Cells[n-1].Variant != slot.Variant {
		s.Cells = append(s.Cells, statusCell{Variant: slot.Variant, Classes: map[string]int{}})
		n++
	}
	s.Counts.Count(slot.State)
	row := &s.Cells[n-1]
	switch slot.State {
	case batch.SlotReused:
		row.Reused++
	case batch.SlotDone:
		row.Done++
	case slotRunning:
		row.Running++
		s.Running++
	case batch.SlotFailed:
		row.Failed++
		row.Classes[cmp.Or(string(slot.Class), "unknown")]++
	case batch.SlotSkipped:
		row.Skipped++
	case slotPutBack:
		row.Left++
		row.PutBack++
	default:
		row.Left++
		row.WaitsFor = cmp.Or(row.WaitsFor, slot.WaitsFor)
	}
}

// waiting takes over what is measured and waits in the state folder.
func (s *batchStatus) waiting(kept []executor.Kept) {
	for _, k := range kept {
		if k.Measured && k.Batch == s.Batch {
			s.Waiting = append(s.Waiting, k)
		}
	}
}
