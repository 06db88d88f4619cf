package evaluation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

// Bounds on what is taken over from a foreign output folder.
const (
	maxDepth = 32   // folders below one another
	maxPath  = 1024 // bytes of a path
)

// keeper collects what processes left, redacted and within bounds, in a folder
// that becomes the bundle.
type keeper struct {
	dir     string
	red     *Redactor
	bytes   int64 // still to be kept
	files   int   // still to be kept
	log     int64 // bytes of one log
	skipped []string
	fresh   []string // files that may not be on disk yet
}

func newKeeper(dir string, red *Redactor, r *Request) (*keeper, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &keeper{dir: dir, red: red, bytes: r.MaxBundle, files: r.MaxFiles, log: r.MaxOutput}
	return k, nil
}

// path is where a slash path of the bundle lies now.
func (k *keeper) path(at string) string { return filepath.Join(k.dir, filepath.FromSlash(at)) }

func (k *keeper) skip(at, why string) {
	k.skipped = append(k.skipped, fmt.Sprintf("%s left out: %s", safeName(k.red.Text(at)), why))
}

// folder keeps the files of src below at. The result says where each file of
// src, by slash path, went: relative to at.
func (k *keeper) folder(src, at string) (map[string]string, error) {
	root, err := os.OpenRoot(src)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := os.MkdirAll(k.path(at), 0o700); err != nil {
		return nil, err
	}
	w := &walker{k: k, root: root, at: at, kept: map[string]string{}}
	return w.kept, w.dir(".", 0)
}

type walker struct {
	k    *keeper
	root *os.Root
	at   string
	kept map[string]string
}

// dir keeps one folder: its files in the order of their names, then its folders,
// so that bounds cut the depths first.
func (w *walker) dir(dir string, depth int) error {
	entries, err := w.entries(dir)
	if err != nil {
		w.k.skip(path.Join(w.at, dir), err.Error())
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := w.file(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name := path.Join(dir, e.Name())
		if depth+1 > maxDepth || len(name) > maxPath {
			w.k.skip(path.Join(w.at, cutText(name, 200)), "too deep")
			continue
		}
		if err := w.dir(name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entries(dir string) ([]fs.DirEntry, error) {
	info, err := w.root.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if info.Mode()&0o500 != 0o500 {
		_ = w.root.Chmod(dir, 0o700)
	}
	return fs.ReadDir(w.root.FS(), dir)
}

func (w *walker) file(name string) error {
	at := path.Join(w.at, name)
	if len(name) > maxPath {
		w.k.skip(cutText(at, 200), "its path is too long")
		return nil
	}
	f, err := openIn(w.root, name)
	if err != nil {
		w.k.skip(at, err.Error())
		return nil
	}
	defer f.Close()
	rel := safeName(w.k.red.Text(name))
	if rel != name {
		w.k.skipped = append(w.k.skipped, fmt.Sprintf("%s: its name was made safe", path.Join(w.at, rel)))
	}
	ok, err := w.k.add(path.Join(w.at, rel), f, w.k.bytes)
	if ok {
		w.kept[name] = rel
	}
	return err
}

// logFile keeps one log, cut to its limit.
func (k *keeper) logFile(src, at string) error {
	f, err := os.Open(src)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = k.add(at, f, min(k.log, k.bytes))
	return err
}

// text keeps a text of our own.
func (k *keeper) text(at string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(k.path(at)), 0o700); err != nil {
		return err
	}
	k.fresh = append(k.fresh, k.path(at))
	return os.WriteFile(k.path(at), []byte(k.red.Text(string(b))), 0o600)
}

// flushAtOnce is how many files are synced at once: file systems write them together.
const flushAtOnce = 16

// flush has all that was kept so far be on disk, with the folders that name it.
func (k *keeper) flush() error {
	var g errgroup.Group
	g.SetLimit(flushAtOnce)
	folders := map[string]bool{}
	for _, name := range k.fresh {
		g.Go(func() error { return onDisk(name) })
		for dir := filepath.Dir(name); !folders[dir] && len(dir) >= len(filepath.Dir(k.dir)); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	err := g.Wait()
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		err = errors.Join(err, onDisk(dir))
	}
	if err == nil {
		k.fresh = nil
	}
	return err
}

// onDisk is SyncDir. Tests look on.
var onDisk = SyncDir

// add writes at most limit bytes of a file. What is beyond is cut, with as much
// again as a secret can be long, so that no part of one is left at the end. A
// file of exactly limit bytes may have been cut by the launcher.
func (k *keeper) add(at string, src *os.File, limit int64) (bool, error) {
	if k.files <= 0 {
		k.skip(at, "the bundle holds its largest number of files")
		return false, nil
	}
	info, err := src.Stat()
	if err != nil {
		return false, err
	}
	cut := info.Size() >= limit && info.Size() > 0
	if cut {
		limit = max(0, limit-int64(k.red.max))
		k.skipped = append(k.skipped, fmt.Sprintf("%s was cut from %d to %d bytes", safeName(at), info.Size(), limit))
	}
	target := k.path(at)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return false, err
	}
	dst, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		k.skip(at, "another file has this name")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	k.fresh = append(k.fresh, target)
	n, err := k.red.Copy(dst, io.LimitReader(src, limit))
	k.bytes -= n
	k.files--
	return err == nil, errors.Join(err, dst.Close())
}

// safeName escapes what a terminal, a page or another system could take for
// something else: control and format characters, backslashes, invalid UTF-8.
func safeName(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && n == 1, r == '\\', unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			for _, c := range []byte(name[:n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		default:
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}
