package executor

import (
	"context"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// leave notes that a model is left out; agents nil = for all of them.
func (r *runner) leave(model string, agents []string, state batch.SlotState, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, batch.StandingOut{Model: model, Agents: agents, State: state, Reason: clipLine(reason, 300)})
}

// publish says on the batch's run how it stands, for people who look on. Nothing
// depends on it, so a failure is not looked at.
func (r *runner) publish(ctx context.Context) {
	s := r.Resolved.Spec
	r.mu.Lock()
	out := batch.Standing{
		At: time.Now().UTC().Truncate(time.Second), Launcher: Launcher(), AtOnce: max(1, r.AtOnce), CeilingUSD: s.Budget.CeilingUSD,
		Quotas: map[string]batch.StandingQuota{}, Models: LimitsOf(s, r.AtOnce).Models, Out: slices.Clone(r.out),
	}
	r.mu.Unlock()
	for _, names := range out.Models {
		for _, name := range names {
			q := s.Quotas[name]
			out.Quotas[name] = batch.StandingQuota{AtOnce: q.AtOnce, SpacingS: q.Spacing.Seconds(), TokensPerMinute: q.TokensPerMinute, Exclusive: q.Exclusive}
		}
	}
	_ = r.Ledger.SetStanding(ctx, r.parent, out)
}

// LimitsIn are the limits that a launcher published.
func LimitsIn(s batch.Standing) Limits {
	l := Limits{AtOnce: max(1, s.AtOnce), Quotas: map[string]spec.Quota{}, Models: s.Models}
	for name, q := range s.Quotas {
		l.Quotas[name] = spec.Quota{AtOnce: q.AtOnce, Spacing: time.Duration(q.SpacingS * float64(time.Second)), TokensPerMinute: q.TokensPerMinute, Exclusive: q.Exclusive}
	}
	return l
}

// clipLine is text on one line, at most n characters of it.
func clipLine(s string, n int) string {
	r := []rune(oneLine(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
