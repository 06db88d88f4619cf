package evaluation_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

func parse(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(s), &m), "%q", s)
	return m
}

// answers is a runner that leaves a file a task.
const answers = `
os.mkdir(out + '/answers')
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        assert 'expected' not in t
        if t['id'] == 'T-3':
            line = {'error': {'class': 'agent', 'message': 'gave up'}}
        else:
            open(out + '/answers/' + t['id'] + '.md', 'w').write('expected-' + t['id'][2:])
            line = {'output': 'answers/' + t['id'] + '.md'}
        f.write(json.dumps({'task': t['id'], 'cost_usd': 0.5, 'tokens': {'input': 7}, **line}) + '\n')
`

func judged(t *testing.T, n int, judge string) *bench {
	b := newBench(t, n, "")
	b.python("run.sh", answers)
	b.python("judge/judge.py", judge)
	b.req.Spec.Judge = &spec.JudgeStage{Command: []string{"judge/judge.py"}, Timeout: time.Minute}
	b.req.Spec.Recipe.Judges = []spec.Judge{{ID: "exact", Kind: "code"}}
	return b
}

func TestJudgeStageScores(t *testing.T) {
	b := judged(t, 3, `
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        said = open(job['runner_out'] + '/' + t['output']).read()
        open(job['runner_out'] + '/' + t['output'], 'w').write('altered')
        ok = float(said == t['expected'] and t['id'] != 'T-2')
        f.write(json.dumps({'task': t['id'], 'score': ok, 'judges': [{'name': 'exact', 'score': ok, 'kind': 'code'}], 'cost_usd': 0.002}) + '\n')
`)
	m := b.measure()
	require.Equal(t, batch.StateComplete, m.State, m.Reason)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Scored, "T-3": outcome.Agent}, states(m))
	first := m.Outcomes[0]
	assert.InDelta(t, 1, *first.Score, 0)
	assert.InDelta(t, 0.5, *first.CostUSD, 0, "the cost of the answer is the runner's")
	require.Len(t, first.Judges, 1)
	assert.InDelta(t, 0.002, *first.Judges[0].CostUSD, 0, "the cost of judging stands in the vote")
	assert.Equal(t, "attempt-1/runner/out/answers/T-1.md", first.Output)
	files := b.bundle()
	assert.Equal(t, "expected-1", files[first.Output], "the judge works on a copy")
	assert.Contains(t, files, "attempt-1/judge/job.json")
	assert.NotContains(t, files["attempt-1/judge/job.json"], "T-3", "what has no answer is not judged")
	table := parse(t, mustRead(t, b, batch.FileTable))
	assert.Equal(t, []any{"task", "score", "passed", "exact", "state", "attempt", "cost_usd", "tokens_in", "tokens_out", "duration_s", "error", "question"}, table["columns"])
	assert.Equal(t, []any{"T-2", 0.0, false, 0.0, "scored", 1.0, 0.5, 7.0, nil, nil, "", "question 2"}, table["data"].([]any)[1])
}

func mustRead(t *testing.T, b *bench, name string) string {
	t.Helper()
	content, err := os.ReadFile(b.req.Dir + "/" + name)
	require.NoError(t, err)
	return string(content)
}

// A judge that fails is started again for what it missed; the runner is not.
func TestJudgeFailureIsTriedAgainAlone(t *testing.T) {
	b := judged(t, 2, `
marker = '`+t.TempDir()+`/second'
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        if t['id'] == 'T-2' and not os.path.exists(marker):
            line = {'error': {'class': 'provider', 'message': '503'}, 'judges': [{'name': 'exact', 'score': None, 'cost_usd': 0.1}]}
        else:
            line = {'score': 1}
        f.write(json.dumps({'task': t['id'], **line}) + '\n')
open(marker, 'w')
`)
	m := b.measure()
	require.Equal(t, batch.StateComplete, m.State, m.Reason)
	require.Len(t, m.Attempts, 3)
	failed, again := m.Attempts[1], m.Attempts[2]
	assert.Equal(t, outcome.Judge, failed.State)
	assert.False(t, failed.Accepted)
	assert.Contains(t, failed.Error.Message, "provider: 503")
	assert.InDelta(t, 0, *failed.CostUSD, 0, "the runner did not run for it")
	assert.InDelta(t, 0.1, *failed.Judges[0].CostUSD, 0)
	assert.True(t, again.Accepted)
	assert.InDelta(t, 0.5, *again.CostUSD, 0)
	files := b.bundle()
	assert.Contains(t, files, "attempt-1/judge-2/job.json")
	assert.NotContains(t, files, "attempt-2/runner/job.json")
}

func TestJudgeThatCrashesLeavesTasksMissing(t *testing.T) {
	b := judged(t, 2, `sys.exit('no judge today')`)
	m := b.measure()
	assert.Equal(t, batch.StateIncomplete, m.State)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Judge, "T-2": outcome.Judge}, states(m))
	assert.Equal(t, "no verdict; the judge exited with 1: no judge today", m.Outcomes[0].Error.Message)
	assert.InDelta(t, 0.5, *m.Outcomes[0].CostUSD, 0)
	assert.NotContains(t, b.bundle(), "attempt-2/runner/job.json", "the runner is not paid again for a judge's failure")
}

func TestOddVerdictsAreJudgeFailures(t *testing.T) {
	b := judged(t, 2, `
with open(out + '/outcomes.jsonl', 'w') as f:
    f.write('{"task":"T-1","score":2}\n{"task":"T-2"}\n')
`)
	b.req.Spec.Retry = map[string]int{"judge": 0}
	m := b.measure()
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Judge, "T-2": outcome.Judge}, states(m))
	assert.Contains(t, m.Outcomes[0].Error.Message, "score 2")
	assert.Contains(t, m.Outcomes[1].Error.Message, "neither score nor error")
	assert.Len(t, m.Attempts, 2)
}
