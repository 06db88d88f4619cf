package export

import (
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Paid says what a batch or a variant cost: what was paid today, and what that
// which was reused had cost when it was measured. Judges are in Spent.Judges, apart.
type Paid struct {
	Ran    int   // evaluations that this batch started, those that don't count included
	Reused int   // evaluations that it did not pay for
	Today  Spent // of those that ran
	Value  Spent // of those that were reused
}

func (p *Paid) add(e *Evidence) {
	if e.Reused {
		p.Reused++
		p.Value.merge(&e.Measures.Spent)
		return
	}
	p.Ran++
	p.Today.merge(&e.Measures.Spent)
}

func (p *Paid) merge(o *Paid) {
	p.Ran += o.Ran
	p.Reused += o.Reused
	p.Today.merge(&o.Today)
	p.Value.merge(&o.Value)
}

// Tries counts the tries of tasks that ended in one state, over all evaluations of a
// variant, counted or not. Where an evaluation keeps no attempts, its outcomes stand
// for them. What was never started is no try.
type Tries struct {
	State    outcome.State
	Count    int
	Accepted int // of them: their outcome is the task's
	Reported Sum // USD of all of them, as reported
	Repriced Sum // from tokens and the frozen prices
}

// Failed says whether such a try is a failure that is not the agent's doing.
func (t *Tries) Failed(timeoutPolicy string) bool {
	switch t.State {
	case outcome.Scored, outcome.Agent:
		return false
	case outcome.Timeout:
		return outcome.TimeoutPolicy(timeoutPolicy) == outcome.TimeoutMissing
	}
	return true
}

// newTries holds every state that a try can end in, in the order of outcome.States.
func newTries() []Tries {
	var out []Tries
	for _, s := range outcome.States {
		if s != outcome.NotRun {
			out = append(out, Tries{State: s})
		}
	}
	return out
}

func (v *VariantNumber) tried(f *Frozen, e *Evidence) {
	if e.Attempts == nil {
		for i := range e.Outcomes {
			v.try(&e.Outcomes[i], true, e.Derived[i].Repriced)
		}
	}
	for i := range e.Attempts {
		usd, _ := f.Reprice(e.Model, e.Attempts[i].Tokens)
		v.try(&e.Attempts[i].Outcome, e.Attempts[i].Accepted, usd)
	}
}

func (v *VariantNumber) try(o *outcome.Outcome, accepted bool, repriced *float64) {
	for i := range v.Tries {
		t := &v.Tries[i]
		if t.State != o.State {
			continue
		}
		t.Count++
		if accepted {
			t.Accepted++
		}
		t.Reported.Add(o.CostUSD)
		t.Repriced.Add(repriced)
	}
}

// Wasted is how many tries failed for reasons that are not the agent's, and what they cost.
func (v *VariantNumber) Wasted(timeoutPolicy string) (tries int, reported, repriced Sum) {
	for i := range v.Tries {
		if t := &v.Tries[i]; t.Failed(timeoutPolicy) {
			tries += t.Count
			reported.Merge(t.Reported)
			repriced.Merge(t.Repriced)
		}
	}
	return tries, reported, repriced
}

// measured notes when a counted evaluation was measured, and whether it served to
// choose a setting.
func (v *VariantNumber) measured(e *batch.Evaluation) {
	if selects(e) {
		v.Selection++
	}
	if !Believable(&e.Started) {
		return
	}
	at := e.Started
	v.First, v.Last = sooner(v.First, at), later(v.Last, at)
}

func sooner(a *time.Time, b time.Time) *time.Time {
	if a == nil || b.Before(*a) {
		return &b
	}
	return a
}

func later(a *time.Time, b time.Time) *time.Time {
	if a == nil || b.After(*a) {
		return &b
	}
	return a
}
