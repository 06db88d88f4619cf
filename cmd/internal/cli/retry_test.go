package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// one leaves the benchmark a single cell.
func (s *shell) one() {
	s.t.Helper()
	s.edit("benchmark.yaml", "  - {id: careful, version: \"1\", files: [agents/careful/]}\n", "")
	s.edit("benchmark.yaml", "  - {id: m-two, route: local/two, quota: all}\n", "")
	s.edit("prices.yaml", "m-two: {input: 0.5, output: 1.0}\n", "")
}

// TestProviderFailuresAreTriedAgainAlone has 3 of 500 tasks fail at their first attempt.
func TestProviderFailuresAreTriedAgainAlone(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	s.one()
	var panel strings.Builder
	for i := range 500 {
		fmt.Fprintf(&panel, "{\"id\": \"P-%03d\", \"input\": \"letter %d\", \"family\": \"f%d\"}\n", i, i, i%40)
	}
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(s.spec), "panel.jsonl"), []byte(panel.String()), 0o600))
	s.faults(map[string]any{"P-017": 1, "P-230": 1, "P-499": 2})
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	var starts []string
	for _, line := range s.starts() {
		starts = append(starts, strings.TrimPrefix(line, "quick+m-one "))
	}
	assert.ElementsMatch(t, []string{"r1 a1 500", "r2 a1 500", "r1 a2 3", "r2 a2 3", "r1 a3 1", "r2 a3 1"}, starts,
		"only what is missing is tried again")
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 2}, statuses(evaluations))

	got := query(t, r.Folder, `
		SELECT count(*) AS attempts, count(*) FILTER (accepted) AS accepted, count(DISTINCT (run_id, task)) FILTER (accepted) AS tasks,
		       count(*) FILTER (state = 'provider') AS failed, round(sum(cost_usd), 6) AS cost
		FROM 'tables/attempts.parquet'`)
	assert.Equal(t, []map[string]any{{"attempts": 1008.0, "accepted": 1000.0, "tasks": 1000.0, "failed": 8.0, "cost": 1.008}}, got,
		"every attempt is there with its cost, every task is accepted once")
	got = query(t, r.Folder, `SELECT count(*) AS outcomes, count(score) AS scored, max(attempt) AS attempt FROM 'tables/outcomes.parquet'`)
	assert.Equal(t, []map[string]any{{"outcomes": 1000.0, "scored": 1000.0, "attempt": 3.0}}, got)
	for _, e := range evaluations {
		v, ok := e.Metric("cost_usd")
		assert.True(t, ok)
		assert.InDelta(t, 0.504, v, 1e-6, "failed attempts are paid too")
	}
	again := s.measure()
	assert.Zero(t, again.Started)
	assert.Len(t, s.starts(), 6)
}

// TestABatchWithoutAnyRepeat has one model that does not answer and one whose provider is down.
func TestABatchWithoutAnyRepeat(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	down := s.env["STARTS"] + ".down"
	require.NoError(t, os.WriteFile(down, nil, 0o600))
	s.edit("lib/ask.py", "", "import os, sys\nif os.environ['BENCHBATCH_MODEL'] == 'local/two' and os.path.exists(os.environ['STARTS'] + '.down'):\n    sys.exit('gone fishing')\n")
	s.edit("benchmark.yaml", "\ndecision:", "\nretry: {provider: 0}\npreflight: {kind: command, command: [python3, lib/ask.py], timeout: 60s}\ndecision:")

	got := s.run("run", s.spec, "--require-all-models")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "model m-two does not answer")
	assert.Contains(t, got.stderr, "gone fishing")
	assert.Empty(t, s.starts())

	s.faults(map[string]any{"m-one": 9})
	var r ran
	got = s.json(&r, "run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code)
	assert.True(t, r.Frozen)
	assert.Equal(t, batch.Counts{Planned: 8, Failed: 4, Skipped: 4}, r.Counts)
	assert.Contains(t, got.stderr, "skipped: model m-two, 4 evaluations: command failed")
	assert.Contains(t, got.stderr, "frozen with 0 of 8 repeats: 4 failed, 4 skipped")
	assert.Len(t, s.starts(), 4, "a silent model's cells are not started")
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FAILED incomplete": 4}, statuses(evaluations))
	s.ok("verify", r.Folder)
	assert.Equal(t, []map[string]any{{"state": "failed", "n": 4.0}, {"state": "skipped", "n": 4.0}},
		query(t, r.Folder, "SELECT state, count(*) AS n FROM 'tables/cells.parquet' WHERE reason IS NOT NULL GROUP BY state ORDER BY state"))
	for _, c := range r.Cells {
		assert.Nil(t, c.Mean, "no data is no score")
		assert.Equal(t, 2, c.Missing)
	}

	got = s.json(&r, "run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code)
	assert.Contains(t, got.stderr, "is finished: 0 evaluations started; --new freezes another dated batch")

	s.faults(nil)
	require.NoError(t, os.Remove(down))
	all := s.measure("--new")
	assert.NotEqual(t, r.Batch, all.Batch)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, all.Counts)
}

// TestTheCeilingEndsABatch runs evaluations of $0.30 below a ceiling of $1.00.
func TestTheCeilingEndsABatch(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "ceiling_usd: 100", "ceiling_usd: 1")
	s.edit("benchmark.yaml", "at_once: 4", "at_once: 8")
	s.faults(map[string]any{"cost": 0.025}) // × 12 tasks
	var r ran
	got := s.json(&r, "run", s.spec, "--at-once", "8")
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 3, NotStarted: 5}, r.Counts)
	assert.False(t, r.Frozen)
	assert.Contains(t, got.stderr, "$0.9000 of $1.00 are spent")
	assert.Contains(t, got.stderr, "raise budget.ceiling_usd and run again")

	got = s.json(&r, "run", s.spec, "--at-once", "8")
	assert.Equal(t, ExitIncomplete, got.code)
	assert.Zero(t, r.Started, "what was spent is not forgotten")

	s.edit("benchmark.yaml", "ceiling_usd: 1}", "ceiling_usd: 50}")
	rest := s.measure("--at-once", "8")
	assert.Equal(t, r.Batch, rest.Batch, "the ceiling is no part of what a batch is")
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, rest.Counts)
	assert.Equal(t, 5, rest.Started)
	assert.Len(t, s.starts(), 8)
}

// TestMuchMoneyIsNotSpentUnasked has evaluations of $6 each.
func TestMuchMoneyIsNotSpentUnasked(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	s.faults(map[string]any{"cost": 0.5}) // × 12 tasks
	var r ran
	got := s.json(&r, "run", s.spec, "--only", "agent=quick,model=m-one")
	assert.Equal(t, ExitIncomplete, got.code, "what nobody knows is not refused")
	assert.Contains(t, got.stderr, "missing: 2 evaluations; cost unknown; time unknown")
	assert.Len(t, s.starts(), 2)

	p := s.plan()
	require.Len(t, p.Estimate.Models, 2)
	assert.Nil(t, p.Estimate.Models[0].CostUSD, "nothing is known of m-two")
	assert.Equal(t, "m-one", p.Estimate.Models[1].Model)
	assert.InDelta(t, 12, p.Estimate.Models[1].CostUSD.Mean, 1e-6, "what another agent paid for the model")
	assert.Equal(t, 4, p.Estimate.UnknownCost)
	assert.Nil(t, p.Forecast, "its time is unknown too")
	text := s.ok("plan", s.spec).out
	assert.Regexp(t, `m-one +2 +\$12\.0000 +12\.0000–12\.0000 `, text)
	assert.Regexp(t, `m-two +4 +unknown +unknown`, text)
	one := s.plan("--only", "model=m-one", "--at-once", "1")
	require.NotNil(t, one.Forecast)
	assert.InDelta(t, one.Estimate.WallS.Mean, one.Forecast.Mean, 1e-6, "one after another")

	got = s.run("run", s.spec)
	assert.Equal(t, ExitUsage, got.code)
	assert.Contains(t, got.stderr, "it may cost more than $10.00, and there is nobody to ask")
	assert.Contains(t, got.stderr, "--max-cost USD starts it and pays no more than that")
	assert.Len(t, s.starts(), 2)

	got = s.json(&r, "run", s.spec, "--max-cost", "7", "--at-once", "8")
	assert.Equal(t, ExitIncomplete, got.code)
	assert.Equal(t, batch.Counts{Planned: 8, Done: 3, NotStarted: 5}, r.Counts, "the $12 of before are not this run's")
	assert.Contains(t, got.stderr, "5 are left: raise --max-cost and run again")
	assert.Contains(t, got.stderr, "missing: 5 evaluations; cost about $", "what the rest would cost")
	r = s.measure("--yes")
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
}

// TestNoModelAnswers leaves a batch open of which nothing could be measured.
func TestNoModelAnswers(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "prices: prices.yaml", "preflight: {kind: command, command: [test, -e, answers]}\nprices: prices.yaml")
	got := s.run("run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	assert.Contains(t, got.stderr, "no model answered: nothing was started, and the batch stays open")
	assert.Contains(t, got.out, "8 planned = 0 reused + 0 done + 0 failed + 8 skipped + 0 not started\n0 evaluations started now")
	open := s.plan()
	assert.False(t, open.Finished)

	s.edit("benchmark.yaml", "preflight: {kind: command, command: [test, -e, answers]}\n", "")
	r := s.measure()
	assert.Equal(t, open.Batch, r.Batch, "the same batch goes on")
	assert.Equal(t, 8, r.Started)
}

func TestAnUnknownCostAndACeiling(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.faults(map[string]any{"cost": nil})
	got := s.run("run", s.spec)
	assert.Equal(t, ExitIncomplete, got.code)
	assert.Contains(t, got.stderr, "the cost of quick+m-one is unknown, so the ceiling of $100.00 can't be kept; let the runner (and each model judge) report cost_usd, or remove budget.ceiling_usd")
	assert.Len(t, s.starts(), 1)

	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	r := s.measure()
	assert.Equal(t, 1, r.Started)
	assert.Nil(t, r.Cells[0].CostUSD, "unknown is not 0")
	assert.Equal(t, []map[string]any{{"known": 0.0, "rows": 24.0}},
		query(t, r.Folder, `SELECT count(cost_usd) AS known, count(*) AS rows FROM 'tables/attempts.parquet'`))
}
