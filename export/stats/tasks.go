package stats

import "math"

// TaskSummary is one task over the variants.
type TaskSummary struct {
	Means       []*float64 // by variant; nil = no valid run
	Runs        []int      // by variant: valid runs
	Informative bool       // not every valid score is equal
	ItemRest    *float64   // F24; nil = constant, or fewer than 3 variants
	Mean        *float64   // over the variants, each weighing 1; nil = no valid run
	Above       *Outlier   // the variant that stands highest above the others; nil = fewer than 3 variants, or it is not one alone
	Below       *Outlier   // the variant that stands lowest below them
}

// Outlier is a variant that differs from the others on one task.
type Outlier struct {
	Variant int
	By      float64 // its mean less the mean of the others' means
}

// outliers fills in Mean, Above and Below.
func (s *TaskSummary) outliers() {
	sum, n := 0.0, 0
	for _, m := range s.Means {
		if m != nil {
			sum += *m
			n++
		}
	}
	if n == 0 {
		return
	}
	s.Mean = ptr(sum / float64(n))
	if n < 3 {
		return
	}
	s.Above, s.Below = s.extreme(sum, n, 1), s.extreme(sum, n, -1)
}

// extreme is the variant alone at one end, where it is not where the others are.
func (s *TaskSummary) extreme(sum float64, n int, sign float64) *Outlier {
	best, alone := Nobody, false
	for v, m := range s.Means {
		switch {
		case m == nil:
		case best == Nobody || sign*(*m-*s.Means[best]) > nought:
			best, alone = v, true
		case math.Abs(*m-*s.Means[best]) <= nought:
			alone = false
		}
	}
	if !alone {
		return nil
	}
	m := *s.Means[best]
	return &Outlier{Variant: best, By: m - (sum-m)/float64(n-1)}
}

// describeTasks fills in F23's informative tasks and F24's correlations.
func (d *Data) describeTasks(r *reading, out *Description) {
	means, has := make([][]float64, len(r.columns)), make([][]bool, len(r.columns))
	for v := range r.columns {
		means[v], has[v] = r.columns[v].mean, make([]bool, len(d.tasks))
		for t, n := range r.columns[v].valid {
			has[v][t] = n > 0
		}
	}
	sums := totals(means, has)
	for t := range d.tasks {
		s := TaskSummary{Means: make([]*float64, len(r.columns)), Runs: make([]int, len(r.columns))}
		var first *float64
		for v := range r.columns {
			c := &r.columns[v]
			s.Runs[v] = c.valid[t]
			if c.valid[t] == 0 {
				continue
			}
			s.Means[v] = ptr(c.mean[t])
			if first == nil {
				first = s.Means[v]
			}
			s.Informative = s.Informative || c.s2[t] > 0 || *first != c.mean[t]
		}
		if s.Informative {
			out.Informative++
		}
		if x, ok := sums.itemRest(means, has, t); ok {
			s.ItemRest = &x
		}
		s.outliers()
		out.Tasks = append(out.Tasks, s)
	}
}
