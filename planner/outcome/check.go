package outcome

import (
	"fmt"
	"slices"
	"strings"
)

// Tally counts outcomes by state. The sum is the number of tasks of the panel.
type Tally map[State]int

// Count tallies outcomes.
func Count(outcomes []Outcome) Tally {
	t := Tally{}
	for _, o := range outcomes {
		t[o.State]++
	}
	return t
}

// Missing is how many outcomes have no score.
func Missing(outcomes []Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o.Score == nil {
			n++
		}
	}
	return n
}

// Check says whether outcomes give every task of the panel a state, at most
// allowed of them missing. It returns the reason why not, or nil.
func Check(outcomes []Outcome, panel []string, allowed int) error {
	have := make(map[string]bool, len(outcomes))
	for _, o := range outcomes {
		have[o.Task] = true
	}
	var absent []string
	for _, id := range panel {
		if !have[id] {
			absent = append(absent, id)
		}
		delete(have, id)
	}
	if len(absent) > 0 {
		return fmt.Errorf("%d of %d tasks have no outcome (%s)", len(absent), len(panel), some(absent))
	}
	if len(have) > 0 {
		var strange []string
		for id := range have {
			strange = append(strange, id)
		}
		slices.Sort(strange)
		return fmt.Errorf("outcomes of tasks that are not in the panel (%s)", some(strange))
	}
	if n := Missing(outcomes); n > allowed {
		return fmt.Errorf("%d of %d tasks are missing (%s); at most %d may be", n, len(panel), Count(outcomes).missingText(), allowed)
	}
	return nil
}

func (t Tally) missingText() string {
	var parts []string
	for _, s := range States[2:] {
		if t[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

// some lists the first few names.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
