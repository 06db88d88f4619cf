package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// refreshed is what export --refresh-feedback prints.
type refreshed struct {
	Batch      string             `json:"batch"`
	Folder     string             `json:"folder"`
	Changed    bool               `json:"changed"` // false: folder is the one that was there
	Feedback   *batch.Feedback    `json:"feedback"`
	Supersedes *export.Superseded `json:"supersedes,omitempty"`
}

// refreshFeedback reads again what people said of a frozen batch, and where it is not what
// the newest folder holds writes another one beside it. MLflow is only read.
func (a *App) refreshFeedback(ctx context.Context, l *ledger.Ledger, p ledger.Parent, f exportFlags) (*refreshed, error) {
	if !p.Frozen() {
		return nil, notFrozen(p)
	}
	b, result, err := documents(ctx, l, p)
	if err != nil {
		return nil, err
	}
	again, err := a.readFeedback(ctx, l, p, result, &b)
	if err != nil {
		return nil, err
	}
	old, err := newestFolder(a.outDir(f), result)
	if err == nil && old == "" {
		var e exported
		if e, err = a.exportBatch(ctx, l, p, f); err == nil {
			old = e.folder
			a.say("%s was not there and is written first: it holds what was frozen", cleanLine(old))
		}
	}
	if err != nil {
		return nil, err
	}
	m, digest, err := intact(ctx, old)
	if err != nil {
		return nil, err
	}
	if m.Batch != p.Info.RunID {
		return nil, usageError{fmt.Errorf("%s holds batch %s, not %s: give another folder with --out", old, m.Batch, p.Info.RunID)}
	}
	if had := m.Feedback; had != nil && had.Unread == "" && had.Digest == again.Digest || had == nil && again.Rows == 0 {
		if i := slices.IndexFunc(f.withhold, func(w string) bool { return !slices.Contains(m.Withheld, w) }); i >= 0 {
			return nil, usageError{fmt.Errorf("nothing changed, and %s holds what --withhold %s leaves out: give another folder with --out", old, f.withhold[i])}
		}
		a.say("nothing changed: %s; no other folder is written", standsAs(m, again))
		return &refreshed{p.Info.RunID, old, false, again, nil}, nil
	}
	r := &refreshed{p.Info.RunID, "", true, again, &export.Superseded{Folder: filepath.Base(old), Manifest: digest}}
	f.withhold = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(f.withhold), m.Withheld...))))
	e, err := a.writeFolder(ctx, l, p, b, f, export.Options{Feedback: again, Supersedes: r.Supersedes})
	if err != nil {
		return nil, err
	}
	r.Folder = e.folder
	a.say("%s of %s by now; the folder supersedes %s, which stays as it is", plural(again.Rows, "assessment"), plural(again.Traces, "traced outcome"), cleanLine(r.Supersedes.Folder))
	return r, nil
}

// standsAs says what the newest folder knows.
func standsAs(m *export.Manifest, now *batch.Feedback) string {
	switch {
	case now.Traces == 0:
		return "no evaluation of the batch has traces, of which something could be said (traces in the spec)"
	case m.Feedback == nil || now.Rows == 0:
		return "nobody has said anything of " + plural(now.Traces, "traced outcome")
	}
	return fmt.Sprintf("%s, as of %s", plural(now.Rows, "assessment"), m.Feedback.AsOf.UTC().Format(time.RFC3339))
}

// readFeedback reads what people say now, without the secrets that this machine knows of the batch's spec.
func (a *App) readFeedback(ctx context.Context, l *ledger.Ledger, p ledger.Parent, result *batch.Result, b *export.Batch) (*batch.Feedback, error) {
	s, err := spec.Parse(b.SpecYAML)
	if err != nil {
		return nil, err
	}
	f, lines, err := executor.FeedbackOn(ctx, l, p, result, s, a.Env)
	switch {
	case errors.Is(err, mlflow.ErrNotOffered):
		return nil, fmt.Errorf("this MLflow has no traces, and so no feedback of people: %w", err)
	case err != nil:
		return nil, fmt.Errorf("what people said can't be read, and no folder is written: %w", err)
	}
	b.FeedbackJSONL = lines
	return f, nil
}

// newestFolder is the folder of a batch in dir whose feedback was read last; "" = there is none.
func newestFolder(dir string, r *batch.Result) (string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); e.IsDir() && (n == r.Name || strings.HasPrefix(n, r.Name+export.RefreshedMark)) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) }) // the time is in the name
	return filepath.Join(dir, names[0]), nil
}

// intact is the manifest of a folder whose bytes match its checksums, with its digest.
func intact(ctx context.Context, folder string) (*export.Manifest, batch.Digest, error) {
	r, err := export.Verify(ctx, folder, export.VerifyOptions{DigestsOnly: true})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	return r.Manifest, batch.Sum(data), err
}
