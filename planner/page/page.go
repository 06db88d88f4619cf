// Package page keeps what people see of a batch in the MLflow UI: the saved views of
// its recipe, and the note of its parent run while it is measured.
//
// Order of use: New for a plan; Begin when the parent run stands, Update whenever
// something has ended (it writes once a minute at most, and less often where reading a large batch takes long), Leave when the batch stays
// open. The note of a frozen batch is made by whoever has its verdict, from Links.
//
// A note that a person has edited is left alone from then on: Edited says so. Errors
// are of the server; none of them harms the batch.
package page

import (
	"context"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/note"
)

const (
	// Every is how often a running batch's note is rewritten at most.
	Every = time.Minute
	// share bounds what rewriting takes of the server: after a rewrite that took a second,
	// the next one waits for so many.
	share = 30
)

// Page is the page of one batch while it is measured. It may be used by many goroutines.
type Page struct {
	ledger  *ledger.Ledger
	links   views.Links // of the note
	plan    *planner.Plan
	ceiling *float64
	views   Views
	now     func() time.Time

	mu     sync.Mutex
	parent ledger.Parent // zero until Begin
	next   time.Time     // when the note may be written again
}

// New is the page of a plan. The ceiling is in USD; nil = none.
func New(l *ledger.Ledger, p *planner.Plan, ceiling *float64, now func() time.Time) (*Page, error) {
	recipe, brain := "", ""
	if len(p.Doc.Cells) > 0 { // both are those of all cells
		recipe, brain = p.Doc.Cells[0].Identity.Recipe.Short(), p.Doc.Cells[0].Identity.Brain.Short()
	}
	v, err := ViewsOf(p.Doc.Benchmark, p.Doc.Version, recipe, brain)
	return &Page{ledger: l, plan: p, ceiling: ceiling, views: v, now: now}, err
}

// Begin writes the views and the first note.
func (p *Page) Begin(ctx context.Context, parent ledger.Parent) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parent, p.next = parent, p.now().Add(Every)
	if err := SetViews(ctx, p.ledger, p.views, p.now()); err != nil {
		return err
	}
	var own []ledger.Entry // of a batch that is continued, as the plan found them
	for _, e := range append(append([]ledger.Entry(nil), p.plan.Valid...), p.plan.Ended...) {
		if e.Batch == parent.Info.RunID {
			own = append(own, e)
		}
	}
	return p.write(ctx, p.live(own, true))
}

// Update writes the note anew, from what MLflow holds, if that was not done
// lately.
func (p *Page) Update(ctx context.Context) error {
	if !p.mu.TryLock() {
		return nil // somebody is at it
	}
	defer p.mu.Unlock()
	if p.parent.Info.RunID == "" || p.now().Before(p.next) {
		return nil
	}
	return p.rewrite(ctx, func(own []ledger.Entry) note.Batch { return p.live(own, true) })
}

// Leave writes the note of a batch that stays open. The result is a draft of what it
// came to; nil = as MLflow shows it.
func (p *Page) Leave(ctx context.Context, draft *batch.Result) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parent.Info.RunID == "" {
		return nil
	}
	return p.rewrite(ctx, func(own []ledger.Entry) note.Batch {
		b := p.live(own, false)
		if draft != nil {
			b.Counts, b.Reasons = draft.Counts, Reasons(draft.Slots)
		}
		return b
	})
}

func (p *Page) rewrite(ctx context.Context, of func(own []ledger.Entry) note.Batch) error {
	began := p.now()
	defer func() { p.next = p.now().Add(max(Every, share*p.now().Sub(began))) }()
	parent, err := p.ledger.Refresh(ctx, p.parent)
	if err != nil {
		return err
	}
	if p.parent = parent; parent.Edited || parent.Frozen() { // frozen by another launcher, which writes the note
		return nil
	}
	own, err := p.ledger.Children(ctx, parent)
	if err != nil {
		return err
	}
	return p.write(ctx, of(own))
}

func (p *Page) write(ctx context.Context, b note.Batch) error {
	return p.ledger.WriteNote(ctx, &p.parent, note.Text(b), "")
}

// Edited says that the note is a person's, as of the last look.
func (p *Page) Edited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parent.Edited
}

// Links are those of a batch's note: more stand first, then the saved views.
func Links(l views.Links, v Views, experiment string, more ...note.Link) []note.Link {
	out := more
	for _, x := range []struct {
		label string
		view  views.View
	}{{"evaluations by score", v.Score}, {"cells, mean over repeats", v.Cells}, {"tasks side by side", v.Tasks}, {"failed and incomplete", v.Failed}, {"history", v.History}} {
		out = append(out, note.Link{Label: x.label, Address: l.View(experiment, x.view)})
	}
	return out
}
