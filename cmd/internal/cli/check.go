package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// checked is what `check --json` prints.
type checked struct {
	Benchmark string       `json:"benchmark"`
	Version   string       `json:"version"`
	Recipe    batch.Digest `json:"recipe"`
	Brain     batch.Digest `json:"brain"`
	Key       batch.Digest `json:"key"`
	Tasks     int          `json:"tasks"`
	Repeats   int          `json:"repeats"`
	Planned   int          `json:"planned"` // cells × repeats
	Cells     []batch.Cell `json:"cells"`
	Uncovered []string     `json:"uncovered"` // files that no part of the identity covers, the first 20
	More      int          `json:"uncovered_more,omitempty"`
	Notes     []string     `json:"notes"`
	// Here is what this machine lacks and a run would be refused for: programs and variables.
	Here []string `json:"missing_here"`
	// Resolution is what the batch can show, before anything is measured; null = nothing is compared.
	Resolution *resolution `json:"resolution"`
}

func (a *App) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check SPEC",
		Short: "Show all problems of a spec, or its cells and hashes",
		Long: `check reads a spec as run does and shows all of its problems, each with line, column
and remedy; with --json they are a list on stdout. Of a spec without problems it
shows the cells and their hashes, what difference the batch can show, files that no
digest covers, and what this machine lacks for a run.

Exit codes: 0 the spec is right, 2 it is not.`,
		Example: `  benchbatch check my-bench/benchmark.yaml
  benchbatch check my-bench/benchmark.yaml --json`,
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.load(args[0])
			var problems spec.Problems
			if errors.As(err, &problems) && a.asJSON {
				return errors.Join(a.result(map[string]any{"problems": problems}, nil), err)
			}
			if err != nil {
				return err
			}
			out := checked{
				Benchmark: r.Spec.Benchmark, Version: r.Spec.Version, Recipe: r.Recipe, Brain: r.Brains, Key: r.Key,
				Tasks: len(r.Spec.Tasks), Repeats: r.Spec.Repeats, Planned: len(r.Cells) * r.Spec.Repeats, Cells: r.Cells, Notes: notes(r),
				Resolution: resolutionOf(r, 0, nil), Here: a.lacking(r.Spec),
			}
			out.Notes = append(out.Notes, out.Resolution.notes()...)
			total := 0
			if out.Uncovered, total, err = spec.Uncovered(r.Spec, 20); err != nil {
				return err
			}
			out.More = total - len(out.Uncovered)
			return a.result(out, func() { a.showChecked(out) })
		},
	}
}

// notes say what the spec's decision cannot show.
func notes(r *spec.Resolved) []string {
	var out []string
	if r.Spec.Repeats < fewestRepeats {
		out = append(out, fmt.Sprintf("repeats is %d: below 3 no claim about a difference is made; 5 is a sensible floor", r.Spec.Repeats))
	}
	if len(r.Spec.Tasks) < fewestTasks {
		out = append(out, fmt.Sprintf("the panel has %s: below 10 no claim about a difference is made", plural(len(r.Spec.Tasks), "task")))
	}
	if r.Spec.Decision.Margin == nil {
		out = append(out, "decision.margin is not declared: equality can't be shown, only that nothing was told apart")
	}
	if r.Spec.Version == "draft" {
		out = append(out, "version is draft: every page says DRAFT, and the label is never taken")
	}
	return out
}

func (a *App) showChecked(c checked) {
	a.print("%s %s: %d cells × %d repeats = %s on %s", c.Benchmark, c.Version, len(c.Cells), c.Repeats, plural(c.Planned, "evaluation"), plural(c.Tasks, "task"))
	a.print("recipe %s  brain %s", c.Recipe.Short(), c.Brain.Short())
	a.print("")
	var t table
	t.Most, t.Fits = terminal.Columns, []int{2, 1, 0}
	t.add("agent", "model", "route", "cell")
	for _, cell := range c.Cells {
		t.add(cell.Agent, cell.Model, cell.Route, cell.Identity.Cell.Short())
	}
	t.write(a.Stdout)
	for _, h := range c.Here {
		a.say("warning: %s", cleanLine(h))
	}
	for _, n := range c.Notes {
		a.say("note: %s", n)
	}
	for _, f := range c.Uncovered {
		a.say("note: %s is in the folder but no part of the identity: a runner does not see it", cleanLine(f))
	}
	if c.More > 0 {
		a.say("note: and %s more", plural(c.More, "file"))
	}
}
