package export_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// two is a batch in which the first variant beats the second.
func two() *exporttest.Synthetic {
	return exporttest.Lettered(strings.Repeat("1111 ", 14)+strings.Repeat("0101 ", 6), strings.Repeat("0000 ", 15)+strings.Repeat("0011 ", 5))
}

// change rewrites the outcomes of one evaluation.
func change(s *exporttest.Synthetic, run string, f func(i int, o *outcome.Outcome)) {
	list, err := outcome.ReadAbout(strings.NewReader(string(s.Files[run][batch.FileOutcomes])), outcome.TimeoutFail, 0)
	if err != nil {
		panic(err)
	}
	for i := range list {
		f(i, &list[i])
	}
	s.SetOutcomes(run, list)
}

// Runs that served to choose a setting count and are marked; a claim that needs
// them is said not to stand.
func TestRunsOfSelection(t *testing.T) {
	s := two()
	v := summaryOf(t, s).Verdict
	require.Equal(t, 0, v.Chosen())
	assert.Empty(t, v.Readings)

	for i := range s.Result.Evaluations {
		if e := &s.Result.Evaluations[i]; e.Slot == 1 {
			e.Role = export.RoleSelection
		}
	}
	sum := summaryOf(t, s)
	r := sum.Verdict.Reading(export.WithoutSelection)
	require.NotNil(t, r)
	assert.Equal(t, 40, r.Left)
	assert.Equal(t, 3, r.Pairs[0].RepeatsA, "one repeat of four is left out")
	assert.Equal(t, stats.Beats, r.Pairs[0].Mark)
	assert.Empty(t, r.Turned)
	assert.Equal(t, 0, sum.Verdict.Chosen(), "the claim stands without them")
	assert.Equal(t, []int{1, 1}, []int{sum.Variants[0].Selection, sum.Variants[1].Selection})

	for i := range s.Result.Evaluations {
		if e := &s.Result.Evaluations[i]; e.Agent == "agent-2" && e.Slot < 3 {
			e.Role = export.RoleSelection
		}
	}
	v = summaryOf(t, s).Verdict
	assert.Equal(t, []int{0}, v.Reading(export.WithoutSelection).Turned, "2 repeats are left, and nothing is claimed")
	assert.Equal(t, stats.Beats, v.Pairs[0].Mark, "the frozen verdict is what it is")
	assert.False(t, v.Stands(0))
	assert.Equal(t, stats.Nobody, v.Chosen())
}

// A flag never alters a score; the verdict is computed again without what is flagged.
func TestFlaggedOutcomes(t *testing.T) {
	s := two()
	flagged := 0
	for _, e := range s.Result.Evaluations {
		if e.Agent == "agent-1" {
			change(s, e.RunID, func(i int, o *outcome.Outcome) {
				if i < 14 {
					o.Flags = []outcome.Flag{{Audit: "cheating", Evidence: "read the answers " + exporttest.Hostile}}
					o.Transcript = "logs/x.jsonl"
					flagged++
				}
			})
		}
	}
	sum := summaryOf(t, s)
	assert.Equal(t, flagged, sum.Flags.Findings)
	assert.Equal(t, flagged, sum.Flags.Outcomes)
	require.Len(t, sum.Flags.List, flagged)
	f := sum.Flags.List[0]
	assert.Equal(t, []any{"cheating", "T-0001", 0, "logs/x.jsonl", true}, []any{f.Audit, f.Task, f.Position, f.Transcript, f.Counted})
	assert.Contains(t, f.Evidence, "read the answers")
	v := sum.Verdict
	assert.Equal(t, stats.Beats, v.Pairs[0].Mark)
	r := v.Reading(export.WithoutFlagged)
	require.NotNil(t, r)
	assert.Equal(t, 6, r.Pairs[0].Tasks, "the others have no outcome left")
	assert.Equal(t, []int{0}, r.Turned)
	assert.Equal(t, stats.Nobody, v.Chosen())
}

// Withdrawn, selection and flags are each a reading of its own.
func TestReadingsTogether(t *testing.T) {
	s := two()
	s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0001", Why: "wrong", Date: "2026-12-02"}}
	s.Result.Evaluations[0].Role = export.RoleSelection
	run := s.Result.Evaluations[1].RunID
	change(s, run, func(i int, o *outcome.Outcome) {
		if i == 2 {
			o.Flags = []outcome.Flag{{Audit: "a"}, {Audit: "b"}}
		}
	})
	sum := summaryOf(t, s)
	var names []string
	var left []int
	for _, r := range sum.Verdict.Readings {
		names, left = append(names, r.Name), append(left, r.Left)
	}
	assert.Equal(t, []string{export.WithoutWithdrawn, export.WithoutSelection, export.WithoutFlagged}, names)
	assert.Equal(t, []int{8, 20, 1}, left)
	assert.Equal(t, 2, sum.Flags.Findings)
	assert.Equal(t, 1, sum.Flags.Outcomes)
	assert.Equal(t, 0, sum.Verdict.Chosen())
}

// byFamily is a batch whose variants change places from family to family.
func byFamily() *exporttest.Synthetic {
	good, bad := strings.Repeat("1111 ", 10)+"0111 1011 ", strings.Repeat("0000 ", 10)+"1000 0100 "
	s := exporttest.Lettered(good+bad, bad+good)
	s.SetFamilies(strings.Repeat("a", 12) + strings.Repeat("b", 12))
	return s
}

// A verdict by family is frozen, shares one level, and is a routing table.
func TestDecideByFamily(t *testing.T) {
	s := byFamily()
	v := summaryOf(t, s).Verdict
	assert.Nil(t, v.Families, "not asked for")
	require.Len(t, v.Description.Families, 2)
	assert.InDelta(t, 46./48, v.Description.Families[0].Variants[0].Mean.Value, 1e-12)
	assert.Equal(t, 48, v.Description.Families[0].Variants[0].Runs)
	assert.InDelta(t, 10./12, v.Description.Families[0].Variants[0].PassHat.Mean.Value, 1e-12)

	s.SetDecision(`{"metric":"passed","by":"family","margin":0.1,"reference":"agent-2+model-1","advantage":{"cost_usd":0.2}}`)
	v = summaryOf(t, s).Verdict
	assert.Equal(t, stats.CannotTell, v.Pairs[0].Mark, "over both families nothing differs")
	require.Len(t, v.Families, 2)
	a, b := &v.Families[0], &v.Families[1]
	assert.Equal(t, 2, a.Compared, "one level for both families")
	assert.Equal(t, []string{"a", "b"}, []string{a.Family, b.Family})
	assert.Equal(t, []int{0, 1}, []int{a.Best, b.Best})
	assert.Equal(t, []stats.Mark{stats.Beats, stats.Beats}, []stats.Mark{a.Pairs[0].Mark, b.Pairs[0].Mark})
	assert.InDelta(t, 2**a.Pairs[0].P, *a.Pairs[0].PAdj, 1e-12, "Holm over the families")
	assert.Equal(t, "this family only", a.Pairs[0].Extent())
	require.Len(t, a.Candidates, 1)
	assert.True(t, a.Candidates[0].Recommended)
	assert.False(t, b.Candidates[0].Recommended)

	lines := make([]string, 92) // 4,186 pairs on 12 families
	for i := range lines {
		lines[i] = strings.Repeat("1 ", 12)
	}
	many := exporttest.Lettered(lines...)
	many.SetFamilies("abcdefghijkl")
	many.SetDecision(`{"metric":"passed","by":"family"}`)
	v = summaryOf(t, many).Verdict
	assert.Nil(t, v.Families)
	assert.Equal(t, "4186 pairs on 12 families are more than 50000 verdicts", v.FamiliesRefused)

	s.SetDecision(`{"metric":"passed","by":"model"}`)
	assert.Contains(t, summaryOf(t, s).Verdict.Refused, `decision.by "model" is not known`)
}

// Another decision than the frozen one is checked, and says that it is another one.
func TestPostHoc(t *testing.T) {
	s := whole27()
	dir := write(t, s.Freeze(), nil)
	open := func() *export.Folder {
		f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
		require.NoError(t, err)
		return f
	}
	f := open()
	require.NoError(t, f.Redecide([]byte(`{"metric":"passed","margin":0.05,"scope":"list"}`)))
	require.NotNil(t, f.Frozen.PostHoc)
	assert.Equal(t, s.Plan.DecisionDigest, f.Frozen.PostHoc.Frozen)
	assert.Equal(t, batch.Sum([]byte(`{"alpha":0.025,"compare":"all","margin":0.05,"metric":"passed","pass":"threshold","pass_threshold":1,"scope":"list"}`)), f.Frozen.PostHoc.Digest)
	sum, _, err := f.Render(t.Context(), "", nil)
	require.NoError(t, err)
	assert.Equal(t, stats.List, sum.Verdict.Rule.Scope)
	assert.Equal(t, stats.Ahead, sum.Verdict.Pairs[1].Mark)

	f = open() // another threshold is another pass
	require.NoError(t, f.Redecide([]byte(`{"metric":"passed","pass_threshold":0.5}`)))
	sum, _, err = f.Render(t.Context(), "", nil)
	require.NoError(t, err)
	assert.InDelta(t, .916667, sum.Verdict.Description.Variants[0].Mean.Value, 1e-6)

	for text, want := range map[string]string{
		`{"margin":2}`:                 "decision.margin 2: above 0 and below 1",
		`{"alpha":0.5}`:                "decision.alpha 0.5",
		`{"pass_threshold":0}`:         "decision.pass_threshold 0",
		`{"metric":"judge/tone"}`:      `decision.metric "judge/tone" is not known`,
		`{"metric":"vibes"}`:           `decision.metric "vibes"`,
		`{"compare":"reference"}`:      "decision.reference names none",
		`{"compare":"some"}`:           `decision.compare "some" is not known: one of all reference`,
		`{"reference":"x+y"}`:          `decision.reference "x+y" is not a variant of this batch: one of agent-1+model-1`,
		`{"by":"model"}`:               `decision.by "model"`,
		`{"advantage":{"beauty":0.2}}`: "decision.advantage.beauty 0.2",
		`{"advantage":{"cost_usd":1}}`: "decision.advantage.cost_usd 1",
		`{"margn":0.1}`:                "margn",
		`{} {}`:                        "more than one",
		`[1]`:                          "decision",
		``:                             "decision",
	} {
		err := open().Redecide([]byte(text))
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
	}
}

// The same rule in other words is no other decision.
func TestPostHocOfTheSameRule(t *testing.T) {
	s := whole27()
	full := `{"alpha":0.025,"compare":"all","margin":0.3,"metric":"passed","pass":"threshold","pass_threshold":1,"scope":"population"}`
	s.SetDecision(full)
	f, err := export.OpenFolder(t.Context(), write(t, s.Freeze(), nil), tables.Output{})
	require.NoError(t, err)
	require.NoError(t, f.Redecide([]byte(`{"margin": 0.3, "metric": "passed"}`)))
	assert.Nil(t, f.Frozen.PostHoc)
	assert.JSONEq(t, full, string(f.Frozen.Plan.Decision))
}
