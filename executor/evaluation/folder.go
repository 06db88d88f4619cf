package evaluation

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Tree is the private folder of one process. Its parts are siblings, so that a
// process that looks around its working folder sees nothing but its own files.
type Tree struct {
	Root string // its name can't be guessed, and the folder that holds it can't be listed
}

// unlisted is the mode of the folder around a tree: whoever knows a name in it
// gets there, but nobody is told a name.
const unlisted = 0o300

// NewTree makes a private folder below workRoot or (if that is "" or lies inside a
// git repository) below another temporary folder. It lies in a folder of its own
// that can't be listed, not even by another process of the same user that walks
// through temporary folders: a runner does not come across the expected answers
// in the job of a sibling evaluation's judge. The name of that folder, and so
// BENCHBATCH_JOB, tells the evaluation: what a killed launcher left is found by it.
func NewTree(workRoot, uuid string) (Tree, error) {
	base, err := workBase(workRoot)
	if err != nil {
		return Tree{}, err
	}
	outer, err := os.MkdirTemp(base, treePrefix(uuid))
	if err != nil {
		return Tree{}, err
	}
	t := Tree{filepath.Join(outer, rand.Text())}
	err = os.Chmod(outer, unlisted)
	for _, d := range []string{t.Root, t.Work(), t.Out(), t.Home(), t.Tmp()} {
		if err == nil {
			err = os.Mkdir(d, 0o700)
		}
	}
	if err != nil {
		return t, errors.Join(err, t.Remove())
	}
	return t, nil
}

// Work is the working folder.
func (t Tree) Work() string { return filepath.Join(t.Root, "work") }

// Out is where the process writes its results.
func (t Tree) Out() string { return filepath.Join(t.Root, "out") }

// Home is the empty home.
func (t Tree) Home() string { return filepath.Join(t.Root, "home") }

// Tmp is for temporary files.
func (t Tree) Tmp() string { return filepath.Join(t.Root, "tmp") }

// Job is the job file.
func (t Tree) Job() string { return filepath.Join(t.Root, "job.json") }

// File is another file or folder of the tree.
func (t Tree) File(name string) string { return filepath.Join(t.Root, name) }

// Remove deletes the tree, its job first.
func (t Tree) Remove() error {
	_ = os.Remove(t.Job())
	return removeAll(filepath.Dir(t.Root))
}

// removeAll deletes a folder, folders without permissions included.
func removeAll(dir string) error {
	_ = os.Chmod(dir, 0o700)
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func treePrefix(uuid string) string { return "benchbatch-" + uuid + "-" }

// RemoveLeft removes the private folders that an evaluation left because its
// launcher was killed. WorkRoot is that of its request. Its processes must have
// ended (process.EndLeft).
func RemoveLeft(workRoot, uuid string) error {
	return removeLeft(workRoot, uuid, func(string) bool { return true })
}

// RemoveUnfinished is RemoveLeft for those who do not have the evaluation's own folder: a
// private folder in which a task was finished stays for the next run of who has it.
func RemoveUnfinished(workRoot, uuid string) error {
	return removeLeft(workRoot, uuid, func(outer string) bool {
		trees, err := treesIn(outer)
		return err == nil && !slices.ContainsFunc(trees, func(t Tree) bool {
			info, err := os.Stat(filepath.Join(t.Out(), batch.FileOutcomes))
			return err == nil && info.Size() > 0
		})
	})
}

// treesIn lists what is in a folder that can't be listed, and leaves it so.
func treesIn(outer string) ([]Tree, error) {
	if err := os.Chmod(outer, 0o700); err != nil {
		return nil, err
	}
	inner, err := os.ReadDir(outer)
	var out []Tree
	for _, i := range inner {
		out = append(out, Tree{filepath.Join(outer, i.Name())})
	}
	return out, errors.Join(err, os.Chmod(outer, unlisted))
}

func removeLeft(workRoot, uuid string, idle func(outer string) bool) error {
	if uuid == "" {
		return errors.New("evaluation: no UUID")
	}
	base, err := workBase(workRoot)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), treePrefix(uuid)) && idle(filepath.Join(base, e.Name())) {
			all = errors.Join(all, removeAll(filepath.Join(base, e.Name())))
		}
	}
	return all
}

// workBase chooses a folder that is not inside a repository.
func workBase(workRoot string) (string, error) {
	var tried []string
	for _, dir := range []string{workRoot, os.TempDir(), "/tmp", "/var/tmp"} {
		if dir == "" {
			continue
		}
		real, why := usableBase(dir)
		if why == "" {
			return real, nil
		}
		tried = append(tried, why)
	}
	return "", fmt.Errorf("no folder for private working folders: %s; set TMPDIR to a writable folder outside any repository", strings.Join(tried, "; "))
}

func usableBase(dir string) (real, why string) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err.Error()
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", err.Error()
	}
	if repo := repository(real); repo != "" {
		return "", fmt.Sprintf("%s is inside the repository %s", dir, repo)
	}
	probe, err := os.MkdirTemp(real, "benchbatch-")
	if err != nil {
		return "", err.Error()
	}
	if err := os.Remove(probe); err != nil {
		return "", err.Error()
	}
	return real, ""
}

// repository is the folder with a .git above dir, or "".
func repository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
