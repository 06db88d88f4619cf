package outcome

import (
	"fmt"
	"maps"
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

// Missing is the part of a tally that has no score under a policy.
func (t Tally) Missing(p TimeoutPolicy) Tally {
	out := maps.Clone(t)
	delete(out, Scored)
	delete(out, Agent)
	if p != TimeoutMissing {
		delete(out, Timeout)
	}
	return out
}

// Sum is how many outcomes were tallied.
func (t Tally) Sum() int {
	n := 0
	for _, c := range t {
		n += c
	}
	return n
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
	missing := Tally{}
	for _, o := range outcomes {
		if o.Score == nil {
			missing[o.State]++
		}
	}
	return CheckMissing(missing, len(panel), allowed)
}

// CheckMissing says why a panel of that many tasks misses too many, by the states of
// the missing ones, or nil.
func CheckMissing(missing Tally, panel, allowed int) error {
	n := missing.Sum()
	if n <= allowed {
		return nil
	}
	var parts []string
	for _, s := range States {
		if missing[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", missing[s], s))
		}
	}
	return fmt.Errorf("%d of %d tasks are missing (%s); at most %d may be", n, panel, strings.Join(parts, ", "), allowed)
}

// some lists the first few names.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
