package evaluation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Each class has its own number of tries, and its own waits.
func TestRetriesByClass(t *testing.T) {
	for class, c := range map[string]struct{ usual, given, want int }{
		"provider": {usual: 3, given: 1, want: 2},
		"harness":  {usual: 2, given: 3, want: 4},
		"tool":     {usual: 1, given: 2, want: 3},
		"budget":   {usual: 1, given: 1, want: 2},
		"agent":    {usual: 1, given: 5, want: 1},
		"timeout":  {usual: 1, given: 5, want: 1},
	} {
		t.Run(class, func(t *testing.T) {
			for _, retry := range []map[string]int{nil, {class: c.given}} {
				b := newBench(t, 1, fmt.Sprintf(`echo '{"task":"T-1","cost_usd":0.5,"error":{"class":"%s"}}' > "$BENCHBATCH_OUT/outcomes.jsonl"`, class))
				b.req.Spec.Retry = retry
				var waits []int
				b.req.Backoff = func(of outcome.State, n int) time.Duration {
					assert.Equal(t, outcome.State(class), of)
					waits = append(waits, n)
					return time.Millisecond
				}
				want := c.usual
				if retry != nil {
					want = c.want
				}
				m := b.measure()
				assert.Len(t, m.Attempts, want)
				assert.Len(t, waits, want-1)
				for i, a := range m.Attempts {
					assert.InDelta(t, 0.5, *a.CostUSD, 1e-9, "every attempt keeps its cost")
					assert.Equal(t, outcome.State(class), a.State, "and its reason")
					if i > 0 {
						assert.Equal(t, i, waits[i-1])
					}
				}
			}
		})
	}
}

// The provider is always down, and the next try would be after the limit: it gives
// up at once.
func TestADeadlineBeforeTheNextTry(t *testing.T) {
	b := newBench(t, 2, `echo '{"task":"T-1","error":{"class":"provider","message":"HTTP 503"}}' > "$BENCHBATCH_OUT/outcomes.jsonl"; echo '{"task":"T-2","score":1}' >> "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.Spec.Runner.Timeout = 20 * time.Second
	b.req.Backoff = func(outcome.State, int) time.Duration { return time.Hour }
	m := b.measure()
	assert.Less(t, m.Ended.Sub(m.Started), 20*time.Second, "the wait would have been an hour")
	assert.Len(t, m.Attempts, 2)
	assert.Equal(t, batch.StatePartial, m.State, "what was measured stays")
	assert.Contains(t, m.Problems[0], "deadline before next try: it would be in 1h0m0s")
	assert.Equal(t, outcome.Provider, m.Outcomes[0].State)
}

// An attempt that scores low is a result, also where others failed before it.
func TestALowScoreAfterAFailureCounts(t *testing.T) {
	b := newBench(t, 1, "")
	b.python("run.py", `
row = {"task": "T-1", "score": 0.1} if job["attempt"] == 2 else {"task": "T-1", "error": {"class": "provider"}}
open(os.path.join(out, "outcomes.jsonl"), "w").write(json.dumps(row) + "\n")
`)
	b.req.Spec.Runner.Command = []string{"./run.py"}
	b.req.Spec.Retry = map[string]int{"provider": 10}
	m := b.measure()
	assert.Len(t, m.Attempts, 2, "no third one for a better score")
	assert.InDelta(t, 0.1, *m.Outcomes[0].Score, 1e-9)
	assert.Equal(t, 2, m.Outcomes[0].Attempt)
}
