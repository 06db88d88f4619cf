package stats

// OneWay is F17 for one variant: how much of its spread lies between tasks.
type OneWay struct {
	Between, Within float64  // mean squares
	N0              float64  // effective runs a task
	ICC             *float64 // reliability of a single run; nil = undefined
	Mean            *float64 // reliability of the mean of N0 runs; nil = undefined
}

// OneWayOf is F17 from each task's number of runs, mean and variance. Tasks without
// a run are skipped. ok is false below 2 tasks, or where no task has 2 runs.
func OneWayOf(n []int, mean, s2 []float64) (o OneWay, ok bool) {
	runs, tasks, squares, sum := 0, 0, 0, 0.0
	for t := range n {
		if n[t] > 0 {
			runs += n[t]
			tasks++
			squares += n[t] * n[t]
			sum += float64(float64(n[t]) * mean[t])
		}
	}
	if tasks < 2 || runs == tasks {
		return o, false
	}
	grand := sum / float64(runs)
	for t := range n {
		if n[t] > 0 {
			e := mean[t] - grand
			o.Between += float64(float64(n[t]) * e * e)
			o.Within += float64(float64(n[t]-1) * s2[t])
		}
	}
	o.Between /= float64(tasks - 1)
	o.Within /= float64(runs - tasks)
	o.N0 = (float64(runs) - float64(squares)/float64(runs)) / float64(tasks-1)
	if d := o.Between + float64((o.N0-1)*o.Within); o.Between+o.Within > nought && d > nought {
		icc := (o.Between - o.Within) / d
		o.ICC = &icc
		if m := 1 + float64((o.N0-1)*icc); m > nought {
			o.Mean = ptr(o.N0 * icc / m)
		}
	}
	return o, true
}

// Generalisability is F17 for a balanced panel of variants × tasks × runs.
type Generalisability struct {
	Variants, Tasks, Interaction, Error float64  // mean squares
	VarianceVariants                    float64  // s2_v, not below 0
	VarianceTasks                       float64  // s2_t
	VarianceInteraction                 float64  // s2_vt
	Rho2                                *float64 // share of the spread of the variants' means that is real; nil = no spread
}

// GeneralisabilityOf is F17 from the means and variances of cells, by variant and
// task, with k runs each. ok is false below 2 variants, tasks or runs.
func GeneralisabilityOf(mean, s2 [][]float64, k int) (g Generalisability, ok bool) {
	m := len(mean)
	if m < 2 || len(mean[0]) < 2 || k < 2 {
		return g, false
	}
	n := len(mean[0])
	grand, byVariant, byTask := 0.0, make([]float64, m), make([]float64, n)
	for v := range mean {
		byVariant[v] = average(mean[v])
		grand += byVariant[v] / float64(m)
		for t := range n {
			byTask[t] += mean[v][t] / float64(m)
			g.Error += s2[v][t] / float64(m*n)
		}
	}
	fm, fn, fk := float64(m), float64(n), float64(k)
	g.Variants = fn * fk * variance(byVariant)
	g.Tasks = fm * fk * variance(byTask)
	for v := range mean {
		for t := range n {
			e := mean[v][t] - byVariant[v] - byTask[t] + grand
			g.Interaction += float64(e * e)
		}
	}
	g.Interaction *= fk / ((fm - 1) * (fn - 1))
	g.VarianceInteraction = max(0, (g.Interaction-g.Error)/fk)
	g.VarianceVariants = max(0, (g.Variants-g.Interaction)/(fn*fk))
	g.VarianceTasks = max(0, (g.Tasks-g.Interaction)/(fm*fk))
	if g.Variants > nought {
		g.Rho2 = ptr(max(0, 1-g.Interaction/g.Variants))
	}
	return g, true
}
