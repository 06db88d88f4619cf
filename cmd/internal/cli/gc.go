package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

// leftClaims is what a launcher holds that is dead, or silent, as `gc --json` lists it.
type leftClaims struct {
	Ledger   string  `json:"ledger"` // run id of the ledger run
	Title    string  `json:"title"`  // its name
	Session  string  `json:"session"`
	Launcher string  `json:"launcher,omitempty"`
	Since    string  `json:"since"`
	Until    string  `json:"until"` // of its lease
	Repeats  int     `json:"repeats"`
	Slots    int     `json:"slots"` // of quotas
	Batches  int     `json:"batches"`
	USD      float64 `json:"usd"`    // reserved, and not settled
	Gone     bool    `json:"gone"`   // its launcher ran on this host and has ended
	Closed   bool    `json:"closed"` // free for others
}

// leftOvers is what `gc --json` prints.
type leftOvers struct {
	Runs   []leftRun    `json:"runs"`
	Claims []leftClaims `json:"claims"` // of those who are gone, or whose lease has lapsed
}

func (a *App) gcCommand() *cobra.Command {
	var experiment string
	var yes bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "List runs and claims that dead launchers left; close them",
		Long: `gc lists evaluations that are RUNNING in MLflow, and whether their launcher is
alive; then what launchers hold that are not: repeats, slots of quotas, money.

With --yes it closes, as interrupted, the runs whose launcher ran on this host and
has ended, with the processes that it left, and those of other hosts whose lease has
lapsed and is not renewed while gc watches for half a minute. What these launchers
held is free then; the next run settles their money by what their evaluations cost.

Runs of other tools hold no lease: they are listed and left alone, and
` + "`benchbatch run --take-over`" + ` closes those of its own batch. What a dead launcher measured
and kept on disk is logged all the same by the next run with its state folder.`,
		Example: "  benchbatch gc\n  benchbatch gc --yes\n  benchbatch gc --experiment support-bench --json",
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
			if experiment != "" && l.ExperimentID() == "" {
				return usageError{fmt.Errorf("no experiment is called %q: leave --experiment out to look in all", experiment)}
			}
			left, err := a.collectLeft(cmd.Context(), l, yes)
			if err != nil {
				return err
			}
			return a.result(left, func() { a.showLeft(left, yes) })
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "look in experiment `NAME` only")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "close what dead launchers left")
	return c
}

// leases are the runs and sessions whose lease has lapsed, each with the time till
// which it was good.
type leases struct {
	runs     map[string]time.Time // by run id
	sessions map[string]time.Time
	stale    []claim.Session // lapsed, or of launchers that are gone
}

// lookForLapsed reads how leases stand.
func lookForLapsed(ctx context.Context, l *ledger.Ledger, running []ledger.Entry) (leases, error) {
	out := leases{sessions: map[string]time.Time{}}
	var err error
	if out.runs, err = lapsedOf(ctx, l.Client(), running); err != nil {
		return out, err
	}
	books, err := l.LedgerRuns(ctx)
	if err != nil {
		return out, err
	}
	all, err := claim.Sessions(l.Client(), books)
	for _, s := range all {
		gone := executor.LauncherGone(s.Launcher)
		if s.Lapsed && !gone {
			out.sessions[s.Session] = s.Until
		}
		if s.Lapsed || gone {
			out.stale = append(out.stale, s)
		}
	}
	return out, err
}

// still keeps what has lapsed since an earlier look without being renewed.
func (now *leases) still(first leases) {
	unchanged := func(now, first map[string]time.Time) {
		maps.DeleteFunc(now, func(id string, until time.Time) bool { was, ok := first[id]; return !ok || !was.Equal(until) })
	}
	unchanged(now.runs, first.runs)
	unchanged(now.sessions, first.sessions)
}

// collectLeft lists what was left, and closes what is surely dead.
func (a *App) collectLeft(ctx context.Context, l *ledger.Ledger, yes bool) (*leftOvers, error) {
	running, err := l.Running(ctx)
	if err != nil {
		return nil, err
	}
	lapsed, err := lookForLapsed(ctx, l, running)
	if err == nil && yes && len(lapsed.runs)+len(lapsed.sessions) > 0 {
		first := lapsed
		if err = a.watchLeases(ctx); err == nil {
			lapsed, err = lookForLapsed(ctx, l, running)
			lapsed.still(first)
		}
	}
	if err != nil {
		return nil, err
	}
	out := &leftOvers{Runs: []leftRun{}, Claims: []leftClaims{}}
	for _, e := range running {
		_, over := lapsed.runs[e.Info.RunID]
		r := leftRun{Variant: batch.Variant{Agent: e.Agent, Model: e.Model}, RunID: e.Info.RunID, Slot: e.Slot, Batch: e.Batch,
			Started: timeText(e.Started()), Launcher: e.Launcher, Gone: executor.LauncherGone(e.Launcher), Claimed: e.Generation > 0, Lapsed: over}
		if yes && (r.Gone || r.Lapsed) {
			if r.Closed, err = executor.CloseGone(ctx, l, e, process.EndLeft); err != nil {
				return nil, err
			}
		}
		out.Runs = append(out.Runs, r)
	}
	for _, s := range lapsed.stale {
		c := leftClaims{Ledger: s.Ledger, Title: s.Title, Session: s.Session, Launcher: s.Launcher, Since: timeText(s.Since), Until: timeText(s.Until),
			Repeats: s.Repeats, Slots: s.Slots, Batches: s.Batches, USD: s.USD, Gone: executor.LauncherGone(s.Launcher)}
		if _, over := lapsed.sessions[s.Session]; yes && (over || c.Gone) {
			if err := claim.Dismiss(ctx, l.Client(), s); err != nil {
				return nil, err
			}
			c.Closed = true
		}
		out.Claims = append(out.Claims, c)
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

// watchLeases waits for half a lease: who was cut off from the server renews its lease
// before.
func (a *App) watchLeases(ctx context.Context) error {
	wait := cmp.Or(a.lease, claim.DefaultTTL) / 2
	a.say("watching for %s whether their launchers renew their leases", span(wait))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}
