package stats_test

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export/stats"
)

// Two variants, 12 tasks, 5 runs each: the new one passes nearly always, the old one rarely.
func Example() {
	tasks := make([]stats.Task, 12)
	for t := range tasks {
		tasks[t].ID = fmt.Sprintf("T-%02d", t+1)
	}
	run := func(passes func(t int) bool) stats.Run {
		cells := make([]stats.Cell, len(tasks))
		for t := range cells {
			cells[t] = stats.Cell{State: stats.Scored}
			if passes(t) {
				cells[t].Score, cells[t].Passed = 1, true
			}
		}
		return stats.Run{Cells: cells}
	}
	older, newer := stats.Variant{ID: "old"}, stats.Variant{ID: "new"}
	for r := range 5 {
		older.Runs = append(older.Runs, run(func(t int) bool { return (t+r)%5 == 0 }))
		newer.Runs = append(newer.Runs, run(func(t int) bool { return (t+r)%6 != 0 }))
	}
	batch := stats.Batch{Metric: stats.Pass, Tasks: tasks, Variants: []stats.Variant{older, newer}}
	filling, err := stats.Begin(batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	for v := range batch.Variants {
		for r, run := range batch.Variants[v].Runs {
			if err := filling.Run(v, r, run.Cells); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	data := filling.Data()
	rule := stats.DefaultRule()
	margin := 0.1
	rule.Margin, rule.Reference = &margin, "old"
	verdicts, err := stats.Decide(data, rule)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := verdicts.Pairs[0]
	fmt.Printf("%s %s %s: difference %.3f, adjusted p %.4f, %s\n",
		data.Variants()[p.Winner], p.Mark, data.Variants()[p.A], -*p.Difference, *p.PAdj, verdicts.NonInferiority[0].Standing)
	// Output: new beats old: difference 0.633, adjusted p 0.0009, superior
}
