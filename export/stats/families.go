package stats

// FamilySummary is F24 for one family of the panel.
type FamilySummary struct {
	Family  string
	Tasks   []int
	P       *FamilyP // of the permutation test over tasks that every measured variant has; nil = not computable
	Verdict Discrimination
	// Variants are the variants on these tasks alone: a description, and exploratory
	// unless the rule decides by family.
	Variants []FamilyVariant
}

// FamilyVariant is one variant on the tasks of one family.
type FamilyVariant struct {
	Mean    *Mean // F3; nil = no valid run
	Runs    int   // valid runs, over the tasks
	PassAt  PassK // at the k of Description.Repeats
	PassHat PassK
}

// familyTasks lists the families of the panel with their tasks, in order of
// appearance. A task without a family is none.
func (d *Data) familyTasks() []FamilySummary {
	var out []FamilySummary
	place := map[string]int{}
	for t, task := range d.tasks {
		if task.Family == "" {
			continue
		}
		i, known := place[task.Family]
		if !known {
			i = len(out)
			place[task.Family] = i
			out = append(out, FamilySummary{Family: task.Family})
		}
		out[i].Tasks = append(out[i].Tasks, t)
	}
	return out
}

// families is F24 for every family of the panel.
func (d *Data) families(r *reading, rule Rule, k int) []FamilySummary {
	out := d.familyTasks()
	passes := make([][2][]int, len(d.variants))
	for v := range passes {
		passes[v][0], passes[v][1] = d.passCounts(v)
	}
	parallel(len(out), func(i int) {
		f := &out[i]
		for v := range d.variants {
			f.Variants = append(f.Variants, r.columns[v].onTasks(f.Tasks, passes[v], k))
		}
		p, ok := FamilyTest(r.rows(f.Tasks), d.key("family/"+f.Family))
		if !ok {
			return
		}
		f.P = &p
		f.Verdict = DiscriminationOf(p.P, func() bool { return rule.Margin != nil && r.within(f.Tasks, rule) })
	})
	return out
}

// onTasks describes a variant on some tasks; passed holds its runs and passes by task.
func (c *column) onTasks(tasks []int, passed [2][]int, k int) FamilyVariant {
	var out FamilyVariant
	var x []float64
	for _, t := range tasks {
		if c.valid[t] > 0 {
			x = append(x, c.mean[t])
			out.Runs += c.valid[t]
		}
	}
	if m, ok := MeanOf(x, nil, 0, 1); ok {
		out.Mean = &m
	}
	n, pass := pickTasks(passed[0], tasks, 1), pickTasks(passed[1], tasks, 1)
	out.PassAt, out.PassHat = PassTable(n, pass, nil, k, PassAtK), PassTable(n, pass, nil, k, PassHatK)
	return out
}

// rows is the means of the measured variants on the tasks that all of them have.
func (r *reading) rows(tasks []int) [][]float64 {
	var rows [][]float64
	for _, t := range tasks {
		var row []float64
		complete := true
		for v := range r.columns {
			c := &r.columns[v]
			if c.k == 0 {
				continue
			}
			complete = complete && c.valid[t] > 0
			row = append(row, c.mean[t])
		}
		if complete && len(row) > 1 {
			rows = append(rows, row)
		}
	}
	return rows
}

// within says whether the 95 % interval of every pair lies inside the margin on the
// tasks of one family; false where a pair has no interval there.
func (r *reading) within(tasks []int, rule Rule) bool {
	sub := &reading{unit: make([]int, len(tasks)), columns: make([]column, len(r.columns)), shock: r.shock}
	for i, t := range tasks {
		sub.unit[i] = i
		for v := range r.columns {
			c := &sub.columns[v]
			from := &r.columns[v]
			c.valid, c.mean, c.s2 = append(c.valid, from.valid[t]), append(c.mean, from.mean[t]), append(c.s2, from.s2[t])
		}
	}
	for v := range sub.columns {
		sub.columns[v].k, sub.columns[v].runs = r.columns[v].k, r.columns[v].runs
		sub.columns[v].summarise()
	}
	s := newScratch(len(tasks))
	for a := range sub.columns {
		for b := a + 1; b < len(sub.columns); b++ {
			if sub.columns[a].k == 0 || sub.columns[b].k == 0 {
				continue
			}
			c := contest{a: a, b: b}
			sub.measure(&c, Rule{Scope: rule.Scope}, s)
			i, method := sub.interval(&c)
			if i == nil || method == ByTasksOnly || i.Low <= -*rule.Margin || i.High >= *rule.Margin {
				return false
			}
		}
	}
	return true
}
