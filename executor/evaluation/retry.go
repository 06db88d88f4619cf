package evaluation

import (
	"math/rand/v2"
	"time"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

// retry says how a task is tried again that is missing for a reason.
type retry struct {
	times          int           // where the spec does not say
	first, longest time.Duration // waits double from the first up to the longest
}

// retrying lists the reasons for which a task may be tried again. What the agent did
// is a measurement, and is not among them.
var retrying = map[outcome.State]retry{
	outcome.Provider: {2, 5 * time.Second, 2 * time.Minute},
	outcome.Harness:  {1, time.Second, 30 * time.Second},
	outcome.Judge:    {1, time.Second, 30 * time.Second},
	outcome.Tool:     {0, 2 * time.Second, 30 * time.Second},
	outcome.Budget:   {0, time.Minute, 10 * time.Minute},
}

// retries is how often a task may be tried again for a reason.
func (m *measurement) retries(class outcome.State) int {
	r, ok := retrying[class]
	if n, given := m.req.Spec.Retry[string(class)]; ok && given {
		return n
	}
	return r.times
}

// backoff is the wait after the n-th failure (from 1) for one reason, give or take a
// quarter.
func backoff(class outcome.State, n int) time.Duration {
	r := retrying[class]
	d := min(r.first<<min(n-1, 10), r.longest)
	return d*3/4 + rand.N(d/2)
}
