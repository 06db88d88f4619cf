package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/calibration"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

func (a *App) calibrateCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "calibrate SPEC",
		Short: "Measure a small slice first: is the batch worth its money?",
		Long: `calibrate runs a small slice of the batch: by default one task of each family, 3
repeats, all variants (calibration: in the spec). It says whether the panel is at
its ceiling or floor, which tasks and families tell nothing apart, whether runs are
unstable, whether failures dominate, which difference the planned batch could
detect and what the margin needs, and what the rest costs and how long it takes.

A slice is no repeat: its panel is another one, so it is never counted in the
batch. Its own repeats are reused: the same calibration again costs nothing.

It ends with go, change or stop. Exit codes: 0 go, 1 failed, 2 usage or spec error,
3 change or stop, 4 incomplete, 5 a hash does not match, 130 interrupted.`,
		Example: `  benchbatch calibrate my-bench/benchmark.yaml
  benchbatch calibrate my-bench/benchmark.yaml --max-cost 2`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.load(args[0])
			if err != nil {
				return err
			}
			conn, err := a.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			out, err := a.calibrate(cmd.Context(), conn, r, f)
			if out == nil {
				return err
			}
			return errors.Join(a.result(out, func() { a.showCalibrated(out) }), err)
		},
	}
	c.Flags().BoolVar(&f.new, "new", false, "freeze another calibration although this one is finished")
	c.Flags().BoolVar(&f.measure, "measure-again", false, "measure although results exist under another identity scheme")
	c.Flags().IntVar(&f.atOnce, "at-once", 4, "`N` evaluations at once over all quotas")
	f.launching(c, "calibrations")
	return c
}

// calibrated is what `calibrate --json` prints.
type calibrated struct {
	*calibration.Calibration
	Started int          `json:"started"` // evaluations that this run started
	Counts  batch.Counts `json:"counts"`  // of the slice
	Folder  string       `json:"folder,omitempty"`
	Pages   []string     `json:"pages,omitempty"` // calibration as a document, beside the folder
	Page    string       `json:"page"`            // in the MLflow UI
	skipped []string
}

// calibrate measures the slice, and answers.
func (a *App) calibrate(ctx context.Context, conn *connection, whole *spec.Resolved, f runFlags) (*calibrated, error) {
	r, err := whole.Slice(a.Env)
	if err != nil {
		return nil, err
	}
	if _, err := a.planWhole(ctx, conn, whole); err != nil { // a batch that could not be run is not calibrated
		return nil, err
	}
	of := r.Spec.Of()
	a.say("calibration: %d of %d tasks, %d repeats, %d of %d variants", len(r.Spec.Tasks), of.Tasks, r.Spec.Repeats, len(r.Cells), of.Variants)
	ran, err := a.run(ctx, conn, r, f)
	if ran == nil {
		return nil, err
	}
	if !answers(ran, err) {
		return nil, errors.Join(a.result(ran, func() { a.showRan(ran) }), err)
	}
	if !ran.Frozen {
		a.say("%s", cleanLine(err.Error()))
	}
	p, err := a.planWhole(ctx, conn, whole)
	if err != nil {
		return nil, err
	}
	out := &calibrated{Started: ran.Started, Counts: ran.Counts, Folder: ran.Folder, Page: ran.Page, skipped: reasons(ran.Cells)}
	var from *calibration.Collector
	if ran.Folder != "" {
		if from, err = collect(ctx, ran.Folder); err != nil {
			return nil, err
		}
	}
	out.Calibration = calibration.Decide(from, plannedFor(whole.Spec, p, f.atOnce))
	if ran.Folder != "" {
		if out.Pages, err = writePages(ran.Folder, out.Calibration.Page()); err != nil {
			return nil, err
		}
	}
	return out, out.err()
}

// err is the end of a calibration that is no go.
func (c *calibrated) err() error {
	if c.Verdict == calibration.Go {
		return nil
	}
	return refuted{string(c.Ending())}
}

// answers says whether the slice has come to an end that can be judged: it is frozen,
// or there is no repeat at all.
func answers(r *ran, err error) bool {
	var part incomplete
	return err == nil || errors.As(err, &part) && (r.Frozen || r.Counts.Done+r.Counts.Reused == 0)
}

// planWhole plans the batch that the slice is of. Nothing is started.
func (a *App) planWhole(ctx context.Context, conn *connection, whole *spec.Resolved) (*planner.Plan, error) {
	l, err := ledger.Open(ctx, conn.client, whole.Spec.Experiment)
	if err != nil {
		return nil, err
	}
	in := a.input(whole)
	in.MeasureAgain = true
	return planner.Make(ctx, l, in)
}

// collect reads the slice's folder.
func collect(ctx context.Context, folder string) (*calibration.Collector, error) {
	f, err := export.OpenFolder(ctx, folder, tables.Output{})
	if err != nil {
		return nil, err
	}
	from := &calibration.Collector{}
	_, _, err = f.Render(ctx, "", []export.Output{from})
	return from, err
}

// plannedFor is the batch as it is planned and as it stands.
func plannedFor(s *spec.Spec, p *planner.Plan, atOnce int) calibration.Planned {
	var families []string
	for _, t := range s.Tasks {
		families = append(families, t.Family)
	}
	missing := p.Missing()
	out := calibration.Planned{Version: s.Version, Tasks: len(s.Tasks), Units: calibration.Units(families), Repeats: s.Repeats, CeilingUSD: s.Budget.CeilingUSD}
	for _, c := range p.Doc.Cells {
		rest := calibration.Rest{Variant: c.Variant.String()}
		for _, m := range missing {
			if m.Cell.Variant == c.Variant {
				rest.Missing++
			}
		}
		out.Variants = append(out.Variants, rest)
	}
	if p.Joined != nil {
		for _, e := range append(p.Valid[:len(p.Valid):len(p.Valid)], p.Ended...) {
			if e.Batch == p.Joined.Info.RunID && e.CostUSD != nil {
				out.SpentUSD += *e.CostUSD
			}
		}
	}
	out.Forecast = func(seconds map[string]float64) *float64 { return forecast(s, p, atOnce, seconds) }
	return out
}

// forecast is how long the batch's missing evaluations take where one of a variant
// takes so many seconds, those of other variants left out.
func forecast(s *spec.Spec, p *planner.Plan, atOnce int, seconds map[string]float64) *float64 {
	h := planner.NewHistory(len(s.Tasks), nil, nil)
	for _, c := range p.Doc.Cells {
		took, ok := seconds[c.Variant.String()]
		if !ok {
			continue
		}
		var tokens *float64
		if rate := p.History.TokensPerMinute(c); rate != nil {
			n := *rate * took / 60
			tokens = &n
		}
		h.Add(c.Identity, nil, &took, tokens)
	}
	known := slices.DeleteFunc(p.Missing(), func(m planner.Slot) bool {
		_, ok := seconds[m.Cell.Variant.String()]
		return !ok
	})
	return executor.Forecast(known, executor.LimitsOf(s, atOnce), h)
}

// writePages writes the calibration beside its folder, which is frozen: what the rest
// costs changes with what has been measured since.
func writePages(folder string, d *document.Document) ([]string, error) {
	var out []string
	for _, f := range document.Figures(d) {
		name := filepath.Join(filepath.Dir(folder), filepath.FromSlash(f.Path()))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, err
		}
		if err := replace(name, []byte(f.SVG)); err != nil {
			return nil, err
		}
	}
	for _, p := range []struct{ name, text string }{{folder + ".md", document.Markdown(d)}, {folder + ".html", document.HTML(d)}} {
		if err := replace(p.name, []byte(p.text)); err != nil {
			return nil, err
		}
		out = append(out, p.name)
	}
	return out, nil
}

// replace writes a file in one step.
func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".calibration-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (a *App) showCalibrated(c *calibrated) {
	a.print("calibration of %s", cleanLine(fmt.Sprintf("%s %s", c.Slice.Benchmark, c.Slice.Version)))
	a.lines("", c.Measured().String())
	a.print("")
	var t table
	t.numbers(1, 2, 3, 4, 5)
	for _, row := range c.Cells() {
		t.add(row...)
	}
	t.write(a.Stdout)
	a.print("")
	for _, reason := range c.skipped {
		a.lines("", reason)
	}
	for _, fact := range c.Facts() {
		a.lines(fmt.Sprintf("%-12s", fact.Name), fact.Text.String())
	}
	if by := c.Repeats(); len(by) > 0 {
		a.lines(fmt.Sprintf("%-12s", "by repeats"), by.String())
	}
	n := c.Counts
	a.lines(fmt.Sprintf("%-12s", "slice"), fmt.Sprintf("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started; %s started now",
		n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted, plural(c.Started, "evaluation")))
	a.print("")
	a.lines("", string(c.Ending()))
	for _, r := range c.Reasons {
		a.lines(fmt.Sprintf("  %-7s", r.Weight), r.Text)
	}
	for _, p := range c.Pages {
		a.print("page    %s", cleanLine(a.below(p)))
	}
	if c.Folder != "" {
		a.print("folder  %s", cleanLine(a.below(c.Folder)))
	}
	a.print("MLflow  %s", c.Page)
}
