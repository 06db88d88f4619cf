package export_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

func num(v float64) *float64 { return &v }

// costly is two variants on 12 tasks: three attempts on the first task, of which two
// were a provider's failures, and one evaluation that was reused.
func costly(t *testing.T) *exporttest.Synthetic {
	t.Helper()
	s := exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Tasks: 12, Repeats: 3, Bare: true, Seed: 1})
	s.SetDecision(`{"metric":"passed"}`)
	million, none := int64(1_000_000), int64(0)
	for n := range s.Result.Evaluations {
		e := &s.Result.Evaluations[n]
		var list []outcome.Outcome
		var tries bytes.Buffer
		for i, task := range s.Tasks {
			score := float64((i + n) % 2)
			o := outcome.Outcome{Task: task.ID, State: outcome.Scored, Score: &score, Attempt: 1, CostUSD: num(0.10), DurationS: num(float64(i + 3)), WaitS: num(2),
				Tokens: &outcome.Tokens{Input: &million, CacheRead: &none, Output: &none}, Judges: []outcome.Vote{{Name: "tone", Score: &score, Kind: "model", Model: "m", CostUSD: num(0.01)}}}
			if i == 0 {
				for a := range 2 {
					failed := outcome.Failed(task.ID, outcome.Provider, "invented")
					failed.Attempt, failed.CostUSD = a+1, num(0.02)
					require.NoError(t, outcome.Append(&tries, outcome.Attempt{Outcome: failed}))
				}
				o.Attempt = 3
			}
			require.NoError(t, outcome.Append(&tries, outcome.Attempt{Accepted: true, Outcome: o}))
			list = append(list, o)
		}
		s.SetOutcomes(e.RunID, list)
		s.Files[e.RunID][batch.FileAttempts] = tries.Bytes()
	}
	e := &s.Result.Evaluations[0]
	e.Reused, e.Started = true, e.Started.Add(-240*time.Hour)
	s.Result.Slots[0].State = batch.SlotReused
	return s
}

// What was paid today, what was reused and what judges cost stand apart; failed
// attempts are counted with their cost; both costs of a pass have an interval.
func TestWhatItCost(t *testing.T) {
	s := costly(t)
	sum := summaryOf(t, s)
	assert.Equal(t, []int{5, 1}, []int{sum.Paid.Ran, sum.Paid.Reused})
	assert.InDelta(t, 5*(1.2+.04), sum.Paid.Today.Reported.Total, 1e-9)
	assert.InDelta(t, 1.24, sum.Paid.Value.Reported.Total, 1e-9)
	assert.InDelta(t, 5*.12, sum.Paid.Today.Judges.Total, 1e-9)

	v := &sum.Variants[0]
	assert.Equal(t, []int{2, 1}, []int{v.Paid.Ran, v.Paid.Reused})
	tries, usd, repriced := v.Wasted("fail")
	assert.Equal(t, 6, tries)
	assert.InDelta(t, .12, usd.Total, 1e-9)
	assert.Equal(t, 6, repriced.Unknown, "nothing is known of their tokens, which is not 0 USD")
	for _, x := range v.Tries {
		switch x.State {
		case outcome.Scored:
			assert.Equal(t, []int{36, 36}, []int{x.Count, x.Accepted})
		case outcome.Provider:
			assert.Equal(t, []int{6, 0}, []int{x.Count, x.Accepted})
		default:
			assert.Zero(t, x.Count, x.State)
		}
	}
	assert.Equal(t, exporttest.Start.Add(-240*time.Hour), *v.First)
	assert.Equal(t, exporttest.Start.Add(2*time.Minute), *v.Last)

	d := sum.Verdict.Description.Variants[0]
	assert.InDelta(t, .2, d.Cost.CostPerPass.Value, 1e-9, "0.10 USD a task run, half of them pass")
	assert.InDelta(t, 1, d.Repriced.CostPerPass.Value, 1e-9, "a million tokens at 0.5 USD")
	assert.Equal(t, []int{36, 36}, []int{d.Cost.Known, d.Repriced.Known})
	assert.NotNil(t, d.Repriced.CostPerPass.Interval)
	assert.InDelta(t, 6.5, d.WallS.Value, 1e-9)
	assert.InDelta(t, 6.5, *d.WallMedian, 1e-9, "1 to 12 seconds without waiting, each three times")
	assert.InDelta(t, 11, *d.WallP90, .5)
}

// A timeout is the agent's or a failure by the frozen policy.
func TestTriesByPolicy(t *testing.T) {
	late := export.Tries{State: outcome.Timeout}
	assert.False(t, late.Failed("fail"))
	assert.True(t, late.Failed("missing"))
	agent := export.Tries{State: outcome.Agent}
	assert.False(t, agent.Failed("missing"))
	harness := export.Tries{State: outcome.Harness}
	assert.True(t, harness.Failed("fail"))
}

// The judge on which a variant loses most, and a judge that nobody heard.
func TestJudgesOfVariants(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Tasks: 12, Repeats: 3, Bare: true, Seed: 1})
	s.SetDecision(`{"metric":"score"}`)
	s.Plan.Judges = []byte(`[{"id":"tone","kind":"model","model":"model-1"},{"id":"silent","kind":"code"}]`)
	for _, e := range s.Result.Evaluations {
		var list []outcome.Outcome
		for i, task := range s.Tasks {
			tone, facts := .9, float64(i%2)
			if e.Agent == "agent-2" {
				tone = .3
			}
			score := (tone + facts) / 2
			list = append(list, outcome.Outcome{Task: task.ID, State: outcome.Scored, Score: &score,
				Judges: []outcome.Vote{{Name: "tone", Score: &tone}, {Name: "facts", Score: &facts}}})
		}
		s.SetOutcomes(e.RunID, list)
	}
	v := summaryOf(t, s).Verdict
	assert.Equal(t, []string{"tone", "silent", "facts"}, v.JudgeNames)
	j := v.Description.Judging
	assert.Equal(t, []string{"facts", "tone"}, []string{v.JudgeNames[j.Lost[0]], v.JudgeNames[j.Lost[1]]})
	assert.Nil(t, j.Judges[1].Means[0])
	assert.Zero(t, j.Judges[1].Votes)
	assert.Equal(t, 72, j.Alpha.Units)
	assert.NotNil(t, j.Alpha.Value)
	assert.InDelta(t, .4, *j.Judges[0].Gaps[0], 1e-9)
	assert.InDelta(t, -.2, *j.Judges[0].Gaps[1], 1e-9)
	require.Len(t, v.Judges, 1, "tone's model is that of both variants")
	assert.Equal(t, "no variant of another family", v.Judges[0].Why)
}
