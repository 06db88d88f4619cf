package claim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Slot takes one of a quota's slots 1 to atOnce, or says who has them (*Full). Keep
// it while there is work for it, Confirm it before each start, and Release it then.
func (m *Member) Slot(ctx context.Context, quota string, atOnce int) (*Lease, error) {
	if !batch.IDPattern.MatchString(quota) || atOnce < 1 {
		return nil, fmt.Errorf("quota %q with %d slots: a name as in a spec and at least one slot are wanted", quota, atOnce)
	}
	return m.oneOf(ctx, quota, 1, atOnce)
}

// Whole takes a quota as a whole, beside its slots, or says who has it (*Full): an
// engine that holds one model at a time is used by one launcher at a time. Keep it while
// something of the quota runs or is still to be started, and Release it then.
func (m *Member) Whole(ctx context.Context, quota string) (*Lease, error) {
	if !batch.IDPattern.MatchString(quota) {
		return nil, fmt.Errorf("quota %q: a name as in a spec is wanted", quota)
	}
	return m.oneOf(ctx, quota, wholeNumber, 1)
}

// wholeNumber stands for a quota as a whole, where slots have their numbers.
const wholeNumber = 0

// oneOf takes one of n slots from the first number on.
func (m *Member) oneOf(ctx context.Context, quota string, first, n int) (*Lease, error) {
	for fresh := false; ; fresh = true {
		full := &Full{Quota: quota, AtOnce: n, Holders: make([]Holder, n)}
		for _, i := range rand.Perm(n) { // else all would race for the first
			verdicts, err := m.take(ctx, []bid{{key: quotaKey(quota, first+i)}})
			if err != nil {
				return nil, err
			}
			if l := verdicts[0].lease; l != nil {
				l.Before = nil // whoever had it left nothing in it
				return l, nil
			}
			full.Holders[i] = *verdicts[0].held
		}
		if fresh {
			return nil, full
		}
		if err := m.read(ctx); err != nil { // some may have been given back since
			return nil, m.trouble(err)
		}
	}
}
