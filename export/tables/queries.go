package tables

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

//go:embed queries/*.sql
var queries embed.FS

// QueriesName is the name of the output in the manifest, and QueriesFormat the
// version of its texts.
const (
	QueriesName   = "queries"
	QueriesFormat = 4
)

// Queries makes the ready questions. They are text of the tool and not of the
// batch, with a format of their own: a better question is no new table schema.
type Queries struct{}

// Format is the version of the texts.
func (Queries) Format() (string, int) { return QueriesName, QueriesFormat }

// Start writes the texts below dir at the end, or none where dir is "".
func (Queries) Start(_ *export.Frozen, dir string) (export.Making, error) { return questions{dir}, nil }

type questions struct{ dir string }

func (questions) Add(*export.Evidence) error { return nil }

func (questions) Abandon() {}

// Finish writes the questions.
func (q questions) Finish(*export.Summary) ([]export.Content, error) {
	names, err := queryFiles()
	if err != nil {
		return nil, err
	}
	var out []export.Content
	for _, n := range names {
		data, err := queries.ReadFile(n)
		if err != nil {
			return nil, err
		}
		if q.dir != "" {
			if err := export.WriteFile(filepath.Join(q.dir, filepath.FromSlash(n)), data); err != nil {
				return nil, err
			}
		}
		out = append(out, export.Content{Output: QueriesName, Path: n, Digest: batch.Sum(data)})
	}
	return out, nil
}

// Read digests the questions in dir.
func (Queries) Read(_ context.Context, dir string, want []export.Content) ([]export.Content, []export.Finding) {
	names, err := queryFiles()
	if err != nil {
		return nil, []export.Finding{{File: "queries", Reason: err.Error()}}
	}
	var out []export.Content
	var bad []export.Finding
	for _, w := range want {
		if !slices.Contains(names, w.Path) {
			bad = append(bad, export.Finding{File: w.Path, Reason: "is not a question of this format"})
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(w.Path)))
		if err != nil {
			bad = append(bad, export.Finding{File: w.Path, Reason: "can't be read: " + err.Error()})
			continue
		}
		out = append(out, export.Content{Output: QueriesName, Path: w.Path, Digest: batch.Sum(data)})
	}
	return out, bad
}

// queryFiles are the ready questions by path in the folder, sorted.
func queryFiles() ([]string, error) {
	names, err := fs.Glob(queries, "queries/*.sql")
	slices.Sort(names)
	return names, err
}
