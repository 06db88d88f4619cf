package executor

import (
	"context"
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
	// Waiting says that all that is left is at work elsewhere: so many repeats, by these
	// launchers. 0 = one of them begins the batch.
	Waiting(repeats int, launchers []string)
	// Full says of a quota of which this launcher has nothing that these others use it
	// up. It is said once.
	Full(quota string, launchers []string)
	// Elsewhere says that another launcher has ended the evaluation of a slot.
	Elsewhere(s planner.Slot)
}

// Options say how a plan is run.
type Options struct {
	Client    *mlflow.Client // of the ledger's server
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
	Lease     time.Duration               // how long what this launcher holds stays its own after a heartbeat; 0 = claim.DefaultTTL
	EndLeft   func(uuid string) int       // as for Recover
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
	Others  []string                         // launchers that are at work on slots that this run skipped or failed to fill: who ends last freezes
	Fates   map[planner.SlotKey]planner.Fate // of the slots that this run failed to fill
}

// Run measures what the plan is missing and freezes the batch when every slot has its
// fate. It shares both with all launchers that run the same recipe.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &runner{Options: o, fates: map[planner.SlotKey]planner.Fate{}, health: newHealth(), elsewhere: map[planner.SlotKey]bool{}, told: map[string]bool{}}
	r.know(o.Plan)
	r.before = r.known
	queue := r.wanted(order(o.Plan))
	if len(queue) > 0 || r.begins() {
		if err := r.meet(ctx); err != nil {
			return nil, err
		}
		defer r.part(ctx)
	}
	if err := r.meetQuotas(ctx, queue); err != nil {
		return nil, err
	}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	report := &Report{Parent: r.parent, Plan: r.Plan, Fates: r.fates}
	if r.Plan.Finished != nil { // by another launcher, meanwhile
		return report, r.adopt(ctx, *r.Plan.Finished, report)
	}
	var err error
	if r.frame, err = frameOf(o.Resolved.Spec); err != nil {
		return nil, err
	}
	queue = r.wanted(order(r.Plan))
	if err := r.meetQuotas(ctx, queue); err != nil { // a plan of another launcher may miss more
		return nil, err
	}
	o.Observer.Begin(r.parent, len(queue))
	shares := len(queue) > 0
	queue, err = r.preflight(ctx, queue)
	if err != nil {
		return nil, err
	}
	r.publish(ctx)
	if shares {
		if err := r.openBudget(ctx); err != nil {
			return nil, err
		}
	}
	r.startTracing(ctx)
	err = r.rounds(ctx, queue, report)
	report.Traces = r.finishTracing()
	return report, err
}

// rounds measures what is missing, and what others have left without a result, until
// the batch is frozen or nothing more can be done.
func (r *runner) rounds(ctx context.Context, queue []planner.Slot, report *Report) error {
	for {
		err := r.measureAll(ctx, queue)
		report.Started, report.Stopped, report.Asked, report.Budget, report.GaveUp = r.started, r.stopped(), r.asked, r.exhausted, r.health.gaveUp
		if err != nil {
			return err
		}
		err = r.patiently(ctx, func() (err error) {
			queue, err = r.freeze(ctx, report)
			return err
		})
		if err != nil || len(queue) == 0 {
			return err
		}
	}
}
