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
	for fresh := false; ; fresh = true {
		full := &Full{Quota: quota, AtOnce: atOnce, Holders: make([]Holder, atOnce)}
		for _, i := range rand.Perm(atOnce) { // else all would race for the first
			verdicts, err := m.take(ctx, []bid{{key: quotaKey(quota, i+1)}})
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
