package stats

// TaskSummary is one task over the variants.
type TaskSummary struct {
	Means       []*float64 // by variant; nil = no valid run
	Runs        []int      // by variant: valid runs
	Informative bool       // not every valid score is equal
	ItemRest    *float64   // F24; nil = constant, or fewer than 3 variants
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
		out.Tasks = append(out.Tasks, s)
	}
}
