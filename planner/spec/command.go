package spec

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// CommandFiles lists the files and folders below root that the words of a
// command name, in the order of the words: what is hashed with the command, and
// what a launcher must copy for it. A word names a path as ./run.sh, lib/run.py
// or --config=conf.yaml; a folder only where it is written with a slash. The
// program itself is looked up in PATH unless it is written with a slash.
func CommandFiles(root *os.Root, words []string) []string {
	var out []string
	seen := map[string]bool{}
	for i, w := range words {
		name, _ := wordPath(i, w)
		if name == "" {
			continue
		}
		clean := path.Clean(name)
		info, err := root.Lstat(clean)
		if err != nil || seen[clean] || (info.IsDir() && !strings.Contains(name, "/")) {
			continue
		}
		seen[clean] = true
		out = append(out, clean)
	}
	return out
}

// wordPath is the path that a word of a command may name ("" = none), and
// whether it must exist: any word may happen to look like a path, but one that
// begins with ./ or is the program was meant as one.
func wordPath(i int, w string) (name string, must bool) {
	if strings.HasPrefix(w, "-") {
		_, w, _ = strings.Cut(w, "=")
	}
	switch {
	case w == "" || w == "." || w == ".." || path.IsAbs(w) || len(w) > 1024 || strings.ContainsAny(w, "\n\\\x00"):
		return "", false
	case strings.HasPrefix(w, "./"), strings.HasPrefix(w, "../"):
		return w, true
	case i == 0:
		if strings.Contains(w, "/") {
			return w, true
		}
		return "", false
	}
	return w, false
}

// commandFiles checks the words of a command and lists what they name.
func (k *checker) commandFiles(field string, words []string, part batch.Part) []entry {
	var out []entry
	seen := map[string]bool{}
	for i, w := range words {
		at := fmt.Sprintf("%s[%d]", field, i)
		if rel, inside := k.absoluteInside(w); inside {
			k.c.add(at, "an absolute path into the spec's folder: what runs is a copy of it", "write "+plain(relative(rel)))
			continue
		}
		if i == 0 && !strings.Contains(w, "/") {
			k.programInPath(at, w)
		}
		name, must := wordPath(i, w)
		if name == "" || (!must && len(CommandFiles(k.root, []string{"", name})) == 0) {
			continue
		}
		e, ok := k.entry(at, name, "file", part)
		if ok && !seen[e.path] {
			seen[e.path] = true
			out = append(out, e)
		}
	}
	return out
}

// programInPath refuses a program that is looked up in PATH although a file of
// its name stands beside the spec: which of both runs would be a guess.
func (k *checker) programInPath(field, w string) {
	if w == "" {
		return
	}
	if info, err := k.root.Lstat(w); err == nil && info.Mode().IsRegular() {
		k.c.add(field, "a program without a folder is looked up in PATH, and a file of this name stands beside the spec",
			"write ./"+plain(w)+" to run that file")
	}
}
