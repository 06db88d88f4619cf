package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
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

// TestSelftestOfFolders: the rule of a folder judges its own batch with shuffled labels.
func TestSelftestOfFolders(t *testing.T) {
	s := newShellAt(t, "")
	folder := func(b *exporttest.Synthetic) string {
		dir, err := export.Write(t.Context(), b.Freeze(), export.Options{Out: t.TempDir(), Outputs: outputs(), Withhold: []string{"raw", "inputs"}})
		require.NoError(t, err)
		return dir
	}
	clear := exporttest.Lettered(strings.Repeat("111 ", 30), strings.Repeat("010 ", 30), strings.Repeat("000 ", 30))
	clear.SetDecision(`{"metric":"passed","alpha":0.01}`)
	uneven := exporttest.New(exporttest.Shape{Agents: 2, Models: 2, Tasks: 40, Repeats: 3, Seed: 4})
	uneven.AddEvaluation(0, 4)
	a, b := folder(clear), folder(uneven)
	var got selftested
	s.json(&got, "selftest", "--replicates", "200", a, b)
	require.Len(t, got.Rows, 2)
	for i, r := range got.Rows {
		assert.Equal(t, []string{"3 × 30 × 3", "4 × 40 × 3, 4"}[i], r.Size)
		assert.Equal(t, []string{filepath.Base(a), filepath.Base(b)}[i], r.Folder)
		assert.InDelta(t, []float64{.02, .05}[i], r.Stated, 1e-12)
		assert.Equal(t, []int{3, 6}[i], r.Equal)
		assert.Zero(t, r.Different)
		assert.Equal(t, 200, r.Replicates)
		assert.Less(t, r.Rule.False, .1)
		assert.Nil(t, r.OnList)
	}
	assert.True(t, got.Passed)
	text := s.ok("selftest", "--replicates", "50", a)
	assert.Contains(t, text.out, "Labels shuffled within each task")
	assert.Contains(t, text.out, filepath.Base(a))
	assert.NotContains(t, text.out, "logit")
	assert.Contains(t, s.ok("selftest", "--replicates", "50", "--markdown", b).out, "| 4 × 40 × 3, 4 | 50 |")

	short := folder(exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Tasks: 12, Repeats: 2, Seed: 5}))
	said := s.ok("selftest", "--replicates", "20", short)
	assert.Contains(t, said.stderr, "fewer than 3 repeats")
	assert.Contains(t, said.out, "0.0 %")
	lax := exporttest.Lettered(strings.Repeat("111 ", 30), strings.Repeat("010 ", 30))
	lax.SetDecision(`{"metric":"passed","alpha":0.4}`)
	few := s.run("selftest", "--replicates", "20", folder(lax))
	assert.Equal(t, ExitUsage, few.code)
	assert.Contains(t, few.stderr, "states a rate of 80.0 %, and fewer than 31 batches would pass any rule")
	alone := s.run("selftest", folder(exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 12, Repeats: 3, Seed: 5})))
	assert.Equal(t, ExitFailed, alone.code)
	assert.Contains(t, alone.stderr, "1 variant measured")
	require.NoError(t, os.WriteFile(filepath.Join(a, "result.json"), []byte("{}"), 0o600))
	assert.Equal(t, ExitIntegrity, s.run("selftest", a).code)
}

func TestAffordable(t *testing.T) {
	assert.Equal(t, selftestReplicates, affordable(2, 36, 5))
	assert.Equal(t, 33, affordable(100, 1000, 10))
	assert.Equal(t, 25, affordable(200, 10000, 10))
	assert.Positive(t, affordable(0, 0, 0))
}

// As few batches as are taken can still refute a rule.
func TestLeastReplicates(t *testing.T) {
	for stated, want := range map[float64]int{.00625: 20, .05: 20, .8: 31, .98: 342} {
		least := leastReplicates(stated)
		assert.Equal(t, want, least)
		assert.True(t, beyond(stats.Rates{Replicates: least}, stats.Observed{False: 1}, stated), "%v: all false is no chance", stated)
	}
	assert.False(t, beyond(stats.Rates{Replicates: 30}, stats.Observed{False: 1}, .8), "one fewer may be chance")
	assert.True(t, beyond(stats.Rates{Replicates: selftestLeast}, stats.Observed{False: .3}, .05))
	assert.False(t, beyond(stats.Rates{Replicates: selftestLeast}, stats.Observed{False: .25}, .05))
}

func TestSelftestRefuses(t *testing.T) {
	s := newShellAt(t, "")
	for _, args := range [][]string{{"--replicates", "-1"}, {"--replicates", "1"}, {"--replicates", "19"}, {"--replicates", "1000001"}, {"--json", "--markdown"}, {"--seed", "-1"}, {"no-such-folder"}} {
		got := s.run(append([]string{"selftest"}, args...)...)
		assert.Equal(t, ExitUsage, got.code, args)
		assert.Empty(t, got.out)
	}
}
