package evaluation_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// scoreAll is a runner that gives every task of the job a score.
const scoreAll = `
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        f.write(json.dumps({'task': t['id'], 'score': 1, 'cost_usd': 0.01}) + '\n')
`

func TestMeasuresAWholeEvaluation(t *testing.T) {
	b := newBench(t, 3, "")
	b.python("run.sh", scoreAll)
	m := b.measure()
	assert.Equal(t, batch.StateComplete, m.State)
	assert.Empty(t, m.Reason)
	assert.Empty(t, m.Problems)
	require.Len(t, m.Attempts, 3)
	for i, o := range m.Outcomes {
		assert.Equal(t, outcome.Scored, o.State)
		assert.InDelta(t, 1, *o.Score, 0)
		assert.Equal(t, 1, o.Attempt)
		assert.True(t, m.Attempts[i].Accepted)
	}
	files := b.bundle()
	for _, name := range []string{"attempt-1/runner/out/outcomes.jsonl", "attempt-1/runner/stdout.log", "attempt-1/runner/stderr.log", "attempt-1/runner/job.json", "evaluation.json"} {
		assert.Contains(t, files, name)
	}
	assert.JSONEq(t, `{"schema":1,"benchmark":"bench","agent":{"id":"agent","version":"1","settings":{}},
		"model":{"id":"model","route":"provider/model","revision":"","settings":{}},"brain":null,
		"tasks":[{"id":"T-1","input":"question 1","expected":"expected-1"},{"id":"T-2","input":"question 2","expected":"expected-2"},
		{"id":"T-3","input":"question 3","expected":"expected-3"}],"repeat":1,"attempt":1,"limits":{"turns":null,"task_timeout_s":null}}`, files["attempt-1/runner/job.json"])
}

// A valid score exists but its process hangs: the complete line counts, the half one does not.
func TestCompleteLinesCountHalfLinesDoNot(t *testing.T) {
	b := newBench(t, 2, `printf '{"task":"T-1","score": 1, "cost_usd": 0.25}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"
printf '{"task":"T-2","score": 1, "co' >> "$BENCHBATCH_OUT/outcomes.jsonl"
sleep 600
printf 'st_usd": 0.25}\n' >> "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Runner.Timeout = time.Second
	m := b.measure()
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Harness}, states(m))
	assert.Len(t, m.Attempts, 2, "no time is left for another attempt")
	assert.Contains(t, b.bundle()["evaluation.json"], `"timed_out": true`)
	assert.Contains(t, b.bundle()["problems.txt"], "line 2")
}

func TestRefusedLines(t *testing.T) {
	b := newBench(t, 8, `cat > "$BENCHBATCH_OUT/outcomes.jsonl" <<'END'
{"task":"T-1","score":NaN}
{"task":"T-2","score":1.5}
{"task":"T-3","score":1}
{"task":"T-3","score":0}
{"task":"X-9","score":1}
{"task":"T-4","score":1,"error":{"class":"provider"}}
{"task":"T-5"}
{"task":"T-6","error":{"class":"agent","message":"gave up"}}
{"task":"T-7","error":{"class":"not_run"}}
nonsense
{"task":"T-8","score":0.5}
END`)
	b.req.Spec.Retry = map[string]int{"harness": 0}
	m := b.measure()
	assert.Equal(t, map[string]outcome.State{
		"T-1": outcome.Harness, "T-2": outcome.Harness, "T-3": outcome.Harness, "T-4": outcome.Harness, "T-5": outcome.Harness,
		"T-6": outcome.Agent, "T-7": outcome.Harness, "T-8": outcome.Scored,
	}, states(m))
	assert.Contains(t, m.Outcomes[0].Error.Message, "line 1")
	assert.Contains(t, m.Outcomes[1].Error.Message, "score 1.5")
	assert.Contains(t, m.Outcomes[2].Error.Message, "stands twice")
	assert.InDelta(t, 0, *m.Outcomes[5].Score, 0)
	assert.Equal(t, batch.StateIncomplete, m.State)
	problems := b.bundle()["problems.txt"]
	for _, want := range []string{"line 1:", "line 2:", "line 4:", `"X-9" is not one of this job`, "line 10:"} {
		assert.Contains(t, problems, want)
	}
}

// A low score is a result; a crash before any score is tried again, and stays in the record.
func TestOnlyMissingTasksAreTriedAgain(t *testing.T) {
	b := newBench(t, 3, "")
	b.python("run.sh", `
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        if t['id'] == 'T-1': line = {'score': 0, 'cost_usd': 0.1}
        elif t['id'] == 'T-2' and job['attempt'] == 1: line = {'error': {'class': 'provider', 'message': '503'}, 'cost_usd': 0.4}
        elif t['id'] == 'T-3': line = {'error': {'class': 'agent', 'message': 'no'}}
        else: line = {'score': 1, 'cost_usd': 0.3}
        f.write(json.dumps({'task': t['id'], **line}) + '\n')
`)
	m := b.measure()
	assert.Equal(t, batch.StateComplete, m.State)
	require.Len(t, m.Attempts, 4)
	last := m.Attempts[3]
	assert.Equal(t, "T-2", last.Task)
	assert.Equal(t, 2, last.Outcome.Attempt)
	assert.True(t, last.Accepted)
	first := m.Attempts[1]
	assert.Equal(t, outcome.Provider, first.State)
	assert.False(t, first.Accepted)
	assert.InDelta(t, 0.4, *first.CostUSD, 0)
	assert.Equal(t, 2, m.Outcomes[1].Attempt)
	assert.Contains(t, b.bundle()["attempt-2/runner/job.json"], `"tasks":[{"id":"T-2"`)
	assert.NotContains(t, b.bundle()["attempt-2/runner/job.json"], `T-1`)
}

func TestPanelOf500RecoversFromProviderFailures(t *testing.T) {
	b := newBench(t, 500, "")
	b.python("run.sh", `
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        n = int(t['id'][2:])
        bad = job['attempt'] == 1 and n % 200 == 0 or job['attempt'] <= 2 and n == 77
        f.write(json.dumps({'task': t['id'], **({'error': {'class': 'provider', 'message': '429'}} if bad else {'score': 1}), 'cost_usd': 0.001}) + '\n')
`)
	m := b.measure()
	assert.Equal(t, batch.StateComplete, m.State)
	assert.Len(t, m.Attempts, 500+3+1)
	byTask := map[string]int{}
	for _, a := range m.Attempts {
		byTask[a.Task]++
	}
	assert.Equal(t, 3, byTask["T-77"])
	assert.Equal(t, 2, byTask["T-200"])
	assert.Equal(t, 1, byTask["T-78"])
}

func TestWholesaleCrashIsHarnessAndRetried(t *testing.T) {
	b := newBench(t, 2, `echo 'network unreachable' >&2; exit 3`)
	m := b.measure()
	assert.Equal(t, batch.StateIncomplete, m.State)
	require.Len(t, m.Attempts, 4)
	assert.Equal(t, "no outcome; the runner exited with 3: network unreachable", m.Outcomes[0].Error.Message)
	assert.Contains(t, m.Reason, "network unreachable")
	assert.Equal(t, "network unreachable", m.LogTail)
}

func TestMissingProgramIsNotTriedAgain(t *testing.T) {
	b := newBench(t, 2, "")
	b.req.Spec.Runner.Command = []string{"no-such-program-here"}
	m := b.measure()
	assert.Equal(t, batch.StateIncomplete, m.State)
	assert.Len(t, m.Attempts, 2)
	assert.Contains(t, m.Reason, "no such program in PATH")
}

func TestInterruptedKeepsWhatExists(t *testing.T) {
	b := newBench(t, 2, `echo '{"task":"T-1","score":1}' > "$BENCHBATCH_OUT/outcomes.jsonl"; touch "$BENCHBATCH_OUT/ready"; sleep 600`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.req.Progress = func(done, total int) {
		if done == 1 && total == 2 {
			cancel()
		}
	}
	m := b.measureWith(ctx)
	assert.Equal(t, batch.StateInterrupted, m.State)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.NotRun}, states(m))
	assert.Contains(t, b.bundle(), "attempt-1/runner/out/ready")
}

func TestPartialWithinTheAllowance(t *testing.T) {
	b := newBench(t, 3, `printf '{"task":"T-1","score":1}\n{"task":"T-2","score":1}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Retry = map[string]int{"harness": 0}
	m := b.measure()
	assert.Equal(t, batch.StatePartial, m.State)
	assert.Contains(t, m.Reason, "1 of 3 tasks are missing")
}

func TestRefusesAFinishedFolder(t *testing.T) {
	b := newBench(t, 1, "")
	b.python("run.sh", scoreAll)
	b.measure()
	_, err := evaluation.Measure(context.Background(), b.req)
	require.ErrorContains(t, err, "already holds a finished evaluation")
}

func TestLoadSeesAChangedArtifact(t *testing.T) {
	b := newBench(t, 1, "")
	b.python("run.sh", scoreAll)
	b.measure()
	path := filepath.Join(b.req.Dir, batch.FileOutcomes)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(path, content, 0o600))
	_, err = evaluation.Load(b.req.Dir)
	require.ErrorContains(t, err, "outcomes.jsonl")
	_, err = evaluation.Load(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
