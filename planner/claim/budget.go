package claim

import (
	"context"
	"errors"
	"strings"
	"sync"
)

// Budget is a member's part in keeping a batch below its ceiling. It is safe for use
// by many goroutines.
type Budget struct {
	member        *Member
	batch         string
	ceiling, step micro

	taking sync.Mutex // one tranche at a time

	mu       sync.Mutex
	own      []*Lease // tranches that are not settled
	spent    micro    // from them
	reserved micro
}

// Budget shares a batch's ceiling with all who name the same parent run. stepUSD is
// how much is taken at once where less is needed: a fiftieth of the ceiling is a good
// choice. Larger steps save calls, and leave more with a member that is idle.
func (m *Member) Budget(batchRunID string, ceilingUSD, stepUSD float64) (*Budget, error) {
	ceiling, err := toMicro(ceilingUSD)
	step, stepErr := toMicro(stepUSD)
	if err := errors.Join(err, stepErr); err != nil {
		return nil, err
	}
	return &Budget{member: m, batch: batchRunID, ceiling: ceiling, step: step}, nil
}

// Reservation is money for one evaluation.
type Reservation struct {
	budget *Budget
	amount micro
}

// Reserve takes what an evaluation may cost from this member's tranches, and another
// tranche where they are used up. Where that would pass the ceiling, the error is a *Ceiling.
func (b *Budget) Reserve(ctx context.Context, usd float64) (*Reservation, error) {
	amount, err := toMicro(usd)
	if err != nil {
		return nil, err
	}
	b.taking.Lock()
	defer b.taking.Unlock()
	if err := b.member.confirm(ctx); err != nil { // else an heir may have the tranches
		return nil, err
	}
	for {
		b.mu.Lock()
		need := amount - b.pool()
		if need <= 0 {
			b.reserved += amount
			b.mu.Unlock()
			return &Reservation{b, amount}, nil
		}
		b.mu.Unlock()
		if err := b.take(ctx, need); err != nil {
			return nil, err
		}
	}
}

// pool is what is left of this member's tranches, less than nothing where evaluations
// cost more than was reserved. b.mu is held.
func (b *Budget) pool() micro {
	left := -b.spent - b.reserved
	kept := b.own[:0]
	for _, l := range b.own {
		if l.state() == nil { // else an heir settles it
			kept = append(kept, l)
			left += l.hold.usd
		}
	}
	b.own = kept
	return left
}

// Settle says what the evaluation cost; nil = unknown, taken for what was reserved.
// It sends nothing. A reservation is settled once.
func (r *Reservation) Settle(costUSD *float64) error {
	cost := r.amount
	if costUSD != nil {
		var err error
		if cost, err = toMicro(*costUSD); err != nil {
			return err
		}
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.reserved -= r.amount
	r.budget.spent += cost
	return nil
}

// account is how a batch's money stands on the ledger run.
type account struct {
	tranches    int
	total       micro // settled, and taken
	held, dead  micro // the part of others at work, and of those who ended without settling
	estates     []key // the latter's tranches
	settledBy   map[string]micro
	firstHolder map[key]hold
	latestUSD   map[key]micro
}

// take takes the next tranche, of at least need. Reading all numbers before it and
// writing it, which only one can, makes each decision on all earlier ones.
func (b *Budget) take(ctx context.Context, need micro) error {
	for {
		if err := b.member.read(ctx); err != nil {
			return b.member.trouble(err)
		}
		a := b.account()
		amount := min(max(need, b.step), b.ceiling-a.total)
		if amount < need {
			return &Ceiling{CeilingUSD: b.ceiling.usd(), WantUSD: need.usd(), SpentUSD: a.total.usd(), HeldUSD: a.held.usd(), DeadUSD: a.dead.usd()}
		}
		verdicts, err := b.member.take(ctx, []bid{{key: budgetKey(b.batch, a.tranches+1), usd: amount, first: true}})
		if err != nil {
			return err
		}
		if l := verdicts[0].lease; l != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.own = append(b.own, l)
			return nil
		}
	}
}

// Include sees to it that at least so much counts as spent: a batch may have paid without
// reservations, as before it had a ceiling. Of several who say so one enters it.
func (b *Budget) Include(ctx context.Context, spentUSD float64) error {
	spent, err := toMicro(spentUSD)
	if err != nil {
		return err
	}
	b.taking.Lock()
	defer b.taking.Unlock()
	for {
		if err := b.member.read(ctx); err != nil {
			return b.member.trouble(err)
		}
		a := b.account()
		missing := spent - a.total
		if missing <= 0 {
			return nil
		}
		verdicts, err := b.member.take(ctx, []bid{{key: budgetKey(b.batch, a.tranches+1), usd: missing, first: true}})
		if err != nil {
			return err
		}
		if l := verdicts[0].lease; l != nil {
			what := l.hold.usd.String() + " " + unreserved
			err := l.end(ctx, endSpent, what)
			if err != nil {
				b.member.owe(l, endSpent, what)
				l.drop()
			}
			return err
		}
	}
}

// unreserved marks a tranche that is not what its taker spent.
const unreserved = "paid without a reservation"

func (b *Budget) account() account {
	m := b.member
	m.mu.Lock()
	defer m.mu.Unlock()
	a := account{settledBy: map[string]micro{}, firstHolder: map[key]hold{}, latestUSD: map[key]micro{}}
	for {
		k := budgetKey(b.batch, a.tranches+1)
		last, ok := m.view.latest(k)
		if !ok {
			return a
		}
		a.tranches++
		first := m.view.holds[k][0]
		if e, ended := m.view.ends[k.at(last.generation)]; ended {
			usd, note, _ := strings.Cut(e.what, " ")
			spent, ok := parseMicro(usd)
			if !ok {
				spent = last.usd
			}
			a.total += spent
			if note != unreserved {
				a.settledBy[first.session] += spent
			}
			continue
		}
		a.total += last.usd
		if last.session == m.session {
			continue
		}
		if over, _ := m.over(m.view.holder(last)); !over {
			a.held += last.usd
			continue
		}
		a.dead += last.usd
		a.estates = append(a.estates, k)
		a.firstHolder[k], a.latestUSD[k] = first, last.usd
	}
}

// Return settles what can be settled: all tranches where nothing is reserved, else
// those that are not needed for what is spent and reserved. Others may take the rest.
// After an error the next heartbeat goes on with the tranche at which it occurred.
func (b *Budget) Return(ctx context.Context) error {
	b.taking.Lock()
	defer b.taking.Unlock()
	for {
		l, spent := b.settle()
		if l == nil {
			return nil
		}
		err := l.end(ctx, endSpent, spent.String())
		if errors.Is(err, ErrLost) { // an heir settles it
			continue
		}
		if err != nil { // it may have arrived: nothing is spent from this tranche any more
			b.member.owe(l, endSpent, spent.String())
			l.drop()
			return err
		}
	}
}

// settle takes a tranche out that can be settled, the newest first; nil = none.
func (b *Budget) settle() (*Lease, micro) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.pool()
	if len(b.own) == 0 {
		return nil, 0
	}
	last := len(b.own) - 1
	l := b.own[last]
	spent := micro(0)
	switch {
	case left >= l.hold.usd: // not touched
	case b.reserved == 0:
		spent = min(b.spent, l.hold.usd-max(left, 0))
		if last == 0 {
			spent = b.spent // with what was spent beyond the tranches
		}
	default:
		return nil, 0
	}
	b.own, b.spent = b.own[:last], b.spent-spent
	return l, spent
}
