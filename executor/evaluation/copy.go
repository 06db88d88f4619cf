package evaluation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Copier copies hashed files of a spec's folder into working folders.
type Copier struct {
	src    *os.Root
	expect map[string]batch.Digest // nil = not checked
}

// NewCopier opens the spec's folder. Files are the digests that copies must
// have, by slash path relative to it; nil = not checked.
func NewCopier(dir string, files map[string]batch.Digest) (*Copier, error) {
	src, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Copier{src, files}, nil
}

// Close releases the folder.
func (c *Copier) Close() error { return c.src.Close() }

// CommandFiles are the files and folders that the words of a command name.
func (c *Copier) CommandFiles(command []string) []string { return spec.CommandFiles(c.src, command) }

// Copy copies files and folders, which keep their paths, into the folder to.
func (c *Copier) Copy(to string, names ...string) error {
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	done := map[string]bool{}
	for _, name := range names {
		name = path.Clean(filepath.ToSlash(name))
		if err := c.copy(dst, name, name, done); err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
	}
	return nil
}

// Place copies the content of folder name into the folder at (a slash path) of to.
func (c *Copier) Place(to, name, at string) error {
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	name, at = path.Clean(filepath.ToSlash(name)), path.Clean(filepath.ToSlash(at))
	if err := dst.MkdirAll(filepath.FromSlash(at), 0o700); err != nil {
		return fmt.Errorf("placing %s at %s: %w", name, at, err)
	}
	if err := c.copy(dst, name, at, map[string]bool{}); err != nil {
		return fmt.Errorf("placing %s at %s: %w", name, at, err)
	}
	return nil
}

func (c *Copier) copy(dst *os.Root, from, to string, done map[string]bool) error {
	if err := c.noLink(from); err != nil {
		return err
	}
	seen := map[string]bool{}
	err := fs.WalkDir(c.src.FS(), from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p != from && batch.IgnoredName(e.Name()) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			return nil
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", p)
		}
		seen[p] = true
		target := to
		if p != from {
			target = path.Join(to, strings.TrimPrefix(p, prefixOf(from)))
		}
		if done[target] {
			return nil
		}
		done[target] = true
		return c.copyFile(dst, p, target)
	})
	if err != nil {
		return err
	}
	return c.complete(from, seen)
}

func prefixOf(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}

// noLink refuses a path any part of which is a symbolic link.
func (c *Copier) noLink(name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("it is not below the spec's folder")
	}
	for at := name; at != "."; at = path.Dir(at) {
		info, err := c.src.Lstat(at)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link; copy what it points to into place", at)
		}
	}
	return nil
}

func (c *Copier) copyFile(dst *os.Root, from, to string) error {
	in, err := c.src.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := dst.MkdirAll(path.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := dst.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return c.verify(from, batch.Digest(hex.EncodeToString(h.Sum(nil))))
}

func (c *Copier) verify(name string, d batch.Digest) error {
	if c.expect == nil {
		return nil
	}
	want, ok := c.expect[name]
	if !ok {
		return fmt.Errorf("%s was not there when the files were hashed; plan again", name)
	}
	if want != d {
		return fmt.Errorf("%s changed after it was hashed (%s, now %s); plan again", name, want.Short(), d.Short())
	}
	return nil
}

// complete refuses a folder from which a hashed file has gone.
func (c *Copier) complete(from string, seen map[string]bool) error {
	if from == "." {
		return nil
	}
	for name := range c.expect {
		if !seen[name] && strings.HasPrefix(name, from+"/") {
			return fmt.Errorf("%s is gone since it was hashed; plan again", name)
		}
	}
	return nil
}
