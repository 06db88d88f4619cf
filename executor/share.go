package executor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// shared is where this launcher meets others that run the same recipe, and what it
// holds among them. It is nil where a batch is joined of which nothing is to be started.
type shared struct {
	member  *claim.Member
	quotas  *claim.Member   // nil = there is no quota with places and no ceiling, or nothing is to be started
	budget  *claim.Budget   // nil = no ceiling
	beating context.Context // of the heartbeats
	quiet   func()          // ends them
	parted  sync.Once

	mu    sync.Mutex
	quota map[string]*holding
}

// meet enters this launcher among those of its recipe.
func (r *runner) meet(ctx context.Context) (err error) {
	beating, quiet := context.WithCancel(context.WithoutCancel(ctx)) // an evaluation that is cancelled is logged under its claim
	sh := &shared{beating: beating, quiet: quiet, quota: map[string]*holding{}}
	sh.member, err = r.join(ctx, sh, func() (*claim.Book, error) {
		s := r.Resolved.Spec
		return claim.OpenRecipe(ctx, r.Client, r.Ledger.ExperimentID(), r.Resolved.Recipe, s.Benchmark+" "+s.Version)
	})
	if err != nil {
		quiet()
		return err
	}
	r.shared = sh
	return nil
}

// meetQuotas enters it among those of the experiment, once, where something is to be
// started and they share places or money.
func (r *runner) meetQuotas(ctx context.Context, queue []planner.Slot) (err error) {
	s := r.Resolved.Spec
	if len(queue) == 0 || r.shared.quotas != nil || s.Budget.CeilingUSD == nil && !hasPlaces(s) {
		return nil
	}
	r.shared.quotas, err = r.join(ctx, r.shared, func() (*claim.Book, error) { return claim.OpenQuotas(ctx, r.Client, r.Ledger.ExperimentID()) })
	return err
}

func (r *runner) join(ctx context.Context, sh *shared, open func() (*claim.Book, error)) (*claim.Member, error) {
	book, err := open()
	if err != nil {
		return nil, err
	}
	m, err := book.Join(ctx, claim.Options{Launcher: Launcher(), TTL: r.Lease, Gone: LauncherGone})
	if err == nil {
		go m.Keep(sh.beating, func(error) {}) // who claims or confirms next meets the same error
	}
	return m, err
}

func hasPlaces(s *spec.Spec) bool {
	for _, q := range s.Quotas {
		if q.AtOnce > 0 || q.Exclusive {
			return true
		}
	}
	return false
}

// partTime bounds how long a launcher tries to say that it leaves. What it can't give
// back lapses.
const partTime = 15 * time.Second

// part gives back all that this launcher holds.
func (r *runner) part(ctx context.Context) {
	sh := r.shared
	if sh == nil {
		return
	}
	sh.parted.Do(func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), partTime)
		defer cancel()
		if sh.budget != nil {
			_ = sh.budget.Return(late)
		}
		if sh.quotas != nil {
			_ = sh.quotas.Leave(late)
		}
		_ = sh.member.Leave(late)
		sh.quiet()
	})
}

// want is a slot as it is claimed. A run that this plan knows does not fill it, else
// the slot would not be missing.
func (r *runner) want(s planner.Slot) claim.Want {
	known := r.known
	return claim.Want{Cell: s.Cell.Identity.Cell, Slot: s.Slot, Past: func(run string) bool { return known[run] }}
}

// runsOf are the runs that a plan has judged for good. One that was interrupted may still
// be logged, by the next run of its launcher's folder, and one that is unsettled is.
func runsOf(p *planner.Plan) map[string]bool {
	out := map[string]bool{}
	for _, e := range slices.Concat(p.Valid, p.Ended) {
		if e.State != batch.StateInterrupted {
			out[e.Info.RunID] = true
		}
	}
	for _, i := range p.Ignored {
		if !i.Unsettled {
			out[i.RunID] = true
		}
	}
	return out
}

// abroad notes that another launcher has ended the evaluation of a slot: the next plan
// tells how. Run is the one that it logged; "" = not known.
func (r *runner) abroad(s planner.Slot, run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere[keyOf(s)] = true
	if run != "" {
		r.told[run] = true
	}
}

// plan plans anew for the batch. What a launcher of the batch failed to measure since
// this run began has its fate.
func (r *runner) plan(ctx context.Context) (*planner.Plan, error) {
	in := r.Input
	in.Join, in.Confirm = r.parent.Info.RunID, true
	p, err := planner.Make(ctx, r.Ledger, in)
	if err != nil {
		return nil, err
	}
	r.know(p)
	missing := map[planner.SlotKey]bool{}
	for _, s := range p.Missing() {
		missing[keyOf(s)] = true
	}
	for _, e := range p.Ended {
		key := planner.SlotKey{Cell: e.Identity.Cell, Slot: e.Slot}
		_, has := r.fates[key]
		if !has && missing[key] && e.State == batch.StateIncomplete && e.Batch == r.parent.Info.RunID && !r.before[e.Info.RunID] {
			r.fates[key] = planner.Fate{State: batch.SlotFailed, Reason: e.Reason, RunID: e.Info.RunID}
		}
	}
	return p, nil
}

// know takes a plan over.
func (r *runner) know(p *planner.Plan) {
	r.Plan, r.known = p, runsOf(p)
	for run := range r.told {
		r.known[run] = true
	}
}
