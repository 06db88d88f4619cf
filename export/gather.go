package export

import (
	"errors"
	"slices"

	"github.com/benchbatch/benchbatch/export/stats"
)

// Gathering gives the statistics of more than one batch what they need of this one:
// the same numbers that its own verdict rests on.
type Gathering struct{ x *deciding }

// Gather begins to gather. The error says why the batch's rule can't be applied.
func Gather(f *Frozen) (*Gathering, error) {
	x := newDeciding(f)
	if x.v.Refused != "" {
		return nil, errors.New(x.v.Refused)
	}
	x.filling = nil
	return &Gathering{x}, nil
}

// Metric is what the rule compares: score, passed or judge/ID.
func (g *Gathering) Metric() string { return g.x.v.Metric }

// Batch is the batch without cells: variants in the plan's order with their runs in
// the result's, tasks in the panel's.
func (g *Gathering) Batch() stats.Batch { return g.x.batch }

// Place is where an evaluation stands in Batch, by run id.
func (g *Gathering) Place(run string) (variant, index int) {
	at := g.x.at[run]
	return at[0], at[1]
}

// Cells is what an evaluation is worth, a cell a task of the panel, good until the
// next call. Votes name judges by their place in Judges.
func (g *Gathering) Cells(e *Evidence) []stats.Cell {
	g.x.fill(e)
	return g.x.cells
}

// Judges are those that were declared or have voted so far.
func (g *Gathering) Judges() []stats.Judge { return slices.Clone(g.x.judges) }
