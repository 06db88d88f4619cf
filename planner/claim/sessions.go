package claim

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Session is a launcher's stay at a ledger run, and what it holds there.
type Session struct {
	Ledger string // run id of the ledger run
	Title  string // its name
	Holder        // since the oldest of its claims
	// What it holds: repeats, slots of quotas and quotas as a whole, beginnings of
	// batches, and tranches of money with their sum in USD.
	Repeats, Slots, Batches, Tranches int
	USD                               float64

	taken micro
}

// Sessions says who holds something at some ledger runs, by ledger run and age, and
// changes nothing. Who has left holds nothing.
func Sessions(c *mlflow.Client, ledgers []mlflow.Run) ([]Session, error) {
	var out []Session
	for _, run := range ledgers {
		b := &Book{client: c, runID: run.Info.RunID}
		now, err := b.now()
		if err != nil {
			return nil, err
		}
		v := newView(DefaultTTL)
		v.absorb(run)
		of := map[string]*Session{}
		for k, all := range v.holds {
			last := all[len(all)-1]
			if _, ended := v.ends[k.at(last.generation)]; ended || last.session == "" || v.beats[last.session].left {
				continue
			}
			s := of[last.session]
			if s == nil {
				s = &Session{Ledger: b.runID, Title: run.Info.RunName, Holder: v.holder(last)}
				of[last.session] = s
			}
			if last.since.Before(s.Since) {
				s.Since = last.since
			}
			s.Lapsed = now.After(s.Until)
			s.add(k, last)
		}
		for _, s := range of {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Ledger, b.Ledger), a.Since.Compare(b.Since), cmp.Compare(a.Session, b.Session))
	})
	return out, nil
}

func (s *Session) add(k key, h hold) {
	switch kind, _, _ := strings.Cut(string(k), "/"); kind {
	case kindClaim:
		s.Repeats++
	case kindQuota:
		s.Slots++
	case kindBatch:
		s.Batches++
	case kindBudget:
		s.Tranches++
		s.taken += h.usd
		s.USD = s.taken.usd()
	}
}

// Dismiss ends the session of a launcher that is dead: others may take at once what it
// held, and inherit its money. One that lives after all learns with its next heartbeat
// what it has lost.
func Dismiss(ctx context.Context, c *mlflow.Client, s Session) error {
	b := &Book{client: c, runID: s.Ledger}
	now, err := b.now()
	if err != nil {
		return err
	}
	return c.SetTag(ctx, s.Ledger, beatPrefix+s.Session, beat{left: true, at: now, launcher: s.Launcher}.value())
}
