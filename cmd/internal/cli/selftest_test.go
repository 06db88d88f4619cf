package cli

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/stats"
)

// TestStatisticsPageIsMadeBySelftest: the tables in docs/statistics.md are the
// command's output, so that they can't drift from the rule.
func TestStatisticsPageIsMadeBySelftest(t *testing.T) {
	text, err := os.ReadFile("../../../docs/statistics.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "<!-- begin: benchbatch selftest --markdown -->\n\n")
	require.True(t, ok)
	page, _, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	got := newShellAt(t, "").ok("selftest", "--markdown")
	assert.Equal(t, got.out, page, "make the tables again with `benchbatch selftest --markdown`")
	assert.Empty(t, got.stderr)
}

func TestSelftestIsTheSameOnAnyNumberOfCores(t *testing.T) {
	s := newShellAt(t, "")
	one := func(cores int, seed string) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		return s.run("selftest", "--json", "--replicates", "40", "--seed", seed).out
	}
	assert.Equal(t, one(1, "3"), one(3, "3"))
	assert.NotEqual(t, one(1, "3"), one(1, "4"))
	var got selftested
	require.NoError(t, json.Unmarshal([]byte(one(2, "3")), &got))
	assert.Len(t, got.Rows, len(worlds))
	for _, r := range got.Rows {
		assert.Equal(t, 40, r.Replicates)
		assert.Equal(t, r.Different > 0, r.Rule.Power != nil, r.World)
		assert.Equal(t, r.Equal > 0, r.Rule.FalsePair != nil, r.World)
		assert.LessOrEqual(t, r.Rule.Low, r.Rule.False)
		assert.GreaterOrEqual(t, r.Rule.High, r.Rule.False)
	}
}

// TestSelftestCanFail: a rule that is wrong too often ends with exit code 3 and says where.
func TestSelftestCanFail(t *testing.T) {
	rule := stats.DefaultRule()
	r := stats.Rates{Replicates: 1000, Equal: 1, Rule: stats.Observed{False: .06}, OnList: stats.Observed{False: .06}}
	assert.False(t, newSelftestRow(r, rule).Refuted, "6 % of 1,000 where 5 % is stated is chance")
	r.OnList.False = .08
	row := newSelftestRow(r, rule)
	assert.False(t, row.Refuted)
	row.setOnList(r)
	assert.True(t, row.Refuted, "8 % is not")
	r.Rule.False = .08
	row = newSelftestRow(r, rule)
	assert.True(t, row.Refuted)
	rule.Look = 2
	r.Rule.False = .02
	assert.True(t, newSelftestRow(r, rule).Refuted, "at the second look .6 % is stated")

	out := selftested{Passed: true}
	require.NoError(t, out.err())
	row.Size, row.World = "2 × 36 × 5", "runs shift"
	out.add(row)
	assert.False(t, out.Passed)
	require.ErrorContains(t, out.err(), "2 × 36 × 5, runs shift: 8.0 % (6.5–9.8) where 5.0 % is stated")
	assert.Equal(t, ExitVerdict, exitCode(out.err()))
}

func TestSelftestRefuses(t *testing.T) {
	s := newShellAt(t, "")
	for _, args := range [][]string{{"--replicates", "0"}, {"--replicates", "1000001"}, {"--json", "--markdown"}, {"--seed", "-1"}} {
		got := s.run(append([]string{"selftest"}, args...)...)
		assert.Equal(t, ExitUsage, got.code, args)
		assert.Empty(t, got.out)
	}
}
