package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/benchbatch/benchbatch/planner/batch"
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}

// mismatch says in what an artifact differs from what was frozen.
type mismatch struct{ reason string }

func (m *mismatch) Error() string { return m.reason }

// fetchTries is how often an artifact is fetched whose bytes break off on the way.
const fetchTries = 3

// fetch writes one artifact to path, synced, and compares size and digest with
// what was frozen. Nothing is left at path on an error.
func fetch(ctx context.Context, b Batch, ev batch.Evaluation, a batch.Artifact, path string) error {
	for try := 1; ; try++ {
		err := fetchOnce(ctx, b, ev, a, path)
		var broken *Unavailable
		if !errors.As(err, &broken) || !broken.broke || try == fetchTries || ctx.Err() != nil {
			return err
		}
	}
}

func fetchOnce(ctx context.Context, b Batch, ev batch.Evaluation, a batch.Artifact, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	r, err := b.Fetch(ctx, ev, a)
	var away *Unavailable
	if errors.As(err, &away) {
		return err
	}
	if err != nil {
		return &mismatch{"can't be fetched: " + err.Error()}
	}
	defer r.Close()
	w, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	err = copyChecked(w, r, a)
	if err = errors.Join(err, w.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// copyChecked copies r to w and syncs it. It reads at most one byte more than expected.
func copyChecked(w *os.File, r io.Reader, a batch.Artifact) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	src := &source{r: io.LimitReader(r, a.Size+1)}
	n, err := io.CopyBuffer(io.MultiWriter(h, onlyWriter{w}), src, *buf)
	if src.err != nil {
		return &Unavailable{fmt.Errorf("broke off after %d of %d bytes: %w", n, a.Size, src.err), true}
	}
	if err != nil {
		return err
	}
	if got := batch.Digest(hex.EncodeToString(h.Sum(nil))); n != a.Size || got != a.Digest {
		return &mismatch{describe(n, got, a)}
	}
	return w.Sync()
}

func describe(n int64, got batch.Digest, a batch.Artifact) string {
	switch {
	case n > a.Size:
		return fmt.Sprintf("longer than the %d bytes that were frozen", a.Size)
	case n < a.Size:
		return fmt.Sprintf("%d bytes, %d were frozen", n, a.Size)
	}
	return fmt.Sprintf("SHA-256 is %s, %s was frozen", got, a.Digest)
}

// source tells an error of reading from one of writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

type onlyWriter struct{ io.Writer }

// WriteFile writes a small new file below folders that it makes, synced.
func WriteFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
