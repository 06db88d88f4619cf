package claim

import (
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
)

// view is what was read of a ledger run. It only grows: parameters are written once,
// and an end is the last word on its generation. So readings may arrive in any order.
type view struct {
	ttl   time.Duration  // of a lease
	holds map[key][]hold // by generation, from 1, without gaps
	ends  map[string]end // by the generation's parameter
	beats map[string]beat
}

func newView(ttl time.Duration) *view {
	return &view{ttl: ttl, holds: map[key][]hold{}, ends: map[string]end{}, beats: map[string]beat{}}
}

// absorb adds what a reading of the run holds.
func (v *view) absorb(r mlflow.Run) {
	for _, p := range r.Data.Params {
		if k, generation, ok := parseKey(p.Key); ok {
			v.add(k, parseHold(generation, p.Value))
		}
	}
	for _, t := range r.Data.Tags {
		if name, ok := strings.CutPrefix(t.Key, endPrefix); ok {
			if e, ok := parseEnd(t.Value); ok {
				v.ends[name] = e
			}
		}
		if session, ok := strings.CutPrefix(t.Key, beatPrefix); ok {
			if b, ok := parseBeat(t.Value); ok {
				v.beat(session, b)
			}
		}
	}
}

// add puts a generation where it belongs: readings list them in any order.
func (v *view) add(k key, h hold) {
	all := v.holds[k]
	for len(all) < h.generation {
		all = append(all, hold{generation: len(all) + 1})
	}
	all[h.generation-1] = h
	v.holds[k] = all
}

// beat keeps the latest of a session's heartbeats.
func (v *view) beat(session string, b beat) {
	if old, ok := v.beats[session]; ok && v.order(old).After(v.order(b)) {
		return
	}
	v.beats[session] = b
}

// order is what tells heartbeats apart that are read in any order. Leaving comes after
// every heartbeat that was sent before it; one that was sent later is of a launcher that
// was dismissed, and lives.
func (v *view) order(b beat) time.Time {
	if b.left {
		return b.at.Add(v.ttl + 2*time.Second) // the server tells whole seconds
	}
	return b.at
}

// latest is the newest generation of a key; false where it was never claimed.
func (v *view) latest(k key) (hold, bool) {
	all := v.holds[k]
	if len(all) == 0 {
		return hold{}, false
	}
	return all[len(all)-1], true
}

// holder says who made a claim. Without a heartbeat the lease counts from the claim.
func (v *view) holder(h hold) Holder {
	b, ok := v.beats[h.session]
	if !ok {
		return Holder{Session: h.session, Since: h.since, Until: h.since.Add(DefaultTTL)}
	}
	return Holder{Launcher: b.launcher, Session: h.session, Since: h.since, Until: b.at}
}

// vigil is how long others have been seen overdue, by session.
type vigil map[string]overdue

type overdue struct {
	until time.Time // of the heartbeat that was seen
	since time.Time // when it was first seen overdue
	last  time.Time // when it was last seen so
}

// watch notes at a reading which sessions are overdue. A break in watching longer
// than a lease starts the vigil anew: the server may have been away meanwhile.
func (w vigil) watch(session string, until, now time.Time, ttl time.Duration) {
	if now.Before(until) {
		delete(w, session)
		return
	}
	o, seen := w[session]
	if !seen || !o.until.Equal(until) || now.Sub(o.last).Abs() > ttl {
		o = overdue{until: until, since: now, last: now}
	}
	if now.After(o.last) { // the server tells whole seconds: a later answer can seem earlier
		o.last = now
	}
	w[session] = o
}

// lapsed says whether a session was seen overdue, unchanged, for so long.
func (w vigil) lapsed(session string, until time.Time, grace time.Duration) bool {
	o, seen := w[session]
	return seen && o.until.Equal(until) && o.last.Sub(o.since) >= grace
}
