package claim

import (
	"context"
	"errors"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
)

// bid is a key that is wanted.
type bid struct {
	key   key
	past  func(string) bool // see Want.Past
	usd   micro             // of a tranche
	first bool              // only as its first generation
}

// verdict is what came of a bid: exactly one field is set.
type verdict struct {
	lease *Lease
	held  *Holder
	done  string // run
}

func (v verdict) decided() bool { return v.lease != nil || v.held != nil || v.done != "" }

// free is a bid that nothing known stands against, with the lease that it would be.
type free struct {
	bid   int
	lease *Lease
}

// take claims what is free of the bids, in as few calls as that takes: one where the
// member knows of no obstacle and nobody was faster. Every refusal shows the ledger
// run as it stands, and decides at least one bid.
func (m *Member) take(ctx context.Context, bids []bid) ([]verdict, error) {
	if err := m.confirm(ctx); err != nil { // else what it claims could be taken over at once
		return nil, err
	}
	verdicts := make([]verdict, len(bids))
	busy := m.begin(bids, verdicts)
	defer m.idle(busy...)
	for fresh := false; ; fresh = true {
		open, stale, err := m.judge(bids, verdicts, fresh)
		switch {
		case err != nil:
			return nil, err
		case stale: // a heartbeat may have come since: look before robbing anyone
			if err := m.read(ctx); err != nil {
				return nil, m.trouble(err)
			}
			continue
		case len(open) == 0:
			return verdicts, nil
		}
		var params []mlflow.Param
		for _, f := range open {
			params = append(params, mlflow.Param{Key: f.lease.String(), Value: f.lease.hold.value()})
		}
		err = m.book.client.LogBatch(ctx, m.book.runID, mlflow.Batch{Params: params})
		if err == nil {
			m.win(open, verdicts)
			return verdicts, nil
		}
		var taken *mlflow.ParamTaken
		if !errors.As(err, &taken) {
			return nil, m.trouble(err)
		}
		if err := m.absorb(taken.Run); err != nil {
			return nil, err
		}
	}
}

// begin marks the keys as being claimed. One that this member claims or holds already is held.
func (m *Member) begin(bids []bid, verdicts []verdict) (busy []key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range bids {
		l := m.held[b.key]
		if l == nil && !m.busy[b.key] {
			m.busy[b.key] = true
			busy = append(busy, b.key)
			continue
		}
		h := Holder{Launcher: m.opt.Launcher, Session: m.session, Until: m.sure}
		if l != nil {
			h.Since = l.hold.since
		}
		verdicts[i].held = &h
	}
	return busy
}

// judge decides what can be decided without writing, and returns the bids that are
// free. stale asks for a reading first: somebody's claim is overdue.
func (m *Member) judge(bids []bid, verdicts []verdict, fresh bool) (open []free, stale bool, err error) {
	now, err := m.book.now()
	if err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left {
		return nil, false, errLeft
	}
	for i, b := range bids {
		if verdicts[i].decided() {
			continue
		}
		last, claimed := m.view.latest(b.key)
		e, ended := m.ended(b.key, last.generation)
		l := &Lease{member: m, key: b.key, gone: make(chan struct{})}
		switch {
		case !claimed:
		case b.first && last.session != m.session, ended && e.word == endSpent:
			holder := m.view.holder(last)
			verdicts[i].held = &holder
			continue
		case ended && e.word == endDone && (b.past == nil || !b.past(e.what)):
			verdicts[i].done = e.what
			continue
		case ended:
		case last.session == m.session: // won by an attempt whose answer was lost
			l.hold, l.Before = last, m.unsaid(b.key, last.generation)
			m.held[b.key], verdicts[i].lease = l, l
			continue
		default:
			holder := m.view.holder(last)
			over, sure := m.over(holder)
			if !over {
				holder.Lapsed = now.After(holder.Until)
				verdicts[i].held = &holder
				continue
			}
			stale = stale || !sure && !fresh
		}
		l.Before = m.unsaid(b.key, last.generation+1)
		l.hold = hold{generation: last.generation + 1, session: m.session, since: now.UTC().Truncate(time.Millisecond), usd: b.usd}
		open = append(open, free{i, l})
	}
	return open, stale, nil
}

// unsaid is who held a key last before a generation and ended without saying how; nil =
// nobody. Who gave it back since may have done so without a look. m.mu is held.
func (m *Member) unsaid(k key, generation int) *Holder {
	all := m.view.holds[k]
	for i := min(generation-1, len(all)) - 1; i >= 0; i-- {
		if _, said := m.ended(k, all[i].generation); !said {
			h := m.view.holder(all[i])
			return &h
		}
	}
	return nil
}

// over says whether a holder's claim can be taken over, and whether that is sure, or
// judged by what was read last. m.mu is held.
func (m *Member) over(h Holder) (over, sure bool) {
	switch {
	case m.opt.Gone != nil && h.Launcher != "" && m.opt.Gone(h.Launcher):
		return true, true
	case m.view.beats[h.Session].left: // or was dismissed, and may be back
		return true, false
	}
	return m.vigil.lapsed(h.Session, h.Until, m.grace()), false
}

// win enters what was claimed.
func (m *Member) win(won []free, verdicts []verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range won {
		verdicts[f.bid].lease = f.lease
		m.held[f.lease.key] = f.lease
		m.view.add(f.lease.key, f.lease.hold)
	}
}
