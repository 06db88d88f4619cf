package evaluation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// FileMeasured marks a folder that holds a whole, synced evaluation.
const FileMeasured = "measured.json"

// stagingName is the folder in which evidence is gathered until it is bundled.
const stagingName = "bundle.part"

// save writes the artifacts and, last, the marker; then the journal and the
// staged evidence have served.
func (m *measurement) save(out *Measured) error {
	t, err := newTable(m.req.Spec, out.Outcomes).bytes()
	if err != nil {
		return err
	}
	out.Artifacts = nil
	for _, w := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{batch.FileOutcomes, func(w io.Writer) error { return appendAll(w, out.Outcomes) }},
		{batch.FileAttempts, func(w io.Writer) error { return appendAll(w, out.Attempts) }},
		{batch.FileTable, func(w io.Writer) error { _, err := w.Write(t); return err }},
		{batch.FileBundle, func(w io.Writer) error { return writeBundle(w, m.keep.dir) }},
	} {
		a, err := m.artifact(w.name, w.write)
		if err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Join(m.req.Dir, w.name), err)
		}
		out.Artifacts = append(out.Artifacts, a)
	}
	slices.SortFunc(out.Artifacts, func(a, b batch.Artifact) int { return strings.Compare(a.Path, b.Path) })
	if err := SyncDir(m.req.Dir); err != nil {
		return err
	}
	mark, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	if err := writeAtomic(filepath.Join(m.req.Dir, FileMeasured), mark); err != nil {
		return err
	}
	_ = os.RemoveAll(m.keep.dir) // the marker stands: what is left disturbs nothing
	_ = os.Remove(filepath.Join(m.req.Dir, FileJournal))
	return nil
}

func appendAll[T any](w io.Writer, rows []T) error {
	for _, row := range rows {
		if err := outcome.Append(w, row); err != nil {
			return err
		}
	}
	return nil
}

// artifact writes and syncs one file and hashes it on the way.
func (m *measurement) artifact(name string, write func(io.Writer) error) (batch.Artifact, error) {
	f, err := os.Create(filepath.Join(m.req.Dir, name))
	if err != nil {
		return batch.Artifact{}, err
	}
	h := sha256.New()
	w := &counter{w: io.MultiWriter(f, h)}
	err = write(w)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // half a file is in the way of a full disk
	}
	d := batch.Digest(hex.EncodeToString(h.Sum(nil)))
	return batch.Artifact{Path: name, Digest: d, Size: w.n}, err
}

func writeAtomic(path string, b []byte) error {
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir has the names in a folder be on disk; of a file, its bytes.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems can't sync a folder
		return err
	}
	return nil
}

// Load reads back a finished evaluation and checks every artifact against its
// digest. An error that is os.ErrNotExist means that the folder holds none.
func Load(dir string) (Measured, error) {
	var m Measured
	b, err := os.ReadFile(filepath.Join(dir, FileMeasured))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, FileMeasured), err)
	}
	for _, a := range m.Artifacts {
		got, err := batch.FileDigest(os.DirFS(dir), a.Path)
		if errors.Is(err, fs.ErrNotExist) { // the folder holds an evaluation all the same
			return m, fmt.Errorf("%s is gone, which %s names", filepath.Join(dir, a.Path), FileMeasured)
		}
		if err != nil {
			return m, err
		}
		if got.Digest != a.Digest {
			return m, fmt.Errorf("%s: digest %s, but %s says %s", filepath.Join(dir, a.Path), got.Digest.Short(), FileMeasured, a.Digest.Short())
		}
	}
	if m.Outcomes, err = load(dir, batch.FileOutcomes, outcome.ParseLine); err != nil {
		return m, err
	}
	m.Attempts, err = load(dir, batch.FileAttempts, outcome.ParseAttempt)
	return m, err
}

func load[T any](dir, name string, parse func([]byte) (T, error)) ([]T, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	var rows []T
	err = outcome.Lines(bytes.NewReader(b), func(n int, line []byte) error {
		row, err := parse(line)
		if err != nil {
			return &outcome.LineError{Line: n, Reason: err}
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return rows, nil
}
