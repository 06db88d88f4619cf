package executor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// TestWhatIsRecoveredCountsUnderItsClaimAlone: a launcher died after it had measured. Another
// one that has taken its repeat over by then has not created its run yet.
func TestWhatIsRecoveredCountsUnderItsClaimAlone(t *testing.T) {
	d := batch.Sum([]byte("part"))
	c := batch.Cell{Variant: batch.Variant{Agent: "a", Model: "m"}, Identity: batch.NewIdentity(d, d, d, d, d)}
	const died = "elsewhere/7/1"
	for name, test := range map[string]struct {
		taken  func(s *site, m *claim.Member, l *claim.Lease) error // by another one; nil = by nobody
		state  string
		status string
		reason string
	}{
		"nobody took it over":       {nil, "complete", "FINISHED", ""},
		"taken over":                {func(*site, *claim.Member, *claim.Lease) error { return nil }, "superseded", "KILLED", "another/8/1 took its repeat over"},
		"taken over and given back": {func(_ *site, _ *claim.Member, l *claim.Lease) error { return l.Release(t.Context(), "stopped") }, "complete", "FINISHED", ""},
		"taken over and measured, by a run that is not there any more": {func(_ *site, _ *claim.Member, l *claim.Lease) error { return l.Done(t.Context(), "gone") }, "superseded", "KILLED", "run gone took its repeat over"},
		"taken over and failed": {func(s *site, _ *claim.Member, l *claim.Lease) error {
			failed, err := s.l.StartEvaluation(t.Context(), ledger.Start{Cell: c, Slot: 1, Name: "evaluation", UUID: "22222222-2222-4222-8222-222222222222", At: time.Now(), Generation: 2, Launcher: "another/8/1"})
			require.NoError(t, err)
			require.NoError(t, s.client.SetTag(t.Context(), failed.RunID, ledger.TagState, string(batch.StateIncomplete)))
			_, err = s.client.UpdateRun(t.Context(), failed.RunID, mlflow.StatusFailed, time.Now().UnixMilli())
			require.NoError(t, err)
			return l.Done(t.Context(), failed.RunID)
		}, "complete", "FINISHED", ""},
		"taken over and measured by one that died, after it was looked for": {func(s *site, m *claim.Member, _ *claim.Lease) error {
			s.fake.Inject(mlflowtest.Fault{Route: "runs/search", Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				seen := httptest.NewRecorder()
				next.ServeHTTP(seen, r)
				assert.NotContains(t, seen.Body.String(), "another/8/1")
				run, err := s.l.StartEvaluation(t.Context(), ledger.Start{Cell: c, Slot: 1, Name: "evaluation", UUID: "22222222-2222-4222-8222-222222222222", At: time.Now(), Generation: 2, Launcher: "another/8/1"})
				assert.NoError(t, err)
				(&runner{Options: Options{Ledger: s.l}}).logs(t, ledger.Entry{Info: run}, 1)
				assert.NoError(t, m.Leave(t.Context()))
				_, _ = w.Write(seen.Body.Bytes())
			}})
			return nil
		}, "superseded", "KILLED", "took its repeat over"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			join := func(launcher string) *claim.Member {
				book, err := claim.OpenRecipe(t.Context(), s.client, s.l.ExperimentID(), c.Identity.Recipe, "bench v1")
				require.NoError(t, err)
				m, err := book.Join(t.Context(), claim.Options{Launcher: launcher, Gone: func(l string) bool { return l == died }})
				require.NoError(t, err)
				return m
			}
			take := func(m *claim.Member) claim.Answer {
				answers, err := m.Claim(t.Context(), claim.Want{Cell: c.Identity.Cell, Slot: 1})
				require.NoError(t, err)
				return answers[0]
			}
			require.NotNil(t, take(join(died)).Won)
			e := entry{UUID: "11111111-1111-4111-8111-111111111111", Experiment: s.l.ExperimentID(), Slot: 1, Cell: c, Generation: 1,
				Labels: labels{"bench", "v1", ""}, Panel: batch.Sum(nil), Tasks: 1, At: time.Now().UTC()}
			info, err := s.l.StartEvaluation(t.Context(), ledger.Start{Cell: c, Slot: 1, Name: "evaluation", UUID: e.UUID, At: e.At, Generation: 1, Launcher: died})
			require.NoError(t, err)
			e.RunID, e.URI = info.RunID, info.ArtifactURI
			s.leave(e.UUID, e.RunID, true)
			require.NoError(t, s.write(e))
			measured := `{"uuid":"` + e.UUID + `","state":"complete","started":"2026-11-30T10:00:00Z","ended":"2026-11-30T10:00:01Z","artifacts":[]}`
			require.NoError(t, os.WriteFile(filepath.Join(s.of(e), evaluation.FileMeasured), []byte(measured), 0o600))
			if test.taken != nil {
				another := join("another/8/1")
				won := take(another).Won
				require.NotNil(t, won)
				require.NoError(t, test.taken(s, another, won))
			}

			_, err = Recover(t.Context(), s.l, s.State, nil, s.end)
			require.NoError(t, err)
			r, err := s.client.GetRun(t.Context(), e.RunID)
			require.NoError(t, err)
			assert.Equal(t, test.state, r.Tag(ledger.TagState))
			assert.Equal(t, test.status, string(r.Info.Status))
			switch after := take(join("third/9/1")); {
			case test.reason == "":
				assert.Equal(t, e.RunID, after.Done, "the claim has ended with it")
			case after.Held != nil:
				assert.Equal(t, "another/8/1", after.Held.Launcher)
				assert.Contains(t, r.Tag(ledger.TagReason), test.reason)
			case after.Won != nil:
				assert.Equal(t, 4, after.Won.Generation(), "it was given back")
				assert.Contains(t, r.Tag(ledger.TagReason), test.reason)
			default:
				assert.Equal(t, "gone", after.Done)
				assert.Contains(t, r.Tag(ledger.TagReason), test.reason)
			}
		})
	}
}

// A run that a launcher closed for another one is logged later by that one, and fills its slot then.
func TestAnInterruptedRunMayStillBeLogged(t *testing.T) {
	p := &planner.Plan{Ended: []ledger.Entry{
		{Info: mlflow.RunInfo{RunID: "failed"}, State: batch.StateIncomplete}, {Info: mlflow.RunInfo{RunID: "closed"}, State: batch.StateInterrupted}},
		Ignored: []batch.Ignored{{RunID: "damaged"}, {RunID: "half logged", Unsettled: true}}}
	assert.Equal(t, map[string]bool{"failed": true, "damaged": true}, runsOf(p))
}

func TestTookOver(t *testing.T) {
	begun := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	e, m := entry{Generation: 3}, &evaluation.Measured{Started: begun}
	for name, test := range map[string]struct {
		generation int
		status     mlflow.RunStatus
		state      batch.EvaluationState
		ended      time.Duration // after this one had begun
		took       bool
	}{
		"a later claim, at work":                      {4, mlflow.StatusRunning, "", 0, true},
		"a later claim, measured":                     {4, mlflow.StatusFinished, batch.StateComplete, time.Second, true},
		"a later claim, cut short":                    {4, mlflow.StatusKilled, batch.StateInterrupted, time.Second, false},
		"an earlier claim, measured after this began": {2, mlflow.StatusFinished, batch.StatePartial, time.Second, true},
		"an earlier claim, measured before":           {2, mlflow.StatusFinished, batch.StateComplete, -time.Hour, false},
		"an earlier claim, cut short":                 {2, mlflow.StatusKilled, batch.StateInterrupted, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			ended := begun.Add(test.ended).UnixMilli()
			other := ledger.Entry{Generation: test.generation, State: test.state, Info: mlflow.RunInfo{Status: test.status, EndTime: &ended}}
			assert.Equal(t, test.took, tookOver(other, e, m))
		})
	}
}
