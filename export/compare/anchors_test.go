package compare_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

const linked = `{"alpha":0.025,"compare":"all","margin":0.2,"metric":"passed","pass":"threshold","pass_threshold":0.8,"reference":"agent-1+model-1","scope":"population"}`

// bridged are two batches a month apart, in which another policy file and other
// tasks than the first n made another recipe.
func bridged(n int, a, b []string) (*exporttest.Synthetic, *exporttest.Synthetic) {
	x, y := one("a", day, "v4", a...), one("b", month, "v4", b...)
	x.SetDecision(linked)
	y.SetDecision(linked)
	y.Plan.Execution.Files["policies/refund.md"] = batch.Sum([]byte("another refund"))
	y.Plan.Execution.Items["include policies/"] = batch.Sum([]byte("another folder"))
	for i := n; i < len(y.Tasks); i++ {
		y.Tasks[i].Input = json.RawMessage(`"another question"`)
	}
	identify(y, "v4")
	return x, y
}

// A reference that did not move links the batches; a variant that did is told.
func TestAnchorsLink(t *testing.T) {
	c := of2(t, 25, []string{mid, low}, []string{mid, high}, compare.Options{})
	assert.Equal(t, compare.ByAnchors, c.Mode)
	assert.Equal(t, 25, c.Link.Anchors)
	assert.Len(t, c.Tasks, 25)
	assert.Equal(t, stats.Linked, c.Link.Drift.Link)
	assert.InDelta(t, 0, c.Link.Drift.Drift.Value, 1e-12)
	assert.Nil(t, c.Variants[0].Bridge, "the reference is no candidate")
	assert.Greater(t, c.Link.Drift.Drift.Interval.High, .1, "no spread is no knowledge: the interval is no point")
	b := c.Variants[1].Bridge
	require.NotNil(t, b)
	assert.Equal(t, stats.Beats, b.Mark)
	assert.True(t, b.Up)
	assert.InDelta(t, 1, b.Difference.Value, .1)
	require.NotNil(t, b.Raw)
	assert.InDelta(t, b.Difference.Value, *b.Raw, 1e-12)
	assert.Nil(t, c.Overall)
	assert.Empty(t, c.Rule.PostHoc)
	assert.Contains(t, compare.ChangeText(c.Changes[0]), "policies/refund.md changed")
}

func of2(t *testing.T, n int, a, b []string, o compare.Options) *compare.Comparison {
	t.Helper()
	x, y := bridged(n, a, b)
	return of(t, x, y, o)
}

// Where the reference moved with the day, a variant that moved as much did not change.
func TestAnchorsDrift(t *testing.T) {
	c := of2(t, 30, []string{low, low}, []string{high, high}, compare.Options{})
	assert.Equal(t, stats.Drift, c.Link.Drift.Link)
	b := c.Variants[1].Bridge
	assert.Equal(t, stats.CannotTell, b.Mark)
	assert.Nil(t, b.Raw, "the raw difference is withheld")
	assert.InDelta(t, 0, b.Difference.Value, 1e-12)
}

func TestAnchorsClaimNothing(t *testing.T) {
	short := strings.Repeat("11 ", 30)
	c := of2(t, 30, []string{short, strings.Repeat("00 ", 30)}, []string{short, short}, compare.Options{})
	b := c.Variants[1].Bridge
	assert.Equal(t, []string{"no_repeats"}, b.Codes.Strings())
	assert.Equal(t, stats.CannotTell, b.Mark)
	assert.Nil(t, b.PAdj)
	require.NotNil(t, b.Difference)

	x, y := bridged(30, []string{mid, low}, []string{mid, high})
	for i := range y.Result.Evaluations { // the reference's runs of B are of another week
		if e := &y.Result.Evaluations[i]; e.Agent == "agent-1" {
			e.Started = e.Started.Add(-7 * 24 * time.Hour)
		}
	}
	b = of(t, x, y, compare.Options{}).Variants[1].Bridge
	assert.Equal(t, []string{"measured_apart"}, b.Codes.Strings())
	assert.Equal(t, stats.CannotTell, b.Mark)

	failed := strings.Repeat("11--- ", 30)
	c = of2(t, 30, []string{mid, strings.Repeat("00000 ", 30)}, []string{mid, failed}, compare.Options{})
	assert.Equal(t, stats.CannotTell, c.Variants[1].Bridge.Mark)
}

// Failures of others decide nothing.
func TestAnchorsSecondReading(t *testing.T) {
	c := of2(t, 30, []string{mid, strings.Repeat("11000 ", 30)}, []string{mid, strings.Repeat("11--- ", 15) + strings.Repeat("111-- ", 15)}, compare.Options{})
	b := c.Variants[1].Bridge
	require.NotNil(t, b.Second)
	assert.Greater(t, b.Difference.Value, .5)
	assert.Less(t, b.Second.Difference.Value, .2)
	assert.Equal(t, stats.Beats, b.Mark, "still better where failures are 0")
	c = of2(t, 30, []string{mid, strings.Repeat("11100 ", 30)}, []string{mid, strings.Repeat("111-- ", 30)}, compare.Options{})
	b = c.Variants[1].Bridge
	assert.Equal(t, stats.CannotTell, b.Mark)
	assert.Equal(t, []string{"provider_failures_decide"}, b.Codes.Strings())
}

// Without enough tasks, families or a reference, nothing is told.
func TestAnchorsRefused(t *testing.T) {
	lines := []string{mid, low}
	x, y := bridged(9, lines, lines)
	r := refused(t, x, y, compare.Options{})
	assert.Contains(t, r.Error(), "9 tasks are the same in both: at least 10 of 30")
	assert.Contains(t, r.Error(), "policies/refund.md")

	x, y = bridged(20, lines, lines)
	for i := range 30 {
		x.Tasks[i].Family, y.Tasks[i].Family = string(rune('a'+i/10)), string(rune('a'+i/10))
	}
	assert.Contains(t, refused(t, x, y, compare.Options{}).Error(), "do not cover all families: c have none")

	x, y = bridged(20, lines, lines)
	y.SetDecision(rule)
	assert.Contains(t, refused(t, x, y, compare.Options{}).Error(), "name one with --reference (the same in both: agent-1+model-1, agent-2+model-1)")
	c := of(t, x, y, compare.Options{Reference: "agent-2+model-1"})
	assert.Equal(t, "agent-2+model-1", c.Link.Reference.String())
	assert.Contains(t, c.Rule.PostHoc, "the reference was named after")
	assert.Contains(t, refused(t, x, y, compare.Options{Reference: "agent-3+model-1"}).Error(), "is not the same in both")

	x, y = bridged(20, lines, lines)
	identify(y, "v5")
	assert.Contains(t, refused(t, x, y, compare.Options{}).Error(), "no variant is the same in both")

	x, y = bridged(20, lines, lines)
	for i := range x.Tasks {
		x.Tasks[i].Anchor, y.Tasks[i].Anchor = true, true
	}
	c = of(t, x, y, compare.Options{})
	assert.Len(t, c.Link.Changed, 10, "anchors that are not the same any more are named")
}

// Withheld evidence gives the same comparison: it is read from the tables.
func TestWithheld(t *testing.T) {
	x, y := bridged(25, []string{mid, low}, []string{mid, high})
	want := of(t, x, y, compare.Options{})
	got, err := compare.Of(t.Context(), side(t, x, "raw", "inputs"), side(t, y, "inputs"), compare.Options{})
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// Withdrawn anchors are kept, and the change is told without them too.
func TestAnchorsWithdrawn(t *testing.T) {
	x, y := bridged(30, []string{mid, strings.Repeat("00000 ", 30)}, []string{mid, strings.Repeat("11111 ", 10) + strings.Repeat("00000 ", 20)})
	for i := range 10 {
		y.Plan.Withdraw = append(y.Plan.Withdraw, batch.Withdrawal{Task: y.Tasks[i].ID, Why: "wrong", Date: "2026-12-31"})
	}
	c := of(t, x, y, compare.Options{})
	assert.Equal(t, stats.Beats, c.Variants[1].Bridge.Mark)
	require.Len(t, c.Readings, 1)
	assert.Equal(t, []batch.Variant{{Agent: "agent-2", Model: "model-1"}}, c.Readings[0].Turned)
}
