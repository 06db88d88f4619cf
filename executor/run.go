package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Observer is told what happens. Its methods may be called from many goroutines.
type Observer interface {
	Begin(parent ledger.Parent, missing int)
	Started(s planner.Slot)
	Progress(s planner.Slot, done, total int) // tasks
	Ended(s planner.Slot, m evaluation.Measured)
	Skipped(model, reason string, slots int)
	// PutBack says that a model's provider has failed again and again: its remaining slots are not started.
	PutBack(model, reason string, slots int)
	// Recovered says that a model whose provider had failed answers again.
	Recovered(model string)
	// Away says that the tracking server does not answer, Back that it does again.
	Away(err error)
	Back(after time.Duration)
	// Tracing says that all evaluations have ended, and the traces of so many are still to be sent.
	Tracing(evaluations int)
	// StopAsked says that somebody asked the batch's launchers to start nothing new.
	StopAsked(who string)
}

// Options say how a plan is run.
type Options struct {
	Ledger    *ledger.Ledger
	Resolved  *spec.Resolved
	Plan      *planner.Plan
	State     *State
	Launcher  evaluation.Launcher
	Preflight Preflight                   // nil = models are not asked; an error skips the model's cells
	Lookup    func(string) (string, bool) // the launcher's own environment
	MLflowEnv []string                    // given to the runner where the spec asks for it
	AtOnce    int                         // evaluations at once over all quotas, at least 1
	Only      func(batch.Variant) bool    // nil = all variants
	MaxUSD    *float64                    // of this run, in USD, beside the spec's ceiling of the batch; nil = no bound
	AllModels bool                        // a model that does not answer is an error
	Patience  time.Duration               // how long a tracking server that is away is waited for; 0 = not at all
	Look      time.Duration               // between two looks whether it is back, or somebody asks to stop; 0 = 5 s
	Stop      <-chan struct{}             // closed = start nothing new, finish what runs
	Observer  Observer
	Input     planner.Input // for planning anew at the end
	From      ledger.Origin // as MLflow shows where a run comes from
}

// Report is what a run came to.
type Report struct {
	Parent  ledger.Parent
	Result  *batch.Result                    // nil = not frozen: slots are left
	Plan    *planner.Plan                    // as it stands at the end
	Started int                              // evaluations that this run started
	Stopped bool                             // it was told to stop
	Asked   string                           // who asked the batch's launchers to stop; "" = nobody
	Budget  string                           // why the budget left slots out; "" = it did not
	Traces  Traces                           // what became of them
	GaveUp  []string                         // why models were given up in mid-batch
	Fates   map[planner.SlotKey]planner.Fate // of the slots that this run failed to fill
}

// Run measures what the plan is missing and freezes the batch when every slot has its fate.
func Run(ctx context.Context, o Options) (*Report, error) {
	parent, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, parent: parent, fates: map[planner.SlotKey]planner.Fate{}, health: newHealth()}
	if r.frame, err = frameOf(o.Resolved.Spec); err != nil {
		return nil, err
	}
	queue := r.wanted(order(o.Plan))
	o.Observer.Begin(parent, len(queue))
	queue, err = r.preflight(ctx, queue)
	if err != nil {
		return nil, err
	}
	r.publish(ctx)
	r.startTracing(ctx)
	runErr := r.measureAll(ctx, queue)
	sent := r.finishTracing()
	report := &Report{Parent: parent, Started: r.started, Stopped: r.stopped(), Asked: r.asked, Budget: r.exhausted, Traces: sent, GaveUp: r.health.gaveUp, Fates: r.fates}
	if runErr != nil {
		return report, runErr
	}
	return report, r.patiently(ctx, func() error { return r.freeze(ctx, report) })
}

// begin joins the batch, or creates its parent run and stores the plan.
func begin(ctx context.Context, o Options) (ledger.Parent, error) {
	if err := o.Ledger.Create(ctx); err != nil {
		return ledger.Parent{}, err
	}
	p := o.Plan
	var parent ledger.Parent
	if p.Joined != nil {
		parent = *p.Joined
		if parent.Stop != "" { // who runs it goes on
			if err := o.Ledger.AskStop(ctx, parent, ""); err != nil {
				return parent, err
			}
		}
		if parent.Plan != "" {
			return parent, noteRevision(ctx, o, parent)
		}
	} else {
		var err error
		parent, err = o.Ledger.StartBatch(ctx, &p.Doc, o.Resolved.Recipe, o.Resolved.Brains, o.From)
		if err != nil {
			return parent, err
		}
	}
	plan, err := json.MarshalIndent(p.Doc, "", " ")
	if err != nil {
		return parent, err
	}
	docs := []ledger.Document{{Name: batch.FileSpec, Body: o.Resolved.Spec.Raw}, {Name: batch.FilePanel, Body: o.Resolved.PanelFile}, {Name: batch.FilePlan, Body: plan}}
	params := []mlflow.Param{
		{Key: "benchmark", Value: p.Doc.Benchmark}, {Key: "version", Value: p.Doc.Version},
		{Key: "repeats", Value: fmt.Sprint(p.Doc.Repeats)}, {Key: "seed", Value: fmt.Sprint(p.Doc.Seed)},
	}
	panel, err := datasetOf(p.Doc.Benchmark, p.Doc.Panel.Digest, p.Doc.Panel.Tasks)
	if err != nil {
		return parent, err
	}
	return parent, o.Ledger.StorePlan(ctx, &parent, docs, params, panel)
}

// noteRevision keeps the spec beside the frozen one where a free field (budget,
// quotas, retries) was changed since the batch began.
func noteRevision(ctx context.Context, o Options, parent ledger.Parent) error {
	raw := o.Resolved.Spec.Raw
	d := batch.Sum(raw)
	if d == o.Plan.Doc.SpecDigest {
		return nil
	}
	return o.Ledger.AddDocument(ctx, parent, ledger.Document{Name: RevisionName(d), Body: raw})
}

// RevisionName is the artifact of a batch that holds a later revision of its spec.
func RevisionName(spec batch.Digest) string { return "spec-" + spec.Short() + ".yaml" }
