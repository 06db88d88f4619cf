package claim

import (
	"context"
	"fmt"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Want is a repeat that is missing.
type Want struct {
	Cell batch.Digest
	Slot int // number of the repeat, from 1

	// Past says of a run that is recorded as having measured this repeat whether it is
	// known not to fill the slot: deleted, too old, of another rule. nil = every run fills it.
	Past func(runID string) bool
}

// Answer says what came of a Want. Exactly one field is set.
type Answer struct {
	Won  *Lease
	Held *Holder // somebody else's, or this member's own
	Done string  // the run that measured it
}

// Claim claims repeats: one call where nobody was faster, however many are wanted (of
// up to 100). Each is decided on its own.
func (m *Member) Claim(ctx context.Context, wants ...Want) ([]Answer, error) {
	bids := make([]bid, len(wants))
	for i, w := range wants {
		if !w.Cell.Valid() || w.Slot < 1 {
			return nil, fmt.Errorf("repeat %d of cell %q: a digest and a number from 1 are wanted", w.Slot, string(w.Cell))
		}
		bids[i] = bid{key: repeatKey(w.Cell, w.Slot), past: w.Past}
	}
	verdicts, err := m.take(ctx, bids)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(wants))
	for i, v := range verdicts {
		answers[i] = Answer{Won: v.lease, Held: v.held, Done: v.done}
	}
	return answers, nil
}
