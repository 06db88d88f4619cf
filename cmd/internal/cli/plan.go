package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// planFlags are the flags that plan and run share.
type planFlags struct {
	only    []string
	fresh   []string
	new     bool
	measure bool
	atOnce  int
}

func (f *planFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.only, "only", nil, "only these agents and models, `KEY=ID` with agent or model, separated by commas")
	c.Flags().StringSliceVar(&f.fresh, "fresh", nil, "variants, `AGENT+MODEL`, whose earlier repeats are not counted")
	c.Flags().BoolVar(&f.new, "new", false, "freeze another dated batch although this one is finished")
	c.Flags().BoolVar(&f.measure, "measure-again", false, "measure although results exist under another identity scheme")
	c.Flags().IntVar(&f.atOnce, "at-once", 4, "`N` evaluations at once over all quotas")
}

// filter checks the variants that are named, and turns --only into a test of variants.
func (f *planFlags) filter(r *spec.Resolved) (func(batch.Variant) bool, error) {
	var variants []string
	for _, c := range r.Cells {
		variants = append(variants, c.Variant.String())
	}
	for _, name := range f.fresh {
		if !slices.Contains(variants, name) {
			return nil, usageError{fmt.Errorf("--fresh %s: no such variant; there are %s", name, strings.Join(variants, ", "))}
		}
	}
	if len(f.only) == 0 {
		return nil, nil
	}
	agents, models := map[string]bool{}, map[string]bool{}
	for _, o := range f.only {
		key, value, _ := strings.Cut(o, "=")
		known := false
		for _, c := range r.Cells {
			known = known || (key == "agent" && c.Agent == value) || (key == "model" && c.Model == value)
		}
		switch {
		case key != "agent" && key != "model":
			return nil, usageError{fmt.Errorf("--only %s: agent=ID or model=ID is expected", o)}
		case !known:
			return nil, usageError{fmt.Errorf("--only %s: the spec has no such %s; see `benchbatch check`", o, key)}
		case key == "agent":
			agents[value] = true
		default:
			models[value] = true
		}
	}
	return func(v batch.Variant) bool {
		return (len(agents) == 0 || agents[v.Agent]) && (len(models) == 0 || models[v.Model])
	}, nil
}

// planned is what `plan --json` prints.
type planned struct {
	Tracking  string           `json:"tracking"` // address of the MLflow that was asked
	Benchmark string           `json:"benchmark"`
	Version   string           `json:"version"`
	Recipe    batch.Digest     `json:"recipe"`
	Key       batch.Digest     `json:"key"`
	Batch     string           `json:"batch,omitempty"` // run id of the batch that is joined, or finished
	Name      string           `json:"name,omitempty"`  // of that batch
	Finished  bool             `json:"finished"`        // it is frozen: nothing is to be done
	Counts    batch.Counts     `json:"counts"`          // not_started = missing
	Cells     []plannedCell    `json:"cells"`
	Estimate  planner.Estimate `json:"estimate"`
	// Forecast is how long the missing ones take under the quotas, in seconds; null = unknown.
	Forecast   *planner.Interval `json:"forecast_s"`
	Traces     *tracing          `json:"traces,omitempty"` // what showing single tasks in MLflow costs; absent = they are not shown
	Running    []runningRun      `json:"running,omitempty"`
	Ignored    []batch.Ignored   `json:"ignored"`
	Resolution *resolution       `json:"resolution"`        // what the batch can show; null = nothing is compared, or nothing is missing
	Refused    string            `json:"refused,omitempty"` // why there is no plan; with --explain
	Changes    []batch.Change    `json:"changes,omitempty"` // with --explain
	Since      string            `json:"changes_since,omitempty"`
}

// runningRun is an evaluation of the recipe that has not ended.
type runningRun struct {
	RunID    string `json:"run_id"`
	Launcher string `json:"launcher,omitempty"` // host, process id and its start; "" = another tool's
	Started  string `json:"started"`
	Gone     bool   `json:"gone"` // its launcher ran on this host and has ended: run closes it
}

// plannedCell is one row of the plan.
type plannedCell struct {
	batch.Variant
	Cell    batch.Digest `json:"cell"`
	Reused  int          `json:"reused"`
	Done    int          `json:"done"` // by the batch that is joined
	Missing int          `json:"missing"`
	Oldest  string       `json:"oldest,omitempty"` // start of the oldest reused repeat
	oldest  string
}

func (a *App) planCommand() *cobra.Command {
	var f planFlags
	var explain string
	c := &cobra.Command{
		Use:   "plan SPEC",
		Short: "Show what is missing and reused, and what it will cost",
		Example: `  benchbatch plan my-bench/benchmark.yaml
  benchbatch plan my-bench/benchmark.yaml --only model=qwen-27b
  benchbatch plan my-bench/benchmark.yaml --explain direct+qwen-27b`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := a.makePlan(cmd.Context(), args[0], f, explain)
			if out == nil {
				return err
			}
			return errors.Join(a.result(out, func() { a.showPlan(out) }), err)
		},
	}
	f.add(c)
	c.Flags().StringVar(&explain, "explain", "", "say what changed for `AGENT+MODEL` since the newest batch")
	return c
}

// makePlan plans. With explain it says what changed even where the label is taken,
// and returns both.
func (a *App) makePlan(ctx context.Context, path string, f planFlags, explain string) (*planned, error) {
	r, err := a.load(path)
	if err != nil {
		return nil, err
	}
	only, err := f.filter(r)
	if err != nil {
		return nil, err
	}
	conn, err := a.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, conn.client, r.Spec.Experiment)
	if err != nil {
		return nil, err
	}
	if err := a.checkTraces(ctx, l, r.Spec); err != nil {
		return nil, err
	}
	in := a.input(r)
	in.Fresh, in.New, in.MeasureAgain = f.fresh, f.new, f.measure
	p, refused := planner.Make(ctx, l, in)
	var taken *planner.LabelTaken
	if refused != nil && (explain == "" || !errors.As(refused, &taken)) {
		return nil, refused
	}
	a.warnOfAnother(conn, r.Spec.Dir)
	out := &planned{Tracking: conn.client.Address(), Benchmark: r.Spec.Benchmark, Version: r.Spec.Version, Recipe: r.Recipe, Key: r.Key, Ignored: []batch.Ignored{}}
	if p != nil {
		out.fill(a, p, only)
		out.Estimate, out.Forecast = expect(p, only, f.atOnce)
		out.Traces = tracingOf(p, out.Estimate.Evaluations)
		out.Resolution = resolutionOfPlan(p)
	}
	if explain != "" {
		if err := out.explain(ctx, l, r, explain); err != nil {
			return nil, err
		}
	}
	if refused != nil {
		out.Refused, _, _ = strings.Cut(refused.Error(), "\n")
	}
	return out, refused
}

// fill takes over a plan's numbers.
func (out *planned) fill(a *App, p *planner.Plan, only func(batch.Variant) bool) {
	out.Counts, out.Finished = p.Counts(), p.Finished != nil
	out.Ignored = append(out.Ignored, p.Ignored...)
	for _, b := range []*ledger.Parent{p.Joined, p.Finished} {
		if b != nil {
			out.Batch, out.Name = b.Info.RunID, b.Name()
		}
	}
	for _, e := range p.Live {
		out.Running = append(out.Running, runningRun{e.Info.RunID, e.Launcher, timeText(e.Started()), executor.LauncherGone(e.Launcher)})
	}
	for _, e := range p.Ended {
		out.Ignored = append(out.Ignored, batch.Ignored{RunID: e.Info.RunID, Cell: e.Identity.Cell.Short(), Reason: strings.TrimSpace(string(e.State) + ": " + e.Reason)})
	}
	for i := 0; i < len(p.Slots); {
		cell := p.Slots[i].Cell
		row := plannedCell{Variant: cell.Variant, Cell: cell.Identity.Cell}
		for ; i < len(p.Slots) && p.Slots[i].Cell.Identity.Cell == cell.Identity.Cell; i++ {
			row.count(a, p.Slots[i])
		}
		if only == nil || only(cell.Variant) {
			out.Cells = append(out.Cells, row)
		}
	}
}

func (row *plannedCell) count(a *App, s planner.Slot) {
	switch {
	case s.Entry == nil:
		row.Missing++
	case s.Own:
		row.Done++
	default:
		row.Reused++
		if at := timeText(s.Entry.Started()); row.Oldest == "" || at < row.Oldest {
			row.Oldest, row.oldest = at, age(a.Now().Sub(s.Entry.Started()))
		}
	}
}

func (out *planned) explain(ctx context.Context, l *ledger.Ledger, r *spec.Resolved, name string) error {
	for _, c := range r.Cells {
		if c.Variant.String() != name && c.Identity.Cell.Short() != name && string(c.Identity.Cell) != name {
			continue
		}
		b, changes, err := planner.Explain(ctx, l, r, c)
		if err != nil {
			return err
		}
		out.Changes, out.Since = changes, "none"
		if b != nil {
			out.Since = b.Name()
		}
		return nil
	}
	return usageError{fmt.Errorf("--explain %s: no such cell; give AGENT+MODEL or the cell's hash (see `benchbatch check`)", name)}
}

func (a *App) showPlan(p *planned) {
	if p.Since != "" {
		a.showChanges(p)
	}
	if len(p.Cells) == 0 {
		return
	}
	c := p.Counts
	a.print("asked MLflow at %s", p.Tracking)
	a.print("%s %s: %d planned = %d reused + %d done + %d missing", p.Benchmark, p.Version, c.Planned, c.Reused, c.Done, c.NotStarted)
	switch {
	case p.Finished:
		a.print("batch %s is finished and frozen", cleanLine(p.Name))
		a.print("  `benchbatch run --new` freezes another dated one")
	case p.Batch != "":
		a.print("batch %s is unfinished", cleanLine(p.Name))
		a.print("  `benchbatch run` continues it")
	}
	a.print("")
	var t table
	t.numbers(2, 3, 4)
	t.add("agent", "model", "reused", "done", "missing", "oldest reused")
	for _, row := range p.Cells {
		t.add(row.Agent, row.Model, fmt.Sprint(row.Reused), fmt.Sprint(row.Done), fmt.Sprint(row.Missing), row.oldest)
	}
	t.write(a.Stdout)
	a.print("")
	a.showEstimate(p.Estimate, p.Forecast)
	if p.Traces != nil {
		a.print("%s", p.Traces)
	}
	for _, n := range p.Resolution.notes() {
		a.say("note: %s", n)
	}
	for _, r := range p.Running {
		text := "running: " + r.RunID + ", started " + r.Started + " by " + cmp.Or(r.Launcher, "another tool")
		if r.Gone {
			text += ", which is gone: `benchbatch run` closes it"
		}
		a.printFlow(cleanLine(text))
	}
	for _, i := range ignoredLines(p.Ignored) {
		a.printFlow(cleanLine(i))
	}
}

// timeText is a time in UTC, to the second.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func (a *App) showChanges(p *planned) {
	switch {
	case p.Since == "none":
		a.print("no earlier batch to compare with")
	case len(p.Changes) == 0:
		a.print("nothing changed since %s", p.Since)
	default:
		a.print("changed since %s:", p.Since)
	}
	for _, c := range p.Changes {
		a.printFlow(cleanLine(fmt.Sprintf("  %s: %s", c.Part, strings.TrimPrefix(c.Item, "file "))))
		a.print("%s", cleanLine("    was "+absent(c.Old)))
		a.print("%s", cleanLine("    is  "+absent(c.New)))
	}
	a.print("")
}

func absent(s string) string {
	if s == "" {
		return "(absent)"
	}
	return s
}

// manyAlike is how many runs with one reason are named one by one.
const manyAlike = 3

// ignoredLines say which runs do not count and why; many with one reason share a line.
func ignoredLines(ignored []batch.Ignored) []string {
	alike := map[string]int{}
	for _, i := range ignored {
		alike[i.Reason]++
	}
	said := map[string]bool{}
	var lines []string
	for _, i := range ignored {
		switch n := alike[i.Reason]; {
		case n <= manyAlike:
			lines = append(lines, "does not count: "+i.RunID+": "+i.Reason)
		case !said[i.Reason]:
			said[i.Reason] = true
			lines = append(lines, fmt.Sprintf("does not count: %d runs, the first %s: %s", n, i.RunID, i.Reason))
		}
	}
	return lines
}
