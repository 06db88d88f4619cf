package export

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const workPrefix = ".tmp-benchbatch-"

// workdir is a folder beside the target in which everything is made first. It
// is locked while its maker lives, so that others know it from a left-over.
type workdir struct {
	path string
	lock *os.File
}

// newWorkdir makes a locked folder in parent, after cleaning left-overs of
// exports that died.
func newWorkdir(parent string) (*workdir, error) {
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, fmt.Errorf("folder for exports: %w", err)
	}
	clean(parent)
	for range 10 {
		var id [8]byte
		rand.Read(id[:])
		w := &workdir{path: filepath.Join(parent, workPrefix+hex.EncodeToString(id[:]))}
		if err := os.Mkdir(w.path, 0o777); err != nil {
			return nil, fmt.Errorf("can't write in the folder for exports: %w", err)
		}
		ok, err := w.acquire()
		if err != nil {
			os.RemoveAll(w.path)
			return nil, err
		}
		if ok {
			return w, nil
		}
	}
	return nil, fmt.Errorf("%s: another process removes working folders as fast as they are made", parent)
}

// acquire locks the folder. It is false where a cleaner took the folder for a
// left-over between its making and its locking.
func (w *workdir) acquire() (bool, error) {
	f, err := os.Open(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // opened to be locked: nothing was written
		if errors.Is(err, unix.EWOULDBLOCK) {
			return false, nil
		}
		return false, fmt.Errorf("lock %s: %w", w.path, err)
	}
	held, err1 := f.Stat()
	now, err2 := os.Stat(w.path)
	if err1 != nil || err2 != nil || !os.SameFile(held, now) {
		_ = f.Close()
		return false, nil
	}
	w.lock = f
	return true, nil
}

// discard removes the folder if it was not published, and frees the lock.
func (w *workdir) discard() {
	if w.path != "" {
		os.RemoveAll(w.path)
	}
	_ = w.lock.Close() // frees the lock, whatever it says
}

// clean removes working folders whose maker is gone. A folder that can't be
// removed is left: it disturbs nothing.
func clean(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), workPrefix) {
			continue
		}
		w := &workdir{path: filepath.Join(parent, e.Name())}
		if ok, err := w.acquire(); ok && err == nil {
			w.discard()
		}
	}
}

// publish gives the folder its final name, if nothing has that name yet. All
// files must be synced; the folders are synced here.
func (w *workdir) publish(target string) error {
	if err := syncDirs(w.path); err != nil {
		return err
	}
	if err := renameNew(w.path, target); err != nil {
		return err
	}
	w.path = ""
	return syncDir(filepath.Dir(target))
}

func syncDirs(root string) error {
	return filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncDir(p)
	})
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems can't sync a folder
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// renameIfFree renames where the system has no call that refuses an existing
// name: rename itself never replaces a folder that holds something.
func renameIfFree(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("rename %s: %w", to, fs.ErrExist)
	}
	return os.Rename(from, to)
}
