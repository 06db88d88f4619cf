package stats

import "math/rand/v2"

// shuffled permutes labels within tasks: whole variants with their runs, or single
// runs. Variants without a counted run stay as they are.
func (d *Data) shuffled(g *rand.Rand, single bool) *Data {
	out := *d
	out.timed, out.judges = false, nil
	out.variants = make([]variant, len(d.variants))
	var of []int // the variants that take part
	var counted [][]int
	k := 0
	for v := range d.variants {
		out.variants[v] = variant{id: d.variants[v].id, family: d.variants[v].family}
		if runs := d.variants[v].counted(); len(runs) > 0 {
			of, counted, k = append(of, v), append(counted, runs), max(k, len(runs))
		}
	}
	for _, v := range of {
		out.variants[v].runs = make([]runInfo, k)
		out.variants[v].state, out.variants[v].y = make([]State, k*len(d.tasks)), make([]float64, k*len(d.tasks))
	}
	size := k // of what moves together
	if single {
		size = 1
	}
	for t := range d.tasks {
		if k == 0 {
			break
		}
		for i, j := range g.Perm(len(of) * k / size) {
			for r := range size {
				a, b := i*size+r, j*size+r // places in the row of all runs, k a variant
				if runs := counted[b/k]; b%k < len(runs) {
					out.variants[of[a/k]].take(t, a%k, &d.variants[of[b/k]], runs[b%k])
				}
			}
		}
	}
	return &out
}

// counted are the runs that make the numbers.
func (v *variant) counted() []int {
	var runs []int
	for r := range v.runs {
		if v.runs[r].place == Counted {
			runs = append(runs, r)
		}
	}
	return runs
}

// take copies an outcome of a task from another variant's run.
func (v *variant) take(task, run int, from *variant, source int) {
	at, i := task*len(v.runs)+run, task*len(from.runs)+source
	v.state[at], v.y[at] = from.state[i], from.y[i]
	if v.state[at] == Failed {
		v.runs[run].failed++
	}
}
