package claim_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// runs lists the experiment's runs that are shown.
func (w *table) runs() []mlflow.Run {
	w.t.Helper()
	runs, err := w.client().SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{w.experiment}})
	require.NoError(w.t, err)
	return runs
}

// lock is the experiment that elected the ledger run.
func (w *table) lock() mlflow.Experiment {
	w.t.Helper()
	e, err := w.client().GetExperimentByName(ctx, "benchbatch/lock/"+w.experiment+"/recipe/"+recipe.Short())
	require.NoError(w.t, err)
	return e
}

func TestElection(t *testing.T) {
	w := newTable(t)
	elect(t, w, 16)
	run := w.run()
	assert.Equal(t, ledger.KindLedger, run.Tag(ledger.TagKind))
	assert.Equal(t, "recipe/"+recipe.Short(), run.Tag(ledger.TagLedger))
	assert.Equal(t, "ledger · support-bench v1", run.Info.RunName)
	assert.Equal(t, mlflow.StatusFinished, run.Info.Status, "nothing runs there")
	assert.Contains(t, run.Tag("mlflow.note.content"), "no measurement")
	assert.Empty(t, run.Tag(ledger.TagRecipe), "a plan does not find it among the repeats")
	shown, err := w.client().SearchExperiments(ctx, "")
	require.NoError(t, err)
	assert.Len(t, shown, 2, "the default experiment and the benchmark's")
	assert.Equal(t, mlflow.StageDeleted, w.lock().LifecycleStage)
}

// elect opens one recipe by n launchers at once: they meet at one run, and nothing else is left to see.
func elect(t *testing.T, w *table, n int) {
	t.Helper()
	ids := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			b, err := claim.OpenRecipe(ctx, w.client(), w.experiment, recipe, "support-bench v1")
			if assert.NoError(t, err) {
				ids[i] = b.RunID()
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	runs := w.runs()
	require.Len(t, runs, 1)
	require.Equal(t, ids[0], runs[0].Info.RunID)
}

func TestRecipesAndQuotasHaveRunsOfTheirOwn(t *testing.T) {
	w := newTable(t)
	c := w.client()
	other, err := claim.OpenRecipe(ctx, c, w.experiment, batch.Sum([]byte("another")), "support-bench v2")
	require.NoError(t, err)
	quotas, err := claim.OpenQuotas(ctx, c, w.experiment)
	require.NoError(t, err)
	elsewhere, err := claim.OpenQuotas(ctx, c, mlflowtest.Experiment(t, c))
	require.NoError(t, err)
	ids := map[string]bool{w.open(c).RunID(): true, other.RunID(): true, quotas.RunID(): true, elsewhere.RunID(): true}
	assert.Len(t, ids, 4)
	again, err := claim.OpenQuotas(ctx, c, w.experiment)
	require.NoError(t, err)
	assert.Equal(t, quotas.RunID(), again.RunID())
}

// TestKilledDuringElection: whatever step is the last of a launcher, the next ones meet, and tidy up.
func TestKilledDuringElection(t *testing.T) {
	for _, route := range []string{"runs/create", "experiments/create", "experiments/delete", "runs/update", "runs/search"} {
		for name, fault := range map[string]mlflowtest.Act{"before": mlflowtest.Drop, "after": mlflowtest.LoseAnswer} {
			t.Run(route+" "+name, func(t *testing.T) {
				w := newTable(t)
				var killed atomic.Bool
				kill := func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
					killed.Store(true)
					fault(rw, r, next)
				}
				w.fake.Inject(mlflowtest.Fault{Route: route, Times: 1, Do: kill})
				w.fake.Inject(mlflowtest.Fault{Do: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
					if killed.Load() { // nothing is heard of the dead
						panic(http.ErrAbortHandler)
					}
					next.ServeHTTP(rw, r)
				}})
				_, _ = claim.OpenRecipe(ctx, w.client(impatient), w.experiment, recipe, "support-bench v1")
				require.True(t, killed.Load())
				w.fake.Clear()
				elect(t, w, 4)
				assert.Equal(t, mlflow.StageDeleted, w.lock().LifecycleStage)
				assert.Equal(t, mlflow.StatusFinished, w.run().Info.Status)
			})
		}
	}
}

// TestCandidatesOfTheDead are removed when they are nobody's for sure.
func TestCandidatesOfTheDead(t *testing.T) {
	w := newTable(t)
	ours := w.run().Info.RunID
	stray, err := w.client().CreateRun(ctx, mlflow.CreateRun{ExperimentID: w.experiment, Name: "ledger", StartTime: time.Now().UnixMilli(), Tags: []mlflow.Tag{
		{Key: ledger.TagKind, Value: ledger.KindLedger}, {Key: ledger.TagLedger, Value: "recipe/" + recipe.Short()}}})
	require.NoError(t, err)
	w.open(w.client())
	assert.Len(t, w.runs(), 2, "its launcher may be between two steps")
	w.fake.Advance(time.Hour)
	w.open(w.client())
	assert.Equal(t, ours, w.run().Info.RunID)
	run, err := w.client().GetRun(ctx, stray.RunID)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StageDeleted, run.Info.LifecycleStage)
}

func TestElectionWithLostAnswers(t *testing.T) {
	for _, route := range []string{"runs/create", "experiments/create", "get-by-name", "runs/get", "experiments/delete"} {
		for name, fault := range map[string]mlflowtest.Act{"lost": mlflowtest.LoseAnswer, "503": mlflowtest.Fail(503, "TEMPORARILY_UNAVAILABLE", "database is locked")} {
			t.Run(route+" "+name, func(t *testing.T) {
				w := newTable(t)
				w.fake.Inject(mlflowtest.Fault{Route: route, Times: 2, Do: fault})
				elect(t, w, 4)
			})
		}
	}
}

func TestDeletedLedgerRun(t *testing.T) {
	w := newTable(t)
	a := w.join("a")
	lease := win(t, a, want(1))
	id := w.run().Info.RunID
	require.NoError(t, w.client().DeleteRun(ctx, id))

	var deleted *claim.Deleted
	_, err := claim.OpenRecipe(ctx, w.client(), w.experiment, recipe, "support-bench v1")
	require.ErrorAs(t, err, &deleted)
	require.ErrorContains(t, err, "mlflow runs restore --run-id "+id)
	require.ErrorAs(t, a.Beat(ctx), &deleted)
	_, err = a.Claim(ctx, want(2))
	require.ErrorAs(t, err, &deleted)
	require.NoError(t, stands(lease), "nobody else can claim either")

	status, _ := mlflowtest.Post(t, w.url, "runs/restore", map[string]any{"run_id": id})
	require.Equal(t, http.StatusOK, status)
	beat(t, a)
	require.NoError(t, lease.Done(ctx, "run"))

	require.NoError(t, w.client().DeleteRun(ctx, id))
	w.fake.Collect()
	b := w.join("b")
	assert.NotEqual(t, id, w.run().Info.RunID, "of one that is gone for good there is a successor")
	win(t, b, want(1))
}

func TestLedgerRunGoneForGood(t *testing.T) {
	for name, successor := range map[string]string{"with its lock": "", "without its lock": "/2"} {
		t.Run(name, func(t *testing.T) {
			w := newTable(t)
			a := w.join("a")
			lease := win(t, a, want(1))
			id := w.run().Info.RunID
			require.NoError(t, w.client().DeleteRun(ctx, id))
			if successor == "" {
				w.fake.Collect()
			} else {
				w.fake.Collect(id)
			}
			elect(t, w, 8)
			assert.Equal(t, "recipe/"+recipe.Short()+successor, w.run().Tag(ledger.TagLedger))
			win(t, w.join("b"), want(1))
			require.ErrorIs(t, a.Beat(ctx), mlflow.ErrNotFound)
			require.ErrorIs(t, lease.Confirm(ctx), claim.ErrLost)
		})
	}
}

// TestLockCollected: mlflow gc removes the lock, and the next launcher makes it again for the same run.
func TestLockCollected(t *testing.T) {
	w := newTable(t)
	a := w.join("a")
	win(t, a, want(1))
	before := w.run().Info.RunID
	w.fake.Collect()
	elect(t, w, 8)
	assert.Equal(t, before, w.run().Info.RunID)
	lose(t, w.join("b"), want(1))
}

func TestForbidden(t *testing.T) {
	forbidden := mlflowtest.Answer(http.StatusForbidden, "Permission denied")
	w := newTable(t)
	w.fake.Inject(mlflowtest.Fault{Route: "runs/create", Times: 1, Do: forbidden})
	_, err := claim.OpenRecipe(ctx, w.client(), w.experiment, recipe, "support-bench v1")
	require.ErrorIs(t, err, mlflow.ErrForbidden)
	require.ErrorContains(t, err, "EDIT")

	w.open(w.client())
	w.fake.Inject(mlflowtest.Fault{Route: "get-by-name", Times: 1, Do: forbidden})
	_, err = claim.OpenRecipe(ctx, w.client(), w.experiment, recipe, "support-bench v1")
	require.ErrorIs(t, err, mlflow.ErrForbidden)
	require.ErrorContains(t, err, `READ permission`)
	require.ErrorContains(t, err, "benchbatch/lock/"+w.experiment+"/recipe/"+recipe.Short())

	m := w.join("a")
	w.fake.Inject(mlflowtest.Fault{Route: "log-batch", Times: 1, Do: forbidden})
	_, err = m.Claim(ctx, want(1))
	require.ErrorIs(t, err, mlflow.ErrForbidden)
	require.ErrorContains(t, err, "EDIT")
}

func TestAnExperimentWithTheNameOfALock(t *testing.T) {
	w := newTable(t)
	_, err := w.client().CreateExperiment(ctx, "benchbatch/lock/"+w.experiment+"/recipe/"+recipe.Short(), nil)
	require.NoError(t, err)
	_, err = claim.OpenRecipe(ctx, w.client(), w.experiment, recipe, "support-bench v1")
	require.ErrorContains(t, err, "rename it")
}
