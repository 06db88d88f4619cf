package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/executor/preflight"
	"github.com/benchbatch/benchbatch/executor/process"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// runFlags are the flags of run.
type runFlags struct {
	planFlags
	yes       bool
	maxCost   float64
	state     string
	out       string
	allModels bool
	takeOver  bool
	patience  time.Duration
	logFolder bool
	verdict   bool // one is demanded
}

func (a *App) runCommand() *cobra.Command {
	var f runFlags
	var detach bool
	c := &cobra.Command{
		Use:   "run SPEC",
		Short: "Run what is missing, freeze the batch, write its dated folder",
		Long: `run plans, asks each model once whether it answers, starts only the missing
evaluations, logs each as a nested MLflow run, freezes the batch and writes its
dated folder.

Any number of launchers on any number of machines may run the same batch at once,
each with a state folder of its own: they share its repeats, the places of its quotas
and the money below its ceiling, and whoever ends last freezes it. What a launcher had
claimed that died is measured by another one after a minute and a half.

Ctrl-C once finishes what runs and starts nothing new; twice stops now. The same
command continues an unfinished batch; nothing that was measured is measured again.

With --detach it plans, checks and asks here, and then goes on in the background, in
a session of its own: it outlives the terminal. Without it nothing outlives run.

Exit codes: 0 done, 1 failed, 2 usage or spec error, 4 incomplete (cells missing),
5 a hash does not match, 130 interrupted.`,
		Example: `  benchbatch run my-bench/benchmark.yaml
  benchbatch run my-bench/benchmark.yaml --yes --only model=qwen-27b
  benchbatch run my-bench/benchmark.yaml --new
  benchbatch run my-bench/benchmark.yaml --yes --detach`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.load(args[0]) // before a server is started for nothing
			if err != nil {
				return err
			}
			conn, err := a.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			if detach {
				return a.runDetached(cmd.Context(), conn, r, args[0], f)
			}
			out, err := a.run(cmd.Context(), conn, r, f)
			if out == nil {
				return err
			}
			return errors.Join(a.result(out, func() { a.showRan(out) }), err)
		},
	}
	f.planFlags.add(c)
	f.launching(c, "batches")
	requireVerdict(c, &f.verdict)
	c.Flags().BoolVar(&detach, "detach", false, "go on in the background, with a log in the state folder")
	return c
}

// launching adds the flags of commands that start evaluations; out is where their
// dated folders go.
func (f *runFlags) launching(c *cobra.Command, out string) {
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before starting")
	c.Flags().Float64Var(&f.maxCost, "max-cost", 0, "start without asking, and let this run pay at most `USD` (0 = ask above $10)")
	c.Flags().StringVar(&f.state, "state", "", "`DIR` for evaluations that are not logged yet (default: .benchbatch beside the spec)")
	c.Flags().StringVar(&f.out, "out", out, "`DIR` that receives the dated folder")
	c.Flags().BoolVar(&f.allModels, "require-all-models", false, "fail if a model does not answer")
	c.Flags().DurationVar(&f.patience, "patience", time.Hour, "how long MLflow is waited for if it goes away in mid-batch, a `DURATION`")
	c.Flags().BoolVar(&f.logFolder, "log-folder", false, "log the whole dated folder as artifacts of the batch's run, not its report alone")
	c.Flags().BoolVar(&f.takeOver, "take-over", false, "close evaluations that another tool, which claims nothing, left RUNNING, and measure them")
}

// ran is what `run --json` prints.
type ran struct {
	Batch   string       `json:"batch"`
	Name    string       `json:"name"`
	Started int          `json:"started"` // evaluations that this run started
	Counts  batch.Counts `json:"counts"`
	Frozen  bool         `json:"frozen"`
	Folder  string       `json:"folder,omitempty"`
	Verdict string       `json:"verdict,omitempty"` // one sentence, as in the folder
	Page    string       `json:"page"`              // in the MLflow UI
	Cells   []ranCell    `json:"cells"`
}

// prepared is a run before it starts anything.
type prepared struct {
	ledger *ledger.Ledger
	state  *executor.State // locked
	plan   *planner.Plan
	input  planner.Input
	only   func(batch.Variant) bool
}

// prepare logs what an earlier run left, plans, checks and asks. The caller closes the
// state folder.
func (a *App) prepare(ctx context.Context, conn *connection, r *spec.Resolved, f *runFlags) (out *prepared, err error) {
	out = &prepared{}
	if out.only, err = f.filter(r); err != nil {
		return nil, err
	}
	if out.ledger, err = ledger.Open(ctx, conn.client, r.Spec.Experiment); err != nil {
		return nil, err
	}
	if err := a.checkTraces(ctx, out.ledger, r.Spec); err != nil {
		return nil, err
	}
	if f.state == "" {
		f.state = filepath.Join(r.Spec.Dir, ".benchbatch")
	}
	if out.state, err = executor.OpenState(f.state); err != nil {
		return nil, err
	}
	if err := a.askFor(ctx, conn, r, *f, out); err != nil {
		return nil, errors.Join(err, out.state.Close())
	}
	return out, nil
}

func (a *App) askFor(ctx context.Context, conn *connection, r *spec.Resolved, f runFlags, out *prepared) (err error) {
	out.plan, out.input, err = a.settle(ctx, out.ledger, out.state, r, f, out.only)
	if err != nil {
		return refusedToWrite(err, conn.client, out.ledger)
	}
	a.describe(out.plan, conn.client.Address(), out.only)
	a.warnOfAnother(conn, r.Spec.Dir)
	if out.plan.Finished != nil {
		return nil
	}
	if err := errors.Join(a.checkEnvironment(r.Spec, out.plan), a.checkPrograms(r.Spec, out.plan), a.checkVersions(ctx, r.Spec, out.plan)); err != nil {
		return err
	}
	return a.confirm(ctx, out.plan, f, out.only)
}

func (a *App) run(ctx context.Context, conn *connection, r *spec.Resolved, f runFlags) (*ran, error) {
	ready, err := a.prepare(ctx, conn, r, &f)
	if err != nil {
		return nil, err
	}
	defer ready.state.Close()
	l, state, p, only := ready.ledger, ready.state, ready.plan, ready.only
	if p.Finished != nil {
		return a.finished(ctx, conn, l, p, f)
	}
	stop, untidy := a.tidy.offer()
	defer untidy()
	watch, err := a.show(ctx, l, p)
	if err != nil {
		return nil, err
	}
	lavish := a.frugal()
	report, err := executor.Run(ctx, executor.Options{
		Client: conn.client, Lease: a.lease, Look: a.peek, EndLeft: process.EndLeft,
		Ledger: l, Resolved: r, Plan: p, State: state, Launcher: process.Launcher{}, Lookup: a.Env, MLflowEnv: conn.runnerEnv(a.Env),
		Preflight: a.preflight(r.Spec), AtOnce: f.atOnce, Only: only, AllModels: f.allModels, Stop: stop, Observer: watch, Input: ready.input,
		Patience: f.patience, MaxUSD: maxUSD(f), From: a.origin(ctx, r.Spec),
	})
	lavish()
	watch.Close()
	untidy()
	if report != nil {
		a.sayTraces(report.Traces, state)
	}
	if err != nil {
		watch.leave(nil)
	}
	if report == nil {
		err = refusedToWrite(err, conn.client, l)
	}
	if ctx.Err() != nil && err == ctx.Err() || errors.Is(err, executor.ErrStopped) {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, err
	}
	return a.conclude(ctx, conn, l, report, f, watch)
}

// refusedToWrite says what is missing where the server lets a user read alone.
func refusedToWrite(err error, c *mlflow.Client, l *ledger.Ledger) error {
	if !errors.Is(err, mlflow.ErrForbidden) {
		return err
	}
	return fmt.Errorf("%s may not write in experiment %q (id %s), which takes EDIT permission: nothing was started or paid\n"+
		"  ask whoever owns it, or the server's administrator; plan, status, open, export, report and verify take READ alone\n"+
		"  %w", c.User(), l.ExperimentName(), l.ExperimentID(), err)
}

// settle logs what an earlier run left, and plans.
func (a *App) settle(ctx context.Context, l *ledger.Ledger, state *executor.State, r *spec.Resolved, f runFlags, only func(batch.Variant) bool) (*planner.Plan, planner.Input, error) {
	in := a.input(r)
	in.Fresh, in.New, in.MeasureAgain, in.Confirm = f.fresh, f.new, f.measure, true
	left, err := executor.Recover(ctx, l, state, measured(r), process.EndLeft)
	if err != nil {
		return nil, in, err
	}
	if left.Logged > 0 {
		a.say("an earlier run had stopped: %s logged now", plural(left.Logged, "measured evaluation"))
	}
	if left.Superseded > 0 {
		a.say("of these %d superseded: another launcher had taken the repeat over, so it costs and does not count", left.Superseded)
	}
	if left.Interrupted > 0 {
		a.say("an earlier run had stopped: %s that had not ended closed as interrupted", plural(left.Interrupted, "evaluation"))
	}
	if left.Cut > 0 {
		a.say("an earlier run had stopped: %s cut short after some tasks were finished, which are not measured again", plural(left.Cut, "evaluation"))
	}
	a.sayTraces(left.Traces, state)
	if left.Elsewhere > 0 {
		a.say("kept in %s: %s of runs that this server does not have", state.Evaluations(), plural(left.Elsewhere, "measured evaluation"))
	}
	p, err := planner.Make(ctx, l, in)
	if err != nil {
		return nil, in, err
	}
	if err := executor.LogCut(ctx, l, state, p); err != nil {
		return nil, in, err
	}
	closed, err := executor.CloseLeft(ctx, l, p, only, f.takeOver, process.EndLeft)
	if err != nil || closed == 0 {
		return p, in, err
	}
	a.say("%s closed: the launcher is gone, or was taken over", plural(closed, "run"))
	p, err = planner.Make(ctx, l, in) // some of them may count, the others may have cost
	return p, in, err
}

// measured says whether a cell is one of the spec's.
func measured(r *spec.Resolved) func(batch.Digest) bool {
	return func(cell batch.Digest) bool {
		return slices.ContainsFunc(r.Cells, func(c batch.Cell) bool { return c.Identity.Cell == cell })
	}
}

// preflight asks a model as the spec says.
func (a *App) preflight(s *spec.Spec) executor.Preflight {
	return func(ctx context.Context, m spec.Model, p *spec.Preflight) error {
		_, err := preflight.Check(ctx, s, m, p, a.Env)
		return err
	}
}

// describe says what is about to happen.
func (a *App) describe(p *planner.Plan, tracking string, only func(batch.Variant) bool) {
	c := p.Counts()
	a.say("asked MLflow at %s", tracking)
	a.say("%s %s: %d planned = %d reused + %d done + %d missing", p.Doc.Benchmark, p.Doc.Version, c.Planned, c.Reused, c.Done, c.NotStarted)
	for _, i := range ignoredLines(p.Ignored) {
		a.say("%s", cleanLine(i))
	}
	if p.Joined != nil && p.Joined.Plan != "" && p.Doc.SpecDigest != batch.Sum(p.Spec().Raw) {
		a.say("the spec's free fields changed since the batch began: noted beside it as %s", executor.RevisionName(batch.Sum(p.Spec().Raw)))
	}
	if only != nil {
		a.say("--only: the other variants are left for a later run of the same batch")
	}
}

// finished answers for a batch that is frozen already: nothing is started, and
// its folder is there or is written again.
func (a *App) finished(ctx context.Context, conn *connection, l *ledger.Ledger, p *planner.Plan, f runFlags) (*ran, error) {
	a.say("batch %s is finished: 0 evaluations started; --new freezes another dated batch", p.Finished.Name())
	if was := p.Finished.Info.Status; was != mlflow.StatusFinished {
		if err := l.EndBatch(ctx, p.Finished); err != nil {
			return nil, err
		}
		a.say("its run in MLflow was %s: set to FINISHED again; the frozen result is what it was", was)
	}
	e, err := a.exportBatch(ctx, l, *p.Finished, exportFlags{out: f.out})
	if err != nil {
		return nil, err
	}
	a.publish(ctx, l, *p.Finished, e, p.Spec().Budget.CeilingUSD, f.logFolder)
	out := &ran{Batch: p.Finished.Info.RunID, Name: p.Finished.Name(), Counts: e.result.Counts, Frozen: true, Folder: e.folder, Verdict: e.verdict,
		Page: conn.page(p.Finished.Info.ExperimentID, p.Finished.Info.RunID), Cells: cellsOf(p, e.result)}
	describeFrom(out.Cells, e.summary)
	return out, answered(left(e.result.Counts), f, e)
}

// conclude writes the folder of a frozen batch and says how it ended.
func (a *App) conclude(ctx context.Context, conn *connection, l *ledger.Ledger, report *executor.Report, f runFlags, watch *showing) (*ran, error) {
	out := &ran{Batch: report.Parent.Info.RunID, Name: report.Parent.Name(), Started: report.Started, Counts: report.Plan.Counts(),
		Page: conn.page(report.Parent.Info.ExperimentID, report.Parent.Info.RunID)}
	if report.Result == nil {
		draft, err := planner.Freeze(report.Plan, report.Parent, l.ExperimentName(), report.Fates, a.Now())
		if err != nil {
			return nil, err
		}
		out.Counts, out.Cells = draft.Counts, cellsOf(report.Plan, draft)
		watch.leave(draft)
		switch {
		case report.Stopped:
			return out, errInterrupted
		case report.Asked != "":
			return out, incomplete{fmt.Sprintf("stopped by %s: %s; the same command goes on", cleanLine(report.Asked), withoutRepeat(out.Counts))}
		case report.Budget != "":
			return out, incomplete{report.Budget + "\n  " + amountText(report.Plan.Estimate.Amount)}
		case len(report.Others) > 0:
			return out, incomplete{fmt.Sprintf("%s: %s is at work on the batch, and whoever ends last freezes it", withoutRepeat(out.Counts), launchers(report.Others))}
		case len(report.GaveUp) > 0:
			return out, incomplete{strings.Join(report.GaveUp, "\n") + "\n  run again when they answer: the batch goes on"}
		case out.Counts.Skipped == out.Counts.Planned:
			return out, incomplete{"no model answered: nothing was started, and the batch stays open; run again when one does"}
		case f.only != nil:
			return out, incomplete{withoutRepeat(out.Counts) + ": the batch is unfinished; run without --only to finish it"}
		}
		return out, incomplete{fmt.Sprintf("%s missing, though all were measured: a repeat was deleted or changed in MLflow meanwhile; run again", plural(out.Counts.NotStarted, "repeat"))}
	}
	e, err := a.exportBatch(ctx, l, report.Parent, exportFlags{out: f.out})
	out.Counts, out.Frozen, out.Folder, out.Verdict, out.Cells = report.Result.Counts, true, e.folder, e.verdict, cellsOf(report.Plan, report.Result)
	describeFrom(out.Cells, e.summary)
	if err != nil {
		return out, err
	}
	a.publish(ctx, l, report.Parent, e, report.Plan.Spec().Budget.CeilingUSD, f.logFolder)
	return out, answered(left(out.Counts), f, e)
}

// answered is the error of a frozen batch: what is missing stands before what is open.
func answered(missing error, f runFlags, e exported) error {
	if missing != nil {
		return missing
	}
	return demanded(f.verdict, e.frozen, e.summary)
}

// withoutRepeat counts the slots without a repeat by what became of them.
func withoutRepeat(c batch.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.Failed, "failed"}, {c.Skipped, "skipped"}, {c.NotStarted, "not started"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return strings.Join(parts, ", ")
}

// left is the error of a batch that is frozen with slots without a repeat.
func left(c batch.Counts) error {
	if c.Failed+c.Skipped+c.NotStarted == 0 {
		return nil
	}
	return incomplete{fmt.Sprintf("frozen with %d of %d repeats: %d failed, %d skipped; `benchbatch run --new` measures what is missing in another dated batch",
		c.Reused+c.Done, c.Planned, c.Failed, c.Skipped)}
}
