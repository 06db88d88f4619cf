package spec

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// batchKey says which batch this is: under which name and label, what is measured,
// how often, and how it is decided. The order of agents, models, tasks and exclusions
// does not matter, and what is at its default is left out, as in every digest.
func (r *Resolved) batchKey() (batch.Digest, error) {
	s, def := r.Spec, defaults()
	cells := make([]string, len(r.Cells))
	for i, c := range r.Cells {
		cells[i] = c.String() + " " + string(c.Identity.Cell)
	}
	key := map[string]any{"scheme": batch.Scheme, "benchmark": s.Benchmark, "repeats": s.Repeats}
	if s.Version != def.Version {
		key["version"] = s.Version
	}
	setSorted(key, "cells", cells)
	setSorted(key, "exclude", s.excludedVariants())
	decision, err := changed(s.Decision, def.Decision)
	if err != nil {
		return "", err
	}
	valid, err := changed(s.Valid, def.Valid)
	if err != nil {
		return "", err
	}
	for name, items := range map[string]map[string]any{"decision": decision, "valid": valid, "reuse": reuseItems(s.Reuse)} {
		if len(items) > 0 {
			key[name] = items
		}
	}
	setMarks(key, s.Tasks)
	return batch.SumValue(key)
}

// setMarks adds the families and anchors of the panel.
func setMarks(key map[string]any, tasks []batch.Task) {
	families := map[string]string{}
	var anchors []string
	for _, t := range tasks {
		if t.Family != "" {
			families[t.ID] = t.Family
		}
		if t.Anchor {
			anchors = append(anchors, t.ID)
		}
	}
	if len(families) > 0 {
		key["families"] = families
	}
	setSorted(key, "anchors", anchors)
}

func reuseItems(r Reuse) map[string]any {
	items := map[string]any{}
	if r.MaxAge != 0 {
		items["max_age"] = r.MaxAge.String()
	}
	if t := r.NotBeforeTime(); !t.IsZero() {
		items["not_before"] = t.Format(time.RFC3339Nano)
	}
	setSorted(items, "experiments", r.Experiments)
	return items
}

// setSorted adds a set of words, unless it is empty.
func setSorted(key map[string]any, name string, words []string) {
	if len(words) > 0 {
		sorted := slices.Clone(words)
		slices.Sort(sorted)
		key[name] = slices.Compact(sorted)
	}
}

// changed is v as a JSON object without the members that are as in def.
func changed(v, def any) (map[string]any, error) {
	var got, usual map[string]any
	for _, one := range []struct {
		from any
		to   *map[string]any
	}{{v, &got}, {def, &usual}} {
		b, err := json.Marshal(one.from)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, one.to); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(got, func(name string, value any) bool { return reflect.DeepEqual(usual[name], value) })
	return got, nil
}

func (s *Spec) excludedVariants() []string {
	var out []string
	for _, a := range s.Agents {
		for _, m := range s.Models {
			if v := (batch.Variant{Agent: a.ID, Model: m.ID}); s.excluded(v) {
				out = append(out, v.String())
			}
		}
	}
	return out
}
