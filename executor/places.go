package executor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// holding is what this launcher holds of one quota among launchers: places, one for
// each evaluation and more where its tokens need them, and an exclusive quota as a whole.
type holding struct {
	quota spec.Quota

	taking sync.Mutex // the quota as a whole, by one worker at a time

	mu     sync.Mutex
	places int         // held, those that are idle included
	idle   []idlePlace // the oldest first
	users  int         // evaluations at work whose tokens a minute are known
	rate   float64     // their tokens a minute
	whole  idlePlace   // without a lease: another launcher has it, or nobody
	inside int         // evaluations at work in it
	told   bool        // that others use it up
}

// idlePlace is a place that is kept.
type idlePlace struct {
	lease *claim.Lease
	since time.Time // when it was used last
}

// quotaPlace is one of a quota's places.
type quotaPlace struct {
	of    *holding
	lease *claim.Lease
}

// inUse is what an evaluation uses of a quota beside a place.
type inUse struct {
	of    *holding
	whole bool
	rate  *float64 // tokens a minute that are counted; nil = none are
}

// holds is this launcher's part in a quota.
func (sh *shared) holds(name string, q spec.Quota) *holding {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.quota[name] == nil {
		sh.quota[name] = &holding{quota: q}
	}
	return sh.quota[name]
}

// takePlaces takes what a turn needs of its quotas. Short is one that others use up.
func (r *runner) takePlaces(ctx context.Context, t *turn, h *hand) (short string, err error) {
	for _, q := range r.sc.queue.of[t.Cell.Model] {
		of := r.shared.holds(q.name, q.Quota)
		err := r.patiently(ctx, func() error { return r.enter(ctx, q.name, of, h) })
		if err == nil && q.AtOnce > 0 {
			err = r.patiently(ctx, func() error { return r.takePlace(ctx, q.name, of, h) })
		}
		if err == nil && q.AtOnce > 0 && q.TokensPerMinute > 0 && t.rate != nil {
			err = r.patiently(ctx, func() error { return r.takeShare(ctx, q.name, of, *t.rate, h) })
		}
		var full *claim.Full
		if errors.As(err, &full) {
			r.sayFull(of, full)
			return q.name, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// sayFull tells who has a quota that this launcher waits for.
func (r *runner) sayFull(of *holding, full *claim.Full) {
	var others []string
	for _, h := range full.Holders {
		if name := cmp.Or(h.Launcher, "another launcher"); !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	of.mu.Lock()
	tell := !of.told && of.places == 0 && of.whole.lease == nil
	of.told = of.told || tell
	of.mu.Unlock()
	if tell {
		r.Observer.Full(full.Quota, others)
	}
}

// enter takes an exclusive quota as a whole, unless this launcher has it: its engine
// holds one model, and one launcher says which.
func (r *runner) enter(ctx context.Context, name string, of *holding, h *hand) error {
	if !of.quota.Exclusive {
		return nil
	}
	of.taking.Lock()
	defer of.taking.Unlock()
	of.mu.Lock()
	l := of.whole.lease
	of.inside++ // from here on nobody gives it back
	of.mu.Unlock()
	use := inUse{of: of, whole: true}
	var err error
	if l != nil {
		err = l.Confirm(ctx)
	}
	if l == nil || errors.Is(err, claim.ErrLost) {
		l, err = r.shared.quotas.Whole(ctx, name)
	}
	if err != nil {
		use.end()
		return err
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	of.whole.lease = l
	h.uses = append(h.uses, use)
	return nil
}

// takePlace takes a place that this launcher keeps, or another one.
func (r *runner) takePlace(ctx context.Context, name string, of *holding, h *hand) error {
	l := of.pop()
	for l != nil {
		err := l.Confirm(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, claim.ErrLost) {
			of.push(l)
			return err
		}
		of.lost()
		l = of.pop()
	}
	if l == nil {
		var err error
		if l, err = r.newPlace(ctx, name, of); err != nil {
			return err
		}
	}
	h.places = append(h.places, quotaPlace{of, l})
	return nil
}

func (r *runner) newPlace(ctx context.Context, name string, of *holding) (*claim.Lease, error) {
	l, err := r.shared.quotas.Slot(ctx, name, of.quota.AtOnce)
	if err == nil {
		of.mu.Lock()
		of.places++
		of.mu.Unlock()
	}
	return l, err
}

// takeShare counts the tokens of an evaluation against those of the places that this
// launcher holds, and takes more places where they do not suffice.
func (r *runner) takeShare(ctx context.Context, name string, of *holding, rate float64, h *hand) error {
	for !of.use(rate) {
		l, err := r.newPlace(ctx, name, of)
		if err != nil {
			return err
		}
		of.push(l)
	}
	h.uses = append(h.uses, inUse{of: of, rate: &rate})
	return nil
}

// use counts tokens a minute if the places that are held suffice for them. One
// evaluation always may run.
func (of *holding) use(rate float64) bool {
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.users > 0 && !of.suffice(of.places, of.rate+rate) {
		return false
	}
	of.users++
	of.rate += rate
	return true
}

// suffice says whether so many places carry so many tokens a minute. of.mu is held.
func (of *holding) suffice(places int, rate float64) bool {
	return rate <= float64(of.quota.TokensPerMinute)*float64(places)/float64(of.quota.AtOnce)*(1+1e-9)
}

func (of *holding) pop() *claim.Lease {
	of.mu.Lock()
	defer of.mu.Unlock()
	if len(of.idle) == 0 {
		return nil
	}
	last := len(of.idle) - 1
	l := of.idle[last].lease
	of.idle = of.idle[:last]
	return l
}

func (of *holding) push(l *claim.Lease) {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.idle = append(of.idle, idlePlace{l, time.Now()})
}

func (of *holding) lost() {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.places--
}

// end takes back what an evaluation used.
func (u inUse) end() {
	of := u.of
	of.mu.Lock()
	defer of.mu.Unlock()
	if u.whole {
		of.inside--
		of.whole.since = time.Now()
		return
	}
	of.users--
	if of.rate -= *u.rate; of.users == 0 {
		of.rate = 0 // no rounding is carried on
	}
}

// spare takes something out that was idle since before a time and that what runs does
// not need; nil = there is nothing.
func (of *holding) spare(before time.Time) *claim.Lease {
	of.mu.Lock()
	defer of.mu.Unlock()
	if l := of.whole.lease; l != nil && of.inside == 0 && !of.whole.since.After(before) {
		of.whole.lease = nil
		return l
	}
	switch {
	case len(of.idle) == 0, of.idle[0].since.After(before), of.users > 1 && !of.suffice(of.places-1, of.rate):
		return nil
	}
	l := of.idle[0].lease
	of.idle = slices.Delete(of.idle, 0, 1)
	of.places--
	return l
}

// yield gives back what was idle since before a time, which before says for each
// quota. What can't be told now is told with the next heartbeat.
func (sh *shared) yield(ctx context.Context, before func(quota string) time.Time) {
	sh.mu.Lock()
	all := make(map[string]*holding, len(sh.quota))
	for name, of := range sh.quota {
		all[name] = of
	}
	sh.mu.Unlock()
	for name, of := range all {
		at := before(name)
		for l := of.spare(at); l != nil; l = of.spare(at) {
			_ = l.Release(ctx, "no work for it")
		}
	}
}

// putDown gives places and money back. Places that are still needed here are kept,
// unless the turn waits for others, who may wait for these.
func (r *runner) putDown(ctx context.Context, h *hand, waits bool) {
	if h.money != nil {
		var nothing float64
		_ = h.money.Settle(&nothing)
	}
	for _, p := range h.places {
		p.of.push(p.lease)
	}
	for _, u := range h.uses {
		u.end()
	}
	now := time.Now()
	r.shared.yield(ctx, func(quota string) time.Time {
		if !waits && r.sc.needs(quota) {
			return time.Time{}
		}
		return now
	})
}

// tidyPlaces gives back what this launcher has no work for, or has not used for a
// while because its workers are busy with something else.
func (r *runner) tidyPlaces(ctx context.Context) {
	now := time.Now()
	r.shared.yield(ctx, func(quota string) time.Time {
		if !r.sc.needs(quota) {
			return now
		}
		return now.Add(-max(r.look(), 2*r.Resolved.Spec.Quotas[quota].Spacing))
	})
}
