package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/executor/traces"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

const (
	frameFile     = "traces.json"
	tracesAtOnce  = 4        // calls: a server's database writes one after another anyway
	tracesHeld    = 100      // traces whose spans go in one request
	maxHeld       = 8 << 20  // bytes of spans that wait for others
	maxAnswer     = 8 << 10  // bytes of an answer, of which 1000 characters are shown
	maxTranscript = 64 << 20 // bytes that are read
)

// Traces is what became of the traces of a run's evaluations.
type Traces struct {
	Sent    int    // outcomes
	Left    int    // evaluations: kept in the state folder, the next run sends them
	Dropped int    // evaluations whose traces the server refused, or that can't be made
	Cut     int    // outcomes whose transcript is not shown whole
	Why     string // of the first that was left, dropped or cut
}

// frameOf is what traces need of the spec, as it is kept with each evaluation; nil = there are none.
// An agent that may read the tracking server is not shown the answers beside the questions.
func frameOf(s *spec.Spec) ([]byte, error) {
	if s.Traces == spec.TracesNone || s.Traces == "" {
		return nil, nil
	}
	f := traces.Frame{Full: s.Traces == spec.TracesFull, Scorer: "runner", Judges: map[string]traces.Judge{}, Tasks: traces.TasksOf(s.Tasks, !s.Runner.MLflow)}
	switch {
	case s.Judge != nil:
		f.Scorer = "judge"
	case len(s.Runner.Check) > 0:
		f.Scorer = "check"
	}
	for _, j := range s.Recipe.Judges {
		f.Judges[j.ID] = traces.Judge{Kind: j.Kind, Model: j.Model}
	}
	return json.Marshal(f)
}

// writeFrame keeps what the traces of an evaluation are made with, or that there are none.
func (s *State) writeFrame(e entry, frame []byte) error {
	name := filepath.Join(s.of(e), frameFile)
	if frame == nil {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return replaceFile(name, frame)
}

// logged forgets an evaluation that MLflow has, unless its traces are still to be sent.
func (s *State) logged(e *entry, m evaluation.Measured) error {
	_, err := os.Lstat(filepath.Join(s.of(*e), frameFile))
	if errors.Is(err, fs.ErrNotExist) || m.State == batch.StateInterrupted || m.State == batch.StateSuperseded {
		return s.forget(*e)
	}
	e.Logged = true
	return s.write(*e)
}

// sender sends the traces of evaluations that MLflow has.
type sender struct {
	l     *ledger.Ledger
	state *State
	call  func(func() error) error // makes a call that may be repeated
	out   Traces

	stuck bool // the server is away: what follows is left
	spans []mlflow.Span
	held  []held
}

// held is an evaluation whose spans wait for others.
type held struct {
	entry    entry
	outcomes int
}

func newSender(l *ledger.Ledger, s *State) *sender {
	return &sender{l: l, state: s, call: func(f func() error) error { return f() }}
}

// send sends the traces of one evaluation, and forgets it.
func (t *sender) send(ctx context.Context, e entry) {
	if t.stuck || e.Experiment != t.l.ExperimentID() {
		t.out.Left++
		return
	}
	n, waits, err := t.sendOne(ctx, e)
	if err == nil && waits {
		t.held = append(t.held, held{e, n})
		if len(t.held) >= tracesHeld || traces.Size(t.spans) > maxHeld {
			t.flush(ctx)
		}
		return
	}
	t.settle(held{e, n}, err)
}

// settle forgets what was sent, and what never can be.
func (t *sender) settle(h held, err error) {
	switch {
	case err == nil:
		t.out.Sent += h.outcomes
	case refused(err):
		t.out.Dropped++
		t.why(err)
	default:
		t.out.Left++
		t.stuck = true
		t.why(err)
		return
	}
	if err := t.state.forget(h.entry); err != nil {
		t.why(err)
	}
}

func (t *sender) why(err error) {
	if t.out.Why == "" {
		t.out.Why = err.Error()
	}
}

// unmade is an error of what is on disk: sending it again won't help.
type unmade struct{ error }

func (e unmade) Unwrap() error { return e.error }

// refused says that the same traces will be refused again.
func refused(err error) bool {
	var disk unmade
	if errors.As(err, &disk) || errors.Is(err, mlflow.ErrInvalid) || errors.Is(err, mlflow.ErrNotOffered) {
		return true
	}
	var e *mlflow.Error
	return errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusUnprocessableEntity) && !errors.Is(err, mlflow.ErrUnreachable)
}

// sendOne starts the traces of one evaluation, and says whether spans of them wait.
func (t *sender) sendOne(ctx context.Context, e entry) (outcomes int, waits bool, err error) {
	ev, m, err := t.state.traced(e)
	if err != nil {
		return 0, false, unmade{err}
	}
	answers, err := answersIn(t.state.of(e), m)
	if err != nil {
		return 0, false, unmade{err}
	}
	all := make([]mlflow.Trace, len(m.Outcomes))
	for i, o := range m.Outcomes {
		all[i] = ev.Of(o, answers[o.Output])
	}
	if err := t.call(func() error { return t.l.StartTraces(ctx, all, tracesAtOnce) }); err != nil || !ev.Full {
		return len(all), false, err
	}
	waits, err = t.steps(ctx, ev, t.state.of(e), m)
	return len(all), waits, err
}

// traced is what the traces of a logged evaluation are made from.
func (s *State) traced(e entry) (traces.Evaluation, evaluation.Measured, error) {
	ev := traces.Evaluation{RunID: e.RunID, Experiment: e.Experiment, Batch: e.Batch, UUID: e.UUID, Variant: e.Cell.Variant, Slot: e.Slot,
		Threshold: e.Pass.Threshold, Reported: e.Pass.Reported}
	b, err := os.ReadFile(filepath.Join(s.of(e), frameFile))
	if err == nil {
		err = json.Unmarshal(b, &ev.Frame)
	}
	if err != nil {
		return ev, evaluation.Measured{}, err
	}
	m, err := evaluation.Load(s.of(e))
	ev.Started = m.Started
	return ev, m, err
}

// answersIn are the beginnings of the answers, by their path in the bundle.
func answersIn(dir string, m evaluation.Measured) (map[string]string, error) {
	out := map[string]string{}
	for _, o := range m.Outcomes {
		if o.Output != "" {
			out[o.Output] = ""
		}
	}
	if len(out) == 0 {
		return out, nil
	}
	return out, evaluation.WalkBundle(dir, func(name string, r io.Reader) error {
		if _, wanted := out[name]; !wanted {
			return nil
		}
		b, err := io.ReadAll(io.LimitReader(r, maxAnswer))
		out[name] = string(b)
		return err
	})
}

// steps holds the spans of an evaluation for a request with others, and sends those that
// fill one.
func (t *sender) steps(ctx context.Context, ev traces.Evaluation, dir string, m evaluation.Measured) (waits bool, err error) {
	of := map[string][]int{} // outcomes by transcript
	for i, o := range m.Outcomes {
		if o.Transcript != "" {
			of[o.Transcript] = append(of[o.Transcript], i)
		}
	}
	if len(of) == 0 {
		return false, nil
	}
	var refusal error
	err = evaluation.WalkBundle(dir, func(name string, r io.Reader) error {
		if len(of[name]) == 0 {
			return nil
		}
		b, err := io.ReadAll(io.LimitReader(r, maxTranscript))
		if err != nil {
			return err
		}
		for _, i := range of[name] {
			spans, err := ev.Steps(m.Outcomes[i], b)
			if err != nil {
				t.out.Cut++
				t.why(errors.New(m.Outcomes[i].Task + ": transcript " + err.Error()))
			}
			t.spans = append(t.spans, spans...)
			if waits = true; traces.Size(t.spans) > maxHeld && refusal == nil {
				refusal = t.sendSpans(ctx)
			}
		}
		return nil
	})
	if refusal != nil {
		return false, refusal
	}
	if err != nil {
		return false, unmade{err}
	}
	return waits, nil
}

// sendSpans sends the spans that wait. Where some are refused, the others are sent without them.
func (t *sender) sendSpans(ctx context.Context) error {
	spans := t.spans
	t.spans = nil
	err := t.call(func() error { return t.l.SendSpans(ctx, spans) })
	if err == nil || !refused(err) || errors.Is(err, mlflow.ErrNotOffered) {
		return err
	}
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].TraceID == spans[0].TraceID {
			n++
		}
		one := spans[:n]
		spans = spans[n:]
		if err := t.call(func() error { return t.l.SendSpans(ctx, one) }); err != nil {
			if !refused(err) {
				return err
			}
			t.out.Cut++
			t.why(err)
		}
	}
	return nil
}

// flush sends what waits, and forgets the evaluations that it is of.
func (t *sender) flush(ctx context.Context) {
	if len(t.held) == 0 {
		return
	}
	var err error
	if t.stuck {
		err = errors.New("MLflow is away")
	} else if len(t.spans) > 0 {
		err = t.sendSpans(ctx)
	}
	done := t.held
	t.held, t.spans = nil, nil
	for _, h := range done {
		t.settle(h, err)
	}
}
