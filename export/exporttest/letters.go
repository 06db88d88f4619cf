package exporttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Lettered is a batch of one model and as many agents as there are lines. A line
// holds a word a task and a letter a repeat: 1 and 0 passes and failures of the
// agent, - a failure of the provider, . never started, b stopped for money.
func Lettered(lines ...string) *Synthetic {
	first := strings.Fields(lines[0])
	s := New(Shape{Agents: len(lines), Models: 1, Tasks: len(first), Repeats: len(first[0]), Bare: true, Seed: 1})
	for i := range s.Tasks {
		s.Tasks[i].Family = ""
	}
	for i, line := range lines {
		s.SetLetters(i, line)
	}
	s.SetDecision(`{"metric":"passed","alpha":0.025,"compare":"all","scope":"population"}`)
	return s
}

// SetLetters replaces the outcomes of a cell's evaluations, see Lettered.
func (s *Synthetic) SetLetters(cell int, line string) {
	words := strings.Fields(line)
	for _, e := range s.Result.Evaluations {
		if e.Cell != s.Plan.Cells[cell].Identity.Cell {
			continue
		}
		var list []outcome.Outcome
		for t, word := range words {
			list = append(list, letter(s.Tasks[t].ID, word[e.Slot-1]))
		}
		s.SetOutcomes(e.RunID, list)
	}
}

func letter(task string, l byte) outcome.Outcome {
	switch l {
	case '1', '0':
		score := float64(l - '0')
		return outcome.Outcome{Task: task, State: outcome.Scored, Score: &score}
	case '-':
		return outcome.Failed(task, outcome.Provider, "invented failure")
	case '.':
		return outcome.Failed(task, outcome.NotRun, "the ceiling was reached")
	case 'b':
		tokens := int64(100)
		o := outcome.Failed(task, outcome.Budget, "the ceiling was reached")
		o.Tokens = &outcome.Tokens{Input: &tokens}
		return o
	}
	panic(fmt.Sprintf("exporttest: letter %q", l))
}

// SetFamilies names the tasks' families by a letter each.
func (s *Synthetic) SetFamilies(letters string) {
	for i := range s.Tasks {
		s.Tasks[i].Family = letters[i : i+1]
	}
}

// SetDecision replaces the frozen decision rule.
func (s *Synthetic) SetDecision(text string) {
	s.Plan.Decision, s.Plan.DecisionDigest = json.RawMessage(text), batch.Sum([]byte(text))
}

// Drop forgets the evaluations of a cell, as if none had been started.
func (s *Synthetic) Drop(cell int) {
	of := s.Plan.Cells[cell].Identity.Cell
	s.Result.Evaluations = slices.DeleteFunc(s.Result.Evaluations, func(e batch.Evaluation) bool { return e.Cell == of })
	for i := range s.Result.Slots {
		if slot := &s.Result.Slots[i]; slot.Cell == of {
			slot.State, slot.RunID, slot.Reason = batch.SlotNotStarted, "", "the ceiling was reached"
		}
	}
}
