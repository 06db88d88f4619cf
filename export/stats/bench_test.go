package stats

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// benchBatch is a batch with scores, costs and families of 8 tasks or so.
func benchBatch(variants, tasks, repeats int) Batch {
	s := Scenario{Variants: variants, Tasks: tasks, Families: tasks / 8, Repeats: []int{repeats}, Spread: 2, Interaction: 1.5, Shock: .1}
	g := rand.New(NewKey("bench", "pass", fmt.Sprint(variants, tasks, repeats)).stream(0))
	d := s.draw(g)
	b := Batch{Metric: Pass, Tasks: make([]Task, tasks)}
	for t := range b.Tasks {
		b.Tasks[t] = Task{ID: fmt.Sprint("t", t), Family: fmt.Sprint("f", d.unit[t])}
	}
	cost := make([]float64, 64)
	for i := range cost {
		cost[i] = .01 + .001*float64(i)
	}
	for v := range d.variants {
		out := Variant{ID: fmt.Sprint("v", v), Runs: make([]Run, repeats)}
		for r := range out.Runs {
			out.Runs[r].Cells = make([]Cell, tasks)
			for t := range tasks {
				y := d.variants[v].y[t*repeats+r]
				out.Runs[r].Cells[t] = Cell{State: Scored, Score: y, Passed: y == 1, CostUSD: &cost[g.IntN(64)], WallS: &cost[g.IntN(64)],
					Repriced: &cost[g.IntN(64)]}
			}
		}
		b.Variants = append(b.Variants, out)
	}
	return b
}

func benchRule() Rule {
	r := DefaultRule()
	r.Margin, r.Reference = ptr(.05), "v0"
	return r
}

// BenchmarkAll is everything the report needs: 12 variants × 500 tasks × 5 repeats.
func BenchmarkAll(b *testing.B) {
	d := build(b, benchBatch(12, 500, 5))
	for b.Loop() {
		v := ruled(b, d, benchRule())
		Describe(d, benchRule(), v)
	}
}

func BenchmarkDecide(b *testing.B) {
	d := build(b, benchBatch(12, 500, 5))
	for b.Loop() {
		ruled(b, d, benchRule())
	}
}

// yardstick is the plain block bootstrap of a batch's means: rows task by task, one
// index for all variants, blocks of 500 draws with their own streams.
type yardstick struct {
	variants, tasks int
	rows, out       []float64
	key             Key
}

func newYardstick(d *Data) *yardstick {
	y := &yardstick{variants: len(d.variants), tasks: len(d.tasks), key: NewKey("bench", "pass", "means")}
	y.rows, y.out = make([]float64, y.tasks*y.variants), make([]float64, Draws*y.variants)
	for v, c := range d.read(false).columns {
		for t := range y.tasks {
			y.rows[t*y.variants+v] = c.mean[t]
		}
	}
	return y
}

func (y *yardstick) run() {
	m, n := y.variants, y.tasks
	parallel((Draws+drawBlock-1)/drawBlock, func(block int) {
		g := rand.New(y.key.stream(block))
		for draw := block * drawBlock; draw < min(Draws, (block+1)*drawBlock); draw++ {
			sums := y.out[draw*m : (draw+1)*m]
			clear(sums)
			for range n {
				row := y.rows[g.IntN(n)*m:][:m]
				for v := range sums {
					sums[v] += row[v]
				}
			}
		}
	})
}

func BenchmarkYardstick(b *testing.B) {
	y := newYardstick(build(b, benchBatch(12, 500, 5)))
	for b.Loop() {
		y.run()
	}
}

// BenchmarkBootstrap is the same through Resample.
func BenchmarkBootstrap(b *testing.B) {
	d := build(b, benchBatch(12, 500, 5))
	var columns [][]float64
	for _, c := range d.read(false).columns {
		columns = append(columns, c.mean)
	}
	for b.Loop() {
		NewResample(500, nil, Draws, NewKey("bench", "pass", "means")).Sums(columns...)
	}
}

// BenchmarkLarge is 100 variants × 1,000 tasks × 10 repeats: 4,950 pairs. It
// reports the live memory of data, verdicts and description.
func BenchmarkLarge(b *testing.B) {
	d := build(b, benchBatch(100, 1000, 10))
	for b.Loop() {
		v := ruled(b, d, benchRule())
		x := Describe(d, benchRule(), v)
		b.StopTimer()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "live-MiB")
		runtime.KeepAlive(v)
		runtime.KeepAlive(x)
		b.StartTimer()
	}
}

func BenchmarkSimulate(b *testing.B) {
	s := Scenario{Variants: 12, Tasks: 100, Repeats: []int{5}, Interaction: 1.5, Shock: .3}
	for b.Loop() {
		if _, err := Simulate(s, DefaultRule(), Key{}, 50); err != nil {
			b.Fatal(err)
		}
	}
}
