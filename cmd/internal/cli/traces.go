package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// What traces cost, as docs/mlflow.md says: measured on MLflow 3.17.2 with SQLite.
const (
	perTrace        = 23 * time.Millisecond
	perSteps        = 6 * time.Millisecond // of an outcome with five steps
	perRead         = 2 * time.Millisecond // of a trace, when people's feedback is read at the freeze
	tracesPerExport = 100
	tracesPerPage   = 500
)

// tracing is what the traces of the missing evaluations cost.
type tracing struct {
	Mode    string  `json:"mode"`    // scores or full
	Calls   int     `json:"calls"`   // with those that read what people said, at the freeze
	Seconds float64 `json:"seconds"` // of the server's time, beside the work
}

// tracingOf is what the traces of so many evaluations cost; nil = there are none.
func tracingOf(p *planner.Plan, evaluations int) *tracing {
	mode := p.Spec().Traces
	outcomes := evaluations * p.Doc.Panel.Tasks
	if mode == "" || mode == spec.TracesNone || outcomes == 0 {
		return nil
	}
	t := &tracing{Mode: mode, Calls: outcomes}
	took := time.Duration(outcomes) * perTrace
	if mode == spec.TracesFull {
		t.Calls += (outcomes + tracesPerExport - 1) / tracesPerExport
		took += time.Duration(outcomes) * perSteps
	}
	t.Calls += len(p.Slots) * (1 + p.Doc.Panel.Tasks/tracesPerPage)
	took += time.Duration(len(p.Slots)*p.Doc.Panel.Tasks) * perRead
	t.Seconds = took.Seconds()
	return t
}

func (t *tracing) String() string {
	steps := ""
	if t.Mode == spec.TracesFull {
		steps = ", more where transcripts are long"
	}
	return fmt.Sprintf("traces (%s): about %d calls to MLflow and %s of its time, beside the work%s", t.Mode, t.Calls,
		span(time.Duration(t.Seconds*float64(time.Second))), steps)
}

// checkTraces refuses to begin where the server has no traces of the form that the spec asks for.
func (a *App) checkTraces(ctx context.Context, l *ledger.Ledger, s *spec.Spec) error {
	if s.Traces == "" || s.Traces == spec.TracesNone {
		return nil
	}
	err := l.CheckTraces(ctx)
	if errors.Is(err, mlflow.ErrNotOffered) {
		return usageError{fmt.Errorf("traces: %s in the spec needs MLflow 3: %w\n  write traces: none (outcomes_table.json shows single tasks too), or use MLflow 3", s.Traces, err)}
	}
	return err
}

// sayTraces says what became of the traces of evaluations, where it is not all of them.
func (a *App) sayTraces(t executor.Traces, state *executor.State) {
	if t.Left > 0 {
		a.say("kept in %s: the traces of %s, which the next run sends", state.Evaluations(), plural(t.Left, "evaluation"))
	}
	if t.Dropped > 0 {
		a.say("MLflow does not have the traces of %s: it refused them, or they could not be made", plural(t.Dropped, "evaluation"))
	}
	if t.Cut > 0 {
		a.say("not shown whole: the transcripts of %s (they are in the bundles)", plural(t.Cut, "outcome"))
	}
	if t.Why != "" {
		a.say("  the first reason: %s", cleanLine(oneLine(t.Why)))
	}
}
