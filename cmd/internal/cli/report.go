package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/brief"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// reportFlags are the flags of report.
type reportFlags struct {
	write    string
	decision string
	verdict  bool // one is demanded
}

func (a *App) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report FOLDER",
		Short: "Show a dated folder's verdict, made again from its tables",
		Long: `report makes the report of a dated folder again, from the folder's tables alone
(raw evidence may be withheld), shows it in brief, and says whether the folder's own
report is the same. With -o it writes report and README to a new folder.

--decision decides by another rule than the frozen one: a YAML file with the fields of
a spec's decision. Such a report says POST HOC on every page, and never replaces the
folder's own.

Exit codes: 0 done, 2 no such folder or decision, 3 no verdict and one demanded,
5 the folder does not hold.`,
		Example: `  benchbatch report batches/support-bench-v1_2026-11-30_7f3a9c
  benchbatch report FOLDER -o again
  benchbatch report FOLDER --decision stricter.yaml -o stricter`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.report(cmd.Context(), args[0], f)
			if err != nil {
				return err
			}
			if err := a.result(r, func() { a.showReport(r) }); err != nil {
				return err
			}
			return errors.Join(r.err(args[0]), r.open)
		},
	}
	c.Flags().StringVarP(&f.write, "write", "o", "", "new `DIR` that receives report and README")
	c.Flags().StringVar(&f.decision, "decision", "", "YAML `FILE` with another decision rule: the report is then post hoc")
	requireVerdict(c, &f.verdict)
	return c
}

// reported is what `report --json` prints.
type reported struct {
	*brief.Brief
	// Same says that the folder's own report and tables are what was made again; null
	// where they can't be compared, see Why.
	Same    *bool    `json:"same"`
	Why     string   `json:"not_compared,omitempty"`
	Differ  []string `json:"differ,omitempty"`
	Written string   `json:"written,omitempty"` // folder of the new report

	open error // where a verdict was demanded and there is none
}

// err is an integrity error where the folder's report does not follow from its tables.
func (r *reported) err(dir string) error {
	if r.Same == nil || *r.Same {
		return nil
	}
	e := &export.IntegrityError{What: dir}
	for _, file := range r.Differ {
		e.Findings = append(e.Findings, export.Finding{File: file, Reason: "is not what the tables of outcomes give; `benchbatch verify` compares all of the folder with its evidence"})
	}
	return e
}

func (a *App) report(ctx context.Context, dir string, f reportFlags) (*reported, error) {
	folder, err := a.openFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	if f.decision != "" {
		if err := a.redecide(folder, f.decision); err != nil {
			return nil, err
		}
	}
	summary, made, err := folder.Render(ctx, "", outputs())
	if err != nil {
		return nil, err
	}
	r := &reported{Brief: briefOf(folder.Frozen, summary)}
	r.open = demanded(f.verdict, folder.Frozen, summary)
	r.Folder, r.Files = dir, lookAt(made)
	r.compare(folder, made)
	if f.write != "" {
		if r.Written, err = a.writeReport(ctx, folder, f.write); err != nil {
			return nil, err
		}
		r.Folder = f.write
		r.Files = slices.DeleteFunc(r.Files, func(name string) bool { return strings.HasPrefix(name, "tables") })
	} else if folder.Frozen.PostHoc != nil {
		r.Folder, r.Files = "", nil // those are of the frozen rule
	}
	return r, nil
}

// openFolder reads a dated folder back.
func (a *App) openFolder(ctx context.Context, dir string) (*export.Folder, error) {
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil {
		return nil, noFolder(dir)
	}
	if isComparison(dir) {
		return nil, usageError{fmt.Errorf("%s is the folder of a comparison, not of a batch: read its report.md; `benchbatch verify` checks it", dir)}
	}
	f, err := export.OpenFolder(ctx, dir, tables.Output{})
	var bad *export.IntegrityError
	if errors.As(err, &bad) {
		bad.Findings = append(bad.Findings, export.Finding{File: "remedy", Reason: "take the folder again from where it came, or write it again with `benchbatch export`"})
	}
	return f, err
}

func (a *App) redecide(folder *export.Folder, file string) error {
	d, err := spec.LoadDecision(file)
	if err != nil {
		return err
	}
	if err := folder.Redecide(d); err != nil {
		return usageError{fmt.Errorf("%s: %w", file, err)}
	}
	if folder.Frozen.PostHoc == nil {
		a.say("%s is the rule that was frozen: nothing about this report is post hoc", cleanLine(file))
	}
	return nil
}

// briefOf is a batch in brief.
func briefOf(f *export.Frozen, s *export.Summary) *brief.Brief {
	return brief.Of(f, s, report.Headline(s, cleanLine))
}

// lookAt are the files of a folder for people.
func lookAt(made []export.Content) []string {
	var files []string
	for _, name := range []string{"report.html", "report.md"} {
		if slices.ContainsFunc(made, func(c export.Content) bool { return c.Path == name }) {
			files = append(files, name)
		}
	}
	return append(files, "tables/*.parquet")
}

// compare says whether the folder holds what was made.
func (r *reported) compare(folder *export.Folder, made []export.Content) {
	if folder.Frozen.PostHoc != nil {
		r.Why = "the folder's own report is by the frozen rule"
		return
	}
	for _, o := range outputs() {
		name, version := o.Format()
		if found := folder.Manifest.Formats[name]; found != version {
			r.Why = fmt.Sprintf("the folder has format %d of %s, this version makes format %d", found, name, version)
			return
		}
	}
	r.Differ = folder.Same(made, outputs())
	same := len(r.Differ) == 0
	r.Same = &same
}

// writeReport writes the texts to a new folder.
func (a *App) writeReport(ctx context.Context, folder *export.Folder, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	return export.Publish(ctx, filepath.Dir(dir), filepath.Base(dir), func(work string) error {
		_, _, err := folder.Render(ctx, work, []export.Output{report.Output{}})
		return err
	})
}

func (a *App) showReport(r *reported) {
	for _, l := range r.Lines(terminal.Style(a.Colour)) {
		a.print("%s", l)
	}
	switch {
	case r.Same == nil:
		a.say("not compared with the folder: %s", cleanLine(r.Why))
	case *r.Same:
		a.say("the folder's own report and tables are what its outcomes give, byte by byte")
	}
}
