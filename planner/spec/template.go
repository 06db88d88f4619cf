package spec

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

//go:embed template
var templates embed.FS

// InitOptions says what a new benchmark starts from. Empty fields take a small
// example that runs at once, without a network.
type InitOptions struct {
	Command string   // program that answers a task, and its arguments, between spaces; paths are relative to dir
	Panel   string   // panel that exists, relative to dir
	Models  []string // routes, such as provider/model
}

// SpecFile is the name of the spec that Init writes.
const SpecFile = "benchmark.yaml"

// Init writes a spec, and the panel, runner and check it needs, into dir and
// returns the paths written. Nothing is overwritten: if one of the files exists,
// none is written. What it wrote passes Load, or the problems are returned.
func Init(dir string, o InitOptions) ([]string, error) {
	if err := checkGiven(dir, o); err != nil {
		return nil, err
	}
	files, err := initFiles(dir, o)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		p := filepath.Join(dir, f.name)
		if _, err := os.Lstat(p); err == nil {
			return nil, fmt.Errorf("%s exists already: nothing was written; choose another folder or remove it", plain(p))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var written []string
	for _, f := range files {
		p := filepath.Join(dir, f.name)
		if err := writeNew(p, f.text, f.mode); err != nil {
			return written, err
		}
		written = append(written, p)
	}
	_, err = Load(filepath.Join(dir, SpecFile), os.LookupEnv)
	return written, err
}

// checkGiven checks that what the options start from is in dir.
func checkGiven(dir string, o InitOptions) error {
	given := []string{o.Panel}
	for i, w := range strings.Fields(o.Command) {
		if name, must := wordPath(i, w); must {
			given = append(given, name)
		}
	}
	for _, name := range given {
		if name == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file in %s: nothing was written; put it there, or name it relative to that folder", plain(name), plain(dir))
		}
	}
	return nil
}

type initFile struct {
	name string
	text []byte
	mode fs.FileMode
}

// initFiles renders what Init writes: the spec last, so that it never names a
// file that is not there yet.
func initFiles(dir string, o InitOptions) ([]initFile, error) {
	var files []initFile
	add := func(name string, mode fs.FileMode) error {
		text, err := templates.ReadFile("template/" + name)
		files = append(files, initFile{name, text, mode})
		return err
	}
	head := struct{ File, Benchmark, Panel, Models, Command, Check string }{File: SpecFile}
	head.Benchmark = benchmarkName(dir)
	var errs []error
	head.Panel = quoteYAML(o.Panel)
	if o.Panel == "" {
		head.Panel = "panel.csv"
		errs = append(errs, add("panel.csv", 0o644))
	}
	models := o.Models
	if len(models) == 0 {
		models = []string{"toy/careful", "toy/hasty"}
	}
	head.Models = list(models)
	head.Command = list(strings.Fields(o.Command))
	if o.Command == "" {
		head.Command = "./ask.sh"
		errs = append(errs, add("ask.sh", 0o755))
	}
	head.Check = "./grade.sh"
	if _, err := os.Lstat(filepath.Join(dir, "grade.sh")); o.Command == "" || err != nil {
		errs = append(errs, add("grade.sh", 0o755))
	}
	text, err := templates.ReadFile("template/" + SpecFile)
	errs = append(errs, err)
	var spec bytes.Buffer
	t, err := template.New(SpecFile).Parse(string(text))
	if errs = append(errs, err); err == nil {
		errs = append(errs, t.Execute(&spec, head))
	}
	return append(files, initFile{SpecFile, spec.Bytes(), 0o644}), errors.Join(errs...)
}

// benchmarkName is an id made from the folder's name.
func benchmarkName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	if id := proposedID(filepath.Base(abs)); isID(id) {
		return quoteYAML(id)
	}
	return "my-bench"
}

// list writes words as the inside of a YAML list.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteYAML(strings.TrimSpace(w))
	}
	return strings.Join(quoted, ", ")
}

var plainWord = regexp.MustCompile(`^(\./)?[A-Za-z][A-Za-z0-9._/-]*$`)

// quoteYAML writes a word plainly where every YAML reader takes it for text.
func quoteYAML(w string) string {
	if plainWord.MatchString(w) && !booleanWord(w) {
		return w
	}
	return strconv.Quote(w)
}

func booleanWord(w string) bool {
	switch strings.ToLower(w) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return true
	}
	return false
}

func writeNew(name string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
