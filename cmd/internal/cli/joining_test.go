package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestFrozenWhateverItsStatus: a status that somebody sets does not open a frozen batch, and is set back.
func TestFrozenWhateverItsStatus(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	first := s.measure()
	want := sums(t, first.Folder)
	for _, status := range []mlflow.RunStatus{mlflow.StatusRunning, mlflow.StatusFailed, mlflow.StatusKilled} {
		_, err := s.client().UpdateRun(t.Context(), first.Batch, status, time.Now().UnixMilli())
		require.NoError(t, err)
		assert.True(t, s.plan().Finished)
		var st batchStatus
		s.json(&st, "status", first.Batch)
		assert.True(t, st.Frozen)
		assert.Equal(t, want, sums(t, s.export(first)))

		got := s.ok("run", s.spec)
		assert.Contains(t, got.stderr, "its run in MLflow was "+string(status)+": set to FINISHED again")
		_, parents := s.history()
		require.Len(t, parents, 1)
		assert.Equal(t, mlflow.StatusFinished, parents[0].Info.Status)
		assert.Equal(t, want, sums(t, s.export(first)))
		assert.NotContains(t, s.ok("run", s.spec).stderr, "set to FINISHED", "once")
	}
	assert.Len(t, s.starts(), 2)
}

// TestTwoFinishTogether: the second of two launchers stores its result in the very
// moment in which the first does. One result stands, and both publish it.
func TestTwoFinishTogether(t *testing.T) {
	s, f := fakeShell(t)
	s.small()
	other := s.fork(t)
	var late said
	f.Inject(mlflowtest.Fault{Route: "/artifacts/result", Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		late = other.run("run", other.spec, "--json")
		next.ServeHTTP(w, r)
	}})
	first := s.measure()
	require.Zero(t, late.code, late.stderr)
	var second ran
	require.NoError(t, json.Unmarshal([]byte(late.out), &second))
	assert.Equal(t, first.Batch, second.Batch)
	assert.Equal(t, first.Counts, second.Counts)
	assert.True(t, first.Frozen && second.Frozen)
	assert.Equal(t, sums(t, second.Folder), sums(t, first.Folder))
	assert.Equal(t, sums(t, second.Folder), sums(t, s.export(first)))
	_, parents := s.history()
	require.Len(t, parents, 1)
	assert.Equal(t, mlflow.StatusFinished, parents[0].Info.Status)
	assert.Len(t, s.starts(), 2)
}

// TestDamagedPlanBlocksNothing: the run is named, and --new goes on without it.
func TestDamagedPlanBlocksNothing(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	require.Equal(t, ExitIncomplete, s.run("run", s.spec, "--only", "model=m-one").code)
	open := s.runs("tags.`benchbatch.kind` = 'batch'")[0].Info
	require.NoError(t, s.client().PutArtifactBytes(t.Context(), open, batch.FilePlan, []byte("{")))
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec)
		assert.Equal(t, ExitIntegrity, got.code, command)
		assert.Contains(t, got.stderr, "plan.json of run "+open.RunID+" was changed")
		assert.Contains(t, got.stderr, "`benchbatch run --new` starts another one; or delete run "+open.RunID)
	}
	p := s.plan("--new")
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 1, NotStarted: 1}, p.Counts)
	r := s.measure("--new")
	assert.NotEqual(t, open.RunID, r.Batch)
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 1, Done: 1}, r.Counts)
	p = s.plan()
	assert.Equal(t, r.Batch, p.Batch, "nor does it stand in the way of the finished one")
	require.Len(t, p.Ignored, 1)
	assert.Equal(t, open.RunID, p.Ignored[0].RunID)
	assert.Contains(t, p.Ignored[0].Reason, "a batch that can't be continued: ")
}

// TestUnfinishedFirst: a batch that was begun goes on, whatever the clocks say, and
// one that died before its plan was stored is completed with what it reuses.
func TestUnfinishedFirst(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	first := s.measure()
	p := s.plan()
	_, parents := s.history()
	r := mlflow.CreateRun{ExperimentID: s.experiment(), Name: "an older one", StartTime: parents[0].Info.StartTime - 3_600_000}
	for key, v := range map[string]string{"kind": "batch", "scheme": "1", "recipe": p.Recipe.Short(), "key": p.Key.Short(), "benchmark": p.Benchmark, "version": p.Version, "seed": "7"} {
		r.Tags = append(r.Tags, mlflow.Tag{Key: "benchbatch." + key, Value: v})
	}
	older, err := s.client().CreateRun(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, older.RunID, s.plan().Batch)
	got := s.measure()
	assert.Equal(t, older.RunID, got.Batch)
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 2}, got.Counts)
	was := slots(t, first.Folder)
	for _, reused := range planOf(t, got.Folder).Reused {
		assert.Contains(t, was, fmt.Sprintf("%s %d", variantOf(t, got.Folder, reused.Cell), reused.Slot))
	}
	assert.Len(t, planOf(t, got.Folder).Reused, 2)
	assert.Equal(t, first.Batch, s.plan().Batch, "the newest, now that both are finished")
}

// planOf is the frozen plan in a dated folder.
func planOf(t *testing.T, folder string) batch.Plan {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "plan.json"))
	require.NoError(t, err)
	var p batch.Plan
	require.NoError(t, json.Unmarshal(b, &p))
	return p
}

func variantOf(t *testing.T, folder string, cell batch.Digest) batch.Variant {
	t.Helper()
	for _, c := range planOf(t, folder).Cells {
		if c.Identity.Cell == cell {
			return c.Variant
		}
	}
	require.Fail(t, "no such cell", cell)
	return batch.Variant{}
}

// TestLateFresh: --fresh belongs to the start of a batch.
func TestLateFresh(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	require.Equal(t, ExitIncomplete, s.run("run", s.spec, "--fresh", "quick+m-one", "--only", "model=m-one").code)
	open := s.runs("tags.`benchbatch.kind` = 'batch'")[0].Info
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec, "--fresh", "quick+m-one,quick+m-two")
		assert.Equal(t, ExitUsage, got.code, command)
		assert.Contains(t, got.stderr, "is unfinished, and it did not begin with --fresh quick+m-two\n")
		assert.Contains(t, got.stderr, "delete run "+open.RunID)
	}
	assert.Len(t, s.starts(), 1)
	r := s.measure("--fresh", "quick+m-one")
	assert.Equal(t, open.RunID, r.Batch)
	assert.Equal(t, []string{"quick+m-one"}, planOf(t, r.Folder).Fresh)
	assert.Len(t, s.starts(), 2)
}

// TestRelabelled: another label is another batch, which pays for nothing again, and takes its label.
func TestRelabelled(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	s.edit("benchmark.yaml", "version: v1", "version: draft")
	draft := s.measure()
	assert.True(t, planOf(t, draft.Folder).Draft)
	s.edit("benchmark.yaml", "version: draft", "version: v1")
	changed := s.fork(t)
	changed.edit("policies/refund.md", "14", "30")
	assert.Equal(t, 2, changed.plan().Counts.NotStarted, "the label is free")

	p := s.plan()
	assert.False(t, p.Finished)
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 2}, p.Counts)
	v1 := s.measure()
	assert.NotEqual(t, draft.Batch, v1.Batch)
	assert.Contains(t, v1.Name, "-v1_")
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 2}, v1.Counts)
	assert.False(t, planOf(t, v1.Folder).Draft)
	report, err := os.ReadFile(filepath.Join(v1.Folder, "report.md"))
	require.NoError(t, err)
	assert.NotContains(t, string(report), "DRAFT")

	// The frozen batch has taken the label, though its repeats say draft, and whatever its status.
	_, err = s.client().UpdateRun(t.Context(), v1.Batch, mlflow.StatusFailed, time.Now().UnixMilli())
	require.NoError(t, err)
	got := changed.run("plan", changed.spec)
	assert.Equal(t, ExitUsage, got.code, got.stderr)
	assert.Contains(t, got.stderr, `version "v1" of `)
	assert.Contains(t, got.stderr, "(frozen batch: run "+v1.Batch+")")
	assert.Contains(t, got.stderr, "execution: policies/refund.md changed")
	s.post("runs/delete", v1.Batch)
	assert.Equal(t, 2, changed.plan().Counts.NotStarted, "it was deleted")
	s.post("runs/restore", v1.Batch)

	s.edit("benchmark.yaml", "version: v1", "version: v2")
	v2 := s.measure()
	assert.Contains(t, v2.Name, "-v2_")
	assert.Zero(t, v2.Started)
	s.edit("benchmark.yaml", "version: v2", "version: v1")
	assert.Equal(t, v1.Batch, s.measure().Batch, "the same label and recipe: the same batch")
	assert.Len(t, s.starts(), 2)
}

// TestNothingTakesNoLabel: a frozen batch without any repeat leaves its label free.
func TestNothingTakesNoLabel(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	s.edit("benchmark.yaml", "prices:", "retry: {provider: 0}\nprices:")
	s.faults(map[string]any{"m-one": 9, "m-two": 9})
	require.Equal(t, ExitIncomplete, s.run("run", s.spec).code)
	_, parents := s.history()
	require.Len(t, parents, 1)
	require.Equal(t, mlflow.StatusFinished, parents[0].Info.Status)
	s.edit("policies/refund.md", "14", "30")
	assert.Equal(t, 2, s.plan().Counts.NotStarted)
}

// TestValidByTheSpecThatAsks: a repeat that misses too much for this spec is measured
// again, and so is one whose record is no valid repeat, though every tag agrees with it.
func TestValidByTheSpecThatAsks(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	s.edit("benchmark.yaml", "prices:", "valid: {max_missing: 20%}\nretry: {provider: 0}\nprices:")
	s.faults(map[string]any{"T-01": 9, "T-02": 9})
	wide := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, wide.Counts)
	s.faults(map[string]any{})
	s.edit("benchmark.yaml", "max_missing: 20%", "max_missing: 5%")
	p := s.plan()
	assert.Equal(t, batch.Counts{Planned: 2, NotStarted: 2}, p.Counts)
	require.Len(t, p.Ignored, 2)
	assert.Equal(t, "2 of 12 tasks are missing (2 provider); at most 1 may be", p.Ignored[0].Reason)
	narrow := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, narrow.Counts)
	assert.Len(t, s.starts(), 4)

	run, err := s.client().GetRun(t.Context(), slots(t, narrow.Folder)["quick+m-one 1"])
	require.NoError(t, err)
	var lines []string
	for i := 1; i <= 12; i++ {
		lines = append(lines, fmt.Sprintf(`{"task": "T-%02d", "error": {"class": "provider"}}`, i))
	}
	record := []byte(strings.Join(lines, "\n") + "\n")
	require.NoError(t, s.client().PutArtifactBytes(t.Context(), run.Info, batch.FileOutcomes, record))
	list := strings.Replace(run.Tag("benchbatch.artifacts"), run.Tag("benchbatch.outcomes"), string(batch.Sum(record)), 1)
	require.NoError(t, s.client().SetTag(t.Context(), run.Info.RunID, "benchbatch.outcomes", string(batch.Sum(record))))
	require.NoError(t, s.client().SetTag(t.Context(), run.Info.RunID, "benchbatch.artifacts", list))
	got := s.run("run", s.spec, "--new")
	assert.Equal(t, ExitDone, got.code, got.stderr)
	assert.Contains(t, got.stderr, "does not count: "+run.Info.RunID+": 12 of 12 tasks are missing (12 provider)")
	assert.Len(t, s.starts(), 5)
}
