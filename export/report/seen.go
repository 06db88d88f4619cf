package report

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// seen remembers, for each variant and task, the counted evaluations with its lowest
// and its highest score: where to look.
type seen struct {
	variant map[batch.Digest]int
	tasks   int
	cells   [][]extremes // by variant; nil until it has an evaluation
	next    int32        // evaluation that comes next
}

type extremes struct {
	low, high       float64
	lowRun, highRun int32 // evaluation of the summary, counted from 1; 0 = no score
}

func newSeen(f *export.Frozen) *seen {
	s := &seen{variant: map[batch.Digest]int{}, tasks: len(f.Tasks), cells: make([][]extremes, len(f.Plan.Cells))}
	for i := range f.Plan.Cells {
		s.variant[f.Plan.Cells[i].Identity.Cell] = i
	}
	return s
}

func (s *seen) add(e *export.Evidence) {
	s.next++
	if !e.Counted {
		return
	}
	v := s.variant[e.Cell]
	if s.cells[v] == nil {
		s.cells[v] = make([]extremes, s.tasks)
	}
	for i := range e.Outcomes {
		p, score := e.Derived[i].Position, e.Outcomes[i].Score
		if p < 0 || score == nil {
			continue
		}
		x := &s.cells[v][p]
		if x.lowRun == 0 || *score < x.low {
			x.low, x.lowRun = *score, s.next
		}
		if x.highRun == 0 || *score > x.high {
			x.high, x.highRun = *score, s.next
		}
	}
}

// lowest and highest are the evaluations, by index, to look at; -1 = none has a score.
func (s *seen) lowest(variant, task int) int  { return int(s.at(variant, task).lowRun) - 1 }
func (s *seen) highest(variant, task int) int { return int(s.at(variant, task).highRun) - 1 }

func (s *seen) at(variant, task int) extremes {
	if s.cells[variant] == nil {
		return extremes{}
	}
	return s.cells[variant][task]
}
