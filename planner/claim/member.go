package claim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/benchbatch/benchbatch/mlflow"
)

const (
	// DefaultTTL is how long a lease holds after its last heartbeat.
	DefaultTTL = time.Minute
	// MinTTL is the shortest lease: the server tells whole seconds.
	MinTTL = 3 * time.Second
)

// Options say who joins.
type Options struct {
	Launcher string        // who this is, as people read it and Gone is given it: host, process
	TTL      time.Duration // how long a lease holds after its last heartbeat; 0 = DefaultTTL, at least MinTTL; the same for all who meet

	// Gone, if not nil, says whether a launcher is known for sure to be dead, as a
	// process of this machine can be. It is not waited for.
	Gone func(launcher string) bool
}

// Member is a launcher at a ledger run. It is safe for use by many goroutines.
type Member struct {
	book    *Book
	opt     Options
	session string

	confirming sync.Mutex

	mu    sync.Mutex
	view  *view
	held  map[key]*Lease
	busy  map[key]bool // being claimed
	owed  map[string]debt
	vigil vigil
	sure  time.Time // till when nobody can have taken anything over; server's time
	awake time.Time // when that was found out; this machine's time
	left  bool
}

// Join enters a launcher and reads what the others hold: two calls.
func (b *Book) Join(ctx context.Context, o Options) (*Member, error) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.TTL < MinTTL {
		return nil, fmt.Errorf("a lease of %v is too short: at least %v", o.TTL, MinTTL)
	}
	if o.Launcher == "" || strings.ContainsAny(o.Launcher, "\n\r") || len(o.Launcher) > 250 {
		return nil, fmt.Errorf("launcher %.80q: one line of at most 250 bytes is wanted", o.Launcher)
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, err
	}
	m := &Member{
		book: b, opt: o, session: strings.ReplaceAll(id.String(), "-", "")[:16],
		view: newView(o.TTL), held: map[key]*Lease{}, busy: map[key]bool{}, owed: map[string]debt{}, vigil: vigil{},
	}
	return m, m.Beat(ctx)
}

var errLeft = fmt.Errorf("%w: this launcher has left the ledger run: join it again", ErrLost)

// Session names this membership in claims.
func (m *Member) Session() string { return m.session }

// Interval is how often Keep sends a heartbeat: three times a lease.
func (m *Member) Interval() time.Duration { return m.opt.TTL / 3 }

// grace is for how long somebody must have been seen overdue: more than an interval,
// in which whoever is alive renews his lease as soon as the server is there.
func (m *Member) grace() time.Duration { return m.opt.TTL / 2 }

// Beat renews the lease of everything this member holds, and learns what it lost: two calls.
func (m *Member) Beat(ctx context.Context) error {
	m.mu.Lock()
	left := m.left
	m.mu.Unlock()
	if left {
		return errLeft
	}
	now, err := m.book.now()
	if err != nil {
		return err
	}
	until := now.Add(m.opt.TTL)
	err = m.book.client.SetTag(ctx, m.book.runID, beatPrefix+m.session, beat{at: until, launcher: m.opt.Launcher}.value())
	if err == nil {
		err = m.read(ctx)
	}
	if err != nil {
		return m.trouble(err)
	}
	m.mu.Lock()
	if until.After(m.sure) {
		m.sure = until
	}
	m.awake = time.Now()
	m.orphans()
	m.mu.Unlock()
	return m.pay(ctx)
}

// confirm sends a heartbeat where the last one that succeeded is overdue.
func (m *Member) confirm(ctx context.Context) error {
	m.confirming.Lock() // one heartbeat does for all
	defer m.confirming.Unlock()
	now, err := m.book.now()
	if err != nil {
		return err
	}
	m.mu.Lock()
	// While a machine sleeps, the clock by which its leases are carried on may stand still; the other one makes it ask.
	slept := time.Now().Round(0).Sub(m.awake.Round(0)) > m.opt.TTL
	sure := now.Before(m.sure) && !slept
	m.mu.Unlock()
	if sure {
		return nil
	}
	return m.Beat(ctx)
}

// trouble makes errors of the ledger run clear. One that is gone for good took all claims along.
func (m *Member) trouble(err error) error {
	switch {
	case errors.Is(err, mlflow.ErrDeleted):
		return &Deleted{Run: m.book.runID, Of: m.book.of.title}
	case errors.Is(err, mlflow.ErrNotFound):
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, l := range m.held {
			m.lose(l, fmt.Errorf("%w: the ledger run %s is gone for good", ErrLost, m.book.runID))
		}
	}
	return fmt.Errorf("%s: %w", m.book.of.title, err)
}

// read reads the ledger run and takes note of all that follows.
func (m *Member) read(ctx context.Context) error {
	run, err := m.book.client.GetRun(ctx, m.book.runID)
	if err != nil {
		return err
	}
	if run.Info.LifecycleStage == mlflow.StageDeleted {
		return &Deleted{Run: m.book.runID, Of: m.book.of.title}
	}
	return m.absorb(run)
}

func (m *Member) absorb(run mlflow.Run) error {
	now, err := m.book.now()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view.absorb(run)
	seen := map[string]bool{}
	for k, all := range m.view.holds {
		h := all[len(all)-1]
		if l := m.held[k]; l != nil && h.generation > l.hold.generation {
			m.lose(l, fmt.Errorf("%w: generation %d of %s was taken over by %s", ErrLost, l.hold.generation, k, m.view.holder(h)))
		}
		if _, ended := m.view.ends[k.at(h.generation)]; !ended && !seen[h.session] {
			seen[h.session] = true
			m.vigil.watch(h.session, m.view.holder(h).Until, now, m.opt.TTL)
		}
	}
	return nil
}

// lose ends a lease for good. m.mu is held.
func (m *Member) lose(l *Lease, why error) {
	delete(m.held, l.key)
	l.lost = why
	close(l.gone)
}

// idle ends what made keys busy.
func (m *Member) idle(keys ...key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		delete(m.busy, k)
	}
}

// Keep sends heartbeats until the context ends. report is told of every one that
// fails; the next follows sooner.
func (m *Member) Keep(ctx context.Context, report func(error)) {
	wait := m.Interval()
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		limited, cancel := context.WithTimeout(ctx, m.opt.TTL)
		err := m.Beat(limited)
		cancel()
		wait = m.Interval()
		if err != nil && ctx.Err() == nil {
			report(err)
			wait /= 4
		}
	}
}

// Leave frees whatever this member still holds, for others to take at once.
func (m *Member) Leave(ctx context.Context) error {
	now, err := m.book.now()
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.left = true
	for _, l := range m.held {
		m.lose(l, fmt.Errorf("%w: this launcher has left", ErrLost))
	}
	m.mu.Unlock()
	return m.book.client.SetTag(ctx, m.book.runID, beatPrefix+m.session, beat{left: true, at: now, launcher: m.opt.Launcher}.value())
}
