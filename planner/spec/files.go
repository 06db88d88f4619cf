package spec

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// entry is a file or folder that a spec names: it belongs to one part.
type entry struct {
	path  string // relative to the spec's folder, clean; a folder ends in /
	label string // file, files or include: the item's name in a manifest is label + path
	part  batch.Part
	agent string // id, where part is the agent
	field string
	files []string // every file in it, relative to the spec's folder, sorted
}

// owner says whose the entry is: the part, or one agent.
func (e entry) owner() string {
	if e.part == batch.PartAgent {
		return "agent " + e.agent
	}
	return string(e.part)
}

func (e entry) folder() bool { return strings.HasSuffix(e.path, "/") }

// gather lists everything that the spec names and that belongs to a part.
func (k *checker) gather() []entry {
	var out []entry
	add := func(e entry, ok bool) {
		if ok {
			out = append(out, e)
		}
	}
	s := k.s
	if s.Brain != "" {
		e, ok := k.entry("brain", s.Brain, "folder", batch.PartBrain)
		if ok && !e.folder() {
			k.c.add("brain", "a file, and a brain is a folder", "put it into a folder of its own")
		}
		add(e, ok && e.folder())
	}
	for i, a := range s.Agents {
		for j, p := range a.Files {
			e, ok := k.entry(fmt.Sprintf("agents[%d].files[%d]", i, j), p, "file", batch.PartAgent)
			e.agent = a.ID
			add(e, ok)
		}
	}
	for i, p := range s.Recipe.Include {
		add(k.entry(fmt.Sprintf("recipe.include[%d]", i), p, "include", batch.PartExecution))
	}
	out = append(out, k.commandFiles("runner.command", s.Runner.Command, batch.PartExecution)...)
	out = append(out, k.commandFiles("runner.check", s.Runner.Check, batch.PartScoring)...)
	for i, p := range s.Runner.Files {
		add(k.entry(fmt.Sprintf("runner.files[%d]", i), p, "file", batch.PartExecution))
	}
	if j := s.Judge; j != nil {
		out = append(out, k.commandFiles("judge.command", j.Command, batch.PartScoring)...)
		for i, p := range j.Files {
			add(k.entry(fmt.Sprintf("judge.files[%d]", i), p, "file", batch.PartScoring))
		}
	}
	return out
}

// entry checks a path and lists what is behind it.
func (k *checker) entry(field, written, label string, part batch.Part) (entry, bool) {
	clean, info, ok := k.find(field, written)
	if !ok {
		return entry{}, false
	}
	e := entry{path: clean, label: label, part: part, field: field, files: []string{clean}}
	if !info.IsDir() {
		return e, true
	}
	if clean == "." {
		k.c.add(field, "the spec's own folder, which holds the spec and what is written beside it", "name the folders and files that are needed")
		return entry{}, false
	}
	e.path += "/"
	if label == "file" {
		e.label = "files"
	}
	files, err := batch.ListDir(k.root.FS(), clean)
	if err != nil {
		k.c.add(field, err.Error(), "")
		return entry{}, false
	}
	e.files = nil
	for _, f := range files {
		e.files = append(e.files, path.Join(clean, f.Path))
	}
	if len(files) == 0 {
		k.c.add(field, "the folder holds no file", "put one into it, or remove the entry")
		return entry{}, false
	}
	if out := outputAmong(e.files); out != "" {
		k.c.add(field, "holds what benchbatch or MLflow writes ("+plain(out)+"): its digest would change with every run", "keep inputs in a folder of their own")
		return entry{}, false
	}
	return e, true
}

// find checks that a written path stays below the spec's folder, exists and
// goes through no symbolic link. It returns the clean slash path.
func (k *checker) find(field, written string) (string, fs.FileInfo, bool) {
	refuse := func(message, remedy string) (string, fs.FileInfo, bool) {
		k.c.add(field, message, remedy)
		return "", nil, false
	}
	clean := path.Clean(written)
	switch {
	case written == "":
		return refuse("the path is empty", "remove it")
	case strings.Contains(written, `\`):
		return refuse("holds a backslash", "write / between folders")
	case path.IsAbs(written):
		return refuse("an absolute path", "write it relative to the spec's folder")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return refuse("leads out of the spec's folder", "keep what is measured below the spec")
	}
	var info fs.FileInfo
	for i := 0; i <= len(clean); i++ {
		if i < len(clean) && clean[i] != '/' {
			continue
		}
		at := clean[:i]
		if err := checkName(path.Base(at)); err != nil {
			return refuse(err.Error(), "")
		}
		var err error
		if info, err = k.root.Lstat(at); err != nil {
			return refuse(fileMessage(err), "write a path relative to the spec's folder")
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return refuse(plain(at)+" is a symbolic link", "copy what it points to into place")
		}
	}
	switch {
	case !info.IsDir() && !info.Mode().IsRegular():
		return refuse("neither a file nor a folder", "")
	case !info.IsDir() && strings.HasSuffix(written, "/"):
		return refuse("a file, not a folder", "write it without the / at its end")
	}
	return clean, info, true
}

func checkName(base string) error {
	if batch.IgnoredName(base) {
		return fmt.Errorf("%s is left out of every digest and copy", plain(base))
	}
	return batch.CheckFileName(base)
}

// outputNames are files and folders that runs write beside a spec.
var outputNames = map[string]bool{"mlflow.db": true, "mlartifacts": true, "mlruns": true, ".benchbatch": true}

// outputAmong returns the first of the files that a run wrote, or "".
func outputAmong(files []string) string {
	has := map[string]bool{}
	for _, f := range files {
		has[f] = true
	}
	for _, f := range files {
		for _, part := range strings.Split(f, "/") {
			if outputNames[part] {
				return f
			}
		}
		if path.Base(f) == "SHA256SUMS" && has[path.Join(path.Dir(f), "manifest.json")] {
			return f
		}
	}
	return ""
}
