package export_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// hostile is text that would do harm in Markdown, HTML or a terminal.
const hostile = "![x](https://host.invalid/p.png) <script>|\x1b[31m\u202e`\n# h"

// mixed is a batch in which everything that can happen has happened.
func mixed() *exporttest.Synthetic {
	s := exporttest.New(exporttest.Shape{Agents: 3, Models: 2, Tasks: 10, Repeats: 2, Judges: 1, Attempts: true, Seed: 5})
	s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0003", Why: "verifier was wrong " + hostile, Date: "2026-12-02"}}
	s.Plan.Exclude = []batch.Exclusion{{Variant: batch.Variant{Agent: "agent-9", Model: "model-1"}, Why: "no tool calls"}}
	s.Plan.Question = "Which one? " + hostile
	e := s.Result.Evaluations

	foreign := &e[0] // only outcomes, measured by someone else
	foreign.Reused, foreign.Foreign, foreign.Batch, foreign.User = true, true, "", hostile
	foreign.Started = exporttest.Start.Add(-72 * time.Hour)
	foreign.Ended = nil
	delete(s.Files[foreign.RunID], batch.FileAttempts)
	delete(s.Files[foreign.RunID], batch.FileBundle)
	s.Result.Slots[0].State = batch.SlotReused

	interrupted := s.AddEvaluation(1, 3)
	interrupted.State, interrupted.Counted, interrupted.Reason = batch.StateInterrupted, false, "its launcher stopped "+hostile
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
		{Task: "T-0002", State: outcome.Agent, Score: &zero, Error: &outcome.Failure{Class: outcome.Agent, Message: hostile}, Repaired: true},
		{Task: "T-0001", State: outcome.Scored, Score: &minus, Passed: &reported, Flags: []outcome.Flag{{Audit: "test-awareness", Evidence: hostile}}},
		{Task: "T-0004", State: outcome.Budget, Error: &outcome.Failure{Class: outcome.Budget}},
		{Task: "not-in-panel", State: outcome.Scored, Score: &zero},
	})
	s.AddSlot(5, 3, batch.SlotSkipped, "the model does not answer "+hostile)
	s.AddSlot(4, 3, batch.SlotNotStarted, "the ceiling was reached")
	s.Result.Ignored = []batch.Ignored{{RunID: "r", Cell: "c", Reason: "deleted"}}
	return s
}

func TestShapes(t *testing.T) {
	empty := exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 3, Seed: 2})
	empty.AddSlot(0, 1, batch.SlotSkipped, "the model does not answer")
	draft := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 3, Repeats: 1, Bare: true, Seed: 2})
	draft.Plan.Draft = true
	lonely := exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 0, Repeats: 1, Seed: 2})
	for name, s := range map[string]*exporttest.Synthetic{
		"nothing measured":   empty,
		"all columns null":   draft,
		"no tasks":           lonely,
		"everything at once": mixed(),
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, s.Freeze(), nil)
			r := verify(t, dir)
			require.NoError(t, r.Err())
			assert.Empty(t, r.Notes)
			m := r.Manifest
			assert.True(t, m.Counts.AddUp())
			assert.Equal(t, m.Evals.Total, m.Evals.Counted+m.Evals.NotCounted)
			sum := m.Outcomes.Absent
			for _, n := range m.Outcomes.States {
				sum += n
			}
			assert.Equal(t, m.Outcomes.Planned, sum)
		})
	}
}

func TestMissingIsSaid(t *testing.T) {
	s := mixed()
	m := verify(t, write(t, s.Freeze(), nil)).Manifest
	reasons := map[string]int{}
	for _, f := range m.Missing {
		reasons[f.Reason]++
	}
	assert.Equal(t, map[string]int{export.ReasonNotKept: 3}, reasons) // two of the foreign run, one of the interrupted
	assert.Equal(t, batch.Counts{Planned: 16, Reused: 1, Done: 11, Failed: 2, Skipped: 1, NotStarted: 1}, m.Counts)
	assert.Equal(t, export.EvalCounts{Total: 14, Counted: 12, NotCounted: 2, Foreign: 1,
		States: map[string]int{"complete": 12, "interrupted": 1, "incomplete": 1}}, m.Evals)
	assert.Equal(t, map[string]int{"deleted": 1}, m.Ignored)
	assert.Equal(t, 1, m.Reasons["not_started: the ceiling was reached"])
	assert.Equal(t, 7, m.Outcomes.Absent, "an outcome of an unknown task is none of the panel")
}

func TestReprice(t *testing.T) {
	usd := func(v float64) *float64 { return &v }
	n := func(v int64) *int64 { return &v }
	f := &export.Frozen{Plan: batch.Plan{Prices: batch.Prices{
		"plain": {Input: usd(1), Output: usd(2)},
		"cache": {Input: usd(1), CacheRead: usd(0.1), CacheWrite: usd(0), Output: usd(2)},
		"half":  {Input: usd(1)},
	}}}
	for i, c := range []struct {
		model  string
		tokens *outcome.Tokens
		want   *float64
		reason string
	}{
		{"plain", &outcome.Tokens{Input: n(1e6), Output: n(1e6)}, usd(3), ""},
		{"plain", &outcome.Tokens{Input: n(0), Output: n(0)}, usd(0), ""},
		{"plain", &outcome.Tokens{Input: n(1e6), CacheRead: n(5), Output: n(1)}, nil, export.NoPrice},
		{"plain", &outcome.Tokens{Input: n(1e6), CacheRead: n(0), Output: n(0)}, usd(1), ""},
		{"plain", &outcome.Tokens{Input: n(1e6)}, nil, export.PartTokens},
		{"cache", &outcome.Tokens{Input: n(1e6), CacheRead: n(1e6), Output: n(1e6)}, usd(3.1), ""},
		{"cache", &outcome.Tokens{Input: n(1e6), Output: n(1e6)}, nil, export.PartTokens},
		{"half", &outcome.Tokens{Input: n(1), Output: n(0)}, usd(1e-6), ""},
		{"half", &outcome.Tokens{Input: n(1), Output: n(1)}, nil, export.NoPrice},
		{"other", &outcome.Tokens{Input: n(1)}, nil, export.NoPrice},
		{"plain", nil, nil, export.NoTokens},
		{"plain", &outcome.Tokens{}, nil, export.NoTokens},
	} {
		got, reason := f.Reprice(c.model, c.tokens)
		assert.Equal(t, c.reason, reason, fmt.Sprint(i))
		if c.want == nil {
			assert.Nil(t, got, fmt.Sprint(i))
		} else if assert.NotNil(t, got, fmt.Sprint(i)) {
			assert.InDelta(t, *c.want, *got, 1e-12)
		}
	}
}
