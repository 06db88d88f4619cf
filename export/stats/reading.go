package stats

import "time"

// reading is one way to read the data: failures dropped (the first, whose
// numbers are shown) or failures scored 0 as valid outcomes (the second, F22).
type reading struct {
	columns []column
	unit    []int // family of each task
	timed   bool
	shock   shock
}

// column is one variant in one reading.
type column struct {
	id      string
	k       int         // counted runs with at least one valid outcome (k_v)
	valid   []int       // by task: valid runs (k_vt)
	mean    []float64   // by task; meaningless where valid is 0
	s2      []float64   // by task: variance over runs; 0 where valid < 2
	tasks   int         // tasks with a valid run
	ybar    float64     // mean over them, each task weighing 1
	w       float64     // mean of s2 over tasks with 2 valid runs or more
	noisy   bool        // there is such a task, so w is known
	runs    runShock    // F8
	started []time.Time // of the counted runs
}

// read makes a reading. Runs over max_missing whose slot nobody filled join the
// second one if they hold a failure: else a variant that breaks the harness
// where it is weak would keep only its good runs.
func (d *Data) read(failuresZero bool) *reading {
	r := &reading{unit: d.unit, timed: d.timed, columns: make([]column, len(d.variants))}
	for v := range d.variants {
		r.columns[v] = d.variants[v].read(len(d.tasks), failuresZero)
	}
	r.shock = pool(r.columns)
	return r
}

// differs says whether the second reading can differ from the first.
func (d *Data) differs() bool {
	for v := range d.variants {
		for _, run := range d.variants[v].runs {
			if run.failed > 0 && run.place != Replaced {
				return true
			}
		}
	}
	return false
}

func (v *variant) read(tasks int, failuresZero bool) column {
	c := column{id: v.id, valid: make([]int, tasks), mean: make([]float64, tasks), s2: make([]float64, tasks)}
	k := len(v.runs)
	use, usable := make([]bool, k), make([]bool, k*tasks)
	for r, run := range v.runs {
		use[r] = run.place == Counted || failuresZero && run.place == Unfilled && run.failed > 0
	}
	alive := make([]bool, k)
	for t := range tasks {
		for r := range k {
			s := v.state[t*k+r]
			if use[r] && (s == Scored || failuresZero && s == Failed) {
				usable[t*k+r], alive[r] = true, true
			}
		}
	}
	for r := range k {
		if alive[r] {
			c.k++
			c.started = append(c.started, v.runs[r].started)
		}
	}
	for t := range tasks {
		c.valid[t], c.mean[t], c.s2[t] = moments(v.y[t*k:t*k+k], usable[t*k:t*k+k])
	}
	c.summarise()
	c.runs = v.shock(&c, usable)
	return c
}

// moments is the number, mean and variance of the usable values; equal values
// have a variance of exactly 0.
func moments(y []float64, usable []bool) (n int, mean, s2 float64) {
	sum, first, equal := 0.0, 0.0, true
	for r, u := range usable {
		if !u {
			continue
		}
		if n == 0 {
			first = y[r]
		}
		equal = equal && y[r] == first
		sum += y[r]
		n++
	}
	if n == 0 || equal {
		return n, first, 0
	}
	mean = sum / float64(n)
	for r, u := range usable {
		if u {
			e := y[r] - mean
			s2 += float64(e * e)
		}
	}
	return n, mean, s2 / float64(n-1)
}

func (c *column) summarise() {
	sum, noise, noisy := 0.0, 0.0, 0
	for t, n := range c.valid {
		if n == 0 {
			continue
		}
		c.tasks++
		sum += c.mean[t]
		if n > 1 {
			noise += c.s2[t]
			noisy++
		}
	}
	if c.tasks > 0 {
		c.ybar = sum / float64(c.tasks)
	}
	if noisy > 0 {
		c.w, c.noisy = noise/float64(noisy), true
	}
}
