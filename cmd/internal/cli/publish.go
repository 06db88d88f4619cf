package cli

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/note"
)

// reportFiles are the files of a dated folder that stand on the batch's run. The
// picture is shown by the note; report.html holds all charts.
var reportFiles = []string{"report.html", "manifest.json", pictureFile}

const pictureFile = "charts/cost.svg"

// publish puts the report on the run of a frozen batch, and writes its note. What
// was frozen is not touched: a failure is said, and the next run makes up for it.
func (a *App) publish(ctx context.Context, l *ledger.Ledger, p ledger.Parent, e exported, ceiling *float64, whole bool) {
	if err := a.tryPublish(ctx, l, p, e, ceiling, whole); err != nil {
		a.say("the report could not be logged in MLflow: %s\n  `benchbatch run` of the same spec tries again; the folder is whole", cleanLine(err.Error()))
	}
}

func (a *App) tryPublish(ctx context.Context, l *ledger.Ledger, p ledger.Parent, e exported, ceiling *float64, whole bool) error {
	manifest, err := os.ReadFile(filepath.Join(e.folder, "manifest.json"))
	if err != nil {
		return err
	}
	digest := batch.Sum(manifest).Short()
	if p.Manifest == digest && !whole {
		return nil
	}
	files, err := reportOf(e.folder)
	if err != nil {
		return err
	}
	if whole {
		all, err := folderFiles(e.folder, filepath.Base(e.folder))
		if err != nil {
			return err
		}
		files = append(files, all...)
	}
	if err := l.AddFiles(ctx, p, files); err != nil {
		return err
	}
	if p, err = l.Refresh(ctx, p); err != nil {
		return err
	}
	b, err := frozenNote(p, e, whole)
	if err != nil {
		return err
	}
	b.Spent.Ceiling = ceiling
	if p.Edited {
		a.noteEdited()
	}
	return l.WriteNote(ctx, &p, note.Text(b), digest)
}

// reportOf lists the files of a folder that stand on the run; a batch without costs has no picture.
func reportOf(folder string) ([]ledger.File, error) {
	var out []ledger.File
	for _, name := range reportFiles {
		f, err := fileOf(filepath.Join(folder, filepath.FromSlash(name)), name)
		if os.IsNotExist(err) && name == pictureFile {
			continue
		}
		if err != nil {
			return nil, err
		}
		f.Unconfirmed = true
		out = append(out, f)
	}
	return out, nil
}

// folderFiles lists all files of a folder, to be stored below a name.
func folderFiles(folder, name string) ([]ledger.File, error) {
	var out []ledger.File
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		f, err := fileOf(path, name+"/"+filepath.ToSlash(rel))
		out = append(out, f)
		return err
	})
	return out, err
}

func fileOf(path, name string) (ledger.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ledger.File{}, err
	}
	return ledger.File{Path: name, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}
