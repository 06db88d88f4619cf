package evaluation_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// between calls something after every launch.
type between struct {
	evaluation.Launcher
	after func()
}

func (l between) Launch(ctx context.Context, w evaluation.Work) (evaluation.Ended, error) {
	end, err := l.Launcher.Launch(ctx, w)
	l.after()
	return end, err
}

// A file that changes in the middle stops the evaluation; what was paid for stays.
func TestAChangedFileInTheMiddleKeepsWhatWasPaid(t *testing.T) {
	b := perTask(t, 3, `echo "{\"task\":\"$BENCHBATCH_TASK\",\"score\":1,\"cost_usd\":0.4}" > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Runner.Check = nil
	content, err := os.ReadFile(filepath.Join(b.req.Spec.Dir, "run.sh"))
	require.NoError(t, err)
	b.req.Files = map[string]batch.Digest{"run.sh": batch.Sum(content)}
	b.req.Launcher = between{b.req.Launcher, func() { b.script("run.sh", "echo other") }}
	m := b.measure()
	assert.Equal(t, batch.StateIncomplete, m.State)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.NotRun, "T-3": outcome.NotRun}, states(m))
	assert.InDelta(t, 0.4, *m.Outcomes[0].CostUSD, 0)
	assert.Contains(t, m.Outcomes[1].Error.Message, "run.sh changed after it was hashed")
	assert.Contains(t, b.bundle()["problems.txt"], "the evaluation stopped")
}

func TestInterruptedBetweenTasks(t *testing.T) {
	b := perTask(t, 3, `echo expected-1`)
	ctx, cancel := context.WithCancel(context.Background())
	b.req.Launcher = between{b.req.Launcher, cancel}
	m := b.measureWith(ctx)
	assert.Equal(t, batch.StateInterrupted, m.State)
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Judge, "T-2": outcome.NotRun, "T-3": outcome.NotRun}, states(m))
	assert.Equal(t, "interrupted before it was judged", m.Outcomes[0].Error.Message)
	assert.Len(t, m.Attempts, 1, "what was not reached has no attempt")
	assert.Equal(t, "expected-1", b.bundle()[m.Outcomes[0].Output], "the answer is kept")
}

// With one task of 36 missing an evaluation may count, but not if it was stopped on purpose.
func TestInterruptedIsNeverPartial(t *testing.T) {
	b := perTask(t, 36, `echo "{\"task\":\"$BENCHBATCH_TASK\",\"score\":1}" > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Runner.Check = nil
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	b.req.Launcher = between{b.req.Launcher, func() {
		if n++; n == 35 {
			cancel()
		}
	}}
	m := b.measureWith(ctx)
	assert.Equal(t, batch.StateInterrupted, m.State)
	assert.Equal(t, "interrupted; 35 of 36 tasks have a score", m.Reason)
}

func TestBadRequests(t *testing.T) {
	for want, change := range map[string]func(*evaluation.Request){
		"no tasks":                func(r *evaluation.Request) { r.Spec.Tasks = nil },
		"needs Launcher":          func(r *evaluation.Request) { r.Launcher = nil },
		"runner.command is empty": func(r *evaluation.Request) { r.Spec.Runner.Command = nil },
	} {
		b := newBench(t, 1, "")
		change(&b.req)
		_, err := evaluation.Measure(context.Background(), b.req)
		require.ErrorContains(t, err, want)
	}
}
