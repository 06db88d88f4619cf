package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/executor/process"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// leftRun is an evaluation that is RUNNING, as `gc --json` lists it.
type leftRun struct {
	batch.Variant
	RunID    string `json:"run_id"`
	Slot     int    `json:"slot"`
	Batch    string `json:"batch,omitempty"`
	Started  string `json:"started"`
	Launcher string `json:"launcher,omitempty"` // "" = another tool's
	Gone     bool   `json:"gone"`               // its launcher ran on this host and has ended
	Closed   bool   `json:"closed"`
}

func (a *App) gcCommand() *cobra.Command {
	var experiment string
	var yes bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "List evaluations left RUNNING, close those of dead launchers",
		Long: `gc lists evaluations that are RUNNING in MLflow, and whether their launcher is
alive. With --yes it closes those whose launcher ran on this host and has ended, as
interrupted, and ends the processes that they left.

Whether a launcher on another host is alive can't be told from here: its runs are
listed and left alone. ` + "`benchbatch run --take-over`" + ` closes those of its own batch.
What a dead launcher measured and kept on disk is logged all the same by the next
run with its state folder.`,
		Example: "  benchbatch gc\n  benchbatch gc --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			l, err := ledger.Open(cmd.Context(), conn.client, experiment)
			if err != nil {
				return err
			}
			left, err := collectLeft(cmd.Context(), l, yes)
			if err != nil {
				return err
			}
			return a.result(left, func() { a.showLeft(left, yes) })
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "look in experiment `NAME` only")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "close those of dead launchers of this host")
	return c
}

// collectLeft lists what is RUNNING, and closes what is surely dead.
func collectLeft(ctx context.Context, l *ledger.Ledger, yes bool) ([]leftRun, error) {
	running, err := l.Running(ctx)
	if err != nil {
		return nil, err
	}
	out := []leftRun{}
	for _, e := range running {
		r := leftRun{Variant: batch.Variant{Agent: e.Agent, Model: e.Model}, RunID: e.Info.RunID, Slot: e.Slot, Batch: e.Batch,
			Started: timeText(e.Started()), Launcher: e.Launcher, Gone: executor.LauncherGone(e.Launcher)}
		if yes && r.Gone {
			if err := executor.CloseGone(ctx, l, e, process.EndLeft); err != nil {
				return out, err
			}
			r.Closed = true
		}
		out = append(out, r)
	}
	return out, nil
}

func (a *App) showLeft(left []leftRun, yes bool) {
	if len(left) == 0 {
		a.print("nothing is RUNNING")
		return
	}
	var t table
	t.add("run", "agent", "model", "repeat", "since", "launcher", "")
	for _, r := range left {
		word := "on another host, which alone can tell: left alone"
		switch {
		case executor.LauncherHere(r.Launcher) && !r.Gone:
			word = "at work"
		case r.Closed:
			word = "gone: closed"
		case r.Gone:
			word = "gone"
		}
		t.add(r.RunID, r.Agent, r.Model, fmt.Sprint(r.Slot), r.Started, cmp.Or(r.Launcher, "another tool"), word)
	}
	t.write(a.Stdout)
	if !yes && slices.ContainsFunc(left, func(r leftRun) bool { return r.Gone }) {
		a.print("\n`benchbatch gc --yes` closes those that are gone")
	}
}
