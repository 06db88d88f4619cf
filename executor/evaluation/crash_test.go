package evaluation_test

import (
	"context"
	"fmt"
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
	"github.com/benchbatch/benchbatch/planner/spec"
)

// leaves copies all that a launcher leaves that is killed now: its folder, and the private
// folders of what it had started.
func (b *bench) leaves() (dir, private string) {
	private = filepath.Join(b.t.TempDir(), "left [1]")
	require.NoError(b.t, os.Mkdir(private, 0o700))
	outers, err := os.ReadDir(b.req.WorkRoot)
	require.NoError(b.t, err)
	for _, o := range outers {
		name := filepath.Join(b.req.WorkRoot, o.Name())
		require.NoError(b.t, os.Chmod(name, 0o700))
		require.NoError(b.t, os.CopyFS(filepath.Join(private, o.Name()), os.DirFS(name)))
		require.NoError(b.t, os.Chmod(name, 0o300))
	}
	return b.asKilled(), private
}

// held is a benchmark whose processes may wait until they are let go.
func (b *bench) held() (release func()) {
	hold := filepath.Join(b.t.TempDir(), "go on")
	b.env["HOLD"] = hold
	b.req.Spec.Runner.PassEnv = []string{"HOLD"}
	return func() { require.NoError(b.t, os.WriteFile(hold, nil, 0o600)) }
}

// said waits until a process has written a text into its outcomes.
func (b *bench) said(text string) {
	assert.Eventually(b.t, func() bool {
		files, _ := filepath.Glob(filepath.Join(b.req.WorkRoot, "*", "*", "out", batch.FileOutcomes))
		outers, _ := os.ReadDir(b.req.WorkRoot)
		for _, o := range outers { // they can't be listed
			outer := filepath.Join(b.req.WorkRoot, o.Name())
			_ = os.Chmod(outer, 0o700)
			more, _ := filepath.Glob(filepath.Join(outer, "*", "out", batch.FileOutcomes))
			files = append(files, more...)
			_ = os.Chmod(outer, 0o300)
		}
		for _, f := range files {
			if said, err := os.ReadFile(f); err == nil && strings.Contains(string(said), text) {
				return true
			}
		}
		return false
	}, 30*time.Second, 10*time.Millisecond)
}

// killedAt is what a killed launcher left when the process of a launch had written a text
// into its outcomes. The next one works there; its launches are counted.
func (b *bench) killedAt(launch int, text string, release func()) (dir string, launches *int) {
	launcher, private := b.req.Launcher, ""
	b.req.Launcher = during{launcher, func(n int) {
		if n == launch {
			b.said(text)
			dir, private = b.leaves()
			release()
		}
	}, new(int)}
	b.measure()
	b.req.WorkRoot = private
	b.t.Setenv("TMPDIR", private)
	launches = new(int)
	b.req.Launcher = during{launcher, func(int) {}, launches}
	return dir, launches
}

// A runner that is started once a task had written its line when the launcher was killed:
// it counts, with what it left and what it cost.
func TestALineOfATaskThatNobodyHadRead(t *testing.T) {
	b := perTask(t, 2, `[ "$BENCHBATCH_TASK" = T-1 ] && echo data > "$BENCHBATCH_OUT/data"
printf '{"task":"%s","score":0.5,"cost_usd":3,"output":"data"}\n' "$BENCHBATCH_TASK" > "$BENCHBATCH_OUT/outcomes.jsonl"
while ! [ -e "$HOLD" ]; do sleep 0.02; done`)
	b.req.Spec.Runner.Check = nil
	release := b.held()
	dir, launches := b.killedAt(1, "T-1", release)
	m := b.goesOn(dir, nextUUID, 1)
	assert.Equal(t, 1, *launches, "nothing is paid twice")
	require.Len(t, m.Attempts, 2)
	assert.InDelta(t, 3, *m.Outcomes[0].CostUSD, 0)
	assert.Equal(t, "data\n", b.bundle()[m.Outcomes[0].Output])
}

// A judge had judged one of two answers when the launcher was killed.
func TestAJudgeIsNotAskedAgainForWhatItHadSaid(t *testing.T) {
	b := newBench(t, 2, `echo '{"task":"T-1","cost_usd":1}
{"task":"T-2","cost_usd":1}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	release := b.held()
	b.req.Spec.Judge = &spec.JudgeStage{Command: []string{"./judge.py"}, PassEnv: []string{"HOLD"}}
	b.python("judge.py", `
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        f.write(json.dumps({'task': t['id'], 'score': 1 / len(job['tasks']), 'judges': [{'name': 'j', 'kind': 'model', 'score': 1, 'cost_usd': 0.5}]}) + '\n')
        f.flush()
        while not os.path.exists(os.environ['HOLD']):
            time.sleep(0.02)
`)
	dir, launches := b.killedAt(2, `"judges"`, release)
	m := b.goesOn(dir, nextUUID, 2)
	assert.Equal(t, 1, *launches, "the judge, for the other answer")
	require.Equal(t, batch.StateComplete, m.State, m.Reason)
	assert.InDelta(t, 0.5, *m.Outcomes[0].Score, 0, "as one of two")
	assert.InDelta(t, 1, *m.Outcomes[1].Score, 0, "alone")
	assert.InDelta(t, 0.5, *m.Outcomes[0].Judges[0].CostUSD, 0)
	assert.Contains(t, b.bundle(), "attempt-1/judge.cut/out/outcomes.jsonl")
}

// What a judge said counts and is on the bill, although what it left could not be kept.
func TestAJudgeIsPaidWhoseEvidenceIsNotKept(t *testing.T) {
	b := newBench(t, 1, `echo '{"task":"T-1","cost_usd":1}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Judge = &spec.JudgeStage{Command: []string{"./judge.sh"}}
	b.script("judge.sh", `echo '{"task":"T-1","score":0.25,"cost_usd":7}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	n := 0
	b.req.Launcher = between{b.req.Launcher, func() {
		if n++; n == 2 {
			require.NoError(t, os.WriteFile(filepath.Join(b.req.Dir, "bundle.part", "attempt-1", "judge"), nil, 0o600))
		}
	}}
	m, err := evaluation.Measure(context.Background(), b.req)
	require.NoError(t, err)
	require.Len(t, m.Attempts, 1)
	require.Len(t, m.Attempts[0].Judges, 1)
	assert.InDelta(t, 7, *m.Attempts[0].Judges[0].CostUSD, 0)
	assert.InDelta(t, 0.25, *m.Outcomes[0].Score, 0)
	assert.Contains(t, strings.Join(m.Problems, "\n"), "can't be kept")
}

// Launchers are killed twice while answers are checked.
func TestChecksThatAreCutTwice(t *testing.T) {
	b := perTask(t, 3, `echo "expected-${BENCHBATCH_TASK#T-}"`)
	launcher := b.req.Launcher
	var dir string
	killedAt := func(n int) {
		b.req.Launcher = during{launcher, func(launch int) {
			if launch == n {
				dir = b.asKilled()
			}
		}, new(int)}
	}
	killedAt(5) // the second check
	b.measure()
	killedAt(2) // the last one
	b.goesOn(dir, nextUUID, 3)
	launches := 0
	b.req.Launcher = during{launcher, func(int) {}, &launches}
	m := b.goesOn(dir, "7f3a9c00-0000-4000-8000-000000000003", 3)
	assert.Equal(t, 1, launches)
	require.Equal(t, batch.StateComplete, m.State, m.Reason)
	for _, name := range []string{"check.cut/logs/T-1", "check-2.cut/logs/T-2", "check/logs/T-3"} {
		assert.Contains(t, b.bundle(), "attempt-1/"+name+".job.json")
	}
}

// Somebody stopped a launcher at once, and it could not save or was killed before it had:
// who goes on measures what was cut short.
func TestWhatWasStoppedAtOnceAndNotSaved(t *testing.T) {
	for name, c := range map[string]struct {
		bench          func(t *testing.T) *bench
		launches, rows int
	}{
		"the runner wrote": {func(t *testing.T) *bench {
			return newBench(t, 3, `grep -q '"attempt":1,' "$BENCHBATCH_JOB" && echo '{"task":"T-1","score":1}' > "$BENCHBATCH_OUT/outcomes.jsonl" && exit 0
echo '{"task":"T-2","score":1}
{"task":"T-3","score":1}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
		}, 1, 3},
		"it is to be checked": {func(t *testing.T) *bench { return perTask(t, 3, `echo "expected-${BENCHBATCH_TASK#T-}"`) }, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.bench(t)
			launcher := b.req.Launcher
			obstacle := filepath.Join(b.req.Dir, batch.FileOutcomes, "in the way")
			ctx, cancel := context.WithCancel(context.Background())
			b.req.Launcher = stopped{launcher, func() {
				cancel()
				require.NoError(t, os.MkdirAll(obstacle, 0o700))
			}}
			_, err := evaluation.Measure(ctx, b.req)
			var kept *evaluation.NotSaved
			require.ErrorAs(t, err, &kept)
			require.NoError(t, os.RemoveAll(filepath.Dir(obstacle)))
			saved, err := evaluation.Resave(b.asKilled())
			require.NoError(t, err)
			assert.Len(t, saved.Attempts, c.rows, "where nobody goes on")
			launches := 0
			b.req.Launcher = during{launcher, func(int) {}, &launches}
			m := b.goesOn(b.req.Dir, nextUUID, 1)
			assert.Equal(t, c.launches, launches)
			assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Scored, "T-3": outcome.Scored}, states(m))
			accepted := 0
			for _, a := range m.Attempts {
				assert.True(t, a.Accepted || a.State == outcome.NotRun, "%s is judged once", a.Task)
				if a.Accepted {
					accepted++
				}
			}
			assert.Equal(t, 3, accepted)
		})
	}
}

// stopped is interrupted when the first process has written all that it writes.
type stopped struct {
	evaluation.Launcher
	after func()
}

func (l stopped) Launch(ctx context.Context, w evaluation.Work) (evaluation.Ended, error) {
	end, err := l.Launcher.Launch(ctx, w)
	l.after()
	end.Interrupted = strings.Contains(fmt.Sprint(w.Command), "run.sh") && w.Stdin == ""
	return end, err
}

// Who goes on with an evaluation and can't start keeps it for later.
func TestWhoCanNotGoOnKeepsWhatWasLeft(t *testing.T) {
	b := newBench(t, 2, `grep -q '"attempt":1,' "$BENCHBATCH_JOB" && echo '{"task":"T-1","score":0.25,"cost_usd":1}' > "$BENCHBATCH_OUT/outcomes.jsonl" ||
echo '{"task":"T-2","score":1,"cost_usd":2}' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	var killed []string
	launcher := b.req.Launcher
	b.req.Launcher = during{launcher, func(int) { killed = append(killed, b.asKilled()) }, new(int)}
	b.measure()
	b.req.Launcher = launcher
	b.req.Dir, b.req.UUID, b.req.Continue = killed[1], nextUUID, true
	b.req.Files = map[string]batch.Digest{"run.sh": batch.Sum(nil)}
	_, err := evaluation.Measure(context.Background(), b.req)
	require.ErrorContains(t, err, "run.sh changed after it was hashed")
	var unsaved *evaluation.NotSaved
	require.NotErrorAs(t, err, &unsaved)
	b.req.Files = nil
	m := b.goesOn(killed[1], "7f3a9c00-0000-4000-8000-000000000003", 1)
	assert.Equal(t, batch.StateComplete, m.State)
	assert.InDelta(t, 0.25, *m.Outcomes[0].Score, 0)
}

// skewed sets the clock while a process runs.
type skewed struct {
	evaluation.Launcher
	by time.Duration
}

func (l skewed) Launch(ctx context.Context, w evaluation.Work) (evaluation.Ended, error) {
	end, err := l.Launcher.Launch(ctx, w)
	end.Ended = end.Ended.Add(l.by)
	return end, err
}

func TestAClockThatIsSetMeanwhile(t *testing.T) {
	for _, by := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		b := perTask(t, 2, `echo "expected-${BENCHBATCH_TASK#T-}"`)
		b.req.Launcher = skewed{b.req.Launcher, by}
		m := b.measure()
		assert.Equal(t, batch.StateComplete, m.State, m.Reason)
		for _, o := range m.Outcomes {
			assert.GreaterOrEqual(t, *o.DurationS, 0.0)
			assert.Less(t, *o.DurationS, 60.0)
		}
	}
}

// An evaluation was stopped and not saved, another one went on with it, and its launcher
// was killed: what it had paid is on the bill.
func TestWhatWasPaidAfterAStopIsOnTheBill(t *testing.T) {
	dir := t.TempDir()
	head := `{"head":{"uuid":"UUID","cell":{},"slot":1,"started":"2026-11-30T12:00:00Z","benchmark":"b","tasks":[{"id":"T-1","input":"1"},{"id":"T-2","input":"2"}],"judges":null,"valid":{"max_missing":0},"pass_threshold":1,"pass":"","timeout_policy":"","scored":false}}
`
	journal := strings.Replace(head, "UUID", "7f3a9c00-0000-4000-8000-000000000001", 1) + `{"launch":"runner"}
{"answer":{"open":false,"outcome":{"task":"T-1","state":"scored","score":1,"attempt":1,"cost_usd":1}}}
{"row":{"accepted":true,"task":"T-1","state":"scored","score":1,"attempt":1,"cost_usd":1}}
{"end":{"at":"2026-11-30T12:01:00Z","interrupted":true,"final":"","tail":"","problems":null}}
` + strings.Replace(head, "UUID", nextUUID, 1) + `{"launch":"runner"}
{"answer":{"open":false,"live":true,"outcome":{"task":"T-2","score":1,"attempt":2,"cost_usd":20}}}
`
	started := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ last, ended time.Duration }{{5 * time.Minute, 5 * time.Minute}, {-time.Hour, 0}} { // the clock was set
		dir := filepath.Join(dir, c.last.String())
		require.NoError(t, os.Mkdir(dir, 0o700))
		name := filepath.Join(dir, evaluation.FileJournal)
		require.NoError(t, os.WriteFile(name, []byte(journal), 0o600))
		require.NoError(t, os.Chtimes(name, started.Add(c.last), started.Add(c.last)))
		m, err := evaluation.Resave(dir)
		require.NoError(t, err)
		assert.Equal(t, batch.StateInterrupted, m.State)
		require.Len(t, m.Attempts, 2)
		assert.InDelta(t, 20, *m.Attempts[1].CostUSD, 0)
		assert.Equal(t, started.Add(c.ended), m.Ended.UTC())
	}
}

// Who went on with an evaluation had an answer judged that nobody had been asked about
// before: what it cost is on the bill once.
func TestAnAnswerThatIsJudgedByWhoGoesOnIsPaidOnce(t *testing.T) {
	dir := t.TempDir()
	head := `{"head":{"uuid":"UUID","cell":{},"slot":1,"started":"2026-11-30T12:00:00Z","benchmark":"b","tasks":[{"id":"T-1","input":"1"},{"id":"T-2","input":"2"}],"judges":null,"valid":{"max_missing":0},"pass_threshold":1,"pass":"","timeout_policy":"","scored":true}}
`
	journal := strings.Replace(head, "UUID", "7f3a9c00-0000-4000-8000-000000000001", 1) + `{"launch":"runner"}
{"answer":{"open":true,"outcome":{"task":"T-1","attempt":1,"cost_usd":3}}}
{"row":{"accepted":false,"task":"T-1","state":"judge","attempt":1,"cost_usd":3,"error":{"class":"judge","message":"interrupted before it was judged"}}}
{"end":{"at":"2026-11-30T12:01:00Z","interrupted":true,"final":"","tail":"","problems":null}}
` + strings.Replace(head, "UUID", nextUUID, 1) + `{"launch":"judge"}
{"row":{"accepted":true,"task":"T-1","state":"scored","score":1,"attempt":1,"cost_usd":3}}
{"end":{"at":"2026-11-30T12:02:00Z","interrupted":true,"final":"","tail":"","problems":null}}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, evaluation.FileJournal), []byte(journal), 0o600))
	m, err := evaluation.Resave(dir)
	require.NoError(t, err)
	require.Len(t, m.Attempts, 1)
	assert.Equal(t, outcome.Scored, m.Attempts[0].State)
	assert.InDelta(t, 3, *m.Attempts[0].CostUSD, 0)
}

// A file that vanished does not make an evaluation one that never was.
func TestAnEvaluationWhoseBundleVanished(t *testing.T) {
	b := newBench(t, 2, paidLines)
	b.measure()
	require.NoError(t, os.Remove(filepath.Join(b.req.Dir, batch.FileBundle)))
	_, err := evaluation.Resave(b.req.Dir)
	require.ErrorContains(t, err, "bundle.tar.zst is gone")
	require.NotErrorIs(t, err, fs.ErrNotExist)
}
