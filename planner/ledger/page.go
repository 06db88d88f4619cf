package ledger

import (
	"cmp"
	"context"
	"io"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Origin says where a run comes from, as MLflow shows it. What is "" is unknown.
type Origin struct {
	User   string
	Source string // the command or spec
	Commit string // of the git repository that the spec is in
	Branch string
}

func (o Origin) tags() []mlflow.Tag {
	tags := []mlflow.Tag{{Key: "mlflow.source.name", Value: cmp.Or(o.Source, "benchbatch")}, {Key: "mlflow.source.type", Value: "LOCAL"}}
	for _, t := range []mlflow.Tag{{Key: tagUser, Value: o.User}, {Key: "mlflow.source.git.commit", Value: o.Commit}, {Key: "mlflow.source.git.branch", Value: o.Branch}} {
		if t.Value != "" {
			tags = append(tags, t)
		}
	}
	return tags
}

// edited says whether a run's note is not the one that was written last.
func edited(r mlflow.Run) bool {
	note, ours := r.Tag(tagNote), r.Tag(TagNote)
	if ours == "" {
		return note != ""
	}
	return batch.Sum([]byte(note)).Short() != ours
}

// WriteNote replaces the parent's note, and remembers on the run what it wrote. A
// parent that says Edited is left alone. The manifest is that of the dated folder
// whose report the run shows, its digest's first 16 digits; "" = none yet.
func (l *Ledger) WriteNote(ctx context.Context, p *Parent, note, manifest string) error {
	var tags []mlflow.Tag
	if !p.Edited {
		tags = append(tags, mlflow.Tag{Key: tagNote, Value: note}, mlflow.Tag{Key: TagNote, Value: batch.Sum([]byte(note)).Short()})
	}
	if manifest != "" {
		tags = append(tags, mlflow.Tag{Key: TagManifest, Value: manifest})
	}
	if len(tags) == 0 {
		return nil
	}
	err := l.client.LogBatch(ctx, p.Info.RunID, mlflow.Batch{Tags: tags})
	if err == nil && manifest != "" {
		p.Manifest = manifest
	}
	return err
}

// File is a file on disk that is stored on a run.
type File struct {
	Path string // on the run
	Size int64  // bytes
	Open func() (io.ReadCloser, error)
	// Unconfirmed saves the call that asks whether all of it arrived: for what nobody rests on.
	Unconfirmed bool
}

// AddFiles stores files on a batch's run and confirms their sizes, with one call for
// each folder; the same again changes nothing.
func (l *Ledger) AddFiles(ctx context.Context, p Parent, files []File) error {
	var uploads []upload
	for _, f := range files {
		if !f.Unconfirmed {
			uploads = append(uploads, upload{f.Path, f.Size, f.Open})
		} else if err := l.client.PutArtifact(ctx, p.Info, f.Path, f.Open, f.Size); err != nil {
			return err
		}
	}
	if len(uploads) == 0 {
		return nil
	}
	return l.putAll(ctx, p.Info, uploads)
}

// Experiment is the experiment as it was read when the ledger was opened or created.
func (l *Ledger) Experiment() mlflow.Experiment { return l.experiment }

// Client is the connection to the tracking server.
func (l *Ledger) Client() *mlflow.Client { return l.client }
