package evaluation

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// writeBundle packs a folder so that equal content gives equal bytes: names
// sorted bytewise, one mode, no owners, the Unix epoch as every time, and one
// setting of the compressor.
func writeBundle(w io.Writer, dir string) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	if err := tarFolder(t, dir); err != nil {
		_ = z.Close() // its memory; what it writes is discarded
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// WalkBundle reads a saved evaluation's bundle: f is called for every file, in the order
// of their names, with its slash path and its bytes.
func WalkBundle(dir string, f func(name string, r io.Reader) error) error {
	file, err := os.Open(filepath.Join(dir, batch.FileBundle))
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(h.Name, t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
}

func tarFolder(t *tar.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var names []string
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := tarFile(t, root, name); err != nil {
			return err
		}
	}
	return nil
}

func tarFile(t *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
