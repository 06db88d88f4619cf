package claim

import (
	"context"
	"strings"
)

// debt is an end that is to be written. To this member the generation has ended,
// even where writing it ended in an error: it may have arrived, or may still.
type debt struct {
	lease      *Lease
	word, what string
}

func (m *Member) owe(l *Lease, word, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed[l.String()] = debt{l, word, what}
}

// orphans are claims of this session that nobody here holds: their writing ended in
// an error, and was not tried again. They are given back. m.mu is held.
func (m *Member) orphans() {
	for k, all := range m.view.holds {
		h := all[len(all)-1]
		if _, ended := m.ended(k, h.generation); ended || h.session != m.session || m.held[k] != nil || m.busy[k] {
			continue
		}
		l := &Lease{member: m, key: k, hold: h}
		switch {
		case !strings.HasPrefix(string(k), kindBudget+"/"):
			m.owed[l.String()] = debt{l, endReleased, "nobody asked for it again after an error"}
		case h.generation == 1: // nothing was spent from it; of an estate that is not known
			m.owed[l.String()] = debt{l, endSpent, micro(0).String()}
		}
	}
}

// ended says how a generation ended, as far as this member is concerned. m.mu is held.
func (m *Member) ended(k key, generation int) (end, bool) {
	if e, ok := m.view.ends[k.at(generation)]; ok {
		return e, true
	}
	d, ok := m.owed[k.at(generation)]
	return end{word: d.word, what: d.what}, ok
}

// pay writes the ends that are owed.
func (m *Member) pay(ctx context.Context) error {
	m.mu.Lock()
	var all []debt
	for _, d := range m.owed {
		all = append(all, d)
	}
	m.mu.Unlock()
	for _, d := range all {
		if err := d.lease.write(ctx, d.word, d.what); err != nil {
			return err
		}
		m.mu.Lock()
		delete(m.owed, d.lease.String())
		m.mu.Unlock()
	}
	return nil
}
