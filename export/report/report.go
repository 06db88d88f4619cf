// Package report writes the text of a dated folder: README.md, which says what
// the folder is and how to check and query it, and the decision report, once as
// report.md with its charts as files below charts/, once as report.html, a single
// file that holds everything.
//
// It is an export.Output: give Output{} to export.Write and export.Verify. The
// text follows from the frozen batch alone, in fixed order, without clock, zone or
// locale; export/document writes both forms of it and escapes foreign text. No
// verdict is made here: the sentences follow from export.Verdict, one fixed form
// for each end state. Errors are those of files.
package report

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Name of the output in the manifest, and Format, the version of its text. Verify
// compares text of its own format only.
const (
	Name   = "report"
	Format = 4
)

// Output makes README.md, report.md, report.html and charts/*.svg.
type Output struct{}

// Format is the version of the text.
func (Output) Format() (string, int) { return Name, Format }

// Start remembers where to write; the text is made at the end.
func (Output) Start(f *export.Frozen, dir string) (export.Making, error) {
	return &making{f: f, dir: dir, seen: newSeen(f)}, nil
}

type making struct {
	f    *export.Frozen
	dir  string
	seen *seen
	out  []export.Content
}

// Add remembers where to look for what stands out.
func (m *making) Add(e *export.Evidence) error {
	m.seen.add(e)
	return nil
}

func (m *making) Abandon() {}

// Finish writes all texts.
func (m *making) Finish(s *export.Summary) ([]export.Content, error) {
	page := newDocument(m.f, s, m.seen)
	if err := m.file("README.md", document.Markdown(readme(m.f, s))); err != nil {
		return nil, err
	}
	if err := m.file("report.md", document.Markdown(page)); err != nil {
		return nil, err
	}
	if err := m.file("report.html", document.HTML(page)); err != nil {
		return nil, err
	}
	for _, f := range document.Figures(page) {
		if err := m.file(f.Path(), f.SVG); err != nil {
			return nil, err
		}
	}
	return m.out, nil
}

func (m *making) file(name, text string) error {
	if m.dir != "" {
		if err := export.WriteFile(filepath.Join(m.dir, filepath.FromSlash(name)), []byte(text)); err != nil {
			return err
		}
	}
	m.out = append(m.out, export.Content{Output: Name, Path: name, Digest: batch.Sum([]byte(text))})
	return nil
}

// ours are the names of the files that this format has.
var ours = regexp.MustCompile(`^(README\.md|report\.md|report\.html|charts/[a-z0-9-]+\.svg)$`)

// Read digests the texts in dir.
func (Output) Read(_ context.Context, dir string, want []export.Content) ([]export.Content, []export.Finding) {
	var out []export.Content
	var bad []export.Finding
	for _, w := range want {
		if !ours.MatchString(w.Path) {
			bad = append(bad, export.Finding{File: w.Path, Reason: "is not a text of this format"})
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(w.Path)))
		if err != nil {
			bad = append(bad, export.Finding{File: w.Path, Reason: "can't be read: " + err.Error()})
			continue
		}
		out = append(out, export.Content{Output: Name, Path: w.Path, Digest: batch.Sum(data)})
	}
	return out, bad
}
