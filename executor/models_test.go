package executor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// watcher notes what an observer is told of models.
type watcher struct {
	full    []string
	mu      sync.Mutex
	skipped []string
}

func (w *watcher) Begin(ledger.Parent, int)                {}
func (w *watcher) Started(planner.Slot)                    {}
func (w *watcher) Progress(planner.Slot, int, int)         {}
func (w *watcher) Ended(planner.Slot, evaluation.Measured) {}
func (w *watcher) PutBack(string, string, int)             {}
func (w *watcher) Recovered(string)                        {}
func (w *watcher) Away(error)                              {}
func (w *watcher) Back(time.Duration)                      {}
func (w *watcher) StopAsked(string)                        {}
func (w *watcher) Tracing(int)                             {}
func (w *watcher) Waiting(int, []string)                   {}
func (w *watcher) Full(quota string, by []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = append(w.full, quota+" "+strings.Join(by, " "))
}
func (w *watcher) Elsewhere(planner.Slot) {}
func (w *watcher) Skipped(model, reason string, _ int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped = append(w.skipped, model+": "+reason)
}

// Two agents call m by different routes, n by one; of the first the responses are dead.
func TestEachRouteIsAskedOnce(t *testing.T) {
	s := &spec.Spec{Preflight: &spec.Preflight{Kind: "openai-chat", URL: "http://host/v1/chat/completions"}}
	s.Agents = []spec.Agent{{ID: "chat"}, {ID: "talk"}, {ID: "new", Preflight: &spec.Preflight{Kind: "openai-responses", URL: "http://host/v1/responses"}}}
	s.Models = []spec.Model{{ID: "m"}, {ID: "n"}}
	var queue []planner.Slot
	for _, v := range []batch.Variant{{Agent: "chat", Model: "m"}, {Agent: "talk", Model: "m"}, {Agent: "new", Model: "m"}, {Agent: "chat", Model: "n"}, {Agent: "talk", Model: "n"}} {
		c := batch.Cell{Variant: v}
		c.Identity.Cell = batch.Sum([]byte(v.String()))
		queue = append(queue, planner.Slot{Cell: c, Slot: 1}, planner.Slot{Cell: c, Slot: 2})
	}
	var mu sync.Mutex
	var asked []string
	w := &watcher{}
	r := &runner{Options: Options{Resolved: &spec.Resolved{Spec: s}, Observer: w}, fates: map[planner.SlotKey]planner.Fate{}, health: newHealth()}
	r.Preflight = func(_ context.Context, m spec.Model, p *spec.Preflight) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, m.ID+" "+p.Kind)
		if p.Kind == "openai-responses" {
			return errors.New("nothing there")
		}
		return nil
	}
	left, err := r.preflight(t.Context(), queue)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"m openai-chat", "m openai-responses", "n openai-chat"}, asked)
	assert.Equal(t, []string{"m (new): nothing there"}, w.skipped)
	assert.Len(t, left, 8, "the cells of the other agents run")
	assert.Len(t, r.fates, 2)
	assert.Equal(t, []batch.StandingOut{{Model: "m", Agents: []string{"new"}, State: batch.SlotSkipped, Reason: "nothing there"}}, r.out)

	r.AllModels = true
	_, err = r.preflight(t.Context(), queue)
	assert.ErrorContains(t, err, "model m (new) does not answer: nothing there")
}

// ended is an evaluation of four tasks of which the first so many are missing in a state.
func ended(state batch.EvaluationState, missing int, class outcome.State) evaluation.Measured {
	m := evaluation.Measured{State: state}
	score := 1.0
	for i := range 4 {
		o := outcome.Outcome{State: outcome.Scored, Score: &score}
		if i < missing {
			o = outcome.Failed("t", class, "")
		}
		m.Outcomes = append(m.Outcomes, o)
	}
	return m
}

func TestASeriesOfProviderFailures(t *testing.T) {
	dead := ended(batch.StateIncomplete, 3, outcome.Provider)
	h := newHealth()
	note := func(all ...evaluation.Measured) (full int) {
		for _, m := range all {
			if h.note("m", m) {
				full++
			}
		}
		return full
	}
	assert.Zero(t, note(dead, dead))
	assert.Zero(t, note(ended(batch.StatePartial, 1, outcome.Provider)), "it counts: the series begins anew")
	assert.Zero(t, note(dead, dead, ended(batch.StateIncomplete, 4, outcome.Harness)), "a broken harness is no dead provider")
	assert.Zero(t, note(dead, dead, ended(batch.StateInterrupted, 4, outcome.Provider)), "an interrupted one says nothing")
	assert.Equal(t, 1, note(dead))
	assert.Zero(t, note(dead, dead), "said once; what still ran ends")
	assert.False(t, h.note("n", dead), "each model has its own series")
}
