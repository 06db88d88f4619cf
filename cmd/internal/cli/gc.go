package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/executor/process"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
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
	Claimed  bool   `json:"claimed"`            // under a lease that others can judge
	Lapsed   bool   `json:"lapsed"`             // its launcher's lease has lapsed, or another one has its repeat
	Closed   bool   `json:"closed"`
}

func (a *App) gcCommand() *cobra.Command {
	var experiment string
	var yes bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "List evaluations left RUNNING; close those of the dead",
		Long: `gc lists evaluations that are RUNNING in MLflow, and whether their launcher is
alive. With --yes it closes, as interrupted, those whose launcher ran on this host and
has ended, with the processes that it left, and those of other hosts whose lease has
lapsed and is not renewed while gc watches for half a minute.

Runs of other tools hold no lease: they are listed and left alone, and
` + "`benchbatch run --take-over`" + ` closes those of its own batch. What a dead launcher measured
and kept on disk is logged all the same by the next run with its state folder.`,
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
			left, err := a.collectLeft(cmd.Context(), conn.client, l, yes)
			if err != nil {
				return err
			}
			return a.result(left, func() { a.showLeft(left, yes) })
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "look in experiment `NAME` only")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "close those of dead launchers")
	return c
}

// collectLeft lists what is RUNNING, and closes what is surely dead.
func (a *App) collectLeft(ctx context.Context, client *mlflow.Client, l *ledger.Ledger, yes bool) ([]leftRun, error) {
	running, err := l.Running(ctx)
	if err != nil {
		return nil, err
	}
	lapsed, err := lapsedOf(ctx, client, running)
	if err == nil && yes && len(lapsed) > 0 {
		lapsed, err = a.stillLapsed(ctx, client, running, lapsed)
	}
	if err != nil {
		return nil, err
	}
	out := []leftRun{}
	for _, e := range running {
		_, over := lapsed[e.Info.RunID]
		r := leftRun{Variant: batch.Variant{Agent: e.Agent, Model: e.Model}, RunID: e.Info.RunID, Slot: e.Slot, Batch: e.Batch,
			Started: timeText(e.Started()), Launcher: e.Launcher, Gone: executor.LauncherGone(e.Launcher), Claimed: e.Generation > 0, Lapsed: over}
		if yes && (r.Gone || r.Lapsed) {
			if err := executor.CloseGone(ctx, l, e, process.EndLeft); err != nil {
				return out, err
			}
			r.Closed = true
		}
		out = append(out, r)
	}
	return out, nil
}

// lapsedOf says of runs that were claimed and whose claim nobody holds any more till
// when it was held.
func lapsedOf(ctx context.Context, client *mlflow.Client, running []ledger.Entry) (map[string]time.Time, error) {
	type recipe struct {
		experiment string
		digest     batch.Digest
	}
	looked := map[recipe][]claim.Standing{}
	out := map[string]time.Time{}
	for _, e := range running {
		if e.Generation == 0 || executor.LauncherGone(e.Launcher) {
			continue
		}
		at := recipe{e.Info.ExperimentID, e.Identity.Recipe}
		all, known := looked[at]
		if !known {
			var err error
			if all, err = claim.Look(ctx, client, at.experiment, at.digest); err != nil {
				return nil, err
			}
			looked[at] = all
		}
		for _, s := range all {
			same := s.Cell == e.Identity.Cell.Short() && s.Slot == e.Slot
			if same && (s.Generation > e.Generation || s.Generation == e.Generation && (s.Left || s.Holder.Lapsed)) {
				out[e.Info.RunID] = s.Holder.Until
			}
		}
	}
	return out, nil
}

// stillLapsed looks again after half a lease: who was cut off from the server renews
// its lease before.
func (a *App) stillLapsed(ctx context.Context, client *mlflow.Client, running []ledger.Entry, first map[string]time.Time) (map[string]time.Time, error) {
	wait := cmp.Or(a.lease, claim.DefaultTTL) / 2
	a.say("watching for %s whether their launchers renew their leases", span(wait))
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(wait):
	}
	again, err := lapsedOf(ctx, client, running)
	for run, until := range again {
		if was, ok := first[run]; !ok || !was.Equal(until) {
			delete(again, run)
		}
	}
	return again, err
}

func (a *App) showLeft(left []leftRun, yes bool) {
	if len(left) == 0 {
		a.print("nothing is RUNNING")
		return
	}
	var t table
	t.add("run", "agent", "model", "repeat", "since", "launcher", "")
	for _, r := range left {
		word := "its lease holds"
		switch {
		case !executor.LauncherHere(r.Launcher) && !r.Claimed:
			word = "without a lease, so only who runs it can tell: left alone"
		case executor.LauncherHere(r.Launcher) && !r.Gone:
			word = "at work"
		case r.Closed:
			word = "gone: closed"
		case r.Gone:
			word = "gone"
		case r.Lapsed:
			word = "its lease has lapsed"
		}
		t.add(r.RunID, r.Agent, r.Model, fmt.Sprint(r.Slot), r.Started, cmp.Or(r.Launcher, "another tool"), word)
	}
	t.write(a.Stdout)
	if !yes && slices.ContainsFunc(left, func(r leftRun) bool { return r.Gone || r.Lapsed }) {
		a.print("\n`benchbatch gc --yes` closes those that are gone")
	}
}
