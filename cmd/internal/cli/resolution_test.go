package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// plannedBatch is a resolved spec of so many variants, tasks and repeats.
func plannedBatch(variants, tasks, repeats int, family func(i int) string, d spec.Decision) *spec.Resolved {
	r := &spec.Resolved{Spec: &spec.Spec{Repeats: repeats, Decision: d}, Cells: make([]batch.Cell, variants)}
	if d.Alpha == 0 {
		r.Spec.Decision.Alpha = 0.025
	}
	if d.Scope == "" {
		r.Spec.Decision.Scope = "population"
	}
	for i := range tasks {
		task := batch.Task{ID: fmt.Sprint(i)}
		if family != nil {
			task.Family = family(i)
		}
		r.Spec.Tasks = append(r.Spec.Tasks, task)
	}
	return r
}

// Before anything is measured the noise is assumed, and said to be.
func TestResolutionWithoutHistory(t *testing.T) {
	margin := 0.02
	x := resolutionOf(plannedBatch(2, 50, 5, nil, spec.Decision{Metric: "score", Margin: &margin}), 0, nil)
	assert.InDelta(t, .158482, *x.MDE, 1e-5, "2.801585 sqrt((.10 + .15/5 + .15/5)/50)")
	assert.Equal(t, []int{1, 1, 50, 6, 0}, []int{x.Pairs, x.Look, x.Units, x.UnitsNeeded, x.Runs})
	assert.Equal(t, 3140, x.Tasks)
	assert.Zero(t, x.Repeats, "no number of repeats helps")
	notes := strings.Join(x.notes(), "\n")
	assert.Contains(t, notes, "a pair shows a difference of about 0.16 with a chance of 80 % (1 pair at one level, 50 tasks × 5 repeats), assuming the noise of pass/fail tasks")
	assert.Contains(t, notes, "nothing is known of these variants yet")
	assert.Contains(t, notes, `decision.margin 0.02 is below what a pair can show, about 0.16`)
	assert.Contains(t, notes, "it takes 3140 tasks, or a wider margin")

	wide := 0.2
	x = resolutionOf(plannedBatch(2, 50, 5, nil, spec.Decision{Metric: "score", Margin: &wide}), 0, nil)
	assert.Empty(t, x.warnings())
	later := resolutionOf(plannedBatch(2, 50, 5, nil, spec.Decision{Metric: "score", Margin: &wide}), 1, nil)
	assert.Greater(t, *later.MDE, *x.MDE, "a later look has a lower level")
	assert.Contains(t, later.notes()[0], "look 2 at this question")
	many := resolutionOf(plannedBatch(12, 50, 5, nil, spec.Decision{Metric: "score"}), 0, nil)
	assert.Equal(t, 66, many.Pairs)
	one := resolutionOf(plannedBatch(12, 50, 5, nil, spec.Decision{Metric: "score", Compare: "reference"}), 0, nil)
	assert.Equal(t, 11, one.Pairs)
	list := resolutionOf(plannedBatch(2, 50, 5, nil, spec.Decision{Metric: "score", Scope: "list"}), 0, nil)
	assert.Less(t, *list.MDE, *x.MDE, "tasks are not sampled")
}

// Where runs of a cell were repeated, their scatter is the noise.
func TestResolutionFromHistory(t *testing.T) {
	r := plannedBatch(2, 50, 5, nil, spec.Decision{Metric: "score"})
	var valid []ledger.Entry
	for i, score := range []float64{.50, .52, .54, .80, .82, .84} {
		valid = append(valid, ledger.Entry{Score: &score, Identity: batch.Identity{Cell: batch.Digest(fmt.Sprint(i / 3))}})
	}
	valid = append(valid, ledger.Entry{Identity: batch.Identity{Cell: "no score"}})
	x := resolutionOf(r, 0, valid)
	assert.Equal(t, 6, x.Runs)
	assert.InDelta(t, .130206, *x.MDE, 1e-5, "2.801585 sqrt(.10/50 + .0004·2/5)")
	assert.Contains(t, x.notes()[0], "by the scatter of 6 earlier runs, and assuming that variants differ from task to task")
	r.Spec.Decision.Metric = "passed"
	assert.Zero(t, resolutionOf(r, 0, valid).Runs, "the logged score is not what decides")
	r.Spec.Decision.Metric = "score"
	assert.Zero(t, resolutionOf(r, 0, valid[:3]).Runs, "three runs say too little")
}

// The floor of the sign-flip test, with tasks or families as the units.
func TestFloorBeforeMoneyIsSpent(t *testing.T) {
	four := func(i int) string { return string(rune('a' + i%4)) }
	x := resolutionOf(plannedBatch(4, 36, 5, four, spec.Decision{Metric: "score"}), 0, nil)
	assert.Equal(t, []int{4, 8}, []int{x.Units, x.UnitsNeeded})
	require.Len(t, x.warnings(), 1)
	assert.Equal(t, `"beats" is out of reach: with 6 pairs and 4 families as the independent units, 8 would have to differ; at most "ahead on this list" can be shown`, x.warnings()[0])
	x = resolutionOf(plannedBatch(12, 10, 5, nil, spec.Decision{Metric: "score"}), 0, nil)
	assert.Contains(t, x.warnings()[0], "66 pairs and 10 tasks, 12 would have to differ", "66 pairs need 12")
	assert.Empty(t, resolutionOf(plannedBatch(12, 10, 5, nil, spec.Decision{Metric: "score", Scope: "list"}), 0, nil).warnings())
	assert.Empty(t, resolutionOf(plannedBatch(4, 36, 5, nil, spec.Decision{Metric: "score"}), 0, nil).warnings())
}

// Nothing is said of a difference where nothing can be claimed, or nothing is compared.
func TestNoResolution(t *testing.T) {
	assert.Nil(t, resolutionOf(plannedBatch(2, 50, 2, nil, spec.Decision{Metric: "score"}), 0, nil).MDE)
	assert.Nil(t, resolutionOf(plannedBatch(2, 9, 5, nil, spec.Decision{Metric: "score"}), 0, nil).MDE)
	single := resolutionOf(plannedBatch(1, 50, 5, nil, spec.Decision{Metric: "score"}), 0, nil)
	assert.Nil(t, single)
	assert.Empty(t, single.notes())
	assert.Empty(t, single.warnings())
	uneven := func(i int) string { return map[bool]string{true: "small", false: "large"}[i < 3] }
	x := resolutionOf(plannedBatch(2, 30, 5, uneven, spec.Decision{Metric: "score", By: "family"}), 0, nil)
	assert.Contains(t, x.warnings(), "decision.by is family: below 10 tasks nothing is claimed on a family: small (3)")
}
