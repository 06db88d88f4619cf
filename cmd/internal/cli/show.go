package cli

import (
	"context"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/page"
)

// pagePatience is how long the batch's page may keep a run waiting: it is for
// people, and the batch goes on without.
const pagePatience = 20 * time.Second

// showing is an observer that keeps the batch's page in MLflow too.
type showing struct {
	observer
	ctx    context.Context
	page   *page.Page
	failed func(error) // told of every failure
	edited func()      // told that the note is a person's
}

// show makes the experiment, with what is given to a new one, and the page of a plan.
func (a *App) show(ctx context.Context, l *ledger.Ledger, p *planner.Plan) (*showing, error) {
	tags, err := page.ExperimentTags(p.Doc.Benchmark, a.Now())
	if err != nil {
		return nil, err
	}
	if err := l.Create(ctx, tags...); err != nil {
		return nil, err
	}
	kept, err := page.New(l, p, p.Spec().Budget.CeilingUSD, a.Now)
	return &showing{observer: a.observe(), ctx: context.WithoutCancel(ctx), page: kept, failed: a.pageFailed, edited: a.noteEdited}, err
}

func (a *App) pageFailed(err error) {
	a.say("the batch's page in MLflow could not be written, and the batch goes on without: %s", cleanLine(err.Error()))
}

func (a *App) noteEdited() {
	a.say("the batch's note was edited in MLflow: it is left as it is")
}

func (s *showing) try(f func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(s.ctx, pagePatience)
	defer cancel()
	if err := f(ctx); err != nil {
		s.failed(err)
	}
}

func (s *showing) Begin(parent ledger.Parent, missing int) {
	s.observer.Begin(parent, missing)
	s.try(func(ctx context.Context) error { return s.page.Begin(ctx, parent) })
}

func (s *showing) Ended(slot planner.Slot, m evaluation.Measured) {
	s.observer.Ended(slot, m)
	s.try(s.page.Update)
}

// leave writes the page of a batch that stays open; see page.Leave.
func (s *showing) leave(draft *batch.Result) {
	s.try(func(ctx context.Context) error { return s.page.Leave(ctx, draft) })
	if s.page.Edited() {
		s.edited()
	}
}
