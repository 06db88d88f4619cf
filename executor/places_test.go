package executor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// fellows are launchers of one spec that share an experiment's quotas.
func fellows(t *testing.T, n int, s *spec.Spec) []*runner {
	t.Helper()
	fake := mlflowtest.NewFake(t)
	var out []*runner
	experiment := mlflowtest.Experiment(t, mlflowtest.Client(t, fake.URL))
	for i := range n {
		book, err := claim.OpenQuotas(t.Context(), mlflowtest.Client(t, fake.URL), experiment)
		require.NoError(t, err)
		m, err := book.Join(t.Context(), claim.Options{Launcher: string(rune('a' + i))})
		require.NoError(t, err)
		r := &runner{shared: &shared{quotas: m, quota: map[string]*holding{}}}
		r.Observer = &watcher{}
		r.Resolved = &spec.Resolved{Spec: s}
		var models []string
		for _, m := range s.Models {
			models = append(models, m.ID)
		}
		r.sc = newSchedule(newQueue(slotsOf(9, models...).Slots, LimitsOf(s, 8), planner.NewHistory(10, nil, nil), nil))
		out = append(out, r)
	}
	return out
}

// holdsPlaces takes what an evaluation of a model needs; nil = others have it.
func (r *runner) holdsPlaces(t *testing.T, model string, rate *float64) *hand {
	t.Helper()
	h := &hand{}
	short, err := r.takePlaces(context.Background(), &turn{Slot: planner.Slot{Cell: cellOf(model)}, rate: rate}, h)
	require.NoError(t, err)
	if short != "" {
		r.putDown(t.Context(), h, true)
		return nil
	}
	return h
}

// TestTokensAMinuteAreSharedAmongLaunchers: each launcher uses what its places carry.
func TestTokensAMinuteAreSharedAmongLaunchers(t *testing.T) {
	s := specOf(map[string]spec.Quota{"q-m": {AtOnce: 4, TokensPerMinute: 8000}}, "m")
	both := fellows(t, 2, s)
	a, b := both[0], both[1]
	rate := 2500.0
	one, two, three := a.holdsPlaces(t, "m", &rate), a.holdsPlaces(t, "m", &rate), a.holdsPlaces(t, "m", &rate)
	require.NotNil(t, three)
	assert.Equal(t, 4, a.shared.quota["q-m"].places, "7,500 of 8,000 need all four places")
	assert.Nil(t, b.holdsPlaces(t, "m", &rate))
	a.tidyPlaces(t.Context())
	assert.Nil(t, b.holdsPlaces(t, "m", &rate), "the fourth is not idle")

	a.putDown(t.Context(), three, false)
	assert.Equal(t, 4, a.shared.quota["q-m"].places, "there is more to be started")
	three = a.holdsPlaces(t, "m", &rate)
	require.NotNil(t, three)
	a.sc.stop() // so that it keeps nothing
	a.putDown(t.Context(), three, false)
	assert.Equal(t, 3, a.shared.quota["q-m"].places, "5,000 need three")
	of := b.holdsPlaces(t, "m", &rate)
	require.NotNil(t, of, "one always may run")
	assert.Nil(t, b.holdsPlaces(t, "m", &rate))
	a.putDown(t.Context(), two, false)
	a.putDown(t.Context(), one, false)
	assert.Zero(t, a.shared.quota["q-m"].places)
	assert.Zero(t, a.shared.quota["q-m"].rate)
	require.NotNil(t, b.holdsPlaces(t, "m", &rate))
	assert.Equal(t, 3, b.shared.quota["q-m"].places)
}

// TestAGroupIsOneLaunchersAtATime: it is kept while it is used or needed, and given back when others wait.
func TestAGroupIsOneLaunchersAtATime(t *testing.T) {
	s := specOf(map[string]spec.Quota{"engine": {Exclusive: true}, "q-o": {AtOnce: 1}}, "m", "n", "o")
	s.Models[0].Quota, s.Models[1].Quota = "engine", "engine"
	both := fellows(t, 2, s)
	a, b := both[0], both[1]
	one, two := a.holdsPlaces(t, "m", nil), a.holdsPlaces(t, "m", nil)
	require.NotNil(t, two, "a launcher shares with itself")
	assert.Nil(t, b.holdsPlaces(t, "n", nil))
	a.putDown(t.Context(), one, true)
	assert.Nil(t, b.holdsPlaces(t, "n", nil), "one is at work")
	a.putDown(t.Context(), two, false)
	assert.Nil(t, b.holdsPlaces(t, "n", nil), "there is more to be started")
	place := b.holdsPlaces(t, "o", nil)
	require.NotNil(t, place)
	assert.Nil(t, a.holdsPlaces(t, "o", nil), "b has the place, and a gives back what b may wait for")
	whole := b.holdsPlaces(t, "n", nil)
	require.NotNil(t, whole)
	b.putDown(t.Context(), whole, false)
	b.Look = time.Nanosecond
	b.tidyPlaces(t.Context())
	require.NotNil(t, a.holdsPlaces(t, "m", nil), "b's workers do something else")
	assert.Nil(t, a.holdsPlaces(t, "o", nil), "the place is in use")
	assert.Equal(t, []string{"q-o b"}, a.Observer.(*watcher).full, "once")
	assert.Equal(t, []string{"engine a"}, b.Observer.(*watcher).full)
}
