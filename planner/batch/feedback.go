package batch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// FileFeedback is what people said of a batch's outcomes, one [Assessment] a line.
const FileFeedback = "feedback.jsonl"

// Feedback says what of people's assessments in MLflow was read, and when. They are
// no measurement: no score and no verdict follows from them.
type Feedback struct {
	AsOf   time.Time `json:"as_of"`  // when it was read, UTC
	Traces int       `json:"traces"` // that were looked at
	Rows   int       `json:"rows"`   // of feedback.jsonl; 0 = there is no such file
	Digest Digest    `json:"sha256"` // of feedback.jsonl, of nothing where there is none
	Size   int64     `json:"size"`   // bytes
	// Unread says why MLflow gave no assessments; "" = it did.
	Unread string `json:"unread,omitempty"`
}

// The kinds of an assessment.
const (
	KindFeedback    = "feedback"    // what a person thinks of the answer
	KindExpectation = "expectation" // what would have been right
)

// Assessment is what one person said of one outcome, as it stood when it was read:
// what was deleted, or replaced by another one, is not there.
type Assessment struct {
	RunID     string          `json:"run_id"`
	Task      string          `json:"task,omitempty"` // "" = the trace names none
	Name      string          `json:"name"`           // as the person called it
	Kind      string          `json:"kind"`           // KindFeedback or KindExpectation
	Value     json.RawMessage `json:"value,omitempty"`
	Rationale string          `json:"rationale,omitempty"`
	Who       string          `json:"who,omitempty"` // as MLflow names the person; "" = it does not
	Created   time.Time       `json:"created"`
	Updated   time.Time       `json:"updated"`
	Trace     string          `json:"trace"`
	ID        string          `json:"assessment"`
}

// Number is the value where it is a number, else nil.
func (a *Assessment) Number() *float64 { return valueOf[float64](a.Value) }

// Text is the value where it is text, else nil.
func (a *Assessment) Text() *string { return valueOf[string](a.Value) }

// Bool is the value where it is true or false, or the text yes or no, which MLflow
// shows as Pass and Fail; else nil.
func (a *Assessment) Bool() *bool {
	if s := a.Text(); s != nil && (*s == "yes" || *s == "no") {
		is := *s == "yes"
		return &is
	}
	return valueOf[bool](a.Value)
}

func valueOf[T any](raw json.RawMessage) *T {
	var v *T
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// NewFeedback puts what was said in order, run by run, and gives the lines of feedback.jsonl.
func NewFeedback(asOf time.Time, traces int, said []Assessment) (*Feedback, []byte, error) {
	slices.SortFunc(said, func(a, b Assessment) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Name, b.Name), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, a := range said {
		if err := enc.Encode(a); err != nil {
			return nil, nil, err
		}
	}
	return &Feedback{AsOf: asOf.UTC().Truncate(time.Millisecond), Traces: traces, Rows: len(said), Digest: Sum(lines.Bytes()), Size: int64(lines.Len())}, lines.Bytes(), nil
}

// ReadFeedback reads the lines of feedback.jsonl.
func ReadFeedback(lines []byte) ([]Assessment, error) {
	var said []Assessment
	for n, line := range bytes.Split(lines, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var a Assessment
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		said = append(said, a)
	}
	return said, nil
}
