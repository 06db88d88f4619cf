package exporttest

import (
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Hostile is text that would do harm in Markdown, HTML or a terminal.
const Hostile = "![x](https://host.invalid/p.png) <script>|\x1b[31m\u202e`\n# h"

// Mixed is a batch in which everything that can happen has happened.
func Mixed() *Synthetic {
	s := New(Shape{Agents: 3, Models: 2, Tasks: 10, Repeats: 2, Judges: 1, Attempts: true, Seed: 5})
	s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0003", Why: "verifier was wrong " + Hostile, Date: "2026-12-02"}}
	s.Plan.Exclude = []batch.Exclusion{{Variant: batch.Variant{Agent: "agent-9", Model: "model-1"}, Why: "no tool calls"}}
	s.Plan.Question = "Which one? " + Hostile
	e := s.Result.Evaluations

	foreign := &e[0] // only outcomes, measured by someone else
	foreign.Reused, foreign.Foreign, foreign.Batch, foreign.User = true, true, "", Hostile
	foreign.Started = Start.Add(-72 * time.Hour)
	foreign.Ended = nil
	delete(s.Files[foreign.RunID], batch.FileAttempts)
	delete(s.Files[foreign.RunID], batch.FileBundle)
	s.Result.Slots[0].State = batch.SlotReused

	interrupted := s.AddEvaluation(1, 3)
	interrupted.State, interrupted.Counted, interrupted.Reason = batch.StateInterrupted, false, "its launcher stopped "+Hostile
	delete(s.Files[interrupted.RunID], batch.FileOutcomes)
	early := interrupted.Started.Add(-time.Minute)
	interrupted.Ended = &early // a clock that went back
	s.Result.Slots[len(s.Result.Slots)-1].State = batch.SlotFailed
	s.Result.Slots[len(s.Result.Slots)-1].Reason = "interrupted"

	broken := s.AddEvaluation(2, 3)
	broken.State, broken.Counted, broken.Reason = batch.StateIncomplete, false, "half a file"
	s.Files[broken.RunID][batch.FileOutcomes] = s.Files[broken.RunID][batch.FileOutcomes][:150]
	s.Result.Slots[len(s.Result.Slots)-1].State = batch.SlotFailed

	zero, minus, reported := 0.0, 0.0, true
	minus *= -1
	s.SetOutcomes(e[2].RunID, []outcome.Outcome{
		{Task: "T-0002", State: outcome.Agent, Score: &zero, Error: &outcome.Failure{Class: outcome.Agent, Message: Hostile}, Repaired: true},
		{Task: "T-0001", State: outcome.Scored, Score: &minus, Passed: &reported, Flags: []outcome.Flag{{Audit: "test-awareness", Evidence: Hostile}}},
		{Task: "T-0004", State: outcome.Budget, Error: &outcome.Failure{Class: outcome.Budget}},
		{Task: "not-in-panel", State: outcome.Scored, Score: &zero},
	})
	s.AddSlot(5, 3, batch.SlotSkipped, "the model does not answer "+Hostile)
	s.AddSlot(4, 3, batch.SlotNotStarted, "the ceiling was reached")
	s.Result.Ignored = []batch.Ignored{{RunID: "r", Cell: "c", Reason: "deleted"}}
	s.Say(e[0].RunID, "T-0001", "tone", "0.5", "ann")
	s.Say(e[0].RunID, "T-0001", "tone", "-0", Hostile)
	s.Say(e[1].RunID, "T-0002", "tone", `"yes"`, "ann")
	s.Say(e[1].RunID, "T-0002", Hostile, `"🙂 free text"`, "")
	s.Say(e[1].RunID, "", "tags", `["a",{"b":1}]`, "ann")
	s.Say(interrupted.RunID, "not-in-panel", "right", "false", "ann")
	s.Say(e[2].RunID, "T-0001", "nothing", "", "ann")
	s.Say(e[2].RunID, "T-0001", "expected", `"42"`, "bob")
	s.Said[7].Kind = batch.KindExpectation
	return s
}

// Say adds what a person said of an outcome; value is JSON, "" = none.
func (s *Synthetic) Say(run, task, name, value, who string) {
	at := Start.Add(time.Duration(len(s.Said)) * time.Minute)
	a := batch.Assessment{RunID: run, Task: task, Name: name, Kind: batch.KindFeedback, Rationale: "invented reason " + Hostile, Who: who,
		Created: at, Updated: at.Add(time.Second), Trace: "tr-" + RunID(run+task), ID: "a-" + RunID(run+task+name+who)}
	if value != "" {
		a.Value = []byte(value)
	}
	s.Said = append(s.Said, a)
}
