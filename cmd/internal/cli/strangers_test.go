package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// fakeShell is a shell on an in-memory server.
func fakeShell(t *testing.T) (*shell, *mlflowtest.Fake) {
	t.Helper()
	f := mlflowtest.NewFake(t)
	return newShellAt(t, f.URL), f
}

// logRun makes a run in the benchmark's experiment, which need not exist yet.
// Status RUNNING leaves it open.
func (s *shell) logRun(status mlflow.RunStatus, tags map[string]string, outcomes *string) mlflow.RunInfo {
	s.t.Helper()
	ctx, c := context.Background(), s.client()
	e, err := c.EnsureExperiment(ctx, s.hashes()[0].Tags["benchbatch.benchmark"], nil)
	require.NoError(s.t, err)
	r := mlflow.CreateRun{ExperimentID: e.ID, Name: "a run", StartTime: time.Now().UnixMilli()}
	for key, v := range tags {
		r.Tags = append(r.Tags, mlflow.Tag{Key: key, Value: v})
	}
	info, err := c.CreateRun(ctx, r)
	require.NoError(s.t, err)
	if outcomes != nil {
		require.NoError(s.t, c.PutArtifactBytes(ctx, info, batch.FileOutcomes, []byte(*outcomes)))
	}
	if status != mlflow.StatusRunning {
		_, err = c.UpdateRun(ctx, info.RunID, status, time.Now().UnixMilli())
		require.NoError(s.t, err)
	}
	return info
}

// resultOf is the frozen result in a dated folder.
func resultOf(t *testing.T, folder string) batch.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "result.json"))
	require.NoError(t, err)
	var r batch.Result
	require.NoError(t, json.Unmarshal(b, &r))
	return r
}

// slots are the frozen slots of a dated folder, as "agent+model slot" → run id.
func slots(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, s := range resultOf(t, folder).Slots {
		out[fmt.Sprintf("%s %d", s.Variant, s.Slot)] = s.RunID
	}
	return out
}

// TestStrangersInTheExperiment: only runs with the whole identity count, and nothing else is touched.
func TestStrangersInTheExperiment(t *testing.T) {
	s, _ := fakeShell(t)
	for range 50 {
		s.logRun(mlflow.StatusFinished, nil, nil)
	}
	h := s.hashes()[0]
	half := s.logRun(mlflow.StatusFinished, map[string]string{"benchbatch.kind": "evaluation", "benchbatch.recipe": h.Tags["benchbatch.recipe"], "benchbatch.agent": h.Agent}, recordOf(1, nil))
	other := s.fork(t) // another recipe with the same ids, under another label
	other.edit("benchmark.yaml", "version: v1", "version: v0")
	other.edit("policies/refund.md", "14", "7")
	require.Equal(t, 8, other.measure().Counts.Done)
	before := measurements(s.runs(""))

	p := s.plan()
	assert.Equal(t, batch.Counts{Planned: 8, NotStarted: 8}, p.Counts)
	require.Len(t, p.Ignored, 1)
	assert.Equal(t, half.RunID, p.Ignored[0].RunID)
	assert.Equal(t, "tag benchbatch.scheme is missing", p.Ignored[0].Reason)
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)

	after := map[string]mlflow.Run{}
	for _, run := range measurements(s.runs("")) {
		after[run.Info.RunID] = run
	}
	for _, run := range before {
		assert.Equal(t, run, after[run.Info.RunID])
	}
	assert.Len(t, after, len(before)+9)
}

// TestDeletedAndRestored follows a batch whose runs are deleted one after another.
func TestDeletedAndRestored(t *testing.T) {
	s, _ := fakeShell(t)
	first := s.measure()
	was := slots(t, first.Folder)

	// The parent is deleted: its evaluations still count, and the plan says so.
	s.post("runs/delete", first.Batch)
	p := s.plan()
	assert.Equal(t, batch.Counts{Planned: 8, Reused: 8}, p.Counts)
	assert.Empty(t, p.Batch)
	require.Len(t, p.Ignored, 1)
	assert.Equal(t, batch.Ignored{RunID: first.Batch, Reason: "a batch that was deleted; those of its evaluations that were not deleted still count"}, p.Ignored[0])
	s.post("runs/restore", first.Batch)
	assert.Equal(t, first.Batch, s.plan().Batch)

	// Two of its evaluations are deleted: they are missing, and one that is restored counts again.
	s.post("runs/delete", was["quick+m-one 1"])
	s.post("runs/delete", was["careful+m-two 2"])
	p = s.plan("--new")
	assert.Equal(t, batch.Counts{Planned: 8, Reused: 6, NotStarted: 2}, p.Counts)
	require.Len(t, p.Ignored, 2)
	assert.Equal(t, "deleted", p.Ignored[0].Reason)
	s.post("runs/restore", was["careful+m-two 2"])
	assert.Equal(t, 7, s.plan("--new").Counts.Reused)

	// A status that was set by hand speaks louder than the run's tags.
	_, err := s.client().UpdateRun(t.Context(), was["careful+m-one 1"], mlflow.StatusFailed, time.Now().UnixMilli())
	require.NoError(t, err)
	p = s.plan("--new")
	assert.Equal(t, 6, p.Counts.Reused)
	require.Len(t, p.Ignored, 2)
	assert.Contains(t, []string{p.Ignored[0].Reason, p.Ignored[1].Reason}, "status FAILED, although tag benchbatch.state says complete")
	_, err = s.client().UpdateRun(t.Context(), was["careful+m-one 1"], mlflow.StatusFinished, time.Now().UnixMilli())
	require.NoError(t, err)

	// The frozen batch stays what it is; another one measures the gap alone, and the others keep their slots.
	frozen := s.measure()
	assert.Equal(t, first.Counts, frozen.Counts)
	for i, c := range frozen.Cells {
		assert.Equal(t, []int{2, 0}, []int{c.Repeats, c.Missing}, c.Variant)
		if i > 0 {
			assert.Equal(t, first.Cells[i], c)
		}
	}
	assert.Equal(t, first.Cells[0].Mean, frozen.Cells[0].Mean, "the frozen evidence tells it, whatever became of the run")
	again := s.measure("--new")
	assert.Equal(t, batch.Counts{Planned: 8, Reused: 7, Done: 1}, again.Counts)
	assert.Len(t, s.starts(), 9)
	now := slots(t, again.Folder)
	assert.NotEqual(t, was["quick+m-one 1"], now["quick+m-one 1"])
	delete(was, "quick+m-one 1")
	delete(now, "quick+m-one 1")
	assert.Equal(t, was, now)

	// More repeats at the same time as a gap: the gap and the new ones, no number twice.
	s.post("runs/delete", was["quick+m-two 1"])
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 4")
	more := s.measure()
	assert.Equal(t, batch.Counts{Planned: 16, Reused: 7, Done: 9}, more.Counts)
	assert.Equal(t, was["quick+m-two 2"], slots(t, more.Folder)["quick+m-two 2"])
	assert.Len(t, s.starts(), 18)
}

// TestRunsLeftRunning tells a launcher that is gone for sure from one that may live.
func TestRunsLeftRunning(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	h := s.hashes()[0]
	place, _, _ := strings.Cut(executor.Launcher(), "/")
	dead := s.logRun(mlflow.StatusRunning, tagsOf(h, map[string]string{"benchbatch.launcher": place + "/4194305/1"}), nil)
	elsewhere := s.logRun(mlflow.StatusRunning, tagsOf(h, map[string]string{"benchbatch.launcher": "far-away/77/1"}), nil)
	scheduled := s.logRun(mlflow.StatusScheduled, tagsOf(h, nil), nil)

	gone := map[string]bool{}
	for _, r := range s.plan().Running {
		gone[r.RunID] = r.Gone
	}
	assert.Equal(t, map[string]bool{dead.RunID: true, elsewhere.RunID: false, scheduled.RunID: false}, gone)
	text := s.ok("plan", s.spec).out
	assert.Regexp(t, "(?m)^running: "+dead.RunID+", started .* by .*/4194305/1, which is gone: `benchbatch run` closes it$", text)
	assert.Regexp(t, "(?m)^running: "+elsewhere.RunID+", started .* by far-away/77/1$", text)
	assert.Regexp(t, "(?m)^running: "+scheduled.RunID+", started .* by another tool$", text)

	got := s.run("run", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "2 evaluations of this plan are RUNNING elsewhere")
	assert.Contains(t, got.stderr, elsewhere.RunID)
	assert.Contains(t, got.stderr, "started by far-away/77/1, someone else")
	assert.Contains(t, got.stderr, "--take-over")
	assert.Empty(t, s.starts())
	assert.Equal(t, map[string]mlflow.RunStatus{dead.RunID: mlflow.StatusKilled, elsewhere.RunID: mlflow.StatusRunning, scheduled.RunID: mlflow.StatusScheduled}, s.statuses())

	r := s.measure("--take-over")
	assert.Equal(t, batch.Counts{Planned: 4, Done: 4}, r.Counts)
	status := s.statuses()
	assert.Equal(t, mlflow.StatusKilled, status[elsewhere.RunID])
	assert.Equal(t, mlflow.StatusKilled, status[scheduled.RunID])

	// What runs for a cell that is complete holds nothing up.
	late := s.logRun(mlflow.StatusRunning, tagsOf(h, nil), nil)
	assert.Equal(t, batch.Counts{Planned: 4, Reused: 4}, s.measure("--new").Counts)
	assert.Equal(t, mlflow.StatusRunning, s.statuses()[late.RunID])
}

// statuses are the statuses of the experiment's runs but the parents.
func (s *shell) statuses() map[string]mlflow.RunStatus {
	s.t.Helper()
	out := map[string]mlflow.RunStatus{}
	for _, r := range s.runs("tags.`benchbatch.kind` = 'evaluation'") {
		out[r.Info.RunID] = r.Info.Status
	}
	return out
}

// TestLabels: a label is taken by valid repeats alone, also by those of others; draft never is.
func TestLabels(t *testing.T) {
	s, _ := fakeShell(t)
	h := s.hashes()[0]
	changed := s.fork(t)
	changed.edit("policies/refund.md", "14", "30")

	s.logRun(mlflow.StatusFailed, tagsOf(h, nil), recordOf(1, nil))
	s.logRun(mlflow.StatusFinished, tagsOf(h, nil), nil)
	s.logRun(mlflow.StatusFinished, tagsOf(h, map[string]string{"benchbatch.cell": "0123456789abcdef"}), recordOf(1, nil))
	s.logRun(mlflow.StatusRunning, tagsOf(h, nil), recordOf(1, nil))
	assert.Equal(t, 8, changed.plan().Counts.NotStarted, "nothing valid has the label")

	valid := s.logRun(mlflow.StatusFinished, tagsOf(h, nil), recordOf(1, nil))
	got := changed.run("plan", changed.spec)
	assert.Equal(t, ExitUsage, got.code)
	assert.Contains(t, got.stderr, "first repeat: run "+valid.RunID)
	assert.Contains(t, got.stderr, "execution: digest changed")
	s.post("runs/delete", valid.RunID)
	assert.Equal(t, 8, changed.plan().Counts.NotStarted, "it was deleted")

	draft := s.fork(t)
	draft.edit("benchmark.yaml", "version: v1", "version: draft")
	draft.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	r := draft.measure("--take-over")
	assert.Equal(t, batch.Counts{Planned: 4, Done: 4}, r.Counts)
	draft.edit("policies/refund.md", "14", "30")
	assert.Equal(t, batch.Counts{Planned: 4, NotStarted: 4}, draft.plan().Counts)
}

// TestOtherScheme: what was recorded under another identity scheme stops the plan, once something is missing.
func TestOtherScheme(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	for range 3 {
		s.logRun(mlflow.StatusFinished, tagsOf(s.hashes()[0], map[string]string{"benchbatch.scheme": "0", "benchbatch.recipe": "fedcba9876543210"}), recordOf(1, nil))
	}
	s.logRun(mlflow.StatusFailed, tagsOf(s.hashes()[0], map[string]string{"benchbatch.scheme": "0"}), nil)
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec)
		assert.Equal(t, ExitUsage, got.code)
		assert.Contains(t, got.stderr, "3 finished evaluations were recorded under identity scheme 0")
		assert.Contains(t, got.stderr, "--measure-again")
	}
	assert.Empty(t, s.starts())
	assert.Equal(t, 4, s.plan("--measure-again").Counts.NotStarted)
	for _, h := range s.hashes() {
		s.logRun(mlflow.StatusFinished, tagsOf(h, nil), recordOf(1, nil))
	}
	assert.Equal(t, batch.Counts{Planned: 4, Reused: 4}, s.plan().Counts, "nothing is missing")
}

// TestAwkwardNames: names that a search filter can't hold still find their repeats.
func TestAwkwardNames(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "route: local/one", `route: "team's \"hi\" `+"`tick`"+` 100% a_b;\\"`)
	for _, h := range s.hashes() {
		for range 2 {
			s.logRun(mlflow.StatusFinished, tagsOf(h, nil), recordOf(1, nil))
		}
	}
	assert.Equal(t, batch.Counts{Planned: 8, Reused: 8}, s.plan().Counts)
}

// TestFreshIsKept: a batch that was begun with --fresh and interrupted goes on so.
func TestFreshIsKept(t *testing.T) {
	s, _ := fakeShell(t)
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	first := s.measure()
	begun := s.run("run", s.spec, "--fresh", "quick+m-one,quick+m-two", "--only", "model=m-one")
	assert.Equal(t, ExitIncomplete, begun.code)
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 4, Reused: 2, Done: 2}, r.Counts)
	assert.NotEqual(t, first.Batch, r.Batch)
	assert.Len(t, s.starts(), 6)
}

// TestDeletedExperiment: its name stays taken, so nothing can be planned in it.
func TestDeletedExperiment(t *testing.T) {
	s, f := fakeShell(t)
	s.logRun(mlflow.StatusFinished, map[string]string{"note": uuid.NewString()}, nil)
	status, _ := mlflowtest.Post(t, f.URL, "experiments/delete", map[string]string{"experiment_id": s.experiment()})
	require.Equal(t, http.StatusOK, status)
	got := s.run("plan", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "is deleted, and its name stays taken: restore it with `mlflow experiments restore --experiment-id ")
}

// TestParentThatDiedEarly: a batch whose plan was never stored is completed from its tags, not started twice.
func TestParentThatDiedEarly(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	p := s.plan()
	parent := s.logRun(mlflow.StatusRunning, map[string]string{
		"benchbatch.kind": "batch", "benchbatch.scheme": "1", "benchbatch.recipe": p.Recipe.Short(), "benchbatch.key": p.Key.Short(),
		"benchbatch.benchmark": p.Benchmark, "benchbatch.version": p.Version, "benchbatch.seed": "18446744073709551615",
	}, nil)
	assert.Equal(t, parent.RunID, s.plan().Batch)
	r := s.measure()
	assert.Equal(t, parent.RunID, r.Batch)
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	b, err := os.ReadFile(filepath.Join(r.Folder, "plan.json"))
	require.NoError(t, err)
	var doc batch.Plan
	require.NoError(t, json.Unmarshal(b, &doc))
	assert.Equal(t, uint64(18446744073709551615), doc.Seed)
	assert.Equal(t, parent.StartTime, doc.Created.UnixMilli())
}

// TestEditedDocuments: a frozen document or a reused record that was changed in MLflow is an integrity error, never measured on.
func TestEditedDocuments(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	require.Equal(t, ExitIncomplete, s.run("run", s.spec, "--only", "model=m-one").code)
	open := s.runs("tags.`benchbatch.kind` = 'batch'")[0]
	plan, err := s.client().ReadArtifact(t.Context(), open.Info, batch.FilePlan, 1<<20)
	require.NoError(t, err)
	edited := strings.Replace(string(plan), `"seed": "`, `"seed": "1`, 1)
	require.NoError(t, s.client().PutArtifactBytes(t.Context(), open.Info, batch.FilePlan, []byte(edited)))
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec)
		assert.Equal(t, ExitIntegrity, got.code)
		assert.Contains(t, got.stderr, "plan.json of run "+open.Info.RunID+" was changed after it was frozen")
	}
	assert.Len(t, s.starts(), 1)
	require.NoError(t, s.client().PutArtifactBytes(t.Context(), open.Info, batch.FilePlan, plan))

	// A record of the batch's own that was changed before the freeze does not count: its slot is measured anew.
	own := s.runs("tags.`benchbatch.kind` = 'evaluation'")[0]
	require.NoError(t, s.client().PutArtifactBytes(t.Context(), own.Info, batch.FileOutcomes, []byte(*recordOf(1, nil))))
	got := s.run("run", s.spec)
	assert.Equal(t, ExitDone, got.code, got.stderr)
	assert.Contains(t, got.stderr, "does not count: "+own.Info.RunID+": outcomes.jsonl has digest ")
	assert.Len(t, s.starts(), 3)
	first := s.measure()
	require.Equal(t, batch.Counts{Planned: 2, Done: 2}, first.Counts)

	// A record that is to be reused: confirmed before money is spent on its account, so the repeat is measured anew.
	child := slots(t, first.Folder)["quick+m-one 1"]
	run, err := s.client().GetRun(t.Context(), child)
	require.NoError(t, err)
	require.NoError(t, s.client().PutArtifactBytes(t.Context(), run.Info, batch.FileOutcomes, []byte(*recordOf(1, nil))))
	again := s.run("run", s.spec, "--new")
	assert.Equal(t, ExitDone, again.code, again.stderr)
	assert.Contains(t, again.stderr, "does not count: "+child+": outcomes.jsonl has digest ")
	assert.Len(t, s.starts(), 4)
}
