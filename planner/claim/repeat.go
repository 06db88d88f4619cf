package claim

import (
	"context"
	"fmt"
	"slices"

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

// Batch claims the beginning of a batch, by its key: who wins creates its run, and
// ends the claim with Done. Past says which runs are known to be other batches with
// the same key.
func (m *Member) Batch(ctx context.Context, key batch.Digest, past func(runID string) bool) (Answer, error) {
	if !key.Valid() {
		return Answer{}, fmt.Errorf("batch %q: a digest is wanted", string(key))
	}
	verdicts, err := m.take(ctx, []bid{{key: batchKey(key), past: past}})
	if err != nil {
		return Answer{}, err
	}
	return Answer{Won: verdicts[0].lease, Held: verdicts[0].held, Done: verdicts[0].done}, nil
}

// Refresh reads how all stands, for Peek. It may be called after Leave.
func (m *Member) Refresh(ctx context.Context) error {
	if err := m.read(ctx); err != nil {
		return m.trouble(err)
	}
	return nil
}

// Peek says how a repeat stands by what this member has read, and sends nothing. The
// Answer is empty where nobody is known to be in the way.
func (m *Member) Peek(w Want) Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := repeatKey(w.Cell, w.Slot)
	last, claimed := m.view.latest(k)
	e, ended := m.ended(k, last.generation)
	switch {
	case ended && e.word == endDone && (w.Past == nil || !w.Past(e.what)):
		return Answer{Done: e.what}
	case !claimed, ended, last.session == m.session:
		return Answer{}
	}
	h := m.view.holder(last)
	if over, _ := m.over(h); over {
		return Answer{}
	}
	return Answer{Held: &h}
}

// Others lists the launchers that are at work on the recipe beside this one, by name.
// It may be asked after Leave.
func (m *Member) Others(ctx context.Context) ([]string, error) {
	if err := m.Refresh(ctx); err != nil {
		return nil, err
	}
	now, err := m.book.now()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for session, b := range m.view.beats {
		gone := b.left || now.After(b.at) || m.opt.Gone != nil && m.opt.Gone(b.launcher)
		if session != m.session && !gone && !slices.Contains(out, b.launcher) {
			out = append(out, b.launcher)
		}
	}
	slices.Sort(out)
	return out, nil
}
