package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// heir logs what an earlier launcher of a state folder measured. Only who holds the
// claim of a repeat may log one that counts: else a launcher that takes the repeat over
// at this moment would log another one.
type heir struct {
	lease   time.Duration      // 0 = claim.DefaultTTL
	keeping sync.WaitGroup     // of heartbeats, while evaluations are logged
	quiet   context.CancelFunc // ends them
	beating context.Context
	ledger  *ledger.Ledger
	members map[batch.Digest]*claim.Member // by recipe
	dead    map[string]bool                // launchers before this one: it has the lock of their folder
	failed  map[string]bool                // runs that ended without a repeat: a claim that ended with one is open to what was measured
}

func newHeir(l *ledger.Ledger) *heir {
	beating, quiet := context.WithCancel(context.Background())
	return &heir{beating: beating, quiet: quiet, ledger: l, members: map[batch.Digest]*claim.Member{}, dead: map[string]bool{}, failed: map[string]bool{}}
}

// claim takes the claim of an evaluation that would fill its slot (nil = it would not),
// or supersedes it where another launcher has it, or has measured the repeat.
func (h *heir) claim(ctx context.Context, e entry, m *evaluation.Measured) (*claim.Lease, error) {
	if e.Generation == 0 {
		return nil, nil
	}
	if err := h.look(ctx, e, m); err != nil || !m.State.Counts() {
		return nil, err
	}
	member, err := h.join(ctx, e)
	if err != nil {
		return nil, err
	}
	answers, err := member.Claim(ctx, claim.Want{Cell: e.Cell.Identity.Cell, Slot: e.Slot, Past: func(run string) bool { return h.failed[run] }})
	if err != nil {
		return nil, err
	}
	switch a := answers[0]; {
	case a.Held != nil:
		supersede(m, fmt.Errorf("its launcher had ended, and %s took its repeat over", a.Held.Launcher))
	case a.Won == nil && a.Done != e.RunID:
		supersede(m, fmt.Errorf("its launcher had ended, and run %s took its repeat over", a.Done))
	case a.Won != nil && a.Won.Generation() > e.Generation+1: // somebody else had it in between
		if err := h.look(ctx, e, m); err != nil || m.State.Counts() {
			return a.Won, err
		}
		return nil, a.Won.Release(ctx, m.Reason)
	case a.Won != nil:
		return a.Won, nil
	}
	return nil, nil
}

// look supersedes an evaluation whose repeat another launcher took over, and measures
// or has measured.
func (h *heir) look(ctx context.Context, e entry, m *evaluation.Measured) error {
	all, err := h.ledger.OfSlot(ctx, e.Cell.Identity.Cell, e.Slot)
	for _, other := range all {
		h.failed[other.Info.RunID] = !other.Live() && other.State == batch.StateIncomplete
		switch {
		case other.Info.RunID == e.RunID:
			h.dead[other.Launcher] = true
		case other.Identity.Cell == e.Cell.Identity.Cell && tookOver(other, e, m):
			supersede(m, fmt.Errorf("its launcher had ended, and run %s took its repeat over", other.Info.RunID))
		}
	}
	return err
}

// tookOver says whether another run is of a later claim, or was measured after this
// evaluation had begun (an entry that was to go on has the generation of the later one).
func tookOver(other ledger.Entry, e entry, m *evaluation.Measured) bool {
	if other.Generation > e.Generation {
		return other.Live() || other.State.Counts()
	}
	ended := other.Ended()
	return other.State.Counts() && ended != nil && ended.After(m.Started)
}

// join enters this launcher at the recipe of an evaluation.
func (h *heir) join(ctx context.Context, e entry) (*claim.Member, error) {
	recipe := e.Cell.Identity.Recipe
	if m := h.members[recipe]; m != nil {
		return m, nil
	}
	book, err := claim.OpenRecipe(ctx, h.ledger.Client(), e.Experiment, recipe, e.Labels.Benchmark+" "+e.Labels.Version)
	if err != nil {
		return nil, err
	}
	m, err := book.Join(ctx, claim.Options{Launcher: Launcher(), TTL: h.lease, Gone: func(l string) bool { return h.dead[l] || LauncherGone(l) }})
	if err == nil {
		h.members[recipe] = m
		h.keeping.Go(func() { m.Keep(h.beating, func(error) {}) })
	}
	return m, err
}

// done ends the claim of an evaluation that is logged. Where it was lost meanwhile, the
// evaluation is superseded.
func (h *heir) done(ctx context.Context, l *claim.Lease, e entry, m *evaluation.Measured) error {
	if l == nil {
		return nil
	}
	err := l.Done(ctx, e.RunID)
	if errors.Is(err, claim.ErrLost) {
		supersede(m, err)
		return h.ledger.Supersede(ctx, e.RunID, m.Reason, m.Ended)
	}
	return err
}

// leave gives back what is held after an error.
func (h *heir) leave(ctx context.Context) {
	h.quiet()
	h.keeping.Wait()
	for _, m := range h.members {
		_ = m.Leave(ctx)
	}
}

// gone says that a run was deleted meanwhile: there is nothing to write to.
func gone(err error) bool {
	return errors.Is(err, mlflow.ErrNotFound) || errors.Is(err, mlflow.ErrDeleted)
}
