package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// maxVariants bounds what one batch compares.
const maxVariants = 10_000

// checkReferences checks that what is named elsewhere in the spec exists.
func (k *checker) checkReferences() {
	s := k.s
	quotas := slices.Sorted(maps.Keys(s.Quotas))
	for i, m := range s.Models {
		if m.Quota != "" {
			k.exists(fmt.Sprintf("models[%d].quota", i), "quota", m.Quota, quotas)
		}
	}
	for i, e := range s.Exclude {
		at := fmt.Sprintf("exclude[%d]", i)
		if e.Agent == "" && e.Model == "" {
			k.c.add(at, "names neither an agent nor a model", "write {agent: ID, model: ID, why: TEXT}; one of both is enough")
		}
		if e.Agent != "" {
			k.exists(at+".agent", "agent", e.Agent, s.agentIDs())
		}
		if e.Model != "" {
			k.exists(at+".model", "model", e.Model, s.modelIDs())
		}
		if strings.TrimSpace(e.Why) == "" {
			k.missing(at+".why", "say why: the report does")
		}
		k.line(at+".why", e.Why, 500)
	}
	if n := len(s.Agents) * len(s.Models); n > maxVariants {
		k.c.add("models", fmt.Sprintf("%d agents on %d models are %d variants: at most %d are allowed", len(s.Agents), len(s.Models), n, maxVariants),
			"split the benchmark")
	} else if n > 0 && len(s.Variants()) == 0 {
		k.c.add("exclude", "nothing is left to measure", "remove an exclusion")
	}
	k.checkWithdrawn()
}

func (k *checker) checkWithdrawn() {
	tasks := map[string]bool{}
	for _, t := range k.s.Tasks {
		tasks[t.ID] = true
	}
	seen := map[string]bool{}
	for i, w := range k.s.Withdraw {
		at := fmt.Sprintf("withdraw[%d]", i)
		switch {
		case w.Task == "":
			k.missing(at+".task", "name a task of the panel")
		case seen[w.Task]:
			k.c.add(at+".task", "the task is withdrawn twice", "keep one of both")
		case !tasks[w.Task] && len(tasks) > 0:
			k.c.add(at+".task", "no such task in the panel", nearestTask(w.Task, k.s.Tasks))
		}
		seen[w.Task] = tasks[w.Task]
		if strings.TrimSpace(w.Why) == "" {
			k.missing(at+".why", "say why: the report does")
		}
		k.line(at+".why", w.Why, 500)
		if _, err := time.Parse(time.DateOnly, w.Date); err != nil {
			k.c.add(at+".date", "not a day", "write the day on which it was withdrawn as 2006-01-02")
		}
	}
	withdrawn := slices.DeleteFunc(slices.Collect(maps.Keys(seen)), func(id string) bool { return !seen[id] })
	if len(withdrawn) == len(tasks) && len(tasks) > 0 {
		k.c.add("withdraw", "every task is withdrawn", "make another panel")
	}
}

func nearestTask(id string, tasks []batch.Task) string {
	if len(tasks) > 5000 {
		return ""
	}
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	if near := nearest(id, ids); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// exists checks a name against the names of its kind.
func (k *checker) exists(field, kind, name string, names []string) {
	if slices.Contains(names, name) {
		return
	}
	remedy := fmt.Sprintf("declare it, or remove it: there is no %s yet", kind)
	if near := nearest(name, names); near != "" {
		remedy = "did you mean " + near + "?"
	} else if len(names) > 0 {
		remedy = "known: " + strings.Join(names[:min(len(names), 12)], ", ")
	}
	k.c.add(field, "no such "+kind, remedy)
}

func (s *Spec) agentIDs() []string {
	var ids []string
	for _, a := range s.Agents {
		ids = append(ids, a.ID)
	}
	return ids
}

func (s *Spec) modelIDs() []string {
	var ids []string
	for _, m := range s.Models {
		ids = append(ids, m.ID)
	}
	return ids
}

// Variants lists what is measured: agents in spec order, then models, without
// the excluded ones.
func (s *Spec) Variants() []batch.Variant {
	var out []batch.Variant
	for _, a := range s.Agents {
		for _, m := range s.Models {
			if v := (batch.Variant{Agent: a.ID, Model: m.ID}); !s.excluded(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func (s *Spec) excluded(v batch.Variant) bool {
	return slices.ContainsFunc(s.Exclude, func(e batch.Exclusion) bool {
		return (e.Agent == "" || e.Agent == v.Agent) && (e.Model == "" || e.Model == v.Model) && e.Variant != batch.Variant{}
	})
}

func (k *checker) checkDecision() {
	d := k.s.Decision
	metrics := []string{"score", "passed"}
	for _, j := range k.s.Recipe.Judges {
		metrics = append(metrics, "judge/"+j.ID)
	}
	k.oneOf("decision.metric", d.Metric, metrics...)
	k.oneOf("decision.pass", d.Pass, "threshold", "reported")
	k.oneOf("decision.compare", d.Compare, "all", "reference")
	k.oneOf("decision.scope", d.Scope, "population", "list")
	if d.By != "" {
		k.oneOf("decision.by", d.By, "family")
		if k.s.Tasks != nil && !slices.ContainsFunc(k.s.Tasks, func(t batch.Task) bool { return t.Family != "" }) {
			k.c.add("decision.by", "no task of the panel has a family", "give the tasks families, or remove it")
		}
		k.countFamilyVerdicts()
	}
	if d.PassThreshold <= 0 || d.PassThreshold > 1 {
		k.c.add("decision.pass_threshold", "out of range: above 0 and at most 1 is allowed", "")
	}
	if d.Alpha <= 0 || d.Alpha >= 0.5 {
		k.c.add("decision.alpha", "out of range: above 0 and below 0.5 is allowed", "0.025 is usual")
	}
	if d.Margin != nil && (*d.Margin <= 0 || *d.Margin >= 1) {
		k.c.add("decision.margin", "out of range: above 0 and below 1 is allowed", "remove it to declare none")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Advantage)) {
		at := join("decision.advantage", name)
		k.oneOf(at, name, "cost_usd", "wall_s", "consistency")
		if v := d.Advantage[name]; v <= 0 || v >= 1 {
			k.c.add(at, "out of range: above 0 and below 1 is allowed", "write it as 20%")
		}
	}
	k.checkReference(d)
}

// countFamilyVerdicts refuses more verdicts than anybody could read or a machine hold.
func (k *checker) countFamilyVerdicts() {
	families := map[string]bool{}
	for _, t := range k.s.Tasks {
		if t.Family != "" {
			families[t.Family] = true
		}
	}
	m := len(k.s.Variants())
	if pairs := m * (m - 1) / 2; pairs*len(families) > batch.MostFamilyVerdicts {
		k.c.add("decision.by", fmt.Sprintf("%d pairs on %d families are more than %d verdicts", pairs, len(families), batch.MostFamilyVerdicts),
			"join families, leave variants out, or remove it")
	}
}

func (k *checker) checkReference(d Decision) {
	if d.Reference == "" {
		if d.Compare == "reference" {
			k.missing("decision.reference", "name the variant that all others are compared with: agent+model")
		}
		return
	}
	var names []string
	for _, v := range k.s.Variants() {
		names = append(names, v.String())
	}
	agent, model, ok := strings.Cut(d.Reference, "+")
	switch {
	case !ok:
		k.c.add("decision.reference", "not a variant", "write agent+model, such as "+strings.Join(names[:min(1, len(names))], ""))
	case k.s.excluded(batch.Variant{Agent: agent, Model: model}):
		k.c.add("decision.reference", "the variant is excluded", "name another, or remove the exclusion")
	default:
		k.exists("decision.reference", "variant", d.Reference, names)
	}
}
