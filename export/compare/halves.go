package compare

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

// describe fills in the variants and tasks of the comparison.
func (m *merged) describe() {
	c := m.c
	units := familyNumbers(m.tasks)
	c.Families = distinct(units)
	for i, v := range m.both {
		row := Variant{Variant: v, SameCell: variants(m.a.Frozen)[v].Identity.Cell == variants(m.b.Frozen)[v].Identity.Cell}
		row.A, row.B = m.half(2*i, units), m.half(2*i+1, units)
		for _, s := range c.Shared {
			switch {
			case s.Variant != v:
			case s.OnA:
				row.B.Shared++
			default:
				row.A.Shared++
			}
		}
		c.Variants = append(c.Variants, row)
	}
	for t := range m.tasks {
		task := Task{ID: m.tasks[t].ID, Family: m.tasks[t].Family, Withdrawn: m.withdrawn(t)}
		for i := range m.both {
			task.A, task.B = append(task.A, m.columns[2*i].mean(t)), append(task.B, m.columns[2*i+1].mean(t))
		}
		c.Tasks = append(c.Tasks, task)
	}
	c.Again = m.price()
}

func (m *merged) half(i int, units []int) Half {
	col := &m.columns[i]
	h := Half{Repeats: col.runs}
	if col.costs > 0 {
		usd := col.cost / float64(col.costs)
		h.CostUSD = &usd
	}
	var x []float64
	var u []int
	for t := range col.values {
		if v := col.mean(t); v != nil {
			x, u = append(x, *v), append(u, units[t])
		}
	}
	if mean, ok := stats.MeanOf(x, u, 0, 1); ok {
		h.Mean = &mean
	}
	return h
}

// price is what measuring A's half of all variants again would cost.
func (m *merged) price() Price {
	var p Price
	usd, known := 0.0, true
	for i := range m.both {
		h := &m.c.Variants[i].A
		p.Evaluations += h.Repeats
		if h.CostUSD == nil {
			known = known && h.Repeats == 0
			continue
		}
		usd += float64(float64(h.Repeats*len(m.tasks)) * *h.CostUSD)
	}
	if known && p.Evaluations > 0 {
		p.USD = &usd
	}
	return p
}

// familyNumbers numbers the families; a task without one is a family of its own.
func familyNumbers(tasks []export.Task) []int {
	number := map[string]int{}
	out := make([]int, len(tasks))
	for i, t := range tasks {
		key := t.Family
		if key == "" {
			key = "\x00" + t.ID
		}
		n, ok := number[key]
		if !ok {
			n = len(number)
			number[key] = n
		}
		out[i] = n
	}
	return out
}

func distinct(numbers []int) int {
	seen := map[int]bool{}
	for _, n := range numbers {
		seen[n] = true
	}
	return len(seen)
}
