package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// exportFlags are the flags of export.
type exportFlags struct {
	out      string
	workers  int
	withhold []string
	verdict  bool // one is demanded
	refresh  bool // read again what people said
}

func (a *App) exportCommand() *cobra.Command {
	var f exportFlags
	var experiment string
	c := &cobra.Command{
		Use:   "export BATCH",
		Short: "Write the dated folder of a frozen batch",
		Long: `export writes the dated folder of a frozen batch: Parquet tables, manifest, raw
evidence, report and checksums. It depends on the frozen result and on the
artifacts that this names, and on nothing else in MLflow: the same batch gives the
same bytes, always.

With --refresh-feedback it reads again what people said of the batch's traces in
MLflow, and where that changed writes another folder, which names the one that it
supersedes. The frozen batch, its verdict and the folder before stay as they are.

BATCH is the parent's run id, the name of the folder, or "latest".`,
		Example: `  benchbatch export latest
  benchbatch export support-bench-v1_2026-11-30_7f3a9c --out reports
  benchbatch export latest --withhold raw,inputs
  benchbatch export latest --refresh-feedback`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			l, parent, err := a.findBatch(cmd.Context(), conn, experiment, args[0])
			if err != nil {
				return err
			}
			if f.refresh {
				r, err := a.refreshFeedback(cmd.Context(), l, parent, f)
				if err != nil {
					return err
				}
				return a.result(r, func() { a.print("%s", r.Folder) })
			}
			e, err := a.exportBatch(cmd.Context(), l, parent, f)
			if err != nil {
				return err
			}
			if err := a.result(map[string]string{"batch": parent.Info.RunID, "folder": e.folder}, func() { a.print("%s", e.folder) }); err != nil {
				return err
			}
			return demanded(f.verdict, e.frozen, e.summary)
		},
	}
	c.Flags().StringVar(&f.out, "out", "batches", "`DIR` that receives the dated folder")
	c.Flags().IntVar(&f.workers, "workers", 0, "`N` evaluations read at once (0 = 4)")
	c.Flags().StringSliceVar(&f.withhold, "withhold", nil, "leave out `WHAT`: raw (answers), inputs (tasks); their digests stay")
	c.Flags().StringVar(&experiment, "experiment", "", "look for BATCH in experiment `NAME` only")
	c.Flags().BoolVar(&f.refresh, "refresh-feedback", false, "read again what people said in MLflow; a new folder where it changed")
	requireVerdict(c, &f.verdict)
	return c
}

// check refuses flags that can't be meant.
func (f *exportFlags) check() error {
	for _, w := range f.withhold {
		if w != export.WithholdRaw && w != export.WithholdInputs {
			return usageError{fmt.Errorf("--withhold %s: raw or inputs is expected", w)}
		}
	}
	if f.refresh && f.verdict {
		return usageError{errors.New("--refresh-feedback and --require-verdict: choose one; no verdict is made from what people say")}
	}
	return nil
}

// findBatch finds a batch by what people call it.
func (a *App) findBatch(ctx context.Context, conn *connection, experiment, name string) (*ledger.Ledger, ledger.Parent, error) {
	l, err := ledger.Open(ctx, conn.client, experiment)
	if err != nil {
		return nil, ledger.Parent{}, err
	}
	p, err := l.Batch(ctx, export.BatchName(name))
	return l, p, err
}

// findLive is findBatch for what is at work: the latest batch is the newest one that is
// wanted; where none is, the newest of all.
func (a *App) findLive(ctx context.Context, conn *connection, experiment, name string, wanted func(ledger.Parent) bool) (*ledger.Ledger, ledger.Parent, error) {
	if name != ledger.Latest {
		return a.findBatch(ctx, conn, experiment, name)
	}
	l, err := ledger.Open(ctx, conn.client, experiment)
	if err != nil {
		return nil, ledger.Parent{}, err
	}
	p, err := l.LatestOf(ctx, wanted)
	return l, p, err
}

// exported is a dated folder that was written, or was there already.
type exported struct {
	result  *batch.Result
	folder  string
	verdict string // one sentence; "" = the folder was not made
	frozen  *export.Frozen
	summary *export.Summary
}

// exportBatch writes the folder of a frozen batch.
func (a *App) exportBatch(ctx context.Context, l *ledger.Ledger, p ledger.Parent, f exportFlags) (e exported, err error) {
	if !p.Frozen() {
		return e, notFrozen(p)
	}
	b, result, err := documents(ctx, l, p)
	if err != nil {
		return e, err
	}
	e, err = a.writeFolder(ctx, l, p, b, f, export.Options{})
	e.result = result
	return e, err
}

func notFrozen(p ledger.Parent) error {
	return incomplete{fmt.Sprintf("batch %s is not frozen yet; `benchbatch run` finishes it", p.Name())}
}

// outDir is where dated folders go.
func (a *App) outDir(f exportFlags) string {
	if filepath.IsAbs(f.out) {
		return f.out
	}
	return filepath.Join(a.Dir, f.out)
}

// writeFolder writes a folder of a batch's documents; o says what feedback it holds.
func (a *App) writeFolder(ctx context.Context, l *ledger.Ledger, p ledger.Parent, b export.Batch, f exportFlags, o export.Options) (e exported, err error) {
	b.Fetch = fetchFrom(l)
	o.Out, o.Workers, o.Withhold, o.Tool, o.Outputs = a.outDir(f), f.workers, f.withhold, Version(), outputs()
	o.Summarized = func(f *export.Frozen, s *export.Summary) {
		e.verdict, e.frozen, e.summary = report.Headline(s, cleanLine), f, s
	}
	e.folder, err = export.Write(ctx, b, o)
	var exists *export.ExistsError
	if errors.As(err, &exists) && exists.Tool != "" {
		a.say("%s was written by benchbatch %s and is left as it is; `benchbatch export %s --out DIR` writes this version's", exists.Path, cleanLine(exists.Tool), p.Info.RunID)
		e.folder = exists.Path
		return e, nil
	}
	if err != nil {
		return e, err
	}
	return e, a.warnOfSecrets(e.folder)
}

// fetchFrom fetches artifacts. A server that is away says nothing about them.
func fetchFrom(l *ledger.Ledger) func(context.Context, batch.Evaluation, batch.Artifact) (io.ReadCloser, error) {
	return func(ctx context.Context, ev batch.Evaluation, art batch.Artifact) (io.ReadCloser, error) {
		body, err := l.Fetch(ctx, ev.RunID, ev.ArtifactURI, art.Path)
		if errors.Is(err, mlflow.ErrUnreachable) {
			err = &export.Unavailable{Err: err}
		}
		return body, err
	}
}

// warnOfSecrets says what the scan of a folder found, by file.
func (a *App) warnOfSecrets(folder string) error {
	m, err := export.ReadManifest(folder)
	if err != nil || len(m.Secrets.Found) == 0 {
		return err
	}
	a.say("warning: a pattern scan found what looks like secrets in %s: look at them before you pass it on", cleanLine(folder))
	const most = 5
	for i, h := range m.Secrets.Found {
		if i == most {
			a.say("  and more: %s in all, listed in manifest.json", plural(len(m.Secrets.Found), "line"))
			break
		}
		a.say("  %s", cleanLine(fmt.Sprintf("%s: %s, %s", h.File, h.Pattern, plural(h.Count, "time"))))
	}
	return nil
}

// documents reads a batch's frozen documents, each against its digest.
func documents(ctx context.Context, l *ledger.Ledger, p ledger.Parent) (export.Batch, *batch.Result, error) {
	var b export.Batch
	result, body, err := l.ReadResult(ctx, p)
	if err != nil {
		return b, nil, err
	}
	b.ResultJSON = body
	for _, d := range []struct {
		name string
		want batch.Digest
		to   *[]byte
	}{{batch.FilePlan, result.Plan, &b.PlanJSON}, {batch.FileSpec, result.Spec, &b.SpecYAML}, {batch.FilePanel, result.Panel, &b.PanelJSONL}} {
		if *d.to, err = l.ReadDocument(ctx, p, d.name, d.want); err != nil {
			return b, nil, err
		}
	}
	b.FeedbackJSONL, err = l.ReadFeedback(ctx, p, result.Feedback)
	return b, result, err
}
