package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// merged is the measurements of both batches as one: for each variant in both, A's
// half and B's.
type merged struct {
	*plan
	filling *stats.Filling
	judges  []stats.Judge
	columns []column // 2i is A's half of variant i, 2i+1 is B's
	left    [3]int   // outcomes that each reading leaves out
	dropped [2]map[mark]bool
	skip    bool // anchors that were withdrawn are left out
}

// mark names a cell, or with task -1 a whole run.
type mark struct{ column, run, task int }

// What readings leave out, in order.
var readings = []string{export.WithoutWithdrawn, export.WithoutSelection, export.WithoutFlagged}

// reader is one side being read into the merged data.
type reader struct {
	m     *merged
	side  int // 0 = A
	f     *export.Frozen
	g     *export.Gathering
	at    map[string]mark // run id → column and run
	place map[string]stats.Place
	task  []int       // of the merged panel → of this panel
	back  map[int]int // the other way round
}

func (p *plan) read(ctx context.Context) (*merged, error) {
	m := &merged{plan: p, columns: make([]column, 2*len(p.both)), dropped: [2]map[mark]bool{{}, {}}}
	for i := range m.columns {
		m.columns[i] = column{values: make([][]float64, len(p.tasks)), second: make([][]float64, len(p.tasks))}
	}
	p.share()
	var readers []*reader
	all := stats.Batch{Digest: string(p.c.A.Result) + string(p.c.B.Result), Variants: make([]stats.Variant, 2*len(p.both))}
	for side, s := range []Side{p.a, p.b} {
		g, err := export.Gather(s.Frozen)
		if err != nil {
			return nil, &DecisionError{s.Frozen.Result.Name, err}
		}
		readers = append(readers, m.reader(side, s.Frozen, g, &all))
	}
	all.Metric, all.PassThreshold, all.Judges = readers[1].g.Batch().Metric, readers[1].g.Batch().PassThreshold, slices.Clone(m.judges)
	for _, t := range p.tasks {
		all.Tasks = append(all.Tasks, stats.Task{ID: t.ID, Family: t.Family})
	}
	m.timed(&all)
	var err error
	if m.filling, err = stats.Begin(all); err != nil {
		return nil, err
	}
	for i, s := range []Side{p.a, p.b} {
		if err := s.Each(ctx, readers[i].add); err != nil {
			return nil, err
		}
	}
	m.describe()
	return m, nil
}

// share finds the runs that both count, and says on which side each one stands.
func (p *plan) share() {
	counted := map[string]*batch.Evaluation{}
	for i := range p.a.Frozen.Result.Evaluations {
		if e := &p.a.Frozen.Result.Evaluations[i]; e.Counted {
			counted[e.RunID], counted[e.Evaluation] = e, e
		}
	}
	for i := range p.b.Frozen.Result.Evaluations {
		e := &p.b.Frozen.Result.Evaluations[i]
		if !e.Counted {
			continue
		}
		old := counted[e.RunID]
		if old == nil && e.Evaluation != "" {
			old = counted[e.Evaluation]
		}
		if old != nil {
			p.c.Shared = append(p.c.Shared, Shared{Variant: e.Variant, Evaluation: e.Evaluation, RunID: e.RunID, OnA: !old.Reused || e.Reused})
		}
	}
}

// leave says which runs of a side stand on the other one.
func (p *plan) leave(side int) map[string]bool {
	out := map[string]bool{}
	for _, s := range p.c.Shared {
		if s.OnA == (side == 1) {
			out[s.RunID], out[s.Evaluation] = true, true
		}
	}
	delete(out, "")
	return out
}

// reader prepares one side: its runs get places in all.
func (m *merged) reader(side int, f *export.Frozen, g *export.Gathering, all *stats.Batch) *reader {
	r := &reader{m: m, side: side, f: f, g: g, at: map[string]mark{}, place: map[string]stats.Place{}, back: map[int]int{}}
	b := g.Batch()
	place := map[string]int{}
	for i, v := range m.both {
		place[v.String()] = 2*i + side
	}
	for i := range b.Variants {
		v := &b.Variants[i]
		if c, ok := place[v.ID]; ok {
			all.Variants[c].ID, all.Variants[c].Family = v.ID+[]string{" in A", " in B"}[side], v.Family
		}
	}
	leave := m.leave(side)
	for i := range f.Result.Evaluations {
		e := &f.Result.Evaluations[i]
		v, run := g.Place(e.RunID)
		c, ok := place[b.Variants[v].ID]
		if !ok || leave[e.RunID] || leave[e.Evaluation] {
			continue
		}
		r.at[e.RunID] = mark{column: c, run: len(all.Variants[c].Runs)}
		from := b.Variants[v].Runs[run]
		if !export.Believable(&e.Started) {
			from.Started = time.Time{}
		}
		all.Variants[c].Runs = append(all.Variants[c].Runs, from)
		r.place[e.RunID] = from.Place
		if from.Place == stats.Counted {
			m.columns[c].starts = append(m.columns[c].starts, from.Started)
		}
	}
	for _, j := range g.Judges() {
		m.judge(j)
	}
	for i, t := range m.tasks {
		p := f.Position(t.ID)
		r.task = append(r.task, p)
		r.back[p] = i
	}
	return r
}

// timed puts runs whose start nobody knows near no other: an unknown time is no
// counterpart of anything.
func (m *merged) timed(all *stats.Batch) {
	n := 0
	for v := range all.Variants {
		for r := range all.Variants[v].Runs {
			if run := &all.Variants[v].Runs[r]; run.Started.IsZero() {
				n++
				run.Started = time.Unix(0, 0).Add(-time.Duration(n) * 48 * time.Hour)
			}
		}
	}
}

// judge is the place of a judge among all, by id.
func (m *merged) judge(j stats.Judge) int {
	if i := slices.IndexFunc(m.judges, func(o stats.Judge) bool { return o.ID == j.ID }); i >= 0 {
		return i
	}
	m.judges = append(m.judges, j)
	if m.filling != nil {
		m.filling.Judge(j)
	}
	return len(m.judges) - 1
}

// add takes one evaluation.
func (r *reader) add(e *export.Evidence) error {
	at, ok := r.at[e.RunID]
	if !ok {
		return nil
	}
	from := r.g.Cells(e)
	judges := r.g.Judges()
	cells := make([]stats.Cell, len(r.task))
	for t, p := range r.task {
		cells[t] = from[p]
		votes := make([]stats.Vote, len(from[p].Votes))
		for i, v := range from[p].Votes {
			votes[i] = stats.Vote{Judge: r.m.judge(judges[v.Judge]), Score: v.Score}
		}
		cells[t].Votes = votes
	}
	r.mark(e, at)
	r.m.columns[at.column].add(cells, r.place[e.RunID], r.g.Metric())
	if err := r.m.filling.Run(at.column, at.run, cells); err != nil {
		return fmt.Errorf("batch %s: run %s: %w", r.f.Result.Name, e.RunID, err)
	}
	return nil
}

// mark remembers what the readings leave out.
func (r *reader) mark(e *export.Evidence, at mark) {
	if e.Role == export.RoleSelection {
		r.m.dropped[0][mark{at.column, at.run, -1}] = true
	}
	for i := range e.Outcomes {
		t, ok := r.back[e.Derived[i].Position]
		if !ok {
			continue
		}
		flagged := len(e.Outcomes[i].Flags) > 0
		if flagged {
			r.m.dropped[1][mark{at.column, at.run, t}] = true
		}
		if !e.Counted {
			continue
		}
		for n, out := range []bool{r.m.withdrawn(t), e.Role == export.RoleSelection, flagged} {
			if out {
				r.m.left[n]++
			}
		}
	}
}

// withdrawn says whether either batch withdrew a task.
func (m *merged) withdrawn(task int) bool {
	if m.tasks[task].Withdrawn != nil {
		return true
	}
	p := m.a.Frozen.Position(m.tasks[task].ID)
	return p >= 0 && m.a.Frozen.Tasks[p].Withdrawn != nil
}

// drop says whether a reading leaves a cell out.
func (m *merged) drop(reading, column, run, task int) bool {
	switch reading {
	case 0:
		return m.withdrawn(task)
	case 1:
		return m.dropped[0][mark{column, run, -1}]
	}
	return m.dropped[1][mark{column, run, task}]
}
