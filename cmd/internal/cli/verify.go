package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/export/tables"
)

// outputs is everything that a dated folder holds besides the evidence.
func outputs() []export.Output {
	return []export.Output{tables.Output{}, tables.Queries{}, report.Output{}}
}

func (a *App) verifyCommand() *cobra.Command {
	var o export.VerifyOptions
	c := &cobra.Command{
		Use:   "verify FOLDER",
		Short: "Check a dated folder with nothing but the folder",
		Long: `verify checks every file's hash, that no file is missing or extra, and that every
table and the report follow from the raw evidence. It needs no network and writes
nothing. Exit code 5: something does not hold; the files are named.

The folder of a comparison is made again from its two batches where their folders
lie beside it.

A folder proves no more than that it agrees with itself. What ties it to MLflow is
the SHA-256 of result.json, which verify prints: it must be the tag
benchbatch.result of the batch's parent run.`,
		Example: "  benchbatch verify batches/support-bench-v1_2026-11-30_7f3a9c\n  benchbatch verify --digests FOLDER   the hashes alone, as sha256sum -c",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.verify(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			if err := a.result(r, func() { a.showVerified(r) }); err != nil {
				return err
			}
			return r.Err()
		},
	}
	c.Flags().BoolVar(&o.DigestsOnly, "digests", false, "compare the hashes alone")
	c.Flags().IntVar(&o.Workers, "workers", 0, "`N` files read at once (0 = as many as there are processors)")
	return c
}

func (a *App) verify(ctx context.Context, dir string, o export.VerifyOptions) (*export.Report, error) {
	if err := a.isFolder(dir); err != nil {
		return nil, err
	}
	if isComparison(dir) {
		return a.verifyComparison(ctx, dir, o.DigestsOnly)
	}
	o.Outputs = outputs()
	r, err := export.Verify(ctx, dir, o)
	if err != nil || o.DigestsOnly || r.Manifest == nil || len(r.Findings) > 0 || !slices.Contains(r.Manifest.Withheld, export.WithholdRaw) {
		return r, err
	}
	return r, a.verifyWithheld(ctx, dir, r)
}

// isFolder refuses what is no dated folder at all. One that lost its manifest or its
// checksums is one whose hashes do not match.
func (a *App) isFolder(dir string) error {
	for _, name := range []string{"manifest.json", "SHA256SUMS"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	return noFolder(dir)
}

// noFolder says what a path is that is no dated folder.
func noFolder(dir string) error {
	info, err := os.Stat(dir)
	inside, _ := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	what := "is no dated folder: it holds no manifest.json; name one that `benchbatch run` or `benchbatch export` wrote"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "does not exist; name a folder that `benchbatch run` or `benchbatch export` wrote"
	case err != nil:
		return err
	case !info.IsDir():
		what = "is a file, not a dated folder; name the folder that `benchbatch run` or `benchbatch export` wrote"
	case len(inside) > 0:
		what = "is no dated folder but holds some; name one of them, such as " + filepath.Dir(inside[len(inside)-1])
	}
	return usageError{fmt.Errorf("%s %s", dir, what)}
}

// verifyWithheld says whether report and verdict follow at least from the tables of
// outcomes, where the evidence behind these is withheld.
func (a *App) verifyWithheld(ctx context.Context, dir string, r *export.Report) error {
	for _, o := range outputs() {
		if name, version := o.Format(); r.Manifest.Formats[name] != version {
			return nil // unproven, and said
		}
	}
	folder, err := a.openFolder(ctx, dir)
	if err != nil {
		return err
	}
	_, made, err := folder.Render(ctx, "", outputs())
	if err != nil {
		return err
	}
	for _, file := range folder.Same(made, outputs()) {
		r.Findings = append(r.Findings, export.Finding{File: file, Reason: "does not follow from the tables of outcomes, judges and attempts"})
	}
	if len(r.Findings) == 0 {
		r.Notes = append(r.Notes, "report and verdict follow from the tables of outcomes, judges and attempts; these themselves could not be compared with the evidence")
	}
	return nil
}

func (a *App) showVerified(r *export.Report) {
	for _, n := range r.Notes {
		a.printFlow(cleanLine("note: " + n))
	}
	if len(r.Findings) > 0 {
		return // the error lists them
	}
	files := fmt.Sprintf("%s (%s) match their hashes", plural(r.Files, "file"), bytesText(r.Bytes))
	switch {
	case r.DigestsOnly:
		a.printFlow(cleanLine(fmt.Sprintf("%s: %s; what they hold was not looked at", r.Name, files)))
	case len(r.Unproven) > 0:
		a.printFlow(cleanLine(fmt.Sprintf("%s holds in part: %s, %s recomputed from the raw evidence, %s not", r.Name, files, plural(len(r.Recomputed), "file"), plural(len(r.Unproven), "file"))))
	default:
		a.printFlow(cleanLine(fmt.Sprintf("%s holds: %s, %s recomputed from the raw evidence", r.Name, files, plural(len(r.Recomputed), "file"))))
	}
	if r.Result != "" {
		a.print("SHA-256 of result.json:")
		a.print("  %s", r.Result)
		a.printFlow(cleanLine("A folder proves only that it agrees with itself: in MLflow, tag benchbatch.result of run " + r.Batch + " must be the same."))
	}
}
