package executor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// budget keeps a batch below its ceiling: the dearest known cost of the cell (else
// of the model) is reserved before a start and settled after. With nothing known,
// one evaluation of the model runs to learn its cost, and no other model learns
// meanwhile; the ceiling can be passed by at most that one. Costs are those of
// runner and judges with the worst case for what is unknown (see bill). It is not
// safe for concurrent use.
type budget struct {
	ceiling  float64 // USD, of the batch
	bound    string  // what sets it: budget.ceiling_usd or --max-cost
	spent    float64 // USD, of this batch, failed evaluations included
	reserved float64
	byCell   map[batch.Digest]float64 // dearest known
	byModel  map[string]float64
	dearest  float64 // known of any model
	learning bool    // a model's first cost is awaited
	unknown  string  // variant whose cost stayed unknown; "" = none
	waits    bool    // what is reserved leaves nothing for now: see queue.block
	over     bool    // nobody else has reserved anything that may be given back
}

// newBudget keeps the batch below its ceiling, and this run below a bound of its
// own; it is nil where there is neither. Both are in USD.
func newBudget(ceiling, ofRun *float64, p *planner.Plan, parent string) *budget {
	if ceiling == nil && ofRun == nil {
		return nil
	}
	b := &budget{byCell: map[batch.Digest]float64{}, byModel: map[string]float64{}}
	modelOf := map[batch.Digest]string{}
	for _, c := range p.Doc.Cells {
		modelOf[c.Identity.Cell] = c.Model
	}
	all := slices.Concat(p.Valid, p.Ended)
	for _, e := range all {
		if m, ok := modelOf[e.Identity.Cell]; ok && e.WorstUSD != nil && !cutShort(e.State) {
			b.learn(e.Identity.Cell, m, *e.WorstUSD)
		}
	}
	failed := map[string]int{} // by model, at a cost that nobody told
	for _, e := range all {
		model := modelOf[e.Identity.Cell]
		switch {
		case e.Batch != parent:
		case e.WorstUSD != nil:
			b.spent += *e.WorstUSD
		default: // cut short, or not told: the worst case
			worst := cmp.Or(b.byCell[e.Identity.Cell], b.byModel[model])
			b.spent += worst
			if worst == 0 && e.State == batch.StateIncomplete {
				failed[model]++
			}
			if worst == 0 && (e.State.Counts() || failed[model] == blindTries) {
				b.unknown = batch.Variant{Agent: e.Agent, Model: e.Model}.String()
			}
		}
	}
	if ceiling != nil {
		b.ceiling, b.bound = *ceiling, "budget.ceiling_usd"
	}
	if ofRun != nil && (ceiling == nil || b.spent+*ofRun < *ceiling) {
		b.ceiling, b.bound = b.spent+*ofRun, "--max-cost"
	}
	return b
}

// blindTries is how many evaluations of a model may fail and tell no cost, one a run and
// launcher, before a batch with a ceiling starts no more. One failure does not say that its
// runner never tells.
const blindTries = 3

// cutShort says of an evaluation that its cost may be a part of what a whole one costs.
func cutShort(s batch.EvaluationState) bool {
	return s == batch.StateInterrupted || s == batch.StateSuperseded
}

func (b *budget) learn(cell batch.Digest, model string, usd float64) {
	b.byCell[cell] = max(b.byCell[cell], usd)
	b.byModel[model] = max(b.byModel[model], usd)
	b.dearest = max(b.dearest, usd)
}

// learnFrom learns what evaluations have cost that have ended.
func (b *budget) learnFrom(all []ledger.Entry) {
	for _, e := range all {
		if e.WorstUSD != nil && !e.Live() && !cutShort(e.State) {
			b.learn(e.Identity.Cell, e.Model, *e.WorstUSD)
		}
	}
}

// price is what a start would reserve; false = nothing is known of the model, and
// the dearest of the others stands in.
func (b *budget) price(c batch.Cell) (float64, bool) {
	if v, ok := b.byCell[c.Identity.Cell]; ok {
		return v, true
	}
	if v, ok := b.byModel[c.Model]; ok {
		return v, true
	}
	return b.dearest, false
}

// admits says whether an evaluation of a cell may start now.
func (b *budget) admits(c batch.Cell) bool {
	if b == nil {
		return true
	}
	if b.unknown != "" || b.waits {
		return false
	}
	price, known := b.price(c)
	if !known && (b.learning || b.spent+b.reserved >= b.ceiling) {
		return false
	}
	return b.spent+b.reserved+price <= b.ceiling+1e-9
}

// booked is what a start has reserved.
type booked struct {
	budget *budget // nil = there is none
	cell   batch.Cell
	price  float64
	known  bool
	cut    bool // it was cut short: its cost is no price
}

// reserve books a start.
func (b *budget) reserve(c batch.Cell) booked {
	if b == nil {
		return booked{}
	}
	price, known := b.price(c)
	b.reserved += price
	if !known {
		b.learning = true
	}
	return booked{budget: b, cell: c, price: price, known: known}
}

// settle says what it cost in USD; nil = unknown.
func (r booked) settle(cost *float64) {
	b := r.budget
	if b == nil {
		return
	}
	r.cancel()
	switch {
	case cost != nil:
		b.spent += *cost
		if !r.cut {
			b.learn(r.cell.Identity.Cell, r.cell.Model, *cost)
		}
	case r.known:
		b.spent += r.price // the stated worst case
	default:
		b.unknown = r.cell.Variant.String()
	}
}

// cancel takes a start back that was none.
func (r booked) cancel() {
	if r.budget == nil {
		return
	}
	r.budget.reserved -= r.price
	if !r.known {
		r.budget.learning = false
	}
}

// credit takes back what was booked of an evaluation before, and is part of its bill.
func (b *budget) credit(usd float64) {
	if b != nil {
		b.spent -= usd
	}
}

// why says why nothing more may start.
func (b *budget) why(left int) string {
	if b.unknown != "" {
		return fmt.Sprintf("budget: the cost of %s is unknown, so the ceiling of $%.2f can't be kept; let the runner (and each model judge) report cost_usd, or remove %s; if it failed, the next run tries it again, until %d have", b.unknown, b.ceiling, b.bound, blindTries)
	}
	return fmt.Sprintf("budget: $%.4f of $%.2f are spent, and the next evaluation could pass the ceiling; %d are left: raise %s and run again", b.spent, b.ceiling, left, b.bound)
}

// costOf is what one launcher's evaluations among those of a batch cost, in USD: the worst
// case and, where nothing was told, the dearest known of the cell or the model.
func costOf(p *planner.Plan, all []ledger.Entry, launcher string) float64 {
	var ceiling float64
	b := newBudget(&ceiling, nil, p, "") // for its prices
	b.learnFrom(all)
	sum := 0.0
	for _, e := range all {
		switch {
		case e.Launcher != launcher:
		case e.WorstUSD != nil:
			sum += *e.WorstUSD
		default:
			sum += cmp.Or(b.byCell[e.Identity.Cell], b.byModel[e.Model])
		}
	}
	return sum
}
