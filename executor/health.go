package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// GiveUpAfter is how many evaluations of a model must fail at its provider in a row
// until the model is asked anew, and its remaining slots are put back if it does
// not answer. A model that answers gets as many again, once.
const GiveUpAfter = 3

// health counts failures in a row, by model. The runner's lock guards it.
type health struct {
	row    map[string]int
	asked  map[string]bool // answered a preflight after a series, and has measured nothing since
	gaveUp []string
}

func newHealth() *health { return &health{row: map[string]int{}, asked: map[string]bool{}} }

// note takes in how an evaluation ended and says whether a series is full.
func (h *health) note(model string, m evaluation.Measured) bool {
	switch {
	case m.State == batch.StateInterrupted, m.State == batch.StateSuperseded:
		return false
	case !providerFailed(m):
		h.row[model], h.asked[model] = 0, false
		return false
	}
	h.row[model]++
	return h.row[model] == GiveUpAfter
}

// providerFailed says that an evaluation does not count, mostly because of the
// model's provider.
func providerFailed(m evaluation.Measured) bool {
	if m.State.Counts() {
		return false
	}
	provider, missing := 0, 0
	for _, o := range m.Outcomes {
		if o.Score == nil {
			missing++
			if o.State == outcome.Provider {
				provider++
			}
		}
	}
	return 2*provider > missing
}

// watchProvider gives a model up whose provider has died: what runs is finished, and
// the slots that are left are not started.
func (r *runner) watchProvider(ctx context.Context, s planner.Slot, m evaluation.Measured) {
	model := s.Cell.Model
	r.mu.Lock()
	full := r.health.note(model, m)
	asked := r.health.asked[model]
	r.mu.Unlock()
	if !full {
		return
	}
	r.sc.hold(model, true)
	defer r.sc.hold(model, false)
	why := fmt.Sprintf("%d evaluations in a row failed at its provider, the last with %s", GiveUpAfter, oneLine(m.Reason))
	if answers, err := r.askAnew(ctx, s); answers && !asked {
		r.mu.Lock()
		r.health.row[model], r.health.asked[model] = 0, true
		r.mu.Unlock()
		r.Observer.Recovered(model)
		return
	} else if err != nil {
		why += "; asked anew: " + err.Error()
	}
	if ctx.Err() == nil {
		r.putBack(ctx, model, why)
	}
}

// askAnew makes the preflights of a slot's model once more. It does not answer
// where there is nothing to ask.
func (r *runner) askAnew(ctx context.Context, s planner.Slot) (answers bool, err error) {
	if r.Preflight == nil {
		return false, nil
	}
	all := slices.DeleteFunc(routes(r.Resolved.Spec, []planner.Slot{s}), func(c *route) bool { return c.model.ID != s.Cell.Model })
	err = r.ask(ctx, all)
	for _, c := range all {
		err = errors.Join(err, c.err)
	}
	return len(all) > 0 && err == nil, err
}

// putBack takes a model's slots out of the queue: a later run measures them.
func (r *runner) putBack(ctx context.Context, model, why string) {
	slots := r.sc.drop(model)
	r.mu.Lock()
	for _, s := range slots {
		r.fates[keyOf(s)] = planner.Fate{State: batch.SlotNotStarted, Reason: why}
	}
	r.health.gaveUp = append(r.health.gaveUp, fmt.Sprintf("model %s: %s; %d of its evaluations were put back", model, why, len(slots)))
	r.mu.Unlock()
	r.leave(model, nil, batch.SlotNotStarted, why)
	r.Observer.PutBack(model, why, len(slots))
	r.publish(ctx)
}
