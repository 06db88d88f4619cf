// Package report writes the text of a dated folder: README.md, which says what
// the folder is and how to check and query it, and report.md, which gives the
// verdict of the frozen decision rule and describes what was measured.
//
// It is an export.Output: give Output{} to export.Write and export.Verify. The
// text follows from the frozen batch alone, in fixed order, without clock, zone or
// locale. Foreign text goes through escape.Markdown. No verdict is made here: the
// sentences follow from export.Verdict, one fixed form for each end state.
package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Name of the output in the manifest, and Format, the version of its text. Verify
// compares text of its own format only.
const (
	Name   = "report"
	Format = 2
)

// Output makes README.md and report.md.
type Output struct{}

// Format is the version of the text.
func (Output) Format() (string, int) { return Name, Format }

// Start remembers where to write; the text is made at the end.
func (Output) Start(f *export.Frozen, dir string) (export.Making, error) {
	return &making{f, dir}, nil
}

type making struct {
	f   *export.Frozen
	dir string
}

func (m *making) Add(*export.Evidence) error { return nil }

func (m *making) Abandon() {}

// Finish writes both texts.
func (m *making) Finish(s *export.Summary) ([]export.Content, error) {
	var out []export.Content
	for _, t := range []struct {
		name string
		text string
	}{{"README.md", readme(m.f, s)}, {"report.md", Markdown(m.f, s)}} {
		if m.dir != "" {
			if err := write(filepath.Join(m.dir, t.name), t.text); err != nil {
				return nil, err
			}
		}
		out = append(out, export.Content{Output: Name, Path: t.name, Digest: batch.Sum([]byte(t.text))})
	}
	return out, nil
}

func write(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Read digests the texts in dir.
func (Output) Read(_ context.Context, dir string, want []export.Content) ([]export.Content, []export.Finding) {
	var out []export.Content
	var bad []export.Finding
	for _, w := range want {
		if w.Path != "README.md" && w.Path != "report.md" {
			bad = append(bad, export.Finding{File: w.Path, Reason: "is not a text of this format"})
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, w.Path))
		if err != nil {
			bad = append(bad, export.Finding{File: w.Path, Reason: "can't be read: " + err.Error()})
			continue
		}
		out = append(out, export.Content{Output: Name, Path: w.Path, Digest: batch.Sum(data)})
	}
	return out, bad
}
