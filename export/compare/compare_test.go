package compare_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
)

const rule = `{"alpha":0.025,"compare":"all","margin":0.1,"metric":"passed","pass":"threshold","pass_threshold":0.8,"scope":"population"}`

// one makes a batch of one model and an agent a line, with manifests that fit its identities.
func one(name string, at time.Time, brain string, lines ...string) *exporttest.Synthetic {
	s := exporttest.Lettered(lines...)
	s.SetDecision(rule)
	s.Result.Batch, s.Result.Name = exporttest.RunID(name), fmt.Sprintf("support-bench-v1_%s_%s", at.Format("2006-01-02"), exporttest.RunID(name)[:6])
	shift := at.Sub(exporttest.Start)
	s.Result.Started, s.Result.Frozen = s.Result.Started.Add(shift), s.Result.Frozen.Add(shift)
	for i := range s.Result.Evaluations {
		e := &s.Result.Evaluations[i]
		ended := e.Ended.Add(shift)
		e.Started, e.Ended, e.Batch = e.Started.Add(shift), &ended, s.Result.Batch
		e.Evaluation = name + e.Evaluation[len(name):]
		rename(s, i, exporttest.RunID(name+e.RunID))
	}
	s.Plan.Brain = batch.Manifest{Items: map[string]any{"folder": batch.Sum([]byte(brain))}, Files: map[string]batch.Digest{"brain/instructions.md": batch.Sum([]byte(brain))}}
	s.Plan.Execution = batch.Manifest{Items: map[string]any{"command": []string{"./run.sh"}}, Files: map[string]batch.Digest{"policies/refund.md": batch.Sum([]byte("refund"))}}
	s.Plan.Scoring = batch.Manifest{Items: map[string]any{"timeout_policy": "fail"}}
	identify(s, brain)
	return s
}

func rename(s *exporttest.Synthetic, evaluation int, run string) {
	e := &s.Result.Evaluations[evaluation]
	s.Files[run] = s.Files[e.RunID]
	for i := range s.Result.Slots {
		if s.Result.Slots[i].RunID == e.RunID {
			s.Result.Slots[i].RunID = run
		}
	}
	delete(s.Files, e.RunID)
	e.RunID = run
}

// identify computes all digests again from the manifests.
func identify(s *exporttest.Synthetic, brain string) {
	for _, t := range s.Tasks {
		s.Plan.Execution.Items["task "+t.ID] = batch.Sum(t.Input)
		if t.Expected != nil {
			s.Plan.Scoring.Items["expected "+t.ID] = batch.Sum(t.Expected)
		}
	}
	execution, _ := s.Plan.Execution.Digest(batch.PartExecution)
	scoring, _ := s.Plan.Scoring.Digest(batch.PartScoring)
	for i := range s.Plan.Cells {
		c := &s.Plan.Cells[i]
		old := c.Identity.Cell
		c.Identity = batch.NewIdentity(c.Identity.Agent, c.Identity.Model, batch.Sum([]byte(brain)), execution, scoring)
		for j := range s.Result.Evaluations {
			if s.Result.Evaluations[j].Cell == old {
				s.Result.Evaluations[j].Cell = c.Identity.Cell
			}
		}
		for j := range s.Result.Slots {
			if s.Result.Slots[j].Cell == old {
				s.Result.Slots[j].Cell = c.Identity.Cell
			}
		}
	}
}

func side(t *testing.T, s *exporttest.Synthetic, withhold ...string) compare.Side {
	t.Helper()
	dir, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{tables.Output{}}, Withhold: withhold})
	require.NoError(t, err)
	f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
	require.NoError(t, err)
	return compare.FolderSide(f)
}

func of(t *testing.T, a, b *exporttest.Synthetic, o compare.Options) *compare.Comparison {
	t.Helper()
	c, err := compare.Of(t.Context(), side(t, a), side(t, b), o)
	require.NoError(t, err)
	return c
}

func refused(t *testing.T, a, b *exporttest.Synthetic, o compare.Options) *compare.Refused {
	t.Helper()
	_, err := compare.Of(t.Context(), side(t, a), side(t, b), o)
	var r *compare.Refused
	require.ErrorAs(t, err, &r)
	return r
}

// few is a line of n tasks of which the last differ in one of 5 repeats.
func few(n, differing int, c, other string) string {
	var b strings.Builder
	for i := range n {
		word := strings.Repeat(c, 5)
		if j := i - (n - differing); j >= 0 {
			word = word[:j%5] + other + word[j%5+1:]
		}
		b.WriteString(word + " ")
	}
	return b.String()
}

var (
	high, low = few(30, 6, "1", "0"), few(30, 6, "0", "1")
	mid       = strings.Repeat("10101 01010 11011 00100 10010 ", 6)
	day       = exporttest.Start
	nextDay   = exporttest.Start.Add(3 * time.Hour)
	month     = exporttest.Start.Add(30 * 24 * time.Hour)
)

// Two brains on one day: each variant and all together, B - A.
func TestTwoBrains(t *testing.T) {
	a, b := one("a", day, "v4", low, low), one("b", nextDay, "v5", high, mid)
	c := of(t, a, b, compare.Options{})
	assert.Equal(t, compare.SameRecipe, c.Mode)
	require.Len(t, c.Variants, 2)
	for i, want := range []float64{.92, .46} {
		p := c.Variants[i].Pair
		require.NotNil(t, p)
		assert.InDelta(t, want, *p.Difference, .03)
		assert.Equal(t, stats.Beats, p.Mark)
		assert.Equal(t, p.A, p.Winner, "B is better")
		assert.InDelta(t, *p.Difference, c.Variants[i].B.Mean.Value-c.Variants[i].A.Mean.Value, 1e-12)
	}
	assert.Equal(t, stats.Beats, c.Overall.Mark)
	assert.True(t, c.Overall.Up)
	assert.Empty(t, c.Rule.PostHoc)
	assert.Equal(t, 1, c.Rule.Look)
	require.NotEmpty(t, c.Changes)
	assert.Equal(t, "file brain/instructions.md", c.Changes[0].Item)
	back := of(t, b, a, compare.Options{})
	assert.InDelta(t, -*c.Overall.Difference, *back.Overall.Difference, 1e-12)
	assert.False(t, back.Overall.Up)
}

// What changed both ways is not "no change", though it is none on average.
func TestChangesThatCancelOut(t *testing.T) {
	c := of(t, one("a", day, "v4", low, high), one("b", nextDay, "v5", high, low), compare.Options{})
	require.Equal(t, stats.Beats, c.Variants[0].Pair.Mark)
	require.Equal(t, stats.Beats, c.Variants[1].Pair.Mark)
	assert.Less(t, c.Overall.Mark, stats.Ahead)
	said := c.Sentence().String()
	assert.Contains(t, said, "; taken one by one, 1 better and 1 worse in B.")
	assert.NotContains(t, said, "No change")
}

// The two halves are what the same data as one batch would give.
func TestPairIsThatOfOneBatch(t *testing.T) {
	c := of(t, one("a", day, "v4", mid), one("b", day, "v5", high), compare.Options{})
	whole := exporttest.Lettered(high, mid)
	whole.SetDecision(rule)
	var v *export.Verdict
	_, err := export.Write(t.Context(), whole.Freeze(), export.Options{Out: t.TempDir(), Summarized: func(_ *export.Frozen, s *export.Summary) { v = s.Verdict }})
	require.NoError(t, err)
	p, q := c.Variants[0].Pair, v.Pairs[0]
	assert.InDelta(t, *q.Difference, *p.Difference, 1e-12)
	assert.InDelta(t, *q.P, *p.P, 1e-12)
	assert.InDelta(t, q.Noise.V, p.Noise.V, 1e-12)
	assert.Equal(t, q.Mark, p.Mark)
}

// Two dates alone tell nothing, and the price of measuring again is said.
func TestMeasuredApart(t *testing.T) {
	c := of(t, one("a", day, "v4", low), one("b", month, "v5", high), compare.Options{})
	p := c.Variants[0].Pair
	assert.Equal(t, stats.CannotTell, p.Mark)
	assert.True(t, p.Codes.Has(stats.MeasuredApart))
	assert.InDelta(t, .92, *p.Difference, .01)
	assert.True(t, c.Overall.Codes.Has(stats.MeasuredApart))
	assert.Equal(t, 5, c.Again.Evaluations)
	assert.Nil(t, c.Again.USD, "no cost is known")

	unknown := one("b", day, "v5", high)
	for i := range unknown.Result.Evaluations {
		unknown.Result.Evaluations[i].Started = time.Unix(0, 0)
	}
	c = of(t, one("a", day, "v4", low), unknown, compare.Options{})
	assert.True(t, c.Variants[0].Pair.Codes.Has(stats.MeasuredApart), "an unknown time is no counterpart")
}

// A run that both count is one measurement, and never compared with itself.
func TestSharedRuns(t *testing.T) {
	a, b := one("a", day, "v4", mid, mid), one("b", nextDay, "v4", mid, high)
	share := func(n int) {
		for i := range n { // the first variant's first n repeats
			e, from := &b.Result.Evaluations[i], a.Result.Evaluations[i]
			run := e.RunID
			rename(b, i, from.RunID)
			b.Files[from.RunID] = a.Files[from.RunID]
			_ = run
			e.Evaluation, e.Started, e.Ended, e.Reused, e.Batch = from.Evaluation, from.Started, from.Ended, true, a.Result.Batch
			b.Result.Slots[i].State = batch.SlotReused
		}
	}
	share(2)
	c := of(t, a, b, compare.Options{})
	require.Len(t, c.Shared, 2)
	assert.True(t, c.Shared[0].OnA)
	assert.Equal(t, []int{5, 3, 2}, []int{c.Variants[0].A.Repeats, c.Variants[0].B.Repeats, c.Variants[0].B.Shared})
	assert.Equal(t, []int{5, 3}, []int{c.Variants[0].Pair.RepeatsB, c.Variants[0].Pair.RepeatsA})
	assert.True(t, c.Variants[0].SameCell)

	share(5)
	c = of(t, a, b, compare.Options{})
	assert.Nil(t, c.Variants[0].Pair, "nothing is left to compare")
	require.NotNil(t, c.Variants[1].Pair)
	assert.Equal(t, 1, c.Overall.Pairs)
	assert.Equal(t, 1, c.Places)
}

func TestVariantsOfOneBatch(t *testing.T) {
	a, b := one("a", day, "v4", mid, high, low), one("b", nextDay, "v5", mid, high)
	b.Plan.Cells[1].Agent = "agent-9"
	for i := range b.Result.Evaluations {
		if b.Result.Evaluations[i].Agent == "agent-2" {
			b.Result.Evaluations[i].Agent = "agent-9"
		}
	}
	c := of(t, a, b, compare.Options{})
	assert.Equal(t, []batch.Variant{{Agent: "agent-2", Model: "model-1"}, {Agent: "agent-3", Model: "model-1"}}, c.OnlyA)
	assert.Equal(t, []batch.Variant{{Agent: "agent-9", Model: "model-1"}}, c.OnlyB)
	require.Len(t, c.Variants, 1)

	none := one("c", nextDay, "v5", mid)
	none.Plan.Cells[0].Agent = "other"
	none.Result.Evaluations = nil
	for i := range none.Result.Slots {
		none.Result.Slots[i].State, none.Result.Slots[i].RunID = batch.SlotNotStarted, ""
	}
	assert.Contains(t, refused(t, a, none, compare.Options{}).Error(), "no variant is in both")
	assert.Contains(t, refused(t, a, a, compare.Options{}).Error(), "the same batch")
}

// The rule is the one that both froze, or is said to be post hoc.
func TestRules(t *testing.T) {
	a, b := one("a", day, "v4", mid), one("b", nextDay, "v5", high)
	b.SetDecision(strings.Replace(rule, `"margin":0.1`, `"margin":0.2`, 1))
	c := of(t, a, b, compare.Options{})
	assert.Contains(t, c.Rule.PostHoc, "margin 0.1 and 0.2")
	assert.InDelta(t, .2, *c.Rule.Margin, 0)

	b.SetDecision(strings.Replace(rule, `"compare":"all"`, `"compare":"reference","reference":"agent-1+model-1"`, 1))
	assert.Empty(t, of(t, a, b, compare.Options{}).Rule.PostHoc, "who the reference is matters in a batch alone")

	asked := compare.Options{Decision: []byte(strings.Replace(rule, `"margin":0.1,`, "", 1))}
	c = of(t, a, b, asked)
	assert.Contains(t, c.Rule.PostHoc, "after both batches were frozen")
	assert.Nil(t, c.Rule.Margin)
	assert.Empty(t, of(t, a, b, compare.Options{Decision: []byte(rule)}).Rule.PostHoc, "it is the frozen one")

	_, err := compare.Of(t.Context(), side(t, a), side(t, b), compare.Options{Decision: []byte(strings.Replace(rule, "passed", "judge/x", 1))})
	var bad *compare.DecisionError
	assert.ErrorAs(t, err, &bad)
}

// Every earlier batch of the question besides the two could have been compared before.
func TestLooks(t *testing.T) {
	a, b := one("a", day, "v4", mid), one("b", nextDay, "v5", high)
	b.Plan.Earlier = []string{a.Result.Batch}
	assert.Equal(t, 1, of(t, a, b, compare.Options{}).Rule.Look)
	b.Plan.Earlier = []string{"x", a.Result.Batch, "y"}
	a.Plan.Earlier = []string{"x"}
	c := of(t, a, b, compare.Options{})
	assert.Equal(t, 3, c.Rule.Look)
	assert.InDelta(t, .05/32, c.Level, 1e-12)
}

// Another recipe is refused with the file that changed, unless tasks link the batches.
func TestRefusedRecipe(t *testing.T) {
	a, b := one("a", day, "v4", mid), one("b", nextDay, "v4", high)
	b.Plan.Execution.Files["policies/refund.md"] = batch.Sum([]byte("another refund"))
	b.Plan.Execution.Items["command"] = []string{"./run.sh", "--fast"}
	for i := range b.Tasks {
		b.Tasks[i].Input = json.RawMessage(fmt.Sprintf(`{"ticket":"other %d"}`, i))
	}
	identify(b, "v4")
	r := refused(t, a, b, compare.Options{})
	text := r.Error()
	assert.Contains(t, text, "execution: file policies/refund.md changed")
	assert.Contains(t, text, "execution: command changed")
	assert.Contains(t, text, "0 tasks are the same in both: at least 10 of 30")
	assert.Contains(t, text, "and 20 more")

	b = one("b", nextDay, "v4", high)
	b.Plan.Scoring.Files = map[string]batch.Digest{"judge/judge.py": batch.Sum([]byte("new"))}
	b.Plan.Scoring.Items["judge.command"] = []string{"judge/judge.py"}
	identify(b, "v4")
	assert.Contains(t, refused(t, a, b, compare.Options{}).Error(), "answers are judged otherwise (scoring: file judge/judge.py is new")
}
