package export_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

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
		"everything at once": exporttest.Mixed(),
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
	s := exporttest.Mixed()
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
