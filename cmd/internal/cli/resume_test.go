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

// TestFinishedTasksSurviveACrash kills the launcher twice in one evaluation: after 7
// of 12 tasks, and after 2 of the 5 that were left.
func TestFinishedTasksSurviveACrash(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.ownTemp()
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}", "budget: {ceiling_usd: 1.95}")
	crash := func(hang int, cost float64, lines int) (stderr string) {
		s.faults(map[string]any{"hang": hang, "cost": cost})
		c := s.child(nil, "run", s.spec, "--at-once", "1")
		c.until("so many lines in the journal", func() bool { return s.journal("live") == lines })
		c.kill()
		return c.err.String()
	}
	crash(7, 0.1, 7)
	evaluations, _ := s.history()
	first := evaluations[0].Info.RunID
	assert.Contains(t, crash(2, 0.05, 7+2), "1 evaluation cut short after some tasks were finished, which are not measured again")
	var st batchStatus
	s.json(&st, "status", s.spec)
	assert.Equal(t, 1, st.Running, "MLflow does not know better")
	assert.Zero(t, st.CostUnknown, "what the first one cost is told by the one that goes on")

	s.faults(map[string]any{"cost": 0.05})
	r := s.measure("--at-once", "1")
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts, "0.95 spent and 0.95 reserved fit below 1.95: nothing is booked twice")
	var starts []string
	for _, line := range s.starts() {
		starts = append(starts, strings.TrimPrefix(line, "quick+m-one "))
	}
	first7 := starts[0]
	repeat := first7[:2]
	assert.Equal(t, []string{repeat + " a1 12", repeat + " a2 5", repeat + " a3 3"}, starts[:3], "what was finished is not measured again")
	assert.Len(t, starts, 4)

	evaluations, _ = s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 2, "KILLED interrupted": 2}, statuses(evaluations))
	for _, e := range evaluations {
		cost, known := e.Metric("cost_usd")
		switch {
		case e.Tag("benchbatch.state") == "interrupted":
			assert.False(t, known, "what was paid stands with the evaluation that went on")
			assert.Contains(t, e.Tag("benchbatch.reason"), "goes on in the next evaluation of its slot")
		case "r"+e.Tag("benchbatch.slot") == repeat:
			assert.InDelta(t, 7*0.1+5*0.05, cost, 1e-6)
			assert.Len(t, strings.Fields(e.Tag("benchbatch.continues")), 2)
			assert.Contains(t, e.Tag("benchbatch.continues"), first)
		}
	}
	assert.Equal(t, []map[string]any{{"rows": 24.0, "accepted": 24.0, "cost": 1.55}},
		query(t, r.Folder, `SELECT count(*) AS rows, count(*) FILTER (accepted) AS accepted, round(sum(cost_usd), 6) AS cost FROM 'tables/attempts.parquet'`))
	assert.Equal(t, []map[string]any{{"attempt": 1.0, "n": 19.0}, {"attempt": 2.0, "n": 2.0}, {"attempt": 3.0, "n": 3.0}},
		query(t, r.Folder, `SELECT attempt, count(*) AS n FROM 'tables/outcomes.parquet' GROUP BY attempt ORDER BY attempt`))
	assert.Equal(t, []map[string]any{{"usd": 1.55, "unknown": 0.0}},
		query(t, r.Folder, `SELECT round(paid_usd, 6) AS usd, paid_unknown AS unknown FROM 'tables/variants.parquet'`), "nothing is left that nobody told the cost of")
	s.ok("verify", r.Folder)
	assert.Empty(t, s.state())
	assert.Empty(t, entries(t, s.env["TMPDIR"]))
}

// TestACutEvaluationThatNobodyGoesOnWith changes the recipe after a crash: what was
// paid is logged.
func TestACutEvaluationThatNobodyGoesOnWith(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.faults(map[string]any{"hang": 7})
	c := s.child(nil, "run", s.spec, "--at-once", "1")
	c.until("seven lines in the journal", func() bool { return s.journal("live") == 7 })
	c.kill()
	s.faults(nil)
	s.edit("benchmark.yaml", "version: v1", "version: v2")
	s.edit("policies/refund.md", "", "Never.\n")
	s.measure()
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 2, "KILLED interrupted": 1}, statuses(evaluations))
	for _, e := range evaluations {
		if e.Tag("benchbatch.state") == "interrupted" {
			cost, known := e.Metric("cost_usd")
			assert.True(t, known)
			assert.InDelta(t, 0.007, cost, 1e-9)
		}
	}
}

// TestACutEvaluationWhoseSlotAnotherFills kills a launcher among finished tasks; another
// place measures the repeat anew. What was paid first is on no bill until its own
// launcher is back, and that is told; then it is logged, and nothing is left.
func TestACutEvaluationWhoseSlotAnotherFills(t *testing.T) {
	for name, back := range map[string]bool{"it is back when the batch is frozen": false, "it waits for the other": true} {
		t.Run(name, func(t *testing.T) {
			s, _ := fakeShell(t)
			s.one()
			s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
			s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
			s.ownTemp()
			one, other := s.fork(t), s.fork(t)
			s.faults(map[string]any{"hang": 7})
			killed := one.child([]string{lease}, "run", one.spec, "--at-once", "1")
			killed.until("seven lines in the journal", func() bool { return one.journal("live") == 7 })
			killed.kill()

			until := filepath.Join(t.TempDir(), "go on")
			s.faults(map[string]any{"until": until})
			b := other.child([]string{lease}, "run", other.spec, "--json")
			b.until("another start", func() bool { return len(s.starts()) == 2 })
			var st batchStatus
			other.json(&st, "status", other.spec)
			assert.Equal(t, 1, st.CostUnknown)
			assert.Nil(t, st.SpentUSD, "unknown is not 0")
			var a *child
			if back {
				a = one.child([]string{lease}, "run", one.spec, "--json")
				a.until("it waits", func() bool { return strings.Contains(a.err.String(), "is being measured by") })
			}
			require.NoError(t, os.WriteFile(until, nil, 0o600))
			r := b.ran(ExitDone)
			if !back {
				paid := query(t, r.Folder, `SELECT round(paid_usd, 6) AS usd, paid_unknown AS unknown FROM 'tables/variants.parquet'`)
				assert.Equal(t, []map[string]any{{"usd": 0.012, "unknown": 1.0}}, paid, "another 0.007 were paid, and nobody has told of it")
				assert.Contains(t, s.file(r.Folder, "report.md"), "Spent in this batch, as reported: at least 0.0120 USD (12 attempts), and 1 of unknown cost")
				a = one.child([]string{lease}, "run", one.spec, "--json")
			}
			late := a.ran(ExitDone)
			assert.Equal(t, r.Batch, late.Batch)
			assert.Zero(t, late.Started)
			s.ok("verify", late.Folder)
			assert.Len(t, s.starts(), 2)
			evaluations, _ := s.history()
			assert.Equal(t, map[string]int{"FINISHED complete": 1, "KILLED superseded": 1}, statuses(evaluations))
			for _, e := range evaluations {
				if e.Tag("benchbatch.state") == "superseded" {
					cost, known := e.Metric("cost_usd")
					assert.True(t, known)
					assert.InDelta(t, 0.007, cost, 1e-9)
				}
			}
			assert.Empty(t, one.state())
			assert.Empty(t, entries(t, s.env["TMPDIR"]))
		})
	}
}

// TestACutEvaluationWhoseModelIsSkipped kills a launcher among finished tasks; when it is
// back the model does not answer any more. The batch is frozen without the repeat, and what
// was paid for it is on the bill.
func TestACutEvaluationWhoseModelIsSkipped(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	s.ownTemp()
	down := filepath.Join(t.TempDir(), "down")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	s.edit("benchmark.yaml", "revision: r1, quota: all}", fmt.Sprintf(`revision: r1, quota: all, preflight: {kind: command, command: [test, "!", -e, %q]}}`, down))
	s.faults(map[string]any{"hang": 7})
	killed := s.child(nil, "run", s.spec, "--only", "model=m-one")
	killed.until("seven lines in the journal", func() bool { return s.journal("live") == 7 })
	killed.kill()
	require.NoError(t, os.WriteFile(down, nil, 0o600))
	s.faults(nil)

	var r ran
	s.json(&r, "run", s.spec)
	require.True(t, r.Frozen)
	assert.Equal(t, batch.Counts{Planned: 2, Done: 1, Skipped: 1}, r.Counts)
	evaluations, _ := s.history()
	assert.Equal(t, map[string]int{"FINISHED complete": 1, "KILLED interrupted": 1}, statuses(evaluations))
	assert.Equal(t, []map[string]any{{"model": "m-one", "usd": 0.007, "unknown": 0.0}, {"model": "m-two", "usd": 0.012, "unknown": 0.0}},
		query(t, r.Folder, `SELECT model, round(paid_usd, 6) AS usd, paid_unknown AS unknown FROM 'tables/variants.parquet' ORDER BY model`))
	s.ok("verify", r.Folder)
	assert.Empty(t, s.state())
	assert.Empty(t, entries(t, s.env["TMPDIR"]))
}

// journal counts the records of a kind in the journals of the state folder.
func (s *shell) journal(kind string) int {
	n := 0
	for _, id := range s.state() {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(s.spec), ".benchbatch", "evaluations", id, "measuring.jsonl"))
		if err != nil {
			require.ErrorIs(s.t, err, os.ErrNotExist)
		}
		n += strings.Count(string(b), `"`+kind+`":true`)
	}
	return n
}
