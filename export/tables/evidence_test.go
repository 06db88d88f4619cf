package tables

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/export/exporttest"
)

// Families are decided at one level where the frozen rule asks for it, and marked
// exploratory where it does not.
func TestFamilyTables(t *testing.T) {
	good, bad := strings.Repeat("1111 ", 10)+"0111 1011 ", strings.Repeat("0000 ", 10)+"1000 0100 "
	s := exporttest.Lettered(good+bad, bad+good)
	s.SetFamilies(strings.Repeat("a", 12) + strings.Repeat("b", 12))
	dir := folder(t, s)
	assert.Empty(t, rows(t, dir, "family_pairs"))
	r := find(t, rows(t, dir, "families"), "family", "a", "variant", "agent-1+model-1")
	assert.Equal(t, []string{"true", "12", "48", "4"}, []string{r["exploratory"], r["mean_tasks"], r["runs"], r["k"]})
	assert.NotContains(t, r, "rank_low")
	assert.InDelta(t, 46./48, float(t, r, "mean"), 1e-12)
	assert.InDelta(t, 10./12, float(t, r, "pass_hat_k"), 1e-12)

	s.SetDecision(`{"metric":"passed","by":"family"}`)
	dir = folder(t, s)
	p := find(t, rows(t, dir, "family_pairs"), "family", "b")
	assert.Equal(t, []string{"beats", "agent-2+model-1", "2", "this family only"}, []string{p["verdict"], p["winner"], p["pairs_compared"], p["extent"]})
	r = find(t, rows(t, dir, "families"), "family", "b", "variant", "agent-2+model-1")
	assert.Equal(t, []string{"false", "1", "1", "true", "discriminates"}, []string{r["exploratory"], r["rank_low"], r["rank_high"], r["best"], r["discrimination"]})
	whole := find(t, rows(t, dir, "batch"), "by", "family")
	assert.Equal(t, []string{"all", "population", "1"}, []string{whole["compare"], whole["scope"], whole["look"]})
}

// What happened in the mixed batch stands in the tables of the whole.
func TestWholeTables(t *testing.T) {
	s := exporttest.Mixed()
	s.Plan.Earlier = []string{"run-1", "run-2"}
	dir := folder(t, s)
	whole := rows(t, dir, "batch")
	assert.Len(t, whole, 1)
	b := whole[0]
	assert.Equal(t, []string{"3", "run-1,run-2", "13", "1", "1", "1"},
		[]string{b["look"], b["earlier_batches"], b["evaluations_ran"], b["evaluations_reused"], b["flags"], b["flagged_outcomes"]})
	assert.NotContains(t, b, "best")
	assert.NotContains(t, b, "selection_outcomes_left_out")
	assert.Equal(t, "11", b["kept_outcomes_left_out"], "one counted run says nothing of the withdrawn task")

	flags := rows(t, dir, "flags")
	assert.Len(t, flags, 1)
	assert.Equal(t, []string{"test-awareness", exporttest.Hostile, "T-0001", "scored"}, []string{flags[0]["audit"], flags[0]["evidence"], flags[0]["task"], flags[0]["state"]})

	states := rows(t, dir, "reliability")
	assert.Len(t, states, 6*8, "every state of every variant, those without a try too")
	attempts := 0
	for _, r := range rows(t, dir, "attempts") {
		if r["state"] == "provider" {
			attempts++
		}
	}
	sum := 0.
	for _, r := range states {
		if r["state"] == "provider" {
			sum += float(t, r, "attempts")
			assert.Equal(t, "true", r["failure"])
		}
	}
	foreign := 0 // keeps no attempts: its outcomes stand for them
	for _, r := range rows(t, dir, "outcomes") {
		if r["state"] == "provider" && r["run_id"] == s.Result.Evaluations[0].RunID {
			foreign++
		}
	}
	assert.EqualValues(t, attempts+foreign, sum)
	assert.Len(t, rows(t, dir, "task_variants"), 10*6)
	assert.Len(t, rows(t, dir, "judging"), 6)
	assert.Empty(t, rows(t, dir, "judge_pairs"), "one judge agrees with nobody")
	v := find(t, rows(t, dir, "variants"), "variant", "agent-1+model-1")
	assert.Equal(t, "judge-1", v["lost_most_judge"])
	assert.Contains(t, v["first_started"], "2026-11-27")
}
