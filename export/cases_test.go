package export_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// An error stays in the denominator of one of the two rates, which both have a name;
// a variant that only failed is there with nothing scored.
func TestErrorsStayInTheDenominator(t *testing.T) {
	s := exporttest.Lettered(strings.Repeat("1 ", 80)+strings.Repeat("0 ", 10)+strings.Repeat("- ", 10), strings.Repeat("- ", 100))
	sum := summaryOf(t, s)
	d := sum.Verdict.Description.Variants
	assert.InDelta(t, 80./90, d[0].Mean.Value, 1e-12, "of what was measured")
	assert.InDelta(t, .8, d[0].Band.Low, 1e-12, "of everything, failures as 0")
	assert.Equal(t, []int{90, 10}, []int{d[0].Band.Valid, d[0].Band.Failures})
	assert.InDelta(t, .9, *sum.Variants[0].Cover, 1e-12)
	assert.Nil(t, d[1].Mean)
	assert.Equal(t, []int{0, 100}, []int{d[1].Scored, d[1].Failed})
	assert.Nil(t, sum.Verdict.Ranks, "one repeat ranks nobody")
	assert.Equal(t, stats.Nobody, sum.Verdict.Chosen())
}

// At 0 or 100 percent there is still uncertainty.
func TestPerfectScoresAreUncertain(t *testing.T) {
	for _, c := range []struct {
		n         int
		letter    string
		low, high float64
	}{{25, "0", 0, .133192}, {25, "1", .866808, 1}, {7, "1", .645661, 1}} {
		s := exporttest.Lettered(strings.Repeat(c.letter+" ", c.n), strings.Repeat(c.letter+" ", c.n))
		v := summaryOf(t, s).Verdict
		i, method := v.Description.Variants[0].Preferred()
		require.NotNil(t, i)
		assert.Equal(t, stats.ByWilson, method)
		assert.InDelta(t, c.low, i.Low, 1e-5)
		assert.InDelta(t, c.high, i.High, 1e-5)
		assert.Equal(t, stats.CannotTell, v.Pairs[0].Mark, "equal is not shown by %d tasks", c.n)
	}
}

// Spread of a single repeat is unknown, and one repeat claims nothing.
func TestOneRepeatClaimsNothing(t *testing.T) {
	v := summaryOf(t, exporttest.Lettered(strings.Repeat("1 ", 30), strings.Repeat("0 ", 30))).Verdict
	d := v.Description.Variants[0]
	assert.Nil(t, d.Rerun)
	assert.Nil(t, d.SingleRuns)
	assert.Nil(t, d.OneWay)
	assert.Nil(t, v.Pairs[0].P)
	assert.True(t, v.Pairs[0].Codes.Has(stats.NoRepeats))
	assert.Nil(t, v.Ranks)

	// tasks with 0, 1 and 2 scored repeats: only the last has a spread
	v = summaryOf(t, exporttest.Lettered(strings.Repeat("-- 1- 10 ", 5), strings.Repeat("-- 1- 00 ", 5))).Verdict
	d = v.Description.Variants[0]
	assert.InDelta(t, .5, *d.Rerun, 1e-12)
	assert.Equal(t, 10, d.Mean.Tasks)
}

// pass^k is undefined for a task with fewer than k runs, and the panel's says how
// many tasks it rests on. There is one formula.
func TestPassKNeedsKRuns(t *testing.T) {
	s := exporttest.Lettered("1100- 11110 11--- 1----", "11111 11111 11111 11111")
	s.SetDecision(`{"metric":"passed"}`)
	v := summaryOf(t, s).Verdict
	d := v.Description.Variants[0]
	require.Len(t, d.PassHat, 5)
	two := d.PassHat[1]
	assert.Equal(t, []int{2, 3, 1}, []int{two.K, two.Mean.Tasks, two.Excluded})
	assert.InDelta(t, .588889, two.Mean.Value, 1e-6, "mean of 1/6, 3/5 and 1")
	five := d.PassHat[4]
	assert.Equal(t, []int{5, 1, 3}, []int{five.K, five.Mean.Tasks, five.Excluded})

	one := exporttest.Lettered("111-- --000"+strings.Repeat(" 11111", 8), strings.Repeat("11111 ", 10))
	last := summaryOf(t, one).Verdict.Description.Variants[0].PassHat
	assert.Equal(t, []int{8, 2}, []int{last[4].Mean.Tasks, last[4].Excluded}, "3 runs say nothing of 5, whether they passed or not")
}

// Partial credit counts in the mean and is no pass below the frozen threshold.
func TestPartialCreditIsNoPass(t *testing.T) {
	scores := []float64{0, .5, .999999, 1}
	for threshold, want := range map[float64]float64{1: .25, .8: .5, .5: .75} {
		s := exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: len(scores), Repeats: 1, Bare: true, Seed: 1})
		s.Plan.PassThreshold = threshold
		for _, e := range s.Result.Evaluations {
			change(s, e.RunID, func(i int, o *outcome.Outcome) { o.Score = &scores[i] })
		}
		sum := summaryOf(t, s)
		d := sum.Verdict.Description.Variants[0]
		assert.InDelta(t, 2.499999/4, d.Mean.Value, 1e-9)
		assert.InDelta(t, want, d.PassHat[0].Mean.Value, 1e-12, "threshold %v", threshold)
		assert.InDelta(t, want, *sum.Variants[0].Passed, 1e-12)
	}
	for _, bad := range []string{"1.0000001", "-0.1", "true", "NaN"} {
		_, err := outcome.ReadAbout(strings.NewReader(`{"task":"T-0001","score":`+bad+"}\n"), outcome.TimeoutFail, 1)
		require.Error(t, err, bad)
	}
}

// Each task weighs 1, however often it was run, on every page.
func TestUnevenRepeats(t *testing.T) {
	s := exporttest.Lettered("1-------- 000000000", "000000000 000000000")
	sum := summaryOf(t, s)
	assert.InDelta(t, .5, *sum.Variants[0].Mean, 1e-12)
	assert.InDelta(t, .5, sum.Verdict.Description.Variants[0].Mean.Value, 1e-12)
	assert.InDelta(t, .5, *sum.Variants[0].Passed, 1e-12)
	assert.Equal(t, []int{1, 9}, []int{sum.Verdict.Description.Tasks[0].Runs[0], sum.Verdict.Description.Tasks[1].Runs[0]})
}

// No data is never a pass: nothing is chosen, recommended or called equal.
func TestNoDataIsNoPass(t *testing.T) {
	pairs, candidates := 0, 0
	for name, s := range map[string]*exporttest.Synthetic{
		"all failed":      exporttest.Lettered(strings.Repeat("--- ", 12), strings.Repeat("--- ", 12)),
		"nothing started": exporttest.Lettered(strings.Repeat("... ", 12), strings.Repeat("... ", 12)),
		"one variant":     exporttest.Lettered(strings.Repeat("111 ", 12)),
		"one task":        exporttest.Lettered("111", "000"),
		"all equal":       exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("111 ", 12)),
	} {
		s.SetDecision(`{"metric":"passed","margin":0.05,"reference":"agent-1+model-1","advantage":{"cost_usd":0.2},"by":"family"}`)
		v := summaryOf(t, s).Verdict
		require.True(t, v.Decided(), name)
		assert.Equal(t, stats.Nobody, v.Chosen(), name)
		for _, p := range v.Pairs {
			pairs++
			assert.Equal(t, stats.CannotTell, p.Mark, name)
		}
		for _, c := range v.Candidates {
			candidates++
			assert.False(t, c.Recommended, name)
			assert.NotEmpty(t, c.Why, name)
		}
	}
	assert.Equal(t, []int{4, 4}, []int{pairs, candidates}, "of all but the one variant")
	s := exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("000 ", 12))
	s.SetDecision(`{"metric":"judge/nobody"}`)
	v := summaryOf(t, s).Verdict
	assert.False(t, v.Pairs[0].Compared, "a judge that never voted measured nothing")
	assert.Nil(t, v.Description.Variants[0].Mean)
	assert.Nil(t, v.Description.Judging)
}

// A variant whose runs have no believable start has no dates.
func TestUnknownDates(t *testing.T) {
	s := exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("000 ", 12))
	for i := range s.Result.Evaluations {
		if e := &s.Result.Evaluations[i]; e.Agent == "agent-2" {
			e.Started = e.Started.AddDate(-60, 0, 0)
		}
	}
	sum := summaryOf(t, s)
	assert.NotNil(t, sum.Variants[0].First)
	assert.Nil(t, sum.Variants[1].First)
	assert.False(t, export.Believable(sum.Variants[1].Last))
}
