package mlflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Limits of a trace, in characters: the server stores longer previews or refuses them, depending on its database.
const (
	MaxPreview        = 1000
	maxAssessmentName = 250
	maxTracePage      = 500
)

// TraceState says how what a trace shows has ended.
type TraceState string

// The states of a trace. StateUnspecified is that of a trace of which nobody can say.
const (
	TraceOK          TraceState = "OK"
	TraceError       TraceState = "ERROR"
	TraceUnspecified TraceState = "STATE_UNSPECIFIED"
)

// Trace is one request and its response, with what is thought of it.
type Trace struct {
	ID              string // tr- and 32 hex digits, chosen by who starts it: see [Client.StartTrace]
	ExperimentID    string
	ClientRequestID string // "" for none
	Time            time.Time
	Duration        *time.Duration // nil = unknown
	State           TraceState
	RequestPreview  string // at most MaxPreview characters; the UI joins the traces of two runs by it
	ResponsePreview string
	Metadata        map[string]string // written once; mlflow.sourceRun names the run
	Tags            map[string]string
	Assessments     []Assessment
}

// Assessment is what a program, a model or a person thinks of a trace, or expects of it.
type Assessment struct {
	ID          string // a- and 32 hex digits, unique on the whole server; "" lets the server choose, and a repeat doubles it
	Name        string
	SourceType  string // CODE, LLM_JUDGE or HUMAN
	SourceID    string
	Value       any              // of feedback: anything that is JSON; nil = none
	Error       *AssessmentError // of feedback: why there is no value
	Expectation any              // in place of feedback: what is expected; nil = this is feedback
	Rationale   string
	Metadata    map[string]string
	Created     time.Time // by the server; not sent
	Updated     time.Time
	Replaced    bool // somebody has put another one in its place; not sent
}

// AssessmentError says why there is no value.
type AssessmentError struct {
	Code    string `json:"error_code"`
	Message string `json:"error_message"`
}

var traceIDPattern = regexp.MustCompile(`^tr-[0-9a-f]{32}$`)

// StartTrace stores a trace with its assessments. The ids make it repeatable: sent again, the same trace replaces itself, its tags and
// assessments are merged, and nothing is doubled. A server before 3.x has no such call, which is an error of kind ErrNotOffered.
func (c *Client) StartTrace(ctx context.Context, t Trace) error {
	if err := t.check(); err != nil {
		return err
	}
	in := struct {
		Trace struct {
			Info traceWire `json:"trace_info"`
		} `json:"trace"`
	}{}
	in.Trace.Info = wireOf(t)
	return offered(c.call(ctx, tracesStart, nil, in, nil))
}

func (t Trace) check() error {
	op := tracesStart.name
	if !traceIDPattern.MatchString(t.ID) {
		return invalid(op, "trace id %s is not tr- and 32 lower case hex digits", quote(t.ID))
	}
	err := errors.Join(checkID(op, "the experiment's id", t.ExperimentID), checkText(op, "the request's preview", t.RequestPreview, MaxPreview),
		checkText(op, "the response's preview", t.ResponsePreview, MaxPreview), checkPairs(op, "trace tag", t.Tags), checkPairs(op, "trace metadata", t.Metadata))
	seen := map[string]bool{}
	for _, a := range t.Assessments {
		if a.Name == "" || a.SourceType == "" || a.SourceID == "" {
			err = errors.Join(err, invalid(op, "an assessment has no name or no source"))
		}
		if a.ID != "" && seen[a.ID] {
			err = errors.Join(err, invalid(op, "assessment id %s is given twice", quote(a.ID)))
		}
		seen[a.ID] = true
		err = errors.Join(err, checkText(op, "the assessment name "+quote(a.Name), a.Name, maxAssessmentName),
			checkText(op, "the rationale of "+quote(a.Name), a.Rationale, MaxTagValue), checkPairs(op, "assessment metadata", a.Metadata))
	}
	return err
}

func checkPairs(op, what string, pairs map[string]string) error {
	var all error
	for k, v := range pairs {
		all = errors.Join(all, checkText(op, what+" name", k, MaxKey), checkText(op, what+" "+quote(k), v, MaxTagValue))
	}
	return all
}

// offered tells a server without a call from one without what the call is about.
func offered(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound && e.Code != "RESOURCE_DOES_NOT_EXIST" {
		e.Kind, e.Message, e.Remedy = ErrNotOffered, "the server has no traces of this form", "use MLflow 3, or do without traces"
	}
	return err
}

// SearchTraces returns the traces of a run with their assessments, page by page, each once.
func (c *Client) SearchTraces(ctx context.Context, experimentID, runID string) ([]Trace, error) {
	op := tracesSearch.name
	if err := errors.Join(checkID(op, "the experiment's id", experimentID), checkID(op, "the run id", runID)); err != nil {
		return nil, err
	}
	in := struct {
		Locations  []traceLocation `json:"locations"`
		Filter     string          `json:"filter"`
		MaxResults int             `json:"max_results"`
		OrderBy    []string        `json:"order_by"`
		PageToken  string          `json:"page_token,omitempty"`
	}{[]traceLocation{locationOf(experimentID)}, "attributes.run_id = '" + runID + "'", maxTracePage, []string{"timestamp_ms ASC"}, ""}
	var all []Trace
	pages := newPages(op)
	for {
		var out struct {
			Traces    []traceWire `json:"traces"`
			NextToken string      `json:"next_page_token"`
		}
		if err := offered(c.call(ctx, tracesSearch, nil, in, &out)); err != nil {
			return nil, err
		}
		fresh := 0
		for _, w := range out.Traces {
			if pages.fresh(w.ID) {
				all = append(all, w.trace())
				fresh++
			}
		}
		if len(out.Traces) == 0 { // a full last page gives a token too
			return all, nil
		}
		more, err := pages.next(out.NextToken, fresh)
		if err != nil || !more {
			return all, err
		}
		in.PageToken = out.NextToken
	}
}

type traceLocation struct {
	Type       string            `json:"type"`
	Experiment map[string]string `json:"mlflow_experiment"`
}

func locationOf(experimentID string) traceLocation {
	return traceLocation{"MLFLOW_EXPERIMENT", map[string]string{"experiment_id": experimentID}}
}

type traceWire struct {
	ID              string            `json:"trace_id"`
	ClientRequestID string            `json:"client_request_id,omitempty"`
	Location        traceLocation     `json:"trace_location"`
	Time            time.Time         `json:"request_time"`
	Duration        string            `json:"execution_duration,omitempty"`
	State           TraceState        `json:"state"`
	RequestPreview  string            `json:"request_preview,omitempty"`
	ResponsePreview string            `json:"response_preview,omitempty"`
	Metadata        map[string]string `json:"trace_metadata"`
	Tags            map[string]string `json:"tags"`
	Assessments     []assessmentWire  `json:"assessments,omitempty"`
}

type assessmentWire struct {
	ID          string            `json:"assessment_id,omitempty"`
	Name        string            `json:"assessment_name"`
	Source      sourceWire        `json:"source"`
	Created     *time.Time        `json:"create_time,omitempty"`
	Updated     *time.Time        `json:"last_update_time,omitempty"`
	Feedback    *feedbackWire     `json:"feedback,omitempty"`
	Expectation *feedbackWire     `json:"expectation,omitempty"`
	Rationale   string            `json:"rationale,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Valid       *bool             `json:"valid,omitempty"`
}

type sourceWire struct {
	Type string `json:"source_type"`
	ID   string `json:"source_id"`
}

type feedbackWire struct {
	Value any              `json:"value"`
	Error *AssessmentError `json:"error,omitempty"`
	// Serialized is the value of an expectation that is a list or an object.
	Serialized *struct {
		Value string `json:"value"`
	} `json:"serialized_value,omitempty"`
}

func wireOf(t Trace) traceWire {
	w := traceWire{
		ID: t.ID, ClientRequestID: t.ClientRequestID, Location: locationOf(t.ExperimentID), Time: t.Time.UTC(), State: t.State,
		RequestPreview: t.RequestPreview, ResponsePreview: t.ResponsePreview, Metadata: t.Metadata, Tags: t.Tags,
	}
	if t.Duration != nil {
		w.Duration = fmt.Sprintf("%d.%09ds", *t.Duration/time.Second, *t.Duration%time.Second)
	}
	valid := true
	for _, a := range t.Assessments {
		aw := assessmentWire{ID: a.ID, Name: a.Name, Source: sourceWire{a.SourceType, a.SourceID}, Rationale: a.Rationale, Metadata: a.Metadata, Valid: &valid}
		if a.Expectation != nil {
			aw.Expectation = &feedbackWire{Value: a.Expectation}
		} else {
			aw.Feedback = &feedbackWire{Value: a.Value, Error: a.Error}
		}
		w.Assessments = append(w.Assessments, aw)
	}
	return w
}

func (w traceWire) trace() Trace {
	t := Trace{
		ID: w.ID, ExperimentID: w.Location.Experiment["experiment_id"], ClientRequestID: w.ClientRequestID, Time: w.Time, State: w.State,
		RequestPreview: w.RequestPreview, ResponsePreview: w.ResponsePreview, Metadata: w.Metadata, Tags: w.Tags,
	}
	if d, err := time.ParseDuration(w.Duration); err == nil && strings.HasSuffix(w.Duration, "s") {
		t.Duration = &d
	}
	for _, aw := range w.Assessments {
		t.Assessments = append(t.Assessments, aw.assessment())
	}
	return t
}

func (w assessmentWire) assessment() Assessment {
	a := Assessment{ID: w.ID, Name: w.Name, SourceType: w.Source.Type, SourceID: w.Source.ID, Rationale: w.Rationale, Metadata: w.Metadata,
		Replaced: w.Valid != nil && !*w.Valid}
	if w.Feedback != nil {
		a.Value, a.Error = w.Feedback.Value, w.Feedback.Error
	}
	if w.Expectation != nil {
		a.Expectation = w.Expectation.Value
		if s := w.Expectation.Serialized; s != nil && json.Unmarshal([]byte(s.Value), &a.Expectation) != nil {
			a.Expectation = s.Value
		}
	}
	for _, at := range []struct {
		from *time.Time
		to   *time.Time
	}{{w.Created, &a.Created}, {w.Updated, &a.Updated}} {
		if at.from != nil {
			*at.to = at.from.UTC()
		}
	}
	return a
}
