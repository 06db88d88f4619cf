package spec

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// checker checks a spec that was read, and everything it names.
type checker struct {
	c    *collector
	s    *Spec
	root *os.Root // the spec's folder
	env  func(string) (string, bool)
}

func (k *checker) check() {
	k.checkHead()
	k.checkAgents()
	k.checkModels()
	k.checkRecipe()
	k.checkRunner()
	k.checkJudgeStage()
	k.checkFree()
	k.checkReuse()
	k.readPanel()
	k.readPrices()
	k.checkReferences()
	k.checkDecision()
	k.checkCalibration()
	k.checkFiles()
}

func (k *checker) missing(field, remedy string) { k.c.add(field, "missing", remedy) }

// oneOf checks a word against the words that are allowed.
func (k *checker) oneOf(field, value string, words ...string) {
	if !slices.Contains(words, value) {
		k.c.add(field, "not one of "+strings.Join(words, ", "), remedyForWord(value, words))
	}
}

func remedyForWord(value string, words []string) string {
	if near := nearest(value, words); near != "" {
		return "did you mean " + near + "?"
	}
	return "write " + strings.Join(words, " or ")
}

// within checks a number against its range, both ends allowed.
func within[N int | int64 | float64 | time.Duration](k *checker, field string, v, lowest, highest N) {
	if v < lowest || v > highest {
		k.c.add(field, fmt.Sprintf("out of range: %v to %v is allowed", lowest, highest), "")
	}
}

// line checks a text that stands on one line of a report.
func (k *checker) line(field, value string, most int) {
	if strings.ContainsFunc(value, unicode.IsControl) {
		k.c.add(field, "holds a control character", "keep it on one line")
	}
	if n := len([]rune(value)); n > most {
		k.c.add(field, fmt.Sprintf("%d characters long: at most %d are allowed", n, most), "shorten it")
	}
}

// literal checks a text of the identity: variables are not filled in there.
func (k *checker) literal(field, value string, most int) {
	k.line(field, value, most)
	if strings.Contains(value, "${") {
		k.c.add(field, "variables are filled in only in preflight.url", "write the value itself")
	}
	if value != strings.TrimSpace(value) {
		k.c.add(field, "begins or ends with a space", "remove it")
	}
}

func (k *checker) checkHead() {
	s := k.s
	k.id("benchmark", s.Benchmark)
	k.id("version", s.Version)
	if s.Version == batch.CalibrationLabel {
		k.c.add("version", "the label of calibrations, which are never repeats of a batch", "give the benchmark a label of its own, such as v1")
	}
	s.Question = strings.TrimSpace(s.Question)
	k.line("question", strings.ReplaceAll(s.Question, "\n", " "), 1000)
	if k.given("experiment") {
		k.literal("experiment", s.Experiment, 250)
	}
	within(k, "repeats", s.Repeats, 1, 1000)
}

func (k *checker) checkAgents() {
	var names []named
	if len(k.s.Agents) == 0 {
		k.c.add("agents", "no agent", "name one, or remove the key to have one agent called default")
	}
	for i, a := range k.s.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		idField := k.orAround(at + ".id")
		k.id(idField, a.ID)
		k.literal(at+".version", a.Version, 128)
		names = append(names, named{a.ID, a.ID, idField})
	}
	k.distinct("agents", names)
}

// orAround is the field if it is written, or else the one around it.
func (k *checker) orAround(field string) string {
	if k.given(field) {
		return field
	}
	return enclosing(field)
}

func (k *checker) checkModels() {
	if len(k.s.Models) == 0 {
		k.missing("models", "name at least one, such as [provider/model]")
	}
	var names []named
	for i, m := range k.s.Models {
		at := fmt.Sprintf("models[%d]", i)
		k.modelID(at, m)
		k.literal(k.orAround(at+".route"), m.Route, 256)
		k.literal(at+".revision", m.Revision, 256)
		k.checkPreflights(i, m)
		typed := m.ID
		if !k.given(at + ".id") {
			typed = m.Route
		}
		names = append(names, named{m.ID, typed, k.orAround(at + ".id")})
	}
	k.distinct("models", names)
	k.distinctModels()
}

// distinctModels refuses two names for one measurement: its repeats would be
// paid twice.
func (k *checker) distinctModels() {
	first := map[batch.Digest]int{}
	for i, m := range k.s.Models {
		man := modelManifest(m)
		d, err := man.Digest(batch.PartModel)
		if err != nil {
			continue
		}
		f, taken := first[d]
		if taken && k.s.Models[f].ID != m.ID {
			k.c.add(fmt.Sprintf("models[%d]", i), fmt.Sprintf("models %s and %s are called the same way: route, revision and settings are equal",
				k.s.Models[f].ID, m.ID), "remove one of both")
		}
		if !taken {
			first[d] = i
		}
	}
}

func (k *checker) checkRecipe() {
	r := k.s.Recipe
	k.oneOf("recipe.timeout_policy", r.TimeoutPolicy, "fail", "missing")
	within(k, "recipe.limits.turns", r.Limits.Turns, 0, 1_000_000)
	within(k, "recipe.limits.task_timeout", r.Limits.TaskTimeout, 0, 30*24*time.Hour)
	within(k, "recipe.limits.cpus", r.Limits.CPUs, 0, 4096)
	if m := r.Limits.Memory; m != 0 {
		within(k, "recipe.limits.memory", m, 1<<20, 1<<50)
	}
	var names []named
	for i, j := range r.Judges {
		at := fmt.Sprintf("recipe.judges[%d]", i)
		k.id(at+".id", j.ID)
		if j.Kind == "" {
			k.missing(at+".kind", "write code, model or human")
		} else {
			k.oneOf(at+".kind", j.Kind, "code", "model", "human")
		}
		if (j.Kind == "model") != (j.Model != "") {
			k.c.add(at+".model", "a judge of kind model names its model, and only that kind does", "write kind: model with model: ID, or neither")
		}
		k.literal(at+".model", j.Model, 256)
		within(k, at+".samples", j.Samples, 1, 1000)
		k.oneOf(at+".aggregate", j.Aggregate, "mean", "median")
		if len(j.Scale) != 0 && (len(j.Scale) != 2 || j.Scale[0] >= j.Scale[1]) {
			k.c.add(at+".scale", "not a scale", "write [lowest, highest]")
		}
		names = append(names, named{j.ID, j.ID, at + ".id"})
	}
	k.distinct("judges", names)
}
