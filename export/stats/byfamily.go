package stats

// FamilyVerdicts is the decision on the tasks of one family alone.
type FamilyVerdicts struct {
	Family string
	Tasks  []int
	*Verdicts
}

// DecideByFamily applies the rule to every family of the panel by itself; all
// families share one level (Holm over all their pairs, F16 over all their
// candidates). Tasks without a family are left out. A frozen choice: without it,
// results by family are exploratory.
func DecideByFamily(d *Data, rule Rule) ([]FamilyVerdicts, error) {
	var out []FamilyVerdicts
	var parts []*Data
	for _, f := range d.familyTasks() {
		out = append(out, FamilyVerdicts{Family: f.Family, Tasks: f.Tasks})
		parts = append(parts, d.only(f.Tasks))
	}
	if len(parts) == 0 {
		_, err := rule.check(d)
		return nil, err
	}
	verdicts, err := decide(rule, parts...)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Verdicts = verdicts[i]
	}
	return out, nil
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
			votes: pickTasks(from.votes, tasks, k*len(d.judges))}
		to := &out.variants[v]
		for r := range to.runs {
			to.runs[r].failed = 0
			for t := range tasks {
				if to.state[t*k+r] == Failed {
					to.runs[r].failed++
				}
			}
		}
	}
	out.seed = out.digest()
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
