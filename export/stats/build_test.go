package stats

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// tester is a test or a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
}

// panel builds tasks t01, t02, … with a family letter each; families may be "".
func panel(n int, families string) []Task {
	tasks := make([]Task, n)
	for t := range tasks {
		tasks[t].ID = fmt.Sprintf("t%03d", t+1)
		if families != "" {
			tasks[t].Family = string(families[t])
		}
	}
	return tasks
}

// runsOf reads one word a task, one letter a run: 1 and 0 passes and failures of
// the agent, - a failure of the provider, . never started.
func runsOf(words string) []Run {
	fields := strings.Fields(words)
	runs := make([]Run, len(fields[0]))
	for r := range runs {
		runs[r].Cells = make([]Cell, len(fields))
		for t, word := range fields {
			switch word[r] {
			case '1':
				runs[r].Cells[t] = Cell{State: Scored, Score: 1, Passed: true}
			case '0':
				runs[r].Cells[t] = Cell{State: Scored}
			case '-':
				runs[r].Cells[t] = Cell{State: Failed}
			case '.':
			default:
				panic("unknown letter " + word)
			}
		}
	}
	return runs
}

func repeat(word string, n int) string { return strings.Repeat(word+" ", n) }

// newData makes a Data of a batch that is held as cells.
func newData(b Batch) (*Data, error) {
	f, err := Begin(b)
	if err != nil {
		return nil, err
	}
	for v := range b.Variants {
		for r := range b.Variants[v].Runs {
			if err := f.Run(v, r, b.Variants[v].Runs[r].Cells); err != nil {
				return nil, err
			}
		}
	}
	return f.Data(), nil
}

// measured sums up the runs of one task.
func measured(x []float64) Measured { return Measured{average(x), variance(x), len(x)} }

func build(t tester, b Batch) *Data {
	t.Helper()
	d, err := newData(b)
	require.NoError(t, err)
	return d
}

func ruled(t tester, d *Data, rule Rule) *Verdicts {
	t.Helper()
	v, err := Decide(d, rule)
	require.NoError(t, err)
	return v
}

func startAll(b Batch, at time.Time) {
	for v := range b.Variants {
		for r := range b.Variants[v].Runs {
			b.Variants[v].Runs[r].Started = at.Add(time.Duration(r) * time.Hour)
		}
	}
}

// t27 is the whole batch of vector T27.
func t27() Batch {
	b := Batch{Metric: Pass, Tasks: panel(12, "aabbccddefgh"), Variants: []Variant{
		{ID: "A", Runs: runsOf("111 111 111 101 111 111 011 111 111 111 110 111")},
		{ID: "B", Runs: runsOf("111 101 110 011 111 111 111 100 110 111 101 111")},
		{ID: "C", Runs: runsOf("110 001 010 100 001 1-1 001 111 100 010 000 010")},
		{ID: "D", Runs: runsOf("000 010 100 000 010 100 000 001 010 000 000 100")},
	}}
	startAll(b, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	return b
}

func t27Rule() Rule {
	r := DefaultRule()
	r.Margin, r.Reference = ptr(0.3), "A"
	return r
}
