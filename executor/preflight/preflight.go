// Package preflight asks a model one tiny question before its cells start, so
// that a wrong key or a dead endpoint costs one call and not a batch.
//
// Order of use: Check once a model. A nil error means that the model answers;
// an *Error says what is wrong, in one of a few kinds, and what to do. Keys and
// other secrets are in no message. Answers are read up to 1 MiB.
package preflight

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Result is a model's answer.
type Result struct {
	Kind   string        // as the spec names it
	Model  string        // as served, where the answer says so
	Took   time.Duration // of all calls, waiting included
	Calls  int           // calls made: a limit or a server's error is tried again
	Answer string        // its beginning
}

// Fault is what is wrong with a model.
type Fault string

// The kinds of a preflight's failure.
const (
	MissingKey  Fault = "missing key"
	RejectedKey Fault = "rejected key"   // 401, 403
	NotFound    Fault = "not found"      // 404: wrong address or model
	Limited     Fault = "limited"        // 429
	Refused     Fault = "refused"        // no connection
	TimedOut    Fault = "timeout"        // no answer in time
	NotAnAPI    Fault = "not an API"     // a web page, a redirect, or not what the API answers
	Empty       Fault = "empty answer"   // an answer without text
	BadRequest  Fault = "bad request"    // other 4xx
	ServerError Fault = "server error"   // 5xx
	Command     Fault = "command failed" // kind command
)

// Error says why a model is skipped.
type Error struct {
	Fault  Fault
	Model  string // id
	What   string // what happened
	Remedy string // what to do
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Fault, e.What, e.Remedy)
}

// check is one preflight in the making.
type check struct {
	p      *spec.Preflight
	spec   *spec.Spec
	model  spec.Model
	lookup evaluation.Lookup
	red    *evaluation.Redactor
	key    string
}

// Check asks one model in the way of p (see spec.PreflightFor), within its timeout.
// An error that is not an *Error is ours: the context was cancelled, the disk is full.
func Check(ctx context.Context, s *spec.Spec, m spec.Model, p *spec.Preflight, lookup evaluation.Lookup) (Result, error) {
	c := &check{p: p, spec: s, model: m, lookup: lookup, red: evaluation.NewRedactor(s, lookup, nil)}
	if p.Key != "" {
		key, ok := lookup(p.Key)
		c.key = strings.TrimSpace(key)
		if !ok || c.key == "" {
			return Result{}, c.fault(MissingKey, fmt.Sprintf("the environment variable %s is not set", p.Key), "export it before the run, or correct preflight.key")
		}
	}
	start := time.Now()
	var r Result
	var err error
	if p.Kind == "command" {
		r, err = c.command(ctx)
	} else {
		r, err = c.ask(ctx, dialects[p.Kind])
	}
	r.Kind, r.Took = p.Kind, time.Since(start)
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	return r, err
}

func (c *check) fault(f Fault, what, remedy string) *Error {
	return &Error{Fault: f, Model: c.model.ID, What: c.clean(what, 500), Remedy: remedy}
}

// clean is foreign text on one line without secrets, at most n characters.
func (c *check) clean(s string, n int) string {
	s = c.red.Text(s)
	if c.key != "" { // shorter than what is redacted elsewhere
		s = strings.ReplaceAll(s, c.key, "[redacted:"+c.p.Key+"]")
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n]) + "…"
	}
	return s
}
