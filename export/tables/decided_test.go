package tables

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest"
)

func float(t *testing.T, row map[string]string, column string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(row[column], 64)
	require.NoError(t, err, column)
	return v
}

// One variant differs from two that are alike; the tables hold the whole verdict.
func TestVerdictColumns(t *testing.T) {
	s := exporttest.Lettered(
		strings.Repeat("11111 ", 14)+"01111 10111 11011 11101 11110 01111",
		strings.Repeat("00000 ", 14)+"10000 01000 00100 00010 00001 10000",
		strings.Repeat("00000 ", 15)+"10000 01000 00100 00010 00001")
	s.SetDecision(`{"metric":"passed","margin":0.25,"reference":"agent-2+model-1","advantage":{"cost_usd":0.2}}`)
	dir := folder(t, s)
	pairs, variants := rows(t, dir, "pairs"), rows(t, dir, "variants")

	p := find(t, pairs, "a", "agent-1+model-1", "b", "agent-2+model-1")
	assert.Equal(t, "beats", p["verdict"])
	assert.Equal(t, "agent-1+model-1", p["winner"])
	assert.NotContains(t, p, "codes")
	assert.NotContains(t, p, "repair")
	assert.Equal(t, "false", p["range_tie"])
	assert.InDelta(t, .88, float(t, p, "d"), 1e-12)
	assert.InDelta(t, float(t, p, "difference"), float(t, p, "d"), 1e-12)
	assert.Less(t, float(t, p, "p"), float(t, p, "p_adjusted"))
	assert.Less(t, float(t, p, "ci_low"), .88)
	assert.Equal(t, "3", p["pairs_compared"])
	assert.Equal(t, "1", p["look"])
	assert.Equal(t, "20", p["tasks"])
	assert.Equal(t, "5", p["repeats_a"])
	assert.NotContains(t, p, "kept_verdict")
	assert.NotContains(t, p, "second_verdict")
	assert.InDelta(t, 2./252, float(t, p, "range_chance"), 1e-12)

	equal := find(t, pairs, "a", "agent-2+model-1", "b", "agent-3+model-1")
	assert.Equal(t, "equal", equal["verdict"])
	assert.NotContains(t, equal, "winner")
	assert.LessOrEqual(t, float(t, equal, "p_equal_adjusted"), .05)
	assert.Equal(t, "true", equal["range_tie"])

	best := find(t, variants, "variant", "agent-1+model-1")
	assert.Equal(t, []string{"true", "1", "1", "a", "superior", "5"}, []string{best["best"], best["rank_low"], best["rank_high"], best["letters"], best["standing"], best["k"]})
	assert.InDelta(t, .7, float(t, best, "pass_hat_k"), 1e-12)
	assert.Equal(t, "1", best["pass_at_k"])
	assert.Equal(t, "20", best["pass_k_tasks"])
	assert.Equal(t, "true", best["recommended"])
	assert.Equal(t, "score", best["advantages"])
	assert.NotContains(t, best, "cost_per_pass_usd", "no cost is known")
	other := find(t, variants, "variant", "agent-3+model-1")
	assert.Equal(t, []string{"false", "2", "3", "b"}, []string{other["best"], other["rank_low"], other["rank_high"], other["letters"]})
	assert.NotContains(t, find(t, variants, "variant", "agent-2+model-1"), "standing", "the reference is no candidate")
}

// Where nothing could be decided, every column of it is null and the reason stands there.
func TestReasonsOfNull(t *testing.T) {
	s := exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("--- ", 12), strings.Repeat("000 ", 12))
	for i := range s.Result.Evaluations {
		if e := &s.Result.Evaluations[i]; e.Agent == "agent-2" {
			e.Counted = true
		}
	}
	dir := folder(t, s)
	p := find(t, rows(t, dir, "pairs"), "a", "agent-1+model-1", "b", "agent-2+model-1")
	assert.NotContains(t, p, "verdict")
	assert.Equal(t, "not compared: a variant has no valid outcome", p["reason"])
	v := find(t, rows(t, dir, "variants"), "variant", "agent-2+model-1")
	assert.Equal(t, "no valid outcome", v["reason"])
	assert.NotContains(t, v, "mean")
	assert.Equal(t, "36", v["failures"])

	s.SetDecision(`{"metric":"passed","alpha":0.9}`)
	for _, table := range []string{"pairs", "variants"} {
		for _, r := range rows(t, folder(t, s), table) {
			assert.Contains(t, r["reason"], "alpha")
			for _, c := range []string{"metric", "look", "verdict", "mean", "d", "rank_low"} {
				assert.NotContains(t, r, c)
			}
		}
	}
}
