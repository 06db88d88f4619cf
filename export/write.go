package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Write exports a batch as Options.Out/<name of the result> and returns the
// path. Until everything is there, checked and synced, nothing has that name.
// Where the folder exists with the same content it is left as it is and its path
// returned; with other content the error is an *ExistsError.
//
// Artifacts that do not match what was frozen are an *IntegrityError that lists
// all of them, and no folder is written. Under Options.Provisional they are
// recorded in the manifest, the rows stay, and the folder is written beside an
// *IncompleteError.
func Write(ctx context.Context, b Batch, o Options) (string, error) {
	f, err := newFrozen(b, o)
	if err != nil {
		return "", err
	}
	x := &writing{b: b, o: o, f: f}
	target, err := Publish(ctx, o.Out, f.Name(), func(dir string) error {
		x.dir = dir
		return x.make(ctx)
	})
	if err != nil {
		return target, err
	}
	if len(x.bad) > 0 {
		return target, &IncompleteError{target, x.bad}
	}
	return target, nil
}

// Publish makes a folder in parent ("" = the current one) in one step: until make
// has filled and synced it, nothing has its name. Where the folder exists with the
// same manifest.json, and its files match their checksums, it is left as it is; with
// other content the error is an *ExistsError. The path is "" where nothing has it.
func Publish(ctx context.Context, parent, name string, make func(dir string) error) (string, error) {
	if parent == "" {
		parent = "."
	}
	w, err := newWorkdir(parent)
	if err != nil {
		return "", err
	}
	defer w.discard()
	if err := make(w.path); err != nil {
		return "", err
	}
	target := filepath.Join(parent, name)
	if err := w.publish(target); errors.Is(err, fs.ErrExist) {
		return target, same(ctx, w.path, target)
	} else if err != nil {
		return "", err
	}
	return target, nil
}

// writing is one export in its working folder.
type writing struct {
	b   Batch
	o   Options
	f   *Frozen
	dir string
	bad []Finding
}

func (x *writing) make(ctx context.Context) error {
	if err := x.documents(); err != nil {
		return err
	}
	made, err := startAll(x.f, x.dir, x.o.Outputs)
	if err != nil {
		return err
	}
	defer made.abandon()
	if err := x.evidence(ctx, made); err != nil {
		return err
	}
	if x.f.Withholds(WithholdRaw) {
		if err := os.RemoveAll(filepath.Join(x.dir, "raw")); err != nil {
			return err
		}
	}
	summary, contents, err := made.finish()
	if err != nil {
		return err
	}
	if err := x.seal(ctx, summary, contents); err != nil {
		return err
	}
	if x.o.Summarized != nil {
		x.o.Summarized(x.f, summary)
	}
	return nil
}

// documents writes the frozen documents.
func (x *writing) documents() error {
	docs := []struct {
		name string
		data []byte
	}{{batch.FilePlan, x.b.PlanJSON}, {batch.FileResult, x.b.ResultJSON}, {batch.FileSpec, x.b.SpecYAML}, {panelPath, x.b.PanelJSONL}}
	if x.f.Withholds(WithholdInputs) {
		bare, err := withheldPanel(x.f.Tasks)
		if err != nil {
			return err
		}
		docs[3].name, docs[3].data = barePanel, bare
	}
	if x.f.hasFeedback() {
		docs = append(docs, docs[3])
		docs[4].name, docs[4].data = feedbackPath, x.b.FeedbackJSONL
	}
	for _, d := range docs {
		if err := WriteFile(filepath.Join(x.dir, d.name), d.data); err != nil {
			return err
		}
	}
	return nil
}

// evidence fetches, checks and reads every evaluation, and hands them to the
// outputs in order. After the first bad artifact of a frozen batch it goes on
// fetching, so that all of them are reported, but makes nothing any more.
func (x *writing) evidence(ctx context.Context, made *making) error {
	evals := x.f.Result.Evaluations
	load := func(ctx context.Context, i int) (loaded, error) { return x.load(ctx, evals[i]) }
	err := inOrder(ctx, len(evals), workers(x.o.Workers), load, func(i int, l loaded) error {
		x.bad = append(x.bad, l.bad...)
		if x.o.Progress != nil {
			x.o.Progress(i+1, len(evals))
		}
		if len(x.bad) > 0 && !x.f.Provisional {
			return nil
		}
		return made.add(l.evidence)
	})
	if err != nil {
		return err
	}
	if len(x.bad) > 0 && !x.f.Provisional {
		return &IntegrityError{x.f.Result.Name, x.bad}
	}
	return nil
}

type loaded struct {
	evidence *Evidence
	bad      []Finding
}

func (x *writing) load(ctx context.Context, ev batch.Evaluation) (loaded, error) {
	l := loaded{evidence: &Evidence{Evaluation: ev, Planned: x.f.Cell(ev.Cell)}}
	for _, a := range ev.Artifacts {
		if !slices.Contains(exported, a.Path) {
			continue
		}
		path := rawPath(ev.RunID, a.Path)
		err := fetch(ctx, x.b, ev, a, filepath.Join(x.dir, path))
		var m *mismatch
		switch {
		case ctx.Err() != nil:
			return l, ctx.Err()
		case errors.As(err, &m):
			l.evidence.Missing = append(l.evidence.Missing, Finding{File: path, Run: ev.RunID, Reason: m.reason})
		case err != nil:
			return l, fmt.Errorf("run %s: %s: %w", ev.RunID, a.Path, err)
		case x.f.leavesOut(a.Path) && a.Path == batch.FileBundle:
			if err := os.Remove(filepath.Join(x.dir, path)); err != nil {
				return l, err
			}
		}
	}
	l.bad = append(l.evidence.Missing[:len(l.evidence.Missing):len(l.evidence.Missing)], l.evidence.read(x.f, x.dir)...)
	return l, nil
}

// seal writes manifest and checksums over everything that is in the folder.
func (x *writing) seal(ctx context.Context, s *Summary, contents []Content) error {
	m := newManifest(x.f, s, x.o.Outputs)
	m.Contents = contents
	names, bad, err := listFiles(x.dir)
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("%s", bad[0])
	}
	if m.Files, err = x.entries(ctx, names); err != nil {
		return err
	}
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(x.dir, fileManifest), data); err != nil {
		return err
	}
	all := append(slices.Clone(m.Files), FileEntry{Path: fileManifest, Digest: batch.Sum(data)})
	slices.SortFunc(all, func(a, b FileEntry) int { return strings.Compare(a.Path, b.Path) })
	return WriteFile(filepath.Join(x.dir, fileSums), encodeSums(all))
}

// entries are the digests of the files. Those of the evidence were compared with
// the frozen ones when it was fetched; the others are read.
func (x *writing) entries(ctx context.Context, names []string) ([]FileEntry, error) {
	known := map[string]batch.Artifact{}
	for _, e := range x.f.Result.Evaluations {
		for _, a := range e.Artifacts {
			known[rawPath(e.RunID, a.Path)] = a
		}
	}
	made := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := known[n]; return ok })
	hashed, bad, err := hashFiles(ctx, x.dir, made, x.o.Workers)
	if err != nil {
		return nil, err
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s", bad[0])
	}
	for _, n := range names {
		if a, ok := known[n]; ok {
			hashed = append(hashed, FileEntry{Path: n, Digest: a.Digest, Size: a.Size})
		}
	}
	slices.SortFunc(hashed, func(a, b FileEntry) int { return strings.Compare(a.Path, b.Path) })
	return hashed, nil
}

// same says whether the folder at target is what was just made in dir.
func same(ctx context.Context, dir, target string) error {
	made, err := os.ReadFile(filepath.Join(dir, fileManifest))
	if errors.Is(err, fs.ErrNotExist) {
		return &ExistsError{Path: target, Reason: "may hold something else"}
	}
	if err != nil {
		return err
	}
	there, err := os.ReadFile(filepath.Join(target, fileManifest))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ExistsError{Path: target, Reason: "has no manifest.json"}
	case err != nil:
		return err
	case string(made) != string(there):
		return &ExistsError{Path: target, Reason: "holds another export (its manifest.json differs)", Tool: otherTool(dir, target)}
	}
	r, err := CheckBytes(ctx, target, 0)
	if err != nil {
		return err
	}
	return r.Err()
}

// otherTool is the version of benchbatch that wrote the same batch at target, where
// it is not the one that wrote dir; "" = the folders differ by more.
func otherTool(dir, target string) string {
	made, err := ReadManifest(dir)
	there, err2 := ReadManifest(target)
	if err != nil || err2 != nil || made.Tool == there.Tool || made.Provisional || there.Provisional || !slices.Equal(made.Withheld, there.Withheld) {
		return ""
	}
	for _, name := range []string{batch.FileResult, batch.FilePlan, batch.FileSpec} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		b, err2 := os.ReadFile(filepath.Join(target, name))
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			return ""
		}
	}
	return there.Tool
}

func workers(n int) int {
	if n <= 0 {
		return 4
	}
	return n
}
