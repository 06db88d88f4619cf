package stats

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twoFamilies: A is better on the first family only.
func twoFamilies() Batch {
	a := repeat("11111 11110 11011 10111", 4) + repeat("10110 01101", 8)
	b := repeat("00000 00010 00000 01000", 4) + repeat("10110 01011", 8)
	return Batch{Metric: Pass, Tasks: panel(32, strings.Repeat("a", 16)+strings.Repeat("b", 16)),
		Variants: []Variant{{ID: "A", Runs: runsOf(a)}, {ID: "B", Runs: runsOf(b)}}}
}

func TestDecideByFamily(t *testing.T) {
	d := build(t, twoFamilies())
	rule := DefaultRule()
	rule.Margin, rule.Reference = ptr(.2), "B"
	got, err := DecideByFamily(d, rule)
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, "a", got[0].Family)
	assert.Equal(t, 2, got[0].Compared, "both families share the level")
	assert.Equal(t, Beats, got[0].Pairs[0].Mark)
	assert.Equal(t, 16, got[0].Pairs[0].Tasks)
	assert.NotEqual(t, Beats, got[1].Pairs[0].Mark)
	assert.Equal(t, Superior, got[0].NonInferiority[0].Standing)

	// the same by hand: each family alone, Holm over both
	var p []float64
	for _, f := range got {
		only := build(t, Batch{Metric: Pass, Tasks: panel(16, ""), Variants: []Variant{
			{ID: "A", Runs: cut(twoFamilies().Variants[0].Runs, f.Tasks)}, {ID: "B", Runs: cut(twoFamilies().Variants[1].Runs, f.Tasks)}}})
		alone := ruled(t, only, rule)
		p = append(p, *alone.Pairs[0].P)
		assert.Equal(t, alone.Pairs[0].Noise, f.Pairs[0].Noise)
	}
	adj := Holm(p)
	for i := range got {
		near6(t, adj[i], got[i].Pairs[0].PAdj)
	}
	none, err := DecideByFamily(build(t, Batch{Tasks: panel(3, "")}), DefaultRule())
	require.NoError(t, err)
	assert.Empty(t, none)
}

func cut(runs []Run, tasks []int) []Run {
	out := make([]Run, len(runs))
	for r := range runs {
		out[r] = Run{Cells: pickTasks(runs[r].Cells, tasks, 1)}
	}
	return out
}

func TestChosenPairs(t *testing.T) {
	rule := t27Rule()
	rule.Compare, rule.Pairs = ChosenPairs, [][2]int{{3, 0}, {2, 1}}
	v := ruled(t, build(t, t27()), rule)
	assert.Equal(t, 2, v.Compared)
	require.Len(t, v.Pairs, 2)
	assert.Equal(t, [2]int{3, 0}, [2]int{v.Pairs[0].A, v.Pairs[0].B})
	near6(t, 2*.0078125, v.Pairs[0].PAdj)
	assert.Equal(t, Beats, v.Pairs[0].Mark)
	assert.Equal(t, 0, v.Pairs[0].Winner)
	assert.Nil(t, v.Ranks)
	assert.Nil(t, v.Letters)
	for _, bad := range [][][2]int{nil, {{1, 1}}, {{0, 4}}, {{-1, 0}}} {
		rule.Pairs = bad
		_, err := Decide(build(t, t27()), rule)
		assert.Error(t, err)
	}
}

func TestOneVariant(t *testing.T) {
	d := build(t, Batch{Metric: Pass, Tasks: panel(12, ""), Variants: []Variant{{ID: "A", Runs: runsOf(repeat("101", 12))}}})
	v := ruled(t, d, DefaultRule())
	assert.Empty(t, v.Pairs)
	assert.Nil(t, v.Ranks)
	x := Describe(d, DefaultRule(), v)
	assert.Equal(t, SpreadUnknown, x.Spread)
	assertNoNaN(t, x)
}

// A variant without any outcome is shown, takes no place in Holm, and has no rank.
func TestVariantWithoutOutcome(t *testing.T) {
	b := t27()
	b.Variants = append(b.Variants, Variant{ID: "E", Runs: runsOf(repeat("...", 12))})
	startAll(b, b.Variants[0].Runs[0].Started)
	v := ruled(t, build(t, b), t27Rule())
	assert.Equal(t, 6, v.Compared)
	require.Len(t, v.Pairs, 10)
	assert.Equal(t, []*Rank{{1, 2}, {1, 3}, {2, 4}, {3, 4}, nil}, v.Ranks)
	assert.Equal(t, []string{"a", "ab", "bc", "c", ""}, v.Letters)
	for _, p := range v.Pairs {
		if p.B == 4 {
			assert.False(t, p.Compared)
			assert.Equal(t, []string{"no_repeats", "too_few_tasks"}, p.Codes.Strings())
			assert.Nil(t, p.Difference)
		}
	}
	require.Len(t, v.NonInferiority, 4)
	assert.Equal(t, Inconclusive, v.NonInferiority[3].Standing)
}

func TestFamilyThatTellsNothing(t *testing.T) {
	alike := repeat("11100 01110 00111 10011 11001", 8)
	d := build(t, Batch{Metric: Pass, Tasks: panel(40, strings.Repeat("a", 40)), Variants: []Variant{
		{ID: "A", Runs: runsOf(alike)}, {ID: "B", Runs: runsOf(alike)}, {ID: "C", Runs: runsOf(alike)}}})
	rule := DefaultRule()
	x := Describe(d, rule, ruled(t, d, rule))
	assert.Equal(t, NotShown, x.Families[0].Verdict, "no margin, so nothing is shown")
	rule.Margin = ptr(.3)
	x = Describe(d, rule, ruled(t, d, rule))
	assert.Equal(t, NoPower, x.Families[0].Verdict)
	assert.Equal(t, 1.0, x.Families[0].P.P)
	d = build(t, twoFamilies())
	rule.Margin = ptr(.02)
	x = Describe(d, rule, ruled(t, d, rule))
	assert.Equal(t, Discriminates, x.Families[0].Verdict)
	assert.Equal(t, NotShown, x.Families[1].Verdict)
}

func TestBridgeLinksAndDrifts(t *testing.T) {
	anchors := make([]Anchor, 12)
	for i := range anchors {
		x := .3 + .05*float64(i%8)
		ref := Measured{Mean: x, S2: .05, Runs: 5}
		anchors[i] = Anchor{RefOld: ref, RefNew: ref, Old: Measured{Mean: x}, New: Measured{Mean: x + .1}}
		anchors[i].RefNew.Mean += .005 * float64(i%3-1)
	}
	b := BridgeOf(anchors, 40, true, .05, .025)
	assert.Equal(t, Linked, b.Link)
	near6(t, .1, b.Raw)
	for i := range anchors {
		anchors[i].RefNew.Mean += .2
	}
	anchors[3].RefNew.Mean += .6
	b = BridgeOf(anchors, 40, true, .05, .025)
	assert.Equal(t, Drift, b.Link)
	assert.Nil(t, b.Raw)
	assert.Less(t, b.Anchors[3], .05)
	assert.Greater(t, b.Anchors[0], .05)
	_, _, ok := Chain([]Bridge{{}})
	assert.False(t, ok)
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"cannot tell", "tied", "equal", "ahead on this list", "beats"},
		[]string{CannotTell.String(), Tied.String(), Equal.String(), Ahead.String(), Beats.String()})
	assert.Equal(t, "non-inferior", NonInferior.String())
	assert.Equal(t, "drift unresolved", DriftUnresolved.String())
	assert.Equal(t, "ceiling", Ceiling.String())
	assert.Equal(t, "no discriminating power", NoPower.String())
	assert.Equal(t, "add families", AddFamilies.String())
	for c := NoRepeats; c <= UnstableRuns; c++ {
		assert.Equal(t, []Code{c}, Codes(0).With(c).List())
	}
}

func TestWithoutAndTurned(t *testing.T) {
	d := build(t, t27())
	with := ruled(t, d, t27Rule())
	same := d.Without(func(int, int, int) bool { return false })
	assert.Equal(t, with, ruled(t, same, t27Rule()))

	// C's failure dropped as if it had never started: the second reading is the first
	without := ruled(t, d.Without(func(v, r, task int) bool { return v == 2 && r == 1 && task == 5 }), t27Rule())
	assert.Nil(t, without.Pairs[3].Second)
	assert.Empty(t, Turned(with, without))

	// without a whole run of D nothing about D can be told
	without = ruled(t, d.Without(func(v, r, _ int) bool { return v == 3 && r == 0 }), t27Rule())
	assert.Equal(t, []int{1, 2, 4}, Turned(with, without))
	assert.Equal(t, 2, without.Pairs[2].RepeatsB)

	// the data itself has not changed
	assert.Equal(t, with, ruled(t, d, t27Rule()))
}
