package executor

import (
	"time"

	"github.com/benchbatch/benchbatch/planner/spec"
)

// quota is one quota at work. It is not safe for concurrent use.
type quota struct {
	spec.Quota
	name    string
	full    bool // other launchers have all its places, for now
	running int
	last    time.Time // of the latest start
	rate    float64   // tokens a minute of what runs, where known
	unknown int       // of what runs, evaluations whose rate nobody knows
	loaded  string    // exclusive: the model that runs, or ran last
	left    float64   // expected seconds of what is not started
	waits   bool      // the loaded model has slots that are not started
}

// places is how many evaluations fit at once beside the bound on all.
func (q *quota) places(all int) int {
	if q.AtOnce == 0 {
		return all
	}
	return min(q.AtOnce, all)
}

// admits says whether an evaluation may start now, or else how long spacing makes
// it wait (0 = until another one ends). Rate is its tokens a minute, nil = unknown:
// of those one runs at a time. Stay keeps an exclusive group on its model while
// that has work.
func (q *quota) admits(model string, rate *float64, stay bool, now time.Time) (bool, time.Duration) {
	switch {
	case q.full:
		return false, 0
	case q.AtOnce > 0 && q.running >= q.AtOnce:
		return false, 0
	case q.Exclusive && model != q.loaded && (q.running > 0 || (stay && q.waits)):
		return false, 0
	case q.TokensPerMinute > 0 && q.running > 0 && rate == nil && q.unknown > 0:
		return false, 0
	case q.TokensPerMinute > 0 && q.running > 0 && rate != nil && q.rate+*rate > float64(q.TokensPerMinute):
		return false, 0
	}
	if due := q.last.Add(q.Spacing); q.Spacing > 0 && now.Before(due) {
		return false, due.Sub(now)
	}
	return true, 0
}

// start books an evaluation and returns how to book its end. Void says that it did not
// start after all.
func (q *quota) start(model string, rate *float64, now time.Time) func(void bool) {
	last, loaded := q.last, q.loaded
	q.running++
	q.last, q.loaded = now, model
	known := 0.0
	if rate == nil {
		q.unknown++
	} else {
		known = *rate
	}
	q.rate += known
	return func(void bool) {
		q.running--
		if rate == nil {
			q.unknown--
		}
		if q.rate -= known; q.running == 0 {
			q.rate = 0 // no rounding is carried on
		}
		if void && q.last.Equal(now) { // nobody has started since
			q.last, q.loaded = last, loaded
		}
	}
}
