package stats

import "math"

// SingleRunDifference is F25's 95 % limit of the difference of two single runs of
// the same agent over n tasks, from the rerun variance w of a task: 1.96 sqrt(2w/n).
func SingleRunDifference(w float64, n int) (limit float64, ok bool) {
	if n < 1 || !(w >= 0) {
		return 0, false
	}
	return normalUpper(0.025) * math.Sqrt(2*w/float64(n)), true
}

// Unstable is F25: two single runs of the same agent may differ by more than the
// margin, or whole runs differ by more than rerun noise (F8).
func Unstable(w float64, n int, margin *float64, shocks Shock) bool {
	limit, ok := SingleRunDifference(w, n)
	return shocks.Unstable || ok && margin != nil && limit > *margin+guard
}

// FlipRate is the share of tasks that neither always pass nor always fail. It grows
// with the number of runs: for display only, never to be compared across repeats.
func FlipRate(n, c []int) (rate float64, ok bool) {
	tasks, flips := 0, 0
	for t := range n {
		if n[t] < 2 {
			continue
		}
		tasks++
		if c[t] > 0 && c[t] < n[t] {
			flips++
		}
	}
	if tasks == 0 {
		return 0, false
	}
	return float64(flips) / float64(tasks), true
}
