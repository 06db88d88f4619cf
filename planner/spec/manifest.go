package spec

import (
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// set adds an item unless it is at its default: a default is in no digest.
func set[T comparable](man batch.Manifest, item string, v, def T) {
	if v != def {
		man.Items[item] = v
	}
}

func setDuration(man batch.Manifest, item string, v, def time.Duration) {
	if v != def {
		man.Items[item] = v.String()
	}
}

func setWords(man batch.Manifest, item string, words []string) {
	if len(words) > 0 {
		man.Items[item] = words
	}
}

func setSettings(man batch.Manifest, settings map[string]any) {
	for name, v := range settings {
		man.Items["settings."+name] = v
	}
}

// agent is an agent's id, version, settings and own files.
func (m *maker) agent(a Agent) (batch.Manifest, error) {
	man := newManifest()
	man.Items["id"] = a.ID
	set(man, "version", a.Version, "")
	set(man, "brain_placement", a.BrainPlacement, "brain")
	setSettings(man, a.Settings)
	return man, m.addFiles(&man, batch.PartAgent, a.ID)
}

// modelManifest is a model as it is called. Its id is only a name: a renamed
// model keeps its measurements.
func modelManifest(mod Model) batch.Manifest {
	man := batch.Manifest{Items: map[string]any{"route": mod.Route}}
	set(man, "revision", mod.Revision, "")
	setSettings(man, mod.Settings)
	return man
}

// brain is the brain folder with its digest.
func (m *maker) brain() (batch.Manifest, batch.Digest, error) {
	man := newManifest()
	for _, e := range m.entries {
		if e.part != batch.PartBrain {
			continue
		}
		h, err := m.sum(e)
		if err != nil {
			return man, "", err
		}
		man.Items["folder"] = h.digest
		for _, f := range h.files {
			man.Files[f.Path] = f.Digest
		}
		return man, h.digest, nil
	}
	return man, batch.NoBrain, nil
}

// execution is how agents are run.
func (m *maker) execution() (batch.Manifest, error) {
	man := newManifest()
	r, l := m.s.Runner, m.s.Recipe.Limits
	def := defaults().Runner
	setWords(man, "command", r.Command)
	set(man, "unit", r.Unit, def.Unit)
	setDuration(man, "timeout", r.Timeout, def.Timeout)
	set(man, "harness", r.Harness, "")
	set(man, "harness_version", r.HarnessVersion, "")
	set(man, "image", r.Image, "")
	set(man, "mlflow", r.MLflow, false)
	set(man, "home", r.Home, def.Home)
	set(man, "limits.turns", l.Turns, 0)
	setDuration(man, "limits.task_timeout", l.TaskTimeout, 0)
	set(man, "limits.cpus", l.CPUs, 0)
	set(man, "limits.memory", l.Memory, 0)
	m.addEnv(man, r.Env)
	for _, t := range m.s.Tasks {
		d, err := batch.SumValue(t.Input)
		if err != nil {
			return man, err
		}
		man.Items["task "+t.ID] = d
	}
	return man, m.addFiles(&man, batch.PartExecution, "")
}

// scoring is how the output of a run is judged.
func (m *maker) scoring() (batch.Manifest, error) {
	man := newManifest()
	set(man, "timeout_policy", m.s.Recipe.TimeoutPolicy, defaults().Recipe.TimeoutPolicy)
	for _, j := range m.s.Recipe.Judges {
		man.Items["judges."+j.ID] = judgeItem(j)
	}
	setWords(man, "check", m.s.Runner.Check)
	if j := m.s.Judge; j != nil {
		setWords(man, "judge.command", j.Command)
		m.addEnv(man, j.Env)
	}
	for _, t := range m.s.Tasks {
		if t.Expected == nil {
			continue
		}
		d, err := batch.SumValue(t.Expected)
		if err != nil {
			return man, err
		}
		man.Items["expected "+t.ID] = d
	}
	return man, m.addFiles(&man, batch.PartScoring, "")
}

// judgeItem is a judge without what is at its default.
func judgeItem(j Judge) Judge {
	if j.Samples == 1 {
		j.Samples = 0
	}
	if j.Aggregate == "mean" {
		j.Aggregate = ""
	}
	if len(j.Scale) == 2 && j.Scale[0] == 0 && j.Scale[1] == 1 {
		j.Scale = nil
	}
	return j
}

// addEnv adds variables by name and the digest of their value: the value itself
// is in no manifest.
func (m *maker) addEnv(man batch.Manifest, names []string) {
	for _, name := range names {
		value, _ := m.env(name)
		man.Items["env "+name] = batch.Sum([]byte(value))
	}
}
