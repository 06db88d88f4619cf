package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Load reads a spec and the panel and prices it names, fills in the defaults
// and checks everything that can be checked without running anything. env looks
// up an environment variable (os.LookupEnv; nil = none is set).
//
// What is wrong comes back all at once as Problems, in file order.
func Load(path string, env func(string) (string, bool)) (*Spec, error) {
	c := newCollector(path)
	raw, err := readSpec(path)
	if mistaken(path, raw, err) {
		c.addAt(position{}, "", "this looks like a panel (CSV or JSONL), not like a spec", "give the spec that names it, such as benchmark.yaml; `benchbatch init DIR` writes one")
		return nil, c.err()
	}
	if err != nil {
		c.addAt(position{}, "", fileMessage(err), "name a spec, such as benchmark.yaml; `benchbatch init DIR` writes one")
		return nil, c.err()
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()

	s := defaults()
	s.Path, s.Dir, s.Raw, s.at = path, dir, raw, c.at
	node := parseYAML(c, raw)
	if node == nil {
		return nil, c.err()
	}
	(&decoder{c}).decode(node, reflect.ValueOf(s).Elem(), "", "")
	k := &checker{c: c, s: s, root: root, env: lookup(env)}
	k.fillIn()
	if !k.checkHidden() {
		k.check()
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// readSpec reads the file at path, which must be a regular one: opening a pipe
// could wait for ever.
func readSpec(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("is not a regular file")
	}
	return readFile(os.Open, path, maxFile)
}

// defaults is a spec before it is read. Defaults never change: a field at its
// default is in no digest.
func defaults() *Spec {
	s := &Spec{
		Version: "draft",
		Repeats: 5,
		Recipe:  Recipe{TimeoutPolicy: "fail"},
		Runner:  Runner{Unit: "evaluation", Timeout: time.Hour, Home: "private"},
		Valid:   batch.Validity{MaxMissing: 0.05},
		Traces:  TracesNone,

		Calibration: Calibration{Repeats: 3},
	}
	s.Decision = Decision{Metric: "score", PassThreshold: 1, Pass: "threshold", Alpha: 0.025, Compare: "all", Scope: "population"}
	return s
}

// fillIn sets the defaults that depend on what was read.
func (k *checker) fillIn() {
	s := k.s
	if s.Experiment == "" {
		s.Experiment = s.Benchmark
	}
	if !k.given("agents") {
		s.Agents = []Agent{{ID: "default"}}
	}
	for i := range s.Agents {
		if !k.given(fmt.Sprintf("agents[%d].brain_placement", i)) {
			s.Agents[i].BrainPlacement = "brain"
		}
	}
	for i := range s.Models {
		m := &s.Models[i]
		switch {
		case m.ID == "":
			m.ID = routeID(m.Route)
		case m.Route == "":
			m.Route = m.ID
		}
	}
	for i := range s.Recipe.Judges {
		j, at := &s.Recipe.Judges[i], fmt.Sprintf("recipe.judges[%d]", i)
		if !k.given(at + ".samples") {
			j.Samples = 1
		}
		if !k.given(at + ".aggregate") {
			j.Aggregate = "mean"
		}
	}
	if s.Judge != nil && !k.given("judge.timeout") {
		s.Judge.Timeout = 30 * time.Minute
	}
	retry := map[string]int{"provider": 2, "harness": 1}
	for class, n := range s.Retry {
		retry[class] = n
	}
	s.Retry = retry
}

// given says whether a field is written in the file.
func (k *checker) given(field string) bool {
	_, ok := k.c.at[field]
	return ok
}

func lookup(env func(string) (string, bool)) func(string) (string, bool) {
	if env == nil {
		return func(string) (string, bool) { return "", false }
	}
	return env
}

var errTooLarge = errors.New("larger than a file of its kind can be")

// readFile reads a regular file of at most limit bytes.
func readFile[F fs.File](open func(string) (F, error), name string, limit int64) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a folder, not a file")
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	return raw, nil
}

// fileMessage says why a file cannot be read, without repeating its name.
func fileMessage(err error) string {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "cannot be read: permission denied"
	case errors.As(err, &pe):
		return "cannot be read: " + pe.Err.Error()
	}
	return err.Error()
}

// Parse decodes the text of a spec that was checked before, such as the frozen one of a
// batch, without the files that it names. Fields that it does not know are errors.
func Parse(raw []byte) (*Spec, error) {
	c := newCollector(batch.FileSpec)
	s := defaults()
	s.Raw, s.at = raw, c.at
	if node := parseYAML(c, raw); node != nil {
		(&decoder{c}).decode(node, reflect.ValueOf(s).Elem(), "", "")
	}
	return s, c.err()
}
