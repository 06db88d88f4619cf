package mlflow

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of failure, for errors.Is.
var (
	ErrNotFound      = errors.New("not found")
	ErrUnauthorized  = errors.New("not logged in")                         // 401
	ErrForbidden     = errors.New("not allowed")                           // 403
	ErrUnreachable   = errors.New("no answer from the tracking server")    // connection refused, lost, or 502-504 to the end
	ErrAlreadyExists = errors.New("already exists")                        // an experiment's name
	ErrParamTaken    = errors.New("parameter already has another value")   // see [ParamTaken]
	ErrDeleted       = errors.New("is deleted")                            // a soft-deleted experiment
	ErrNotJSON       = errors.New("the server did not answer with JSON")   // a login page, another kind of server
	ErrRedirected    = errors.New("redirected elsewhere")                  // a redirect that may not be followed
	ErrInvalid       = errors.New("refused before sending")                // would be cut, swallowed or refused by the server
	ErrDeadline      = errors.New("deadline before next try")              // waiting any longer is pointless
	ErrStateUnknown  = errors.New("the call may or may not have happened") // a create without an answer
	ErrNotStored     = errors.New("the server did not store what was sent")
	ErrNoServer      = errors.New("no tracking server is set")
	ErrUnsupported   = errors.New("not supported") // an environment variable or address
	ErrNotOffered    = errors.New("not offered by this version of MLflow")
)

// Error is a failed call to the tracking server.
type Error struct {
	Op      string // the call, as "runs/create"
	URL     string // where it went, without userinfo and query; "" if it was never sent
	Status  int    // HTTP status, 0 if there was no answer
	Code    string // the server's error_code, "" if it gave none
	Message string // the server's own message, cut to a sane length, or ours
	Remedy  string // what to do about it, "" if unknown
	Kind    error  // one of the Err… values, nil for any other failure
	Err     error  // the cause, if there is one
	Tries   int    // how often it was tried, 0 if it was never sent

	again again
	fate  fate
}

// again says whether a failure may pass.
type again int

const (
	againNever     again = iota
	againAFewTimes       // the server answers, with an error that mostly stays
	againPatiently       // the server is away or asks for a pause
)

// fate says what a failed call did on the server.
type fate int

const (
	untouched   fate = iota // nothing: refused, or never arrived
	unknownFate             // perhaps all of it
)

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("mlflow " + e.Op)
	if e.URL != "" {
		b.WriteString(" at " + e.URL)
	}
	b.WriteString(": ")
	var parts []string
	if e.Status != 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Status, e.Code)))
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	} else if e.Kind != nil {
		parts = append(parts, e.Kind.Error())
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	b.WriteString(strings.Join(parts, ": "))
	if e.Tries > 1 {
		fmt.Fprintf(&b, ", after %d tries", e.Tries)
	}
	if e.Remedy != "" {
		b.WriteString(" (" + e.Remedy + ")")
	}
	return b.String()
}

// Unwrap gives the kind and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// ParamTaken says which parameter of a batch the run already has with another value. Parameters are written once, and
// nothing of the refused batch was stored. errors.Is(err, ErrParamTaken) holds.
type ParamTaken struct {
	RunID, Key string
	Want, Have string // the value that was sent, and the one that stands
	Run        Run    // as it was read after the refusal
}

func (e *ParamTaken) Error() string {
	return fmt.Sprintf("run %s: parameter %q is %q on the server and can't become %q (parameters are written once)",
		e.RunID, e.Key, clip(e.Have, 100), clip(e.Want, 100))
}

func (e *ParamTaken) Unwrap() error { return ErrParamTaken }

// invalid is the error for a value that is refused before it is sent.
func invalid(op, format string, args ...any) error {
	return &Error{Op: op, Kind: ErrInvalid, Message: ErrInvalid.Error() + ": " + fmt.Sprintf(format, args...)}
}

// clip cuts s to n characters for a message.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
