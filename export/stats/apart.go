package stats

import "time"

// near is how close in time two runs must have started to have met the same conditions (5a).
const near = 24 * time.Hour

// lonely counts the runs of a that have no run of b within 24 hours.
func lonely(a, b []time.Time) int {
	n := 0
	for _, x := range a {
		met := false
		for _, y := range b {
			if x.Sub(y).Abs() <= near {
				met = true
				break
			}
		}
		if !met {
			n++
		}
	}
	return n
}

// apart is step 5a: more than one run of either side is lonely. Unknown times and
// sides without a run are never apart.
func (r *reading) apart(a, b int) bool {
	if !r.timed {
		return false
	}
	return Apart(r.columns[a].started, r.columns[b].started)
}

// Apart is step 5a for the runs of two sides by when they started: more than one run
// of either side has none of the other within 24 hours. Sides without a run are never apart.
func Apart(a, b []time.Time) bool {
	return len(a) > 0 && len(b) > 0 && (lonely(a, b) > 1 || lonely(b, a) > 1)
}
