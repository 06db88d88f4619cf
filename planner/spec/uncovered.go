package spec

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Uncovered lists what stands beside a loaded spec and belongs to no part: a
// change of it is seen by nobody, and programs that are run do not find it. A
// folder none of whose files is covered is listed as one entry that ends in /.
// Left out are the spec, its panel and prices, what runs write there, and names
// that begin with a dot. At most most entries are returned; total counts all.
func Uncovered(s *Spec, most int) (list []string, total int, err error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	k := &checker{c: newCollector(s.Path), s: s, root: root, env: lookup(nil)}
	covered := map[string]bool{path.Base(s.Path): true, path.Clean(s.Panel): true}
	if s.Prices != "" {
		covered[path.Clean(s.Prices)] = true
	}
	for _, e := range k.gather() {
		for _, f := range e.files {
			covered[f] = true
		}
	}
	for _, f := range slices.Collect(maps.Keys(covered)) {
		for at := path.Dir(f); at != "."; at = path.Dir(at) {
			covered[at] = true
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("looking for files that no part covers: %w", err)
		case p == "." || covered[p]:
			return nil
		}
		if !ownOutput(e.Name()) && !(e.IsDir() && isExport(root, p)) {
			if e.IsDir() {
				p += "/"
			}
			if total++; len(list) < most {
				list = append(list, p)
			}
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return list, total, err
}

// ownOutput says whether a name is one that no warning should mention.
func ownOutput(base string) bool {
	return strings.HasPrefix(base, ".") || batch.IgnoredName(base) || outputNames[base] || strings.HasPrefix(base, "mlflow.db")
}

// isExport says whether a folder is a dated export.
func isExport(root *os.Root, dir string) bool {
	for _, name := range []string{"manifest.json", "SHA256SUMS"} {
		if _, err := root.Lstat(path.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
