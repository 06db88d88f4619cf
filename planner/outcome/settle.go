package outcome

import (
	"errors"
	"fmt"
)

// TimeoutPolicy says what a task that ran out of time is worth.
type TimeoutPolicy string

// A timeout is a score of 0 by default; Missing leaves it out.
const (
	TimeoutFail    TimeoutPolicy = "fail"
	TimeoutMissing TimeoutPolicy = "missing"
)

// Settle gives a parsed line its state and the score that follows from it. A
// line that carries both a score and an error that is not the agent's doing is
// refused: it could be read in two ways.
func Settle(o Outcome, p TimeoutPolicy) (Outcome, error) {
	state := Scored
	if o.Error != nil {
		state = o.Error.Class
	}
	if o.State != "" && o.State != state {
		return o, fmt.Errorf("state %q does not follow from the line (%s)", o.State, state)
	}
	o.State = state
	switch {
	case state == Scored && o.Score == nil:
		return o, errors.New("neither score nor error: one of them is required")
	case state == Scored:
		return o, nil
	case o.Score != nil && *o.Score != 0:
		return o, fmt.Errorf("score %v beside an error of class %q: leave one of them out", *o.Score, state)
	case state == Agent, state == Timeout && p != TimeoutMissing:
		o.Score = new(float64)
	case o.Score != nil && state != Timeout:
		return o, fmt.Errorf("score 0 beside an error of class %q: what is not the agent's doing has no score", state)
	default:
		o.Score = nil
	}
	return o, nil
}

// Failed is the outcome of a task that has no result, for a reason that is not the agent's doing.
func Failed(task string, class State, message string) Outcome {
	return Outcome{Task: task, State: class, Error: &Failure{Class: class, Message: message}}
}

// Pass says whether an outcome passes: its score reaches the threshold, or (where
// the spec says that passing is reported) what the runner or judge said. Nil = missing.
func (o Outcome) Pass(threshold float64, reported bool) *bool {
	if o.Score == nil {
		return nil
	}
	if reported && o.State == Scored {
		return o.Passed
	}
	p := *o.Score >= threshold-1e-9
	return &p
}

// TotalTokens is the sum of the known kinds; nil where none is known.
func (t *Tokens) TotalTokens() *int64 {
	if t == nil {
		return nil
	}
	var sum int64
	known := false
	for _, n := range []*int64{t.Input, t.CacheRead, t.CacheWrite, t.Output} {
		if n != nil {
			sum += *n
			known = true
		}
	}
	if !known {
		return nil
	}
	return &sum
}
