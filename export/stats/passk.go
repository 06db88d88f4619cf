package stats

// PassAtK is F1 (Chen 2021): the chance that at least one of k runs passes, from c
// passes in n runs: 1 - C(n-c,k)/C(n,k). ok is false for n < k: never 1.
func PassAtK(n, c, k int) (p float64, ok bool) {
	miss, ok := PassHatK(n, n-c, k)
	return 1 - miss, ok
}

// PassHatK is F2 (tau-bench's pass^k): the chance that all of k runs pass,
// C(c,k)/C(n,k). ok is false for n < k. The shortcut (c/n)^k is biased high.
func PassHatK(n, c, k int) (p float64, ok bool) {
	if k < 1 || n < k || c < 0 || c > n {
		return 0, false
	}
	p = 1
	for i := range k {
		p *= float64(c-i) / float64(n-i)
		if c-i <= 0 {
			return 0, true
		}
	}
	return p, true
}

// PassK is F1 or F2 over a panel: the mean over the tasks with k runs or more.
type PassK struct {
	K        int
	Mean     *Mean // over tasks; nil = no task has k runs
	Excluded int   // tasks with a valid run, but fewer than k
}

// PassTable is F1 or F2 (each) over tasks with n[t] runs and c[t] passes. Tasks
// without a run are left out and not counted as excluded.
func PassTable(n, c, families []int, k int, each func(n, c, k int) (float64, bool)) PassK {
	out := PassK{K: k}
	var x []float64
	var family []int
	for t := range n {
		if n[t] == 0 {
			continue
		}
		if p, ok := each(n[t], c[t], k); ok {
			x = append(x, p)
			if families != nil {
				family = append(family, families[t])
			}
		} else {
			out.Excluded++
		}
	}
	if m, ok := MeanOf(x, family, 0, 1); ok {
		out.Mean = &m
	}
	return out
}
