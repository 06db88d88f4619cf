package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func withCosts(b Batch, usd float64) Batch {
	for v := range b.Variants {
		for r := range b.Variants[v].Runs {
			for t := range b.Variants[v].Runs[r].Cells {
				b.Variants[v].Runs[r].Cells[t].CostUSD = &usd
			}
		}
	}
	return b
}

func TestRepairsOfAPowerlessPair(t *testing.T) {
	d := build(t, withCosts(t27(), .5))
	p := ruled(t, d, t27Rule()).Pairs[0]
	require.NotEmpty(t, p.Repairs)
	design := *p.Design
	assert.InDelta(t, .05/8/6, design.Alpha, 1e-12, "priced at the second look")
	n, ok := design.TasksFor(.3, 3, 3)
	require.True(t, ok)
	tasks := repairOf(&p, AddTasks)
	require.NotNil(t, tasks)
	assert.GreaterOrEqual(t, tasks.Tasks, n-12)
	near6(t, float64(tasks.Tasks)*6*.5, tasks.CostUSD)
	assert.Nil(t, repairOf(&p, AddRepeats), "where few families differ, repeats alone do not help")
	for i := range len(p.Repairs) - 1 {
		assert.LessOrEqual(t, worth(p.Repairs[i]), worth(p.Repairs[i+1]), "cheapest first")
	}
}

func repairOf(p *Pair, a Action) *Repair {
	for i := range p.Repairs {
		if p.Repairs[i].Action == a {
			return &p.Repairs[i]
		}
	}
	return nil
}

// Where enough tasks differ, more repeats are priced too.
func TestRepeatsRepair(t *testing.T) {
	a, b := repeat("110 101 011 100 010", 12), repeat("101 110 100 001 110", 12)
	d := build(t, withCosts(Batch{Metric: Pass, Tasks: panel(60, ""), Variants: []Variant{{ID: "A", Runs: runsOf(a)}, {ID: "B", Runs: runsOf(b)}}}, .5))
	rule := DefaultRule()
	rule.Margin = ptr(.15)
	p := ruled(t, d, rule).Pairs[0]
	require.Equal(t, CannotTell, p.Mark)
	k, ok := p.Design.RepeatsFor(.15, 60)
	require.True(t, ok)
	more := repairOf(&p, AddRepeats)
	require.NotNil(t, more)
	assert.Equal(t, []int{2 * (k - 3), 2 * (k - 3) * 60}, []int{more.Repeats, more.Cells})
	near6(t, float64(more.Cells)*.5, more.CostUSD)
}

func TestRepairsFollowTheCodes(t *testing.T) {
	old := withCosts(t27(), .5)
	for r := range old.Variants[2].Runs {
		old.Variants[2].Runs[r].Started = old.Variants[2].Runs[r].Started.Add(-60 * 24 * time.Hour)
	}
	p := ruled(t, build(t, old), t27Rule()).Pairs[1]
	require.Len(t, p.Repairs, 1)
	assert.Equal(t, RerunTogether, p.Repairs[0].Action)
	assert.Equal(t, 3, p.Repairs[0].Repeats)
	near6(t, 3*12*.5, p.Repairs[0].CostUSD, "the reference is run again")

	few := build(t, withCosts(Batch{Metric: Pass, Tasks: panel(4, ""), Variants: []Variant{
		{ID: "A", Runs: runsOf("1 1 0 1")}, {ID: "B", Runs: runsOf("01 01 1- 11")}}}, 1))
	p = ruled(t, few, DefaultRule()).Pairs[0]
	assert.Equal(t, []Repair{
		{For: NoRepeats, Action: AddRepeats, Repeats: 3, Cells: 12, CostUSD: ptr(12)},
		{For: TooFewTasks, Action: AddTasks, Tasks: 6, Cells: 36, CostUSD: ptr(36)},
	}, p.Repairs)

	bc := ruled(t, build(t, withCosts(t27(), .5)), t27Rule()).Pairs[3]
	assert.Equal(t, ProviderFailuresDecide, bc.Repairs[0].For)
	assert.Equal(t, 1, bc.Repairs[0].Cells)
	assert.Nil(t, ruled(t, build(t, t27()), t27Rule()).Pairs[1].Repairs, "a pair that tells needs none")
}

func TestShocksNeedOtherDays(t *testing.T) {
	runs := []string{"11111", "11110", "11000"}
	a, b := "", ""
	for i := range 60 {
		a += runs[i%3] + " "
		b += "0" + runs[(i+1)%3][:4] + " "
	}
	d := build(t, Batch{Metric: Pass, Tasks: panel(60, ""), Variants: []Variant{{ID: "A", Runs: runsOf(a)}, {ID: "B", Runs: runsOf(b)}}})
	rule := DefaultRule()
	rule.Margin = ptr(.02)
	p := ruled(t, d, rule).Pairs[0]
	require.Equal(t, CannotTell, p.Mark)
	assert.True(t, p.Codes.Has(UnstableRuns))
	var actions []Action
	for _, r := range p.Repairs {
		actions = append(actions, r.Action)
	}
	assert.Contains(t, actions, OtherDays)
	assert.NotContains(t, actions, AddTasks)
}
