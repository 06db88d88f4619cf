package export

import (
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// mostFlags is how many flags a Summary lists. All are in tables/flags.parquet.
const mostFlags = 1000

// Flag is what an audit found in one outcome. It never alters a score. Audit and
// Evidence are foreign text.
type Flag struct {
	batch.Variant
	RunID      string
	Slot       int
	Counted    bool
	Task       string
	Position   int // of the task in the panel
	Audit      string
	Evidence   string // "" = none was given, or the raw evidence is withheld
	Transcript string // path in the bundle; "" = none, or withheld
}

// Flags are the findings of audits in all evaluations, in the order of these and of the panel.
type Flags struct {
	List     []Flag // the first 1,000
	Findings int    // all of them
	Outcomes int    // that have one, in counted evaluations
}

// FlagsOf calls use for every finding in an evaluation's outcomes of panel tasks.
func (f *Frozen) FlagsOf(e *Evidence, use func(Flag, *outcome.Outcome) error) error {
	for i := range e.Outcomes {
		o, p := &e.Outcomes[i], e.Derived[i].Position
		if p < 0 {
			continue
		}
		for _, found := range o.Flags {
			flag := Flag{Variant: e.Variant, RunID: e.RunID, Slot: e.Slot, Counted: e.Counted, Task: f.Tasks[p].ID, Position: p,
				Audit: found.Audit, Evidence: found.Evidence, Transcript: o.Transcript}
			if err := use(flag, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// add takes the findings of one evaluation.
func (s *Flags) add(f *Frozen, e *Evidence) {
	last := -1
	_ = f.FlagsOf(e, func(flag Flag, _ *outcome.Outcome) error {
		s.Findings++
		if e.Counted && flag.Position != last {
			s.Outcomes++
		}
		last = flag.Position
		if len(s.List) < mostFlags {
			for _, text := range []*string{&flag.Audit, &flag.Evidence, &flag.Transcript} {
				*text = strings.Clone(*text) // without the record that it stands in
			}
			s.List = append(s.List, flag)
		}
		return nil
	})
}
