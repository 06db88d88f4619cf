package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	out, decision, reference, experiment string
	verdict                              bool // one is demanded
}

func (a *App) compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Say what changed between two batches",
		Long: `compare puts batch B against batch A, variant by variant and over all, and writes a
dated folder of its own with report, tables and checksums. Differences are B − A.

A and B are dated folders, or batches in MLflow (run id, name or "latest"). With one
recipe they are compared task by task, by the rule that both froze. Where recipes
differ, tasks that stayed the same link them if a reference was measured in both.
Everything else is refused, with the files and settings that changed.

Runs of two days tell nothing of a change (measured apart) unless both sides were
measured within 24 hours. A rule that not both batches froze makes it post hoc.

Exit codes: 0 compared, whatever was found; 2 usage; 3 the two can't be compared,
or --require-verdict and what changed can't be told; 5 a hash does not match.`,
		Example: `  benchbatch compare batches/bench-v1_2026-10-30_1c2d3e \
                     batches/bench-v1_2026-11-30_7f3a9c
  benchbatch compare support-bench-v1_2026-10-30_1c2d3e latest
  benchbatch compare A B --reference opencode+qwen-27b --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("`%s` takes two folders or batches, not %d; see `%s --help`", c.CommandPath(), len(args), c.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.compare(cmd.Context(), args[0], args[1], f)
			var no *compare.Refused
			if errors.As(err, &no) && a.asJSON {
				return errors.Join(a.result(map[string]any{"refused": no.Why, "a": no.A, "b": no.B, "changes": no.Changes}, nil), err)
			}
			if err != nil {
				return err
			}
			if err := a.result(v, func() { a.showCompared(v) }); err != nil {
				return err
			}
			return demandedChange(f.verdict, v)
		},
	}
	c.Flags().StringVar(&f.out, "out", "batches", "`DIR` that receives the dated folder")
	c.Flags().StringVar(&f.decision, "decision", "", "YAML `FILE` with another decision rule: the comparison is then post hoc")
	c.Flags().StringVar(&f.reference, "reference", "", "`AGENT+MODEL` that links batches of different recipes")
	c.Flags().StringVar(&f.experiment, "experiment", "", "look for batches in experiment `NAME` only")
	requireVerdict(c, &f.verdict)
	return c
}

func (a *App) compare(ctx context.Context, first, second string, f compareFlags) (*compare.View, error) {
	o := compare.Options{Reference: f.reference, Tool: Version()}
	if f.decision != "" {
		var err error
		if o.Decision, err = spec.LoadDecision(f.decision); err != nil {
			return nil, err
		}
	}
	var sides [2]compare.Side
	for i, name := range []string{first, second} {
		var err error
		if sides[i], err = a.side(ctx, name, f.experiment); err != nil {
			return nil, err
		}
	}
	c, err := compare.Of(ctx, sides[0], sides[1], o)
	var bad *compare.DecisionError
	if errors.As(err, &bad) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	out := f.out
	if !filepath.IsAbs(out) {
		out = filepath.Join(a.Dir, out)
	}
	v := c.View()
	v.Folder, err = compare.Write(ctx, c, out)
	return v, err
}

// side is a folder where there is one of this name, else a batch in MLflow.
func (a *App) side(ctx context.Context, name, experiment string) (compare.Side, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return a.folderSide(ctx, name)
	}
	conn, err := a.connect(ctx, false)
	if err != nil {
		return compare.Side{}, fmt.Errorf("%s is no folder here, and can't be looked for in MLflow: %w", name, err)
	}
	l, parent, err := a.findBatch(ctx, conn, experiment, name)
	if err != nil {
		return compare.Side{}, err
	}
	if !parent.Frozen() {
		return compare.Side{}, incomplete{fmt.Sprintf("batch %s is not frozen yet; `benchbatch run` finishes it", parent.Name())}
	}
	b, _, err := documents(ctx, l, parent)
	if err != nil {
		return compare.Side{}, err
	}
	b.Fetch = fetchFrom(l)
	r, err := export.OpenBatch(b, 0)
	if err != nil {
		return compare.Side{}, err
	}
	return compare.RemoteSide(r), nil
}

// folderSide reads a folder back, after all of it was verified: a comparison must not
// rest on tables that do not follow from their evidence.
func (a *App) folderSide(ctx context.Context, dir string) (compare.Side, error) {
	f, err := a.openFolder(ctx, dir)
	if err != nil {
		return compare.Side{}, err
	}
	r, err := export.Verify(ctx, dir, export.VerifyOptions{Outputs: outputs()})
	if err != nil {
		return compare.Side{}, err
	}
	if err := r.Err(); err != nil {
		return compare.Side{}, err
	}
	for _, n := range r.Notes {
		a.say("%s", cleanLine(dir+": "+n))
	}
	return compare.FolderSide(f), nil
}

func (a *App) showCompared(v *compare.View) {
	for _, l := range v.Lines(terminal.Style(a.Colour)) {
		a.print("%s", l)
	}
	a.print("folder     %s", cleanLine(a.below(v.Folder)))
}

// verifyComparison checks the folder of a comparison, and makes it again where both
// batches lie beside it.
func (a *App) verifyComparison(ctx context.Context, dir string, digests bool) (*export.Report, error) {
	if digests {
		return compare.Verify(ctx, dir, nil)
	}
	beside := filepath.Dir(filepath.Clean(dir))
	if full, err := filepath.Abs(dir); err == nil {
		beside = filepath.Dir(full)
	}
	return compare.Verify(ctx, dir, func(b compare.Batch) (compare.Side, error) {
		if b.Name == "" || b.Name != filepath.Base(b.Name) || b.Name == ".." || b.Name == "." {
			return compare.Side{}, fmt.Errorf("%q is no name of a folder", b.Name)
		}
		at := filepath.Join(beside, b.Name)
		if _, err := os.Stat(filepath.Join(at, "manifest.json")); errors.Is(err, fs.ErrNotExist) {
			return compare.Side{}, err
		}
		return a.folderSide(ctx, at)
	})
}

// isComparison says whether dir is the folder of a comparison.
func isComparison(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	return err == nil && compare.IsComparison(data)
}
