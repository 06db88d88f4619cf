package stats

import "math"

// Mean is F3 and F4 for one variant: its mean over tasks, each weighing 1 however
// many runs it has.
type Mean struct {
	Value    float64
	Tasks    int      // behind it
	SE       *float64 // nil below 2 tasks
	DF       float64  // tasks - 1, or families - 1 where those have the larger SE
	Interval *Interval
	Method   string
}

// MeanOf is F3 over the tasks' means, with F4's families where 1 < G < N and
// their SE is the larger. families numbers the family of each task; nil = none.
// low and high clip the interval. ok is false without tasks.
func MeanOf(x []float64, families []int, low, high float64) (m Mean, ok bool) {
	n := len(x)
	if n == 0 {
		return m, false
	}
	m = Mean{Value: average(x), Tasks: n, DF: float64(n - 1), Method: ByT}
	if n < 2 {
		return m, true
	}
	v := variance(x) / float64(n)
	if cluster, g, ok := ClusteredVariance(x, families); ok && g < n && cluster > v {
		v, m.DF, m.Method = cluster, float64(g-1), ByCluster
	}
	m.SE = ptr(math.Sqrt(v))
	i := around(m.Value, t95(m.DF)**m.SE).clip(low, high)
	m.Interval = &i
	return m, true
}

// ClusteredVariance is F4 squared: the variance of the mean of x where families
// are the independent units, with their number. Below 2 families ok is false: not 0.
func ClusteredVariance(x []float64, families []int) (v float64, g int, ok bool) {
	if len(families) != len(x) {
		return 0, 0, false
	}
	m := average(x)
	sums, place := []float64(nil), map[int]int{}
	for i, f := range families {
		p, known := place[f]
		if !known {
			p = len(sums)
			place[f] = p
			sums = append(sums, 0)
		}
		sums[p] += x[i] - m
	}
	g = len(sums)
	if g < 2 {
		return 0, g, false
	}
	for _, s := range sums {
		v += float64(s * s)
	}
	n := float64(len(x))
	return v * float64(g) / (float64(g-1) * n * n), g, true
}
