package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// leastSlice is how many tasks a slice has where the spec does not say.
const leastSlice = 5

// Slice is the calibration of a benchmark as a benchmark of its own: the same
// agents, models, brain and rules over the tasks, repeats and variants that the
// spec's calibration block chooses. Its panel differs, so its recipe does, and its
// repeats never count in the batch; where the slice holds every task they are the
// same measurement, and do. env is that of Load.
func (r *Resolved) Slice(env func(string) (string, bool)) (*Resolved, error) {
	s := *r.Spec
	s.Version, s.Repeats = batch.CalibrationLabel, s.Calibration.Repeats
	s.of = &batch.Calibration{Version: r.Spec.Version, Recipe: r.Recipe, Key: r.Key, Tasks: len(r.Spec.Tasks), Repeats: r.Spec.Repeats, Variants: len(r.Cells)}
	s.Tasks = r.Spec.sliced()
	in := map[string]bool{}
	for _, t := range s.Tasks {
		in[t.ID] = true
	}
	s.Withdraw = slices.DeleteFunc(slices.Clone(s.Withdraw), func(w batch.Withdrawal) bool { return !in[w.Task] })
	s.Exclude = slices.Clone(s.Exclude)
	for _, v := range r.Spec.Variants() {
		if len(s.Calibration.Variants) > 0 && !slices.Contains(s.Calibration.Variants, v.String()) {
			s.Exclude = append(s.Exclude, batch.Exclusion{Variant: v, Why: "not among calibration.variants"})
		}
	}
	return Resolve(&s, env)
}

// Of says what a slice's spec is a slice of; nil = it is a spec as it was written.
func (s *Spec) Of() *batch.Calibration { return s.of }

// sliced are the tasks of the calibration, in the panel's order. The choice follows
// from the ids alone. Withdrawn tasks are left out, unless they are listed.
func (s *Spec) sliced() []batch.Task {
	chosen := map[string]bool{}
	for _, id := range s.Calibration.Tasks.IDs {
		chosen[id] = true
	}
	if s.Calibration.Tasks.IDs == nil {
		rounds, least := s.Calibration.Tasks.PerFamily, 0
		if rounds == 0 {
			rounds, least = 1, leastSlice
		}
		families := s.shuffled()
		for round := 0; round < rounds || len(chosen) < least; round++ {
			more := false
			for _, f := range families {
				if round < len(f) && (round < rounds || len(chosen) < least) {
					chosen[f[round]] = true
					more = true
				}
			}
			if !more {
				break
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(s.Tasks), func(t batch.Task) bool { return !chosen[t.ID] })
}

// shuffled lists the families, each with the ids of its tasks that were not
// withdrawn: both in the order of the digests of their names. Tasks without a
// family are together one.
func (s *Spec) shuffled() [][]string {
	byDigest := func(a, b string) int {
		return cmp.Or(strings.Compare(string(batch.Sum([]byte(a))), string(batch.Sum([]byte(b)))), strings.Compare(a, b))
	}
	var names []string
	tasks := map[string][]string{}
	for _, t := range s.Tasks {
		if slices.ContainsFunc(s.Withdraw, func(w batch.Withdrawal) bool { return w.Task == t.ID }) {
			continue
		}
		if tasks[t.Family] == nil {
			names = append(names, t.Family)
		}
		tasks[t.Family] = append(tasks[t.Family], t.ID)
	}
	slices.SortFunc(names, byDigest)
	out := make([][]string, len(names))
	for i, n := range names {
		out[i] = tasks[n]
		slices.SortFunc(out[i], byDigest)
	}
	return out
}

func (k *checker) checkCalibration() {
	c := k.s.Calibration
	within(k, "calibration.repeats", c.Repeats, 2, 1000)
	if k.given("calibration.tasks") && c.Tasks.IDs == nil {
		within(k, "calibration.tasks", c.Tasks.PerFamily, 1, maxTasks)
	}
	k.checkSliceTasks(c.Tasks.IDs)
	if k.given("calibration.variants") && len(c.Variants) == 0 {
		k.c.add("calibration.variants", "names no variant", "remove it to measure all of them")
	}
	var names []string
	for _, v := range k.s.Variants() {
		names = append(names, v.String())
	}
	for i, v := range c.Variants {
		field := fmt.Sprintf("calibration.variants[%d]", i)
		if slices.Contains(c.Variants[:i], v) {
			k.c.add(field, "the variant is named twice", "keep one of both")
			continue
		}
		k.exists(field, "variant", v, names)
	}
	if ref := k.s.Decision.Reference; k.s.Decision.Compare == "reference" && len(c.Variants) > 0 && ref != "" && !slices.Contains(c.Variants, ref) {
		k.c.add("calibration.variants", "the reference is not among them, and all others are compared with it", "add "+ref)
	}
}

func (k *checker) checkSliceTasks(ids []string) {
	if ids != nil && len(ids) == 0 {
		k.c.add("calibration.tasks", "names no task", "write how many of each family, or task ids")
	}
	known := map[string]bool{}
	for _, t := range k.s.Tasks {
		known[t.ID] = true
	}
	for i, id := range ids {
		field := fmt.Sprintf("calibration.tasks[%d]", i)
		switch {
		case slices.Contains(ids[:i], id):
			k.c.add(field, "the task is named twice", "keep one of both")
		case !known[id] && len(known) > 0:
			k.c.add(field, "no such task in the panel", nearestTask(id, k.s.Tasks))
		}
	}
}
