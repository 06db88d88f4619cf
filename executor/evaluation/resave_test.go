package evaluation_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

const paidLines = `mkdir "$BENCHBATCH_OUT/logs"; echo said > "$BENCHBATCH_OUT/logs/a"
printf '{"task":"T-1","score":1,"cost_usd":12.5,"transcript":"logs/a"}\n{"task":"T-2","score":0.5,"cost_usd":2}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"
`

// resaved saves again and checks that the folder is then as Measure leaves it.
func (b *bench) resaved(dir string) evaluation.Measured {
	b.t.Helper()
	m, err := evaluation.Resave(dir)
	require.NoError(b.t, err)
	again, err := evaluation.Resave(dir)
	require.NoError(b.t, err)
	loaded, err := evaluation.Load(dir)
	require.NoError(b.t, err)
	require.Equal(b.t, again, loaded)
	require.Equal(b.t, asJSON(b.t, m.Outcomes), asJSON(b.t, loaded.Outcomes))
	require.Equal(b.t, asJSON(b.t, m.Attempts), asJSON(b.t, loaded.Attempts))
	entries, err := os.ReadDir(dir)
	require.NoError(b.t, err)
	require.Len(b.t, entries, 5, "nothing else is left")
	b.req.Dir = dir
	return m
}

func TestWhatCouldNotBeSavedIsKeptAndSavedLater(t *testing.T) {
	b := newBench(t, 2, paidLines)
	obstacle := filepath.Join(b.req.Dir, batch.FileOutcomes, "in the way")
	b.req.Launcher = between{b.req.Launcher, func() { require.NoError(t, os.MkdirAll(obstacle, 0o700)) }}
	m, err := evaluation.Measure(context.Background(), b.req)
	var kept *evaluation.NotSaved
	require.ErrorAs(t, err, &kept)
	assert.Equal(t, b.req.Dir, kept.Dir)
	assert.ErrorContains(t, err, "is a directory")
	assert.InDelta(t, 12.5, *m.Attempts[0].CostUSD, 0, "what it cost is known at once")
	_, err = evaluation.Load(b.req.Dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = evaluation.Measure(context.Background(), b.req)
	require.ErrorContains(t, err, "holds an evaluation that was not saved")
	_, err = evaluation.Resave(b.req.Dir)
	require.ErrorAs(t, err, &kept)

	require.NoError(t, os.RemoveAll(filepath.Dir(obstacle)))
	again := b.resaved(b.req.Dir)
	assert.Equal(t, batch.StateComplete, again.State)
	assert.Equal(t, asJSON(t, m.Outcomes), asJSON(t, again.Outcomes))
	assert.Equal(t, asJSON(t, m.Attempts), asJSON(t, again.Attempts))
	assert.Equal(t, []any{m.UUID, m.Reason, m.Started, m.Ended, m.LogTail, m.Problems}, []any{again.UUID, again.Reason, again.Started, again.Ended, again.LogTail, again.Problems})
	files := b.bundle()
	assert.Equal(t, "said\n", files[again.Outcomes[0].Transcript])
	assert.Contains(t, files["evaluation.json"], `"exit_code": 0`)
	table, err := os.ReadFile(filepath.Join(b.req.Dir, batch.FileTable))
	require.NoError(t, err)
	assert.Contains(t, string(table), `["T-1",1,true,"scored",1,12.5,null,null,null,"","question 1"]`)
}

func TestEvidenceThatCouldNotBeGatheredStaysWhereItIs(t *testing.T) {
	b := newBench(t, 2, paidLines)
	staging := filepath.Join(b.req.Dir, "bundle.part")
	b.req.Launcher = between{b.req.Launcher, func() {
		require.NoError(t, os.RemoveAll(staging))
		require.NoError(t, os.WriteFile(staging, nil, 0o600))
	}}
	m, err := evaluation.Measure(context.Background(), b.req)
	var kept *evaluation.NotSaved
	require.ErrorAs(t, err, &kept)
	assert.Equal(t, outcome.Scored, m.Outcomes[0].State)
	require.NoError(t, evaluation.RemoveLeft(b.req.WorkRoot, b.req.UUID))
	left, err := filepath.Glob(filepath.Join(b.req.WorkRoot, "kept-*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, os.Chmod(left[0], 0o700))
	said, err := filepath.Glob(filepath.Join(left[0], "*", "out", "logs", "a"))
	require.NoError(t, err)
	assert.Len(t, said, 1, "what the runner left")

	require.NoError(t, os.Remove(staging))
	again := b.resaved(b.req.Dir)
	assert.Equal(t, asJSON(t, m.Outcomes), asJSON(t, again.Outcomes))
	assert.Contains(t, strings.Join(again.Problems, "\n"), left[0])
}

// during calls something while a process runs.
type during struct {
	evaluation.Launcher
	meanwhile func(launch int)
	n         *int
}

func (l during) Launch(ctx context.Context, w evaluation.Work) (evaluation.Ended, error) {
	*l.n++
	done := make(chan struct{})
	go func() { l.meanwhile(*l.n); close(done) }()
	end, err := l.Launcher.Launch(ctx, w)
	<-done
	return end, err
}

// asKilled copies the folder as a launcher that is killed now would leave it.
func (b *bench) asKilled() string {
	dir := filepath.Join(b.t.TempDir(), "killed")
	require.NoError(b.t, os.CopyFS(dir, os.DirFS(b.req.Dir)))
	return dir
}

func TestALauncherThatIsKilledWhileTheRunnerWrites(t *testing.T) {
	b := newBench(t, 3, "")
	hold := filepath.Join(t.TempDir(), "go on")
	b.env["HOLD"], b.env["TOKEN"] = hold, "secret-0123456789"
	b.req.Spec.Runner.PassEnv, b.req.Spec.Runner.Secrets = []string{"HOLD"}, []string{"TOKEN"}
	b.script("run.sh", `echo '{"task":"T-1","score":1,"cost_usd":12.5,"output":"a","judges":[{"name":"j","score":1,"rationale":"secret-0123456789"}]}' > "$BENCHBATCH_OUT/outcomes.jsonl"
echo '{"task":"T-2","score":7}' >> "$BENCHBATCH_OUT/outcomes.jsonl"; printf '{"task":"T-3","sc' >> "$BENCHBATCH_OUT/outcomes.jsonl"
while ! [ -e "$HOLD" ]; do sleep 0.02; done`)
	var dir string
	b.req.Spec.Retry = map[string]int{"harness": 0}
	b.req.Launcher = during{b.req.Launcher, func(int) {
		journal := func() string {
			text, err := os.ReadFile(filepath.Join(b.req.Dir, evaluation.FileJournal))
			require.NoError(t, err)
			return string(text)
		}
		assert.Eventually(t, func() bool { return strings.Contains(journal(), `"T-2","state":"harness"`) }, 30*time.Second, 10*time.Millisecond)
		assert.NotContains(t, journal(), "secret-0")
		dir = b.asKilled()
		require.NoError(t, os.WriteFile(hold, nil, 0o600))
	}, new(int)}
	b.measure()

	m := b.resaved(dir)
	assert.Equal(t, batch.StateInterrupted, m.State)
	assert.Equal(t, "interrupted; 1 of 3 tasks have a score", m.Reason)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Harness, "T-3": outcome.NotRun}, states(m))
	assert.InDelta(t, 12.5, *m.Attempts[0].CostUSD, 0)
	assert.Empty(t, m.Outcomes[0].Output, "it was not gathered")
	assert.Contains(t, m.Outcomes[1].Error.Message, "line 2")
	assert.Equal(t, "not reached: its launcher was ended", m.Outcomes[2].Error.Message)
	assert.Contains(t, b.bundle()["attempt-1/runner/out/outcomes.jsonl"], `"cost_usd":12.5`)
}

func TestALauncherThatIsKilledWhileItsJudgeRuns(t *testing.T) {
	b := perTask(t, 2, "echo expected-1; cat > \"$BENCHBATCH_OUT/seen\"")
	var dir string
	b.req.Launcher = during{b.req.Launcher, func(launch int) {
		if launch == 4 { // the second check
			dir = b.asKilled()
		}
	}, new(int)}
	b.measure()

	m := b.resaved(dir)
	assert.Equal(t, batch.StateInterrupted, m.State)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Judge}, states(m))
	assert.Equal(t, "interrupted before it was judged", m.Outcomes[1].Error.Message)
	assert.Equal(t, "expected-1", b.bundle()[m.Outcomes[1].Output], "the answer is kept")
	assert.Len(t, m.Attempts, 2)
}

func TestALauncherThatIsKilledBetweenAttempts(t *testing.T) {
	b := newBench(t, 2, `grep -q '"attempt":1,' "$BENCHBATCH_JOB" && echo '{"task":"T-1","score":1,"cost_usd":1}' > "$BENCHBATCH_OUT/outcomes.jsonl" ||
echo '{"task":"T-2","score":1,"cost_usd":2}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	var killed []string
	b.req.Launcher = during{b.req.Launcher, func(int) { killed = append(killed, b.asKilled()) }, new(int)}
	whole := b.measure()
	require.Len(t, whole.Attempts, 3)
	m := b.resaved(killed[1])
	assert.Equal(t, batch.StateInterrupted, m.State)
	assert.Equal(t, asJSON(t, whole.Attempts[:2]), asJSON(t, m.Attempts))
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Harness}, states(m))
	m = b.resaved(killed[0])
	assert.Equal(t, batch.StateInterrupted, m.State, "the runner had been started, nothing is known of it")
	assert.Empty(t, m.Attempts)
}

func TestNothingToSave(t *testing.T) {
	b := newBench(t, 1, "")
	_, err := evaluation.Resave(b.req.Dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.MkdirAll(b.req.Dir, 0o700))
	for _, text := range []string{"", `{"head":{"uuid":"u","tasks":[{"id":"T-1","input":"x"}]}}` + "\n", `{"hea`} {
		require.NoError(t, os.WriteFile(filepath.Join(b.req.Dir, evaluation.FileJournal), []byte(text), 0o600))
		_, err = evaluation.Resave(b.req.Dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
		var kept *evaluation.NotSaved
		assert.False(t, errors.As(err, &kept))
	}
}

// Wherever a full disk or a crash cut the journal, what stands before it counts.
func TestAJournalThatWasCut(t *testing.T) {
	b := newBench(t, 2, paidLines)
	obstacle := filepath.Join(b.req.Dir, batch.FileTable)
	b.req.Launcher = between{b.req.Launcher, func() { require.NoError(t, os.MkdirAll(obstacle, 0o700)) }}
	_, err := evaluation.Measure(context.Background(), b.req)
	require.Error(t, err)
	require.NoError(t, os.Remove(obstacle))
	whole, err := os.ReadFile(filepath.Join(b.req.Dir, evaluation.FileJournal))
	require.NoError(t, err)
	start := bytes.Index(whole, []byte(`{"launch"`))
	require.Positive(t, start)
	for at := start + len(`{"launch":"runner"}`) + 1; at < len(whole); at += 97 {
		dir := b.asKilled()
		require.NoError(t, os.WriteFile(filepath.Join(dir, evaluation.FileJournal), whole[:at], 0o600))
		m, err := evaluation.Resave(dir)
		require.NoError(t, err)
		require.Contains(t, []batch.EvaluationState{batch.StateInterrupted, batch.StateComplete}, m.State)
		require.Len(t, m.Outcomes, 2)
		require.Equal(t, bytes.Contains(whole[:at], []byte(`"cost_usd":2}}}`+"\n")), m.Outcomes[1].Score != nil, "%s", whole[:at])
	}
}

// goesOn continues what a killed launcher left in dir.
func (b *bench) goesOn(dir, uuid string, finished int) evaluation.Measured {
	b.t.Helper()
	left, err := evaluation.LookAtLeft(dir)
	require.NoError(b.t, err)
	assert.Equal(b.t, finished, left.Finished)
	b.req.Dir, b.req.UUID, b.req.Continue = dir, uuid, true
	return b.measure()
}

const nextUUID = "7f3a9c00-0000-4000-8000-000000000002"

// Both answers were there when the launcher was killed, and the second was being
// checked: it is checked, and neither the runner nor the first check is started again.
func TestAnswersThatWereNotJudgedAreJudged(t *testing.T) {
	b := perTask(t, 2, "echo expected-1; cat > \"$BENCHBATCH_OUT/seen\"")
	launcher := b.req.Launcher
	var dir string
	b.req.Launcher = during{launcher, func(launch int) {
		if launch == 4 { // the second check
			dir = b.asKilled()
		}
	}, new(int)}
	b.measure()
	launches := 0
	b.req.Launcher = during{launcher, func(int) {}, &launches}
	m := b.goesOn(dir, nextUUID, 2)
	assert.Equal(t, 1, launches, "one check")
	assert.Equal(t, batch.StateComplete, m.State)
	assert.Equal(t, nextUUID, m.UUID)
	assert.Len(t, m.Attempts, 2)
	assert.InDelta(t, 1, *m.Outcomes[0].Score, 0)
	assert.Equal(t, "expected-1", b.bundle()[m.Outcomes[0].Output])
	doc := b.bundle()["evaluation.json"]
	assert.Contains(t, doc, "7f3a9c00-0000-4000-8000-000000000001")
	assert.Contains(t, doc, `"from_attempt": 2`, "whose attempts these are is told")
}

// What the runner had written is paid, but its evidence is gone with the private
// folder: it does not count, and its cost does.
func TestAnOutcomeWithoutEvidenceDoesNotCount(t *testing.T) {
	b := newBench(t, 2, "")
	hold := filepath.Join(t.TempDir(), "go on")
	b.env["HOLD"] = hold
	b.req.Spec.Runner.PassEnv = []string{"HOLD"}
	b.req.Spec.Retry = map[string]int{"harness": 0} // the runner did not fail
	b.script("run.sh", `echo '{"task":"T-1","score":1,"cost_usd":12.5}' > "$BENCHBATCH_OUT/outcomes.jsonl"
while ! [ -e "$HOLD" ]; do sleep 0.02; done
echo '{"task":"T-2","score":1,"cost_usd":1}' >> "$BENCHBATCH_OUT/outcomes.jsonl"`)
	launcher := b.req.Launcher
	var dir string
	b.req.Launcher = during{launcher, func(int) {
		assert.Eventually(t, func() bool {
			text, _ := os.ReadFile(filepath.Join(b.req.Dir, evaluation.FileJournal))
			return strings.Contains(string(text), `"T-1"`) && strings.Contains(string(text), `"live":true`)
		}, 30*time.Second, 10*time.Millisecond)
		dir = b.asKilled()
		require.NoError(t, os.WriteFile(hold, nil, 0o600))
	}, new(int)}
	b.measure() // ends: its private folder is gone
	b.req.Launcher = launcher
	m := b.goesOn(dir, nextUUID, 1)
	assert.Equal(t, batch.StateComplete, m.State)
	require.Len(t, m.Attempts, 3)
	assert.False(t, m.Attempts[0].Accepted)
	assert.InDelta(t, 12.5, *m.Attempts[0].CostUSD, 0)
	assert.Contains(t, m.Attempts[0].Error.Message, "ended before its evidence was kept")
	assert.Equal(t, 2, m.Outcomes[0].Attempt)
}

// Between two attempts: what was finished stays, the other task gets its next attempt.
func TestTheNextAttemptComesNext(t *testing.T) {
	b := newBench(t, 2, `grep -q '"attempt":1,' "$BENCHBATCH_JOB" && echo '{"task":"T-1","score":0.25,"cost_usd":1}' > "$BENCHBATCH_OUT/outcomes.jsonl" ||
echo '{"task":"T-2","score":1,"cost_usd":2}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	var killed []string
	launcher := b.req.Launcher
	b.req.Launcher = during{launcher, func(int) { killed = append(killed, b.asKilled()) }, new(int)}
	b.measure()
	b.req.Launcher = launcher
	m := b.goesOn(killed[1], nextUUID, 1)
	require.Len(t, m.Attempts, 3)
	assert.InDelta(t, 0.25, *m.Outcomes[0].Score, 0, "a low score is kept like a high one")
	assert.Equal(t, []int{1, 1, 3}, []int{m.Attempts[0].Attempt, m.Attempts[1].Attempt, m.Attempts[2].Attempt}, "of the second nothing is known")
	assert.Equal(t, batch.StateComplete, m.State)

	// Of another cell or slot it is not taken.
	b.req.Dir, b.req.Slot = killed[0], 2
	_, err := evaluation.Measure(context.Background(), b.req)
	assert.ErrorContains(t, err, "another cell or slot")
	_, err = evaluation.LookAtLeft(killed[1])
	assert.ErrorIs(t, err, fs.ErrNotExist, "it is whole now")
}
