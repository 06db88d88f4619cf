package stats

import "slices"

// drawing collects columns that share one resample of the panel's tasks (F15), so
// that the tasks are drawn once for everything that is shown.
type drawing struct {
	columns [][]float64
	users   []func(sums [][]float64)
}

// add asks for the columns' sums; use is given all draws and the columns' places.
// Equal columns have one place: both kinds of cost mostly rest on the same passes.
func (w *drawing) add(use func(sums [][]float64, at []int), columns ...[]float64) {
	at := make([]int, len(columns))
	for i, c := range columns {
		at[i] = slices.IndexFunc(w.columns, func(have []float64) bool { return slices.Equal(have, c) })
		if at[i] < 0 {
			at[i] = len(w.columns)
			w.columns = append(w.columns, c)
		}
	}
	w.users = append(w.users, func(sums [][]float64) { use(sums, at) })
}

// run draws, if anybody asked.
func (w *drawing) run(d *Data) {
	if len(w.users) == 0 {
		return
	}
	sums := NewResample(len(d.tasks), d.unit, Draws, d.key("describe")).Sums(w.columns...)
	parallel(len(w.users), func(i int) { w.users[i](sums) })
}

// ratio asks for the interval of a variant's passes per dollar, where it is drawn.
func (w *drawing) ratio(s *Spending) {
	r := s.PassPerDollar
	if r == nil || r.Tasks < leastBootstrap || r.Tasks >= mostBootstrap {
		return
	}
	pass, cost := s.pass, s.cost
	w.add(func(sums [][]float64, at []int) { r.resampled(pass, cost, sums, at[0], at[1]) }, pass, cost)
}
