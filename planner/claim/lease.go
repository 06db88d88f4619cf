package claim

import (
	"context"
	"errors"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Lease is a claim that this member holds.
type Lease struct {
	// Before is who held it, even some generations before, and ended without saying how: it may
	// have logged a result before it died, so look before measuring again. nil = nobody did.
	Before *Holder

	member *Member
	key    key
	hold   hold
	gone   chan struct{}
	lost   error // set before gone is closed
}

// Generation counts the claims of this repeat or slot, from 1.
func (l *Lease) Generation() int { return l.hold.generation }

// String is the parameter of the claim, as on the ledger run.
func (l *Lease) String() string { return l.key.at(l.hold.generation) }

// Lost is closed when the claim was lost or its member left.
func (l *Lease) Lost() <-chan struct{} { return l.gone }

// Context ends when the claim is lost, with ErrLost as its cause. cancel must be called.
func (l *Lease) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-l.gone:
			cancel(l.lost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Confirm says whether the claim still stands: nil, or an error of kind ErrLost. It
// asks the server only where a heartbeat is overdue; where it can't, its error comes
// through, and nothing is known.
func (l *Lease) Confirm(ctx context.Context) error {
	if err := l.state(); err != nil {
		return err
	}
	err := l.member.confirm(ctx)
	if lost := l.state(); lost != nil {
		return lost
	}
	return err
}

// state is why the lease is lost, nil where it is not known to be.
func (l *Lease) state() error {
	select {
	case <-l.gone:
		return l.lost
	default:
		return nil
	}
}

// Done says that the repeat was measured and logged by a run. Nobody claims it again.
// It may be called again after an error. Who has lost the claim to somebody that found
// this very run and ended the claim with it gets no error.
func (l *Lease) Done(ctx context.Context, runID string) error {
	err := l.end(ctx, endDone, runID)
	if !errors.Is(err, ErrLost) {
		return err
	}
	if found, readErr := l.Found(ctx, runID); found || readErr != nil {
		return readErr
	}
	return err
}

// Found says of a claim that was lost whether who took it over found a run that had been
// logged under it, and ended the claim with it: then that run counts.
func (l *Lease) Found(ctx context.Context, runID string) (bool, error) {
	m := l.member
	switch err := m.read(ctx); {
	case errors.Is(err, mlflow.ErrNotFound): // the ledger run is gone for good
		return false, nil
	case err != nil:
		return false, m.trouble(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, _ := m.view.latest(l.key)
	e := m.view.ends[l.key.at(last.generation)]
	return e.word == endDone && e.what == runID, nil
}

// Release gives the repeat or slot back. The reason is for people: one line. After an
// error the next heartbeat does it.
func (l *Lease) Release(ctx context.Context, reason string) error {
	r := []rune(strings.Join(strings.Fields(reason), " "))
	what := string(r[:min(len(r), 500)])
	err := l.end(ctx, endReleased, what)
	if err != nil && l.state() == nil {
		l.member.owe(l, endReleased, what)
		l.drop()
	}
	return err
}

func (l *Lease) end(ctx context.Context, word, what string) error {
	if err := l.Confirm(ctx); err != nil {
		return err
	}
	if err := l.write(ctx, word, what); err != nil {
		return err
	}
	l.drop()
	return nil
}

// drop forgets that the lease is held.
func (l *Lease) drop() {
	l.member.mu.Lock()
	defer l.member.mu.Unlock()
	if l.member.held[l.key] == l {
		delete(l.member.held, l.key)
	}
}

// write puts the end on the ledger run.
func (l *Lease) write(ctx context.Context, word, what string) error {
	m := l.member
	now, err := m.book.now()
	if err != nil {
		return err
	}
	e := end{word: word, at: now.UTC(), what: what}
	if err := m.book.client.SetTag(ctx, m.book.runID, l.key.end(l.hold.generation), e.value()); err != nil {
		return m.trouble(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view.ends[l.key.at(l.hold.generation)] = e
	return nil
}
