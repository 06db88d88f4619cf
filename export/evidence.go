package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Evidence is one evaluation with what its raw files say.
type Evidence struct {
	batch.Evaluation
	Planned *batch.Cell // the cell that was measured

	Outcomes []outcome.Outcome // panel order; outcomes of other tasks at the end
	// Attempts are in the order of the file. nil where the run keeps none, as
	// runs that were not logged by benchbatch may.
	Attempts []outcome.Attempt
	// Missing are the artifacts that the result names and nobody could read.
	Missing []Finding
	// Unreadable says why outcomes or attempts are left out; "" = they were read.
	// In a frozen batch only an evaluation that does not count can have it.
	Unreadable string

	// Secrets are what looks like one in the files that the folder holds.
	Secrets []SecretHit

	Measures Measures
	// Derived says what follows from each of Outcomes, in their order.
	Derived []Derived
}

// Derived is what follows from an outcome under the batch's decision and prices.
type Derived struct {
	Position int      // in the panel, from 0; -1 = not in it
	Passed   *bool    // nil = missing
	Repriced *float64 // USD, see Frozen.Reprice; nil = unknown
	Reason   string   // why Repriced is nil; "" where it is not
}

// ArtifactState says how much of the evaluation's evidence is there: complete,
// outcomes (no attempts or bundle were ever kept), none, or missing.
func (e *Evidence) ArtifactState() string {
	switch {
	case len(e.Missing) > 0:
		return "missing"
	case e.Artifact(batch.FileOutcomes) == nil:
		return "none"
	case e.Artifact(batch.FileAttempts) == nil || e.Artifact(batch.FileBundle) == nil:
		return "outcomes"
	}
	return "complete"
}

// Artifact is a frozen file of the evaluation by name; nil = the run has none.
func (e *Evidence) Artifact(name string) *batch.Artifact {
	for i := range e.Artifacts {
		if e.Artifacts[i].Path == name {
			return &e.Artifacts[i]
		}
	}
	return nil
}

func (e *Evidence) missing(name string) bool {
	return slices.ContainsFunc(e.Missing, func(m Finding) bool { return m.File == rawPath(e.RunID, name) })
}

// exported are the artifacts that belong in the folder, in order.
var exported = []string{batch.FileOutcomes, batch.FileAttempts, batch.FileBundle}

// rawPath is the place of an artifact in the folder.
func rawPath(run, name string) string { return "raw/" + run + "/" + name }

// read fills e from the files below dir. What can't be read in an evaluation
// that counts in a frozen batch is a finding; in any other it is a reason on its row.
func (e *Evidence) read(f *Frozen, dir string) []Finding {
	policy := outcome.TimeoutPolicy(f.Plan.TimeoutPolicy)
	var bad []Finding
	if e.Artifact(batch.FileOutcomes) != nil && !e.missing(batch.FileOutcomes) {
		var err error
		name := rawPath(e.RunID, batch.FileOutcomes)
		if e.Outcomes, err = readOutcomes(filepath.Join(dir, name), policy, len(f.Tasks)); err != nil {
			bad = e.refuse(f, bad, name, err)
		}
	}
	if e.Artifact(batch.FileAttempts) != nil && !e.missing(batch.FileAttempts) {
		var err error
		name := rawPath(e.RunID, batch.FileAttempts)
		if e.Attempts, err = readAttempts(filepath.Join(dir, name), policy); err != nil {
			bad = e.refuse(f, bad, name, err)
		}
	}
	if !f.Withholds(WithholdRaw) {
		bad = append(bad, e.scan(dir)...)
	}
	if f.Withholds(WithholdRaw) {
		e.bare()
	}
	e.follow(f)
	return bad
}

// bare forgets the free text of answers: where raw evidence is withheld, no output
// may show it, and the tables do not give it back.
func (e *Evidence) bare() {
	for i := range e.Outcomes {
		bareOutcome(&e.Outcomes[i])
	}
	for i := range e.Attempts {
		bareOutcome(&e.Attempts[i].Outcome)
	}
}

func bareOutcome(o *outcome.Outcome) {
	o.Output, o.Transcript, o.Other = "", "", nil
	if o.Error != nil {
		o.Error = &outcome.Failure{Class: o.Error.Class}
	}
	for i := range o.Flags {
		o.Flags[i].Evidence = ""
	}
	for i := range o.Judges {
		o.Judges[i].Rationale, o.Judges[i].Error = "", ""
	}
}

// follow computes what follows from outcomes and attempts.
func (e *Evidence) follow(f *Frozen) {
	e.sort(f)
	e.Derived = derive(f, e)
	e.Measures = measure(f, e)
}

// scan looks for secrets in the records.
func (e *Evidence) scan(dir string) []Finding {
	for _, name := range []string{batch.FileOutcomes, batch.FileAttempts} {
		if e.Artifact(name) == nil || e.missing(name) {
			continue
		}
		path := rawPath(e.RunID, name)
		hits, err := scanFile(filepath.Join(dir, path), path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // said by who reads it
		case err != nil:
			return []Finding{{File: path, Run: e.RunID, Reason: err.Error()}}
		}
		e.Secrets = append(e.Secrets, hits...)
	}
	return nil
}

func (e *Evidence) refuse(f *Frozen, bad []Finding, name string, err error) []Finding {
	if e.Counted && !f.Provisional || errors.Is(err, fs.ErrNotExist) {
		return append(bad, Finding{File: name, Run: e.RunID, Reason: err.Error()})
	}
	if e.Unreadable == "" { // without the parser's words: they may change between versions
		e.Unreadable = filepath.Base(name) + " is refused"
		if line := (*outcome.LineError)(nil); errors.As(err, &line) {
			e.Unreadable += fmt.Sprintf(" at line %d", line.Line)
		}
	}
	return bad
}

// sort puts the outcomes into panel order.
func (e *Evidence) sort(f *Frozen) {
	last := 0
	for i := range e.Outcomes {
		p := f.place(e.Outcomes[i].Task, i)
		if p < 0 {
			p = len(f.Tasks)
		}
		if p < last {
			e.reorder(f)
			return
		}
		last = p
	}
}

func (e *Evidence) reorder(f *Frozen) {
	place := func(o *outcome.Outcome) int {
		if i := f.Position(o.Task); i >= 0 {
			return i
		}
		return len(f.Tasks)
	}
	slices.SortStableFunc(e.Outcomes, func(a, b outcome.Outcome) int { return place(&a) - place(&b) })
}

func derive(f *Frozen, e *Evidence) []Derived {
	out := make([]Derived, len(e.Outcomes))
	for i := range e.Outcomes {
		o, d := &e.Outcomes[i], &out[i]
		d.Position, d.Passed = f.place(o.Task, i), f.Pass(o)
		d.Repriced, d.Reason = f.Reprice(e.Model, o.Tokens)
	}
	return out
}

func readOutcomes(path string, p outcome.TimeoutPolicy, about int) ([]outcome.Outcome, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return outcome.ReadAbout(r, p, about)
}

func readAttempts(path string, p outcome.TimeoutPolicy) ([]outcome.Attempt, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return outcome.ReadAttempts(r, p)
}
