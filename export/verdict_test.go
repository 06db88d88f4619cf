package export_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// summaryOf exports a batch and gives what its outputs were made from.
func summaryOf(t *testing.T, s *exporttest.Synthetic) *export.Summary {
	t.Helper()
	var sum *export.Summary
	dir := write(t, s.Freeze(), func(o *export.Options) { o.Summarized = func(_ *export.Frozen, s *export.Summary) { sum = s } })
	require.NoError(t, verify(t, dir).Err())
	require.NotNil(t, sum)
	return sum
}

// whole27 is vector T27: four variants, 12 tasks in 8 families, one failure.
func whole27() *exporttest.Synthetic {
	s := exporttest.Lettered(
		"111 111 111 101 111 111 011 111 111 111 110 111",
		"111 101 110 011 111 111 111 100 110 111 101 111",
		"110 001 010 100 001 1-1 001 111 100 010 000 010",
		"000 010 100 000 010 100 000 001 010 000 000 100")
	s.SetFamilies("aabbccddefgh")
	s.SetDecision(`{"metric":"passed","alpha":0.025,"margin":0.3,"reference":"agent-1+model-1","compare":"all","scope":"population"}`)
	return s
}

func TestWholeBatch(t *testing.T) {
	v := summaryOf(t, whole27()).Verdict
	require.True(t, v.Decided())
	want := []struct {
		d, p, adj float64
		mark      stats.Mark
	}{
		{.111111, .284273, .284273, stats.CannotTell}, {.472222, .007945, .046875, stats.Beats}, {.722222, .007812, .046875, stats.Beats},
		{.361111, .019681, .059043, stats.CannotTell}, {.611111, .007812, .046875, stats.Beats}, {.25, .068968, .137937, stats.CannotTell},
	}
	for i, w := range want {
		p := v.Pairs[i]
		assert.InDelta(t, w.d, *p.Difference, 1e-6, i)
		assert.InDelta(t, w.p, *p.P, 1e-6, i)
		assert.InDelta(t, w.adj, *p.PAdj, 1e-6, i)
		assert.Equal(t, w.mark, p.Mark, i)
	}
	assert.Equal(t, []string{"provider_failures_decide", "powerless"}, v.Pairs[3].Codes.Strings())
	assert.Equal(t, []string{"a", "ab", "bc", "c"}, v.Letters)
	assert.Equal(t, &stats.Rank{Low: 1, High: 2}, v.Ranks[0])
	assert.Equal(t, stats.Nobody, v.Chosen())
	assert.Equal(t, stats.Inferior, v.NonInferiority[2].Standing)
}

// A later look has a lower level; the same batch then says less.
func TestLaterLook(t *testing.T) {
	s := whole27()
	s.Plan.Earlier = []string{"an earlier batch"}
	v := summaryOf(t, s).Verdict
	assert.Equal(t, 2, v.Look)
	assert.InDelta(t, .003125, v.Alpha, 1e-12)
	for _, p := range v.Pairs {
		assert.Equal(t, stats.CannotTell, p.Mark)
	}
}

// Runs of another day are no counterpart; nor are runs whose start nobody knows.
func TestMeasuredApart(t *testing.T) {
	for name, start := range map[string]func(time.Time) time.Time{
		"old":     func(at time.Time) time.Time { return at.AddDate(0, 0, -60) },
		"unknown": func(time.Time) time.Time { return time.Unix(0, 0) },
	} {
		s := whole27()
		for i := range s.Result.Evaluations {
			if e := &s.Result.Evaluations[i]; e.Agent == "agent-3" {
				e.Started = start(e.Started)
			}
		}
		v := summaryOf(t, s).Verdict
		for _, i := range []int{1, 3, 5} {
			assert.True(t, v.Pairs[i].Codes.Has(stats.MeasuredApart), name)
			assert.Equal(t, stats.CannotTell, v.Pairs[i].Mark, name)
		}
		assert.Equal(t, stats.Beats, v.Pairs[2].Mark, name)
	}
}

// Failures join the second reading, what never started does not (T31). A started
// evaluation over the allowance counts as failures where no valid repeat filled its slot.
func TestFailuresDecide(t *testing.T) {
	b := strings.Repeat("01010 00100 10010 00000 01000 ", 2)
	for last, want := range map[string]stats.Mark{"..": stats.Beats, "--": stats.CannotTell, "bb": stats.CannotTell} {
		s := exporttest.Lettered(strings.Repeat("111"+last+" ", 8)+strings.Repeat("110"+last+" ", 2), b)
		for i := range s.Result.Evaluations {
			e := &s.Result.Evaluations[i]
			if e.Agent != "agent-1" || e.Slot < 4 {
				continue
			}
			e.Counted, e.State = false, batch.StateIncomplete
			for j := range s.Result.Slots {
				if slot := &s.Result.Slots[j]; slot.RunID == e.RunID {
					slot.State, slot.Reason = batch.SlotFailed, "too many are missing"
				}
			}
		}
		p := summaryOf(t, s).Verdict.Pairs[0]
		assert.Equal(t, want, p.Mark, last)
		assert.Equal(t, want == stats.CannotTell, p.Codes.Has(stats.ProviderFailuresDecide), last)
		assert.InDelta(t, .693333, *p.Difference, 1e-6, "the numbers are those without failures")
	}
}

// A failed try whose slot a later one filled changes nothing.
func TestReplacedEvaluation(t *testing.T) {
	s := exporttest.Lettered(strings.Repeat("11111 ", 12), strings.Repeat("10000 ", 12))
	plain := summaryOf(t, s).Verdict.Pairs[0]
	lost := s.AddEvaluation(0, 5)
	s.Result.Slots = s.Result.Slots[:len(s.Result.Slots)-1]
	lost.Counted, lost.State = false, batch.StateIncomplete
	var failed []outcome.Outcome
	for _, task := range s.Tasks {
		failed = append(failed, outcome.Failed(task.ID, outcome.Provider, "invented"))
	}
	s.SetOutcomes(lost.RunID, failed)
	again := summaryOf(t, s).Verdict.Pairs[0]
	assert.Nil(t, again.Second)
	assert.Equal(t, stats.Beats, again.Mark)
	assert.Equal(t, plain.PAdj, again.PAdj)
}

// Withdrawn tasks are left out of a second verdict; a claim that needs them is not one.
func TestWithdrawnTasksDecide(t *testing.T) {
	s := exporttest.Lettered(strings.Repeat("111 ", 8)+strings.Repeat("101 ", 5), strings.Repeat("000 ", 8)+strings.Repeat("110 ", 5))
	require.Equal(t, 0, summaryOf(t, s).Verdict.Chosen())
	for i := range 8 {
		s.Plan.Withdraw = append(s.Plan.Withdraw, batch.Withdrawal{Task: s.Tasks[i].ID, Why: "verifier was wrong", Date: "2026-12-02"})
	}
	v := summaryOf(t, s).Verdict
	assert.Equal(t, 0, v.Best)
	assert.Equal(t, stats.Nobody, v.Chosen())
	assert.False(t, v.Stands(0))
}

func TestRefusedRules(t *testing.T) {
	for name, c := range map[string]struct{ decision, want string }{
		"not JSON":          {`[1]`, "can't be read"},
		"metric":            {`{"metric":"vibes"}`, "metric"},
		"alpha":             {`{"metric":"score","alpha":0.7}`, "alpha"},
		"margin":            {`{"metric":"score","margin":1.5}`, "margin"},
		"compare":           {`{"metric":"score","compare":"some"}`, "compare"},
		"scope":             {`{"metric":"score","scope":"world"}`, "scope"},
		"no such reference": {`{"metric":"score","compare":"reference","reference":"x+y"}`, "x+y"},
	} {
		s := whole27()
		s.SetDecision(c.decision)
		v := summaryOf(t, s).Verdict
		assert.False(t, v.Decided(), name)
		assert.Contains(t, v.Refused, c.want, name)
	}
	s := whole27()
	s.SetDecision(`{"metric":"passed","reference":"x+y"}`)
	v := summaryOf(t, s).Verdict
	require.True(t, v.Decided())
	assert.Equal(t, "x+y", v.Dropped)
	assert.Equal(t, stats.Beats, v.Pairs[2].Mark)
}

// Under compare: reference a pair is candidate − reference, in the summary too.
func TestWithReference(t *testing.T) {
	s := whole27()
	s.SetDecision(`{"metric":"passed","margin":0.3,"reference":"agent-1+model-1","compare":"reference"}`)
	sum := summaryOf(t, s)
	p := sum.Verdict.Pairs[1]
	assert.Equal(t, []int{2, 0}, []int{p.A, p.B})
	assert.InDelta(t, .023438, *p.PAdj, 1e-6)
	assert.Same(t, &sum.Variants[2], sum.Pairs[1].A)
	assert.InDelta(t, *p.Difference, *sum.Pairs[1].Difference, 1e-12)
	assert.False(t, sum.Verdict.Pairs[5].Compared)
}

// A judge as the metric: an outcome without its vote is missing, never 0.
func TestJudgeAsMetric(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Tasks: 12, Repeats: 3, Bare: true, Seed: 1})
	s.SetDecision(`{"metric":"judge/tone"}`)
	for _, e := range s.Result.Evaluations {
		var list []outcome.Outcome
		for i, task := range s.Tasks {
			vote, zero, scale := 4.0, 0.0, [2]float64{1, 5}
			o := outcome.Outcome{Task: task.ID, State: outcome.Scored, Score: &zero, Judges: []outcome.Vote{{Name: "tone", Score: &vote, Scale: &scale}, {Name: "other", Score: &zero}}}
			if i == 0 {
				o.Judges[0].Score = nil
			}
			list = append(list, o)
		}
		s.SetOutcomes(e.RunID, list)
	}
	v := summaryOf(t, s).Verdict
	d := v.Description.Variants[0]
	assert.InDelta(t, .75, d.Mean.Value, 1e-12)
	assert.Equal(t, 11, d.Mean.Tasks)
	assert.Equal(t, 3, d.Failed)
	assert.NotNil(t, v.Description.Judging)
}

// Where passing is reported, an outcome that says nothing of it makes pass@k unknown.
func TestPassNotReported(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 12, Repeats: 3, Bare: true, Seed: 1})
	s.Plan.PassReported = true
	v := summaryOf(t, s).Verdict
	require.True(t, v.Decided())
	assert.Equal(t, []int{36, 36}, v.Unpassed)
	assert.False(t, v.Passes(0))
	s.SetDecision(`{"metric":"passed"}`)
	v = summaryOf(t, s).Verdict
	assert.Nil(t, v.Pairs[0].Difference, "nothing was measured of what decides")
	assert.False(t, v.Pairs[0].Compared)
}

func TestWorkSeconds(t *testing.T) {
	s := func(v float64) *float64 { return &v }
	assert.Equal(t, s(8), export.WorkSeconds(&outcome.Outcome{DurationS: s(10), WaitS: s(2)}))
	assert.Equal(t, s(10), export.WorkSeconds(&outcome.Outcome{DurationS: s(10)}))
	assert.Nil(t, export.WorkSeconds(&outcome.Outcome{DurationS: s(1), WaitS: s(2)}))
	assert.Nil(t, export.WorkSeconds(&outcome.Outcome{WaitS: s(2)}))
}

// Someone who turns a verdict round and makes all checksums fit is found.
func TestForgedVerdict(t *testing.T) {
	d := copyTree(t, write(t, whole27().Freeze(), nil))
	for _, name := range []string{"report.md", "README.md"} {
		path := filepath.Join(d, name)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		forged := strings.Replace(string(data), "No winner:", "A winner:", 1)
		require.NotEqual(t, string(data), forged)
		require.NoError(t, os.WriteFile(path, []byte(forged), 0o666))
	}
	reseal(t, d)
	r := verify(t, d)
	assert.True(t, named(r.Findings, "report.md") && named(r.Findings, "README.md"), "%v", r.Findings)
}

// The same bytes for any number of workers and cores, with claims, votes, failures and
// every reading in it, by family too.
func TestVerdictBytes(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 3, Models: 2, Tasks: 40, Repeats: 4, Judges: 3, Attempts: true, Seed: 9})
	s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0003", Why: "wrong", Date: "2026-12-02"}}
	s.SetDecision(`{"metric":"score","margin":0.1,"reference":"agent-1+model-1","advantage":{"cost_usd":0.2,"wall_s":0.2},"by":"family"}`)
	s.Result.Evaluations[3].Role = export.RoleSelection
	change(s, s.Result.Evaluations[5].RunID, func(_ int, o *outcome.Outcome) { o.Flags = []outcome.Flag{{Audit: "cheating"}} })
	b := s.Freeze()
	var first string
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 3, 16} {
		runtime.GOMAXPROCS(n)
		dir, err := export.Write(context.Background(), b, export.Options{Out: t.TempDir(), Workers: n, Outputs: outputs()})
		require.NoError(t, err)
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		require.NoError(t, err)
		if first == "" {
			first = string(sums)
		}
		assert.Equal(t, first, string(sums))
	}
}
