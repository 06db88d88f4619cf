package executor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// site is a launcher's folder and the server that it logs to.
type site struct {
	*State
	t      *testing.T
	fake   *mlflowtest.Fake
	client *mlflow.Client
	l      *ledger.Ledger
	ended  []string // evaluations whose processes were ended
}

func newSite(t *testing.T) *site {
	fake := mlflowtest.NewFake(t)
	s := &site{State: openState(t), t: t, fake: fake, client: mlflowtest.Client(t, fake.URL)}
	var err error
	s.l, err = ledger.Open(t.Context(), s.client, "bench")
	require.NoError(t, err)
	require.NoError(t, s.l.Create(t.Context()))
	t.Setenv("TMPDIR", t.TempDir())
	return s
}

func (s *site) end(uuid string) int {
	s.ended = append(s.ended, uuid)
	return 0
}

// leave puts an evaluation into the folder as a launcher that died leaves it.
func (s *site) leave(uuid, run string, measured bool) {
	s.t.Helper()
	require.NoError(s.t, s.write(entry{UUID: uuid, RunID: run, Experiment: s.l.ExperimentID(), Slot: 1, Cell: cellOf("m"),
		Labels: labels{"bench", "v1", ""}, Panel: batch.Sum(nil), Tasks: 1, At: time.Now().UTC()}))
	if !measured {
		return
	}
	for name, body := range map[string]string{batch.FileOutcomes: "", batch.FileAttempts: "",
		evaluation.FileMeasured: `{"uuid":"` + uuid + `","state":"interrupted","reason":"told to stop","artifacts":[]}`} {
		require.NoError(s.t, os.WriteFile(filepath.Join(s.folder(uuid), name), []byte(body), 0o600))
	}
}

func (s *site) run() string {
	s.t.Helper()
	info, err := s.client.CreateRun(s.t.Context(), mlflow.CreateRun{ExperimentID: s.l.ExperimentID(), Name: "r", StartTime: time.Now().UnixMilli()})
	require.NoError(s.t, err)
	return info.RunID
}

func (s *site) status(run string) mlflow.RunStatus {
	s.t.Helper()
	r, err := s.client.GetRun(s.t.Context(), run)
	require.NoError(s.t, err)
	return r.Info.Status
}

func TestRecover(t *testing.T) {
	s := newSite(t)
	cut, done, deleted, unknown := s.run(), s.run(), s.run(), strings.Repeat("0123456789abcdef", 2)
	require.NoError(t, s.client.DeleteRun(t.Context(), deleted))
	s.leave("never-started", "", false)
	s.leave("cut-short", cut, false)
	s.leave("measured", done, true)
	s.leave("measured-and-deleted", deleted, true)
	s.leave("of-another-server", unknown, true)
	s.leave("cut-short-on-another-server", unknown, false)

	r, err := Recover(t.Context(), s.l, s.State, nil, s.end)
	require.NoError(t, err)
	assert.Equal(t, Recovered{Interrupted: 3, Elsewhere: 1}, r)
	assert.Len(t, s.ended, 6, "whatever may still run is ended first")
	assert.Equal(t, mlflow.StatusKilled, s.status(cut))
	assert.Equal(t, mlflow.StatusKilled, s.status(done))
	left, err := s.entries()
	require.NoError(t, err)
	require.Len(t, left, 1, "what was measured is never thrown away because a server does not know it")
	assert.Equal(t, "of-another-server", left[0].UUID)

	r, err = Recover(t.Context(), s.l, s.State, nil, s.end)
	require.NoError(t, err)
	assert.Equal(t, Recovered{Elsewhere: 1}, r)
}

func TestRecoverStopsAtAServerThatIsAway(t *testing.T) {
	s := newSite(t)
	s.leave("measured", s.run(), true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Recover(ctx, s.l, s.State, nil, s.end)
	require.ErrorContains(t, err, "evaluation measured, left by an earlier run")
	left, err := s.entries()
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

func TestRunsOfLiveLaunchersAreLeftAlone(t *testing.T) {
	s := newSite(t)
	p := slotsOf(1, "m", "n")
	p.Slots[1].Entry = &ledger.Entry{} // n has its repeat
	live := func(launcher, model string) ledger.Entry {
		e := ledger.Entry{Launcher: launcher, UUID: "u-" + launcher, Identity: cellOf(model).Identity}
		e.Info.RunID = s.run()
		return e
	}
	dead := place() + "/1/1" // the first process did not start at that tick
	gone, other, needless := live(dead, "n"), live("elsewhere/1/1", "m"), live("elsewhere/1/1", "n")
	p.Live = []ledger.Entry{gone, other, needless}

	n, err := CloseLeft(t.Context(), s.l, p, nil, false, s.end)
	assert.Equal(t, 1, n)
	var busy *Busy
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, []string{other.Info.RunID}, busy.Runs, "only what would be paid twice is in the way")
	assert.Equal(t, []string{"elsewhere/1/1"}, busy.Launchers)
	assert.Equal(t, []string{"u-" + dead}, s.ended)
	assert.Equal(t, mlflow.StatusKilled, s.status(gone.Info.RunID))
	assert.Equal(t, mlflow.StatusRunning, s.status(other.Info.RunID))

	p.Live = []ledger.Entry{other, needless}
	n, err = CloseLeft(t.Context(), s.l, p, nil, true, s.end)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, mlflow.StatusKilled, s.status(other.Info.RunID))
	assert.Equal(t, mlflow.StatusRunning, s.status(needless.Info.RunID))
}

// journal is of an evaluation whose one task was finished, for half a dollar, when its launcher was ended.
const journal = `{"head":{"uuid":"UUID","cell":{},"slot":1,"started":"2026-11-30T12:00:00Z","benchmark":"b","tasks":[{"id":"t","input":"1"}],"judges":null,"valid":{"max_missing":0},"pass_threshold":1,"pass":"","timeout_policy":"","scored":false}}
{"launch":"runner"}
{"answer":{"open":false,"live":true,"outcome":{"task":"t","score":1,"attempt":1,"cost_usd":0.5}}}
`

// What was cut short is gone on with where its run is; of another server it is kept.
func TestACutEvaluationIsGoneOnWithWhereItsRunIs(t *testing.T) {
	s := newSite(t)
	here, elsewhere := s.run(), strings.Repeat("0123456789abcdef", 2)
	for uuid, run := range map[string]string{"cut-here": here, "cut-elsewhere": elsewhere} {
		s.leave(uuid, run, false)
		require.NoError(t, os.WriteFile(filepath.Join(s.folder(uuid), evaluation.FileJournal), []byte(strings.Replace(journal, "UUID", uuid, 1)), 0o600))
	}
	private, err := evaluation.NewTree("", "cut-elsewhere")
	require.NoError(t, err)
	r, err := Recover(t.Context(), s.l, s.State, func(batch.Digest) bool { return true }, s.end)
	require.NoError(t, err)
	assert.Equal(t, Recovered{Cut: 1, Elsewhere: 1}, r)
	left, err := evaluation.LookAtLeft(s.folder("cut-elsewhere"))
	require.NoError(t, err, "where its run is it can be gone on with")
	assert.Equal(t, 1, left.Finished)
	assert.DirExists(t, private.Root)
	assert.Equal(t, mlflow.StatusKilled, s.status(here))
	require.Len(t, s.cut, 1)
	assert.Equal(t, []origin{{"cut-here", here}}, s.cut[0].Continues)
	e := s.cut[0]
	assert.InDelta(t, 0.5, s.paidFor(e), 1e-9)

	// A second look finds the same.
	r, err = Recover(t.Context(), s.l, s.State, func(batch.Digest) bool { return true }, s.end)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Cut)
	assert.Equal(t, e.Continues, s.cut[0].Continues)

	// Where its cell is not measured any more it is logged with what it cost, and its private
	// folder goes, although another evaluation was about to go on with it.
	tree, err := evaluation.NewTree("", "cut-here")
	require.NoError(t, err)
	e = s.cut[0]
	e.name, e.UUID = e.folder(), "next"
	require.NoError(t, s.write(e))
	r, err = Recover(t.Context(), s.l, s.State, nil, s.end)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Interrupted)
	run, err := s.client.GetRun(t.Context(), here)
	require.NoError(t, err)
	cost, known := run.Metric("cost_worst_usd")
	assert.True(t, known)
	assert.InDelta(t, 0.5, cost, 1e-9, "not the 0 of when it was closed")
	assert.NoDirExists(t, tree.Root)
}

// A launcher was killed while it removed the folder of an evaluation that it had logged, or
// the folder is a copy of one that was at work: what MLflow has whole stays as it is.
func TestWhatIsLoggedWholeStaysAsItIs(t *testing.T) {
	const uuid = "11111111-1111-4111-8111-111111111111"
	for name, what := range map[string]func(s *site){
		"its entry alone is left": func(*site) {},
		"its evidence is gone": func(s *site) {
			body := `{"uuid":"` + uuid + `","state":"complete","artifacts":[{"path":"outcomes.jsonl","sha256":"` + string(batch.Sum(nil)) + `","size":0}]}`
			require.NoError(t, os.WriteFile(filepath.Join(s.folder(uuid), evaluation.FileMeasured), []byte(body), 0o600))
		},
		"a copy of when it was at work": func(s *site) {
			body := `{"head":{"uuid":"` + uuid + `","cell":{},"slot":1,"started":"2026-11-30T12:00:00Z","benchmark":"b","tasks":[{"id":"t","input":"1"},{"id":"u","input":"2"}],"judges":null,"valid":{"max_missing":0},"pass_threshold":1,"pass":"","timeout_policy":"","scored":false}}
{"launch":"runner"}
{"answer":{"open":false,"live":true,"outcome":{"task":"t","score":1,"attempt":1,"cost_usd":0.5}}}
`
			require.NoError(t, os.WriteFile(filepath.Join(s.folder(uuid), evaluation.FileJournal), []byte(body), 0o600))
		},
	} {
		for _, goesOn := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				run := s.run()
				d := string(batch.Sum([]byte("the record")))
				require.NoError(t, s.client.LogBatch(t.Context(), run, mlflow.Batch{Tags: []mlflow.Tag{{Key: ledger.TagState, Value: "complete"},
					{Key: ledger.TagOutcomes, Value: d}, {Key: ledger.TagArtifacts, Value: `[{"path":"outcomes.jsonl","sha256":"` + d + `","size":9}]`}}}))
				_, err := s.client.UpdateRun(t.Context(), run, mlflow.StatusFinished, time.Now().UnixMilli())
				require.NoError(t, err)
				s.leave(uuid, run, false)
				what(s)
				r, err := Recover(t.Context(), s.l, s.State, func(batch.Digest) bool { return goesOn }, s.end)
				require.NoError(t, err)
				assert.Zero(t, r)
				got, err := s.client.GetRun(t.Context(), run)
				require.NoError(t, err)
				assert.Equal(t, mlflow.StatusFinished, got.Info.Status)
				assert.Equal(t, "complete", got.Tag(ledger.TagState))
				left, err := s.entries()
				require.NoError(t, err)
				assert.Empty(t, left)
			})
		}
	}
}

// What was measured under a claim that another launcher has taken over is superseded,
// unless that one got nowhere.
func TestRecoverKnowsWhoTookOver(t *testing.T) {
	s := newSite(t)
	d := batch.Sum([]byte("part"))
	c := batch.Cell{Variant: batch.Variant{Agent: "a", Model: "m"}, Identity: batch.NewIdentity(d, d, d, d, d)}
	leave := func(uuid string, slot int) string {
		run := s.run()
		s.leave(uuid, run, true)
		require.NoError(t, s.write(entry{UUID: uuid, RunID: run, Experiment: s.l.ExperimentID(), Slot: slot, Cell: c, Generation: 1, At: time.Now().UTC()}))
		return run
	}
	heir := func(uuid string, slot int) string {
		info, err := s.l.StartEvaluation(t.Context(), ledger.Start{Cell: c, Slot: slot, Name: "evaluation", UUID: uuid, At: time.Now(), Generation: 2})
		require.NoError(t, err)
		return info.RunID
	}
	taken, failed := leave("11111111-1111-4111-8111-111111111111", 1), leave("22222222-2222-4222-8222-222222222222", 2)
	heir("33333333-3333-4333-8333-333333333333", 1)
	require.NoError(t, s.l.CloseInterrupted(t.Context(), heir("44444444-4444-4444-8444-444444444444", 2), "told to stop", time.Now()))
	_, err := Recover(t.Context(), s.l, s.State, nil, s.end)
	require.NoError(t, err)
	for run, want := range map[string]string{taken: "superseded", failed: "interrupted"} {
		got, err := s.client.GetRun(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, want, got.Tag(ledger.TagState))
		assert.Equal(t, mlflow.StatusKilled, got.Info.Status)
	}
}
