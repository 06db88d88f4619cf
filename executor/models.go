package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Preflight asks a model once, in the way of p, whether it answers.
type Preflight func(ctx context.Context, m spec.Model, p *spec.Preflight) error

// route is one way in which some agents call a model.
type route struct {
	model  spec.Model
	how    *spec.Preflight
	agents []string
	slots  int
	all    bool // every agent of the queue calls the model like this
	err    error
}

// name is what people read: the agents only where others call the model otherwise.
func (r *route) name() string {
	if r.all {
		return r.model.ID
	}
	return fmt.Sprintf("%s (%s)", r.model.ID, strings.Join(r.agents, ", "))
}

// only lists the agents where others call the model otherwise; nil = all.
func (r *route) only() []string {
	if r.all {
		return nil
	}
	return r.agents
}

// routes lists the ways in which the queue's models are called, in the order of the spec.
func routes(s *spec.Spec, queue []planner.Slot) []*route {
	slots := map[batch.Variant]int{}
	for _, q := range queue {
		slots[q.Cell.Variant]++
	}
	var out []*route
	for _, m := range s.Models {
		byHow := map[string]*route{}
		var ofModel []*route
		for _, a := range s.Agents {
			n := slots[batch.Variant{Agent: a.ID, Model: m.ID}]
			how := s.PreflightFor(a, m)
			if n == 0 || how == nil {
				continue
			}
			key := fmt.Sprintf("%+v", *how)
			if byHow[key] == nil {
				byHow[key] = &route{model: m, how: how}
				ofModel = append(ofModel, byHow[key])
			}
			byHow[key].agents = append(byHow[key].agents, a.ID)
			byHow[key].slots += n
		}
		for _, r := range ofModel {
			r.all = len(ofModel) == 1
		}
		out = append(out, ofModel...)
	}
	return out
}

// preflight asks every model of the queue once, in each way in which it is called,
// and takes the cells of the silent ones out.
func (r *runner) preflight(ctx context.Context, queue []planner.Slot) ([]planner.Slot, error) {
	if r.Preflight == nil {
		return queue, nil
	}
	all := routes(r.Resolved.Spec, queue)
	if err := r.ask(ctx, all); err != nil {
		return nil, err
	}
	var silent error
	reasons := map[batch.Variant]error{}
	for _, c := range all {
		if c.err == nil {
			continue
		}
		silent = errors.Join(silent, fmt.Errorf("model %s does not answer: %w", c.name(), c.err))
		r.Observer.Skipped(c.name(), c.err.Error(), c.slots)
		r.leave(c.model.ID, c.only(), batch.SlotSkipped, c.err.Error())
		for _, a := range c.agents {
			reasons[batch.Variant{Agent: a, Model: c.model.ID}] = c.err
		}
	}
	if silent != nil && r.AllModels {
		return nil, silent
	}
	return slices.DeleteFunc(slices.Clone(queue), func(s planner.Slot) bool {
		err := reasons[s.Cell.Variant]
		if err != nil {
			r.fates[keyOf(s)] = planner.Fate{State: batch.SlotSkipped, Reason: err.Error()}
		}
		return err != nil
	}), nil
}

// ask makes the calls of some routes at once and notes their errors.
func (r *runner) ask(ctx context.Context, all []*route) error {
	var g errgroup.Group
	for _, c := range all {
		g.Go(func() error {
			c.err = r.Preflight(ctx, c.model, c.how)
			return nil
		})
	}
	return errors.Join(g.Wait(), ctx.Err())
}
