package evaluation_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// perTask is a benchmark whose runner is started once a task.
func perTask(t *testing.T, n int, script string) *bench {
	b := newBench(t, n, script)
	b.req.Spec.Runner.Unit = "task"
	b.req.Spec.Runner.Check = []string{"./check.sh"}
	b.script("check.sh", `grep -q "$(cat)" "$BENCHBATCH_JOB"`)
	return b
}

func TestStdoutIsTheAnswer(t *testing.T) {
	b := perTask(t, 3, `grep -q expected- "$BENCHBATCH_JOB" && exit 9
case "$BENCHBATCH_TASK" in
T-2) echo "no idea";;
*) echo "$(sed 's/question /expected-/')"; echo "$BENCHBATCH_MODEL" >&2;;
esac`)
	m := b.measure()
	require.Equal(t, batch.StateComplete, m.State, m.Reason)
	for i, score := range []float64{1, 0, 1} {
		assert.InDelta(t, score, *m.Outcomes[i].Score, 0, m.Outcomes[i].Task)
		assert.Equal(t, score == 1, *m.Outcomes[i].Passed)
		assert.NotNil(t, m.Outcomes[i].DurationS)
	}
	files := b.bundle()
	assert.Equal(t, "attempt-1/runner/out/answers/T-1.txt", m.Outcomes[0].Output)
	assert.Equal(t, "expected-1", files[m.Outcomes[0].Output])
	assert.Equal(t, "provider/model\n", files["attempt-1/runner/logs/T-1.stderr.log"])
	assert.Contains(t, files, "attempt-1/check/logs/T-1.job.json")
}

func TestTaskThatWritesItsOwnOutcome(t *testing.T) {
	b := perTask(t, 1, `echo log line; echo data > "$BENCHBATCH_OUT/data.txt"
printf '{"task":"%s","score":0.5,"output":"data.txt"}\n' "$BENCHBATCH_TASK" > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Runner.Check = nil
	m := b.measure()
	assert.InDelta(t, 0.5, *m.Outcomes[0].Score, 0)
	assert.Equal(t, "data\n", b.bundle()[m.Outcomes[0].Output])
}

func TestTaskTimeoutFollowsThePolicy(t *testing.T) {
	for policy, want := range map[string]batch.EvaluationState{"fail": batch.StateComplete, "missing": batch.StatePartial} {
		b := perTask(t, 2, `[ "$BENCHBATCH_TASK" = T-1 ] && sleep 600; echo expected-2`)
		b.req.Spec.Recipe.Limits.TaskTimeout = 300 * time.Millisecond
		b.req.Spec.Recipe.TimeoutPolicy = policy
		m := b.measure()
		assert.Equal(t, want, m.State, policy)
		assert.Equal(t, map[string]outcome.State{"T-1": outcome.Timeout, "T-2": outcome.Scored}, states(m))
		assert.Equal(t, policy == "missing", m.Outcomes[0].Score == nil)
		assert.Len(t, m.Attempts, 2, "a timeout is not tried again")
	}
}

// The result is written, then the process hangs: the result counts and the row says so.
func TestTaskThatHangsAfterItsResult(t *testing.T) {
	b := perTask(t, 1, `printf '{"task":"T-1","score":1,"cost_usd":0.25}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"; sleep 600`)
	b.req.Spec.Runner.Check = nil
	b.req.Spec.Recipe.Limits.TaskTimeout = 300 * time.Millisecond
	m := b.measure()
	assert.Equal(t, outcome.Scored, m.Outcomes[0].State)
	require.Len(t, m.Outcomes[0].Flags, 1)
	assert.Equal(t, "timeout", m.Outcomes[0].Flags[0].Audit)
}

func TestTimeOfTheWholeEvaluationIsHarness(t *testing.T) {
	b := perTask(t, 3, `[ "$BENCHBATCH_TASK" = T-2 ] && sleep 600; echo expected-1`)
	b.req.Spec.Runner.Timeout = 500 * time.Millisecond
	m := b.measure()
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Harness, "T-3": outcome.Harness}, states(m))
	assert.Contains(t, m.Outcomes[2].Error.Message, "not started")
}

// Attempt B of the flaky evaluator: exit 1 without a result on odd attempts.
func TestFlakyTaskIsTriedAgainAndALowScoreIsNot(t *testing.T) {
	b := perTask(t, 2, `[ "$BENCHBATCH_TASK" = T-1 ] && { echo wrong; exit 0; }
grep -q '"attempt":1' "$BENCHBATCH_JOB" && { echo 'network unreachable' >&2; exit 1; }
echo expected-2`)
	m := b.measure()
	require.Len(t, m.Attempts, 3)
	assert.InDelta(t, 0, *m.Outcomes[0].Score, 0)
	assert.Equal(t, 1, m.Outcomes[0].Attempt)
	assert.Equal(t, 2, m.Outcomes[1].Attempt)
	assert.Equal(t, "no outcome; the runner exited with 1: network unreachable", m.Attempts[1].Error.Message)
}

func TestCheckThatBreaksIsAJudgeFailure(t *testing.T) {
	b := perTask(t, 1, `echo answer`)
	b.script("check.sh", `echo broken >&2; exit 3`)
	m := b.measure()
	assert.Equal(t, outcome.Judge, m.Outcomes[0].State)
	assert.Equal(t, "no verdict; the check exited with 3: broken", m.Outcomes[0].Error.Message)
	assert.Len(t, m.Attempts, 2)
}

// Bytes that are not text: the exact bytes are in the bundle, the row says that they are not text.
func TestBytesThatAreNotText(t *testing.T) {
	b := perTask(t, 1, `printf 'start \377\376 \000 end \342\202'`)
	b.script("check.sh", "exit 0")
	m := b.measure()
	assert.True(t, m.Outcomes[0].Repaired)
	assert.Equal(t, "start \xff\xfe \x00 end \xe2\x82", b.bundle()[m.Outcomes[0].Output])
	assert.True(t, json.Valid([]byte(mustRead(t, b, batch.FileTable))))
}

func TestPerTaskRunnerWithAJudgeStage(t *testing.T) {
	b := perTask(t, 2, `echo "expected-${BENCHBATCH_TASK#T-}"`)
	b.req.Spec.Runner.Check = nil
	b.req.Spec.Judge = &spec.JudgeStage{Command: []string{"python3", "judge.py"}}
	b.python("judge.py", `
lines = [json.loads(l) for l in open(job['runner_out'] + '/outcomes.jsonl')]
with open(out + '/outcomes.jsonl', 'w') as f:
    for t, line in zip(job['tasks'], lines):
        assert line['task'] == t['id'] and line['output'] == t['output']
        f.write(json.dumps({'task': t['id'], 'score': float(open(job['runner_out'] + '/' + t['output']).read() == t['expected'])}) + '\n')
`)
	m := b.measure()
	require.Equal(t, batch.StateComplete, m.State, m.Reason+m.LogTail)
	assert.InDelta(t, 1, *m.Outcomes[1].Score, 0)
}

// Two panels with equal digests give a runner equal bytes.
func TestTasksAreGivenAsTheyWereHashed(t *testing.T) {
	b := perTask(t, 2, `cat; cp "$BENCHBATCH_JOB" "$BENCHBATCH_OUT/job"`)
	b.req.Spec.Runner.Check = []string{"./check.sh"}
	b.script("check.sh", `cp "$BENCHBATCH_JOB" "$BENCHBATCH_OUT/job"`)
	tasks := b.req.Spec.Tasks
	tasks[0], tasks[1] = tasks[1], tasks[0]
	tasks[1].Input, tasks[1].Expected = json.RawMessage("{\"b\":1.0,\n \"a\":\"\\u00fc\"}"), json.RawMessage(`{"z": 1e2, "y": []}`)
	m := b.measure()
	require.Equal(t, batch.StateComplete, m.State, m.Reason)
	files := b.bundle()
	assert.Equal(t, `{"a":"ü","b":1}`, files[m.Outcomes[0].Output], "standard input")
	assert.Contains(t, files["attempt-1/runner/out/tasks/T-1/job"], `"tasks":[{"id":"T-1","input":{"a":"ü","b":1}}]`)
	assert.Contains(t, files["attempt-1/check/out/tasks/T-1/job"], `"expected":{"y":[],"z":100}`)
	assert.Equal(t, "T-2", tasks[0].ID, "the spec is not changed")

	b = newBench(t, 3, "")
	b.python("run.sh", "json.dump(job, open(out + '/job', 'w'))\n"+scoreAll)
	slices.Reverse(b.req.Spec.Tasks)
	b.measure()
	assert.Regexp(t, `T-1.*T-2.*T-3`, b.bundle()["attempt-1/runner/out/job"])
}
