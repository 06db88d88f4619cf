package stats

import "slices"

// Without is the data as if some outcomes had never been started: those that audits
// flagged, runs that served to choose a setting, or withdrawn tasks. drop is asked
// for every cell, by index. See Turned for what changes.
func (d *Data) Without(drop func(variant, run, task int) bool) *Data {
	out := *d
	out.variants = slices.Clone(d.variants)
	for v := range out.variants {
		col, k := &out.variants[v], len(d.variants[v].runs)
		col.state, col.y, col.runs = slices.Clone(col.state), slices.Clone(col.y), slices.Clone(col.runs)
		for t := range d.tasks {
			for r := range k {
				if drop(v, r, t) {
					col.state[t*k+r], col.y[t*k+r] = NotRun, 0
				}
			}
		}
		col.recount()
	}
	return &out
}

// Turned lists the pairs, by index, whose mark or winner differs between two
// verdicts by the same rule on the same variants.
func Turned(a, b *Verdicts) []int {
	var out []int
	for i := range min(len(a.Pairs), len(b.Pairs)) {
		if a.Pairs[i].Mark != b.Pairs[i].Mark || a.Pairs[i].Winner != b.Pairs[i].Winner {
			out = append(out, i)
		}
	}
	return out
}

// recount counts the failures of every run again.
func (v *variant) recount() {
	k := len(v.runs)
	for r := range v.runs {
		v.runs[r].failed = 0
	}
	for i, s := range v.state {
		if s == Failed {
			v.runs[i%k].failed++
		}
	}
}

// only is the data on some tasks.
func (d *Data) only(tasks []int) *Data {
	out := *d
	out.tasks = pickTasks(d.tasks, tasks, 1)
	out.unit = units(out.tasks)
	out.variants = make([]variant, len(d.variants))
	for v := range d.variants {
		from, k := &d.variants[v], len(d.variants[v].runs)
		out.variants[v] = variant{id: from.id, family: from.family, runs: append([]runInfo(nil), from.runs...),
			state: pickTasks(from.state, tasks, k), y: pickTasks(from.y, tasks, k), score: pickTasks(from.score, tasks, k),
			pass: pickTasks(from.pass, tasks, k), cost: pickTasks(from.cost, tasks, k), wall: pickTasks(from.wall, tasks, k),
			repriced: pickTasks(from.repriced, tasks, k),
			votes:    pickTasks(from.votes, tasks, k*len(d.judges))}
		out.variants[v].recount()
	}
	out.seed += "/" + out.digest()
	return &out
}

// pickTasks copies the tasks' stretches of size values each.
func pickTasks[T any](x []T, tasks []int, size int) []T {
	if x == nil {
		return nil
	}
	out := make([]T, 0, len(tasks)*size)
	for _, t := range tasks {
		out = append(out, x[t*size:(t+1)*size]...)
	}
	return out
}
