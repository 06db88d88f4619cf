package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// The states of a slot in a grid, beside those of a result.
const (
	slotRunning batch.SlotState = "running"
	slotPutBack batch.SlotState = "put_back" // its model was given up for now
)

// gridSlot is one slot as it stands.
type gridSlot struct {
	batch.Variant
	Slot     int             `json:"slot"`
	State    batch.SlotState `json:"state"` // reused, done, running, failed, skipped, put_back, not_started
	RunID    string          `json:"run_id,omitempty"`
	Started  string          `json:"started,omitempty"`   // running: when
	Launcher string          `json:"launcher,omitempty"`  // running: host, process and its start
	Gone     bool            `json:"gone,omitempty"`      // running: its launcher ran on this host and has ended
	Lapsed   bool            `json:"lapsed,omitempty"`    // running: its launcher's lease has lapsed, or another one has the repeat
	Class    outcome.State   `json:"class,omitempty"`     // failed: why most tasks are missing
	Reason   string          `json:"reason,omitempty"`    // failed, skipped, put_back
	WaitsFor string          `json:"waits_for,omitempty"` // not_started: what it is queued behind
	cell     batch.Cell
	started  time.Time
}

// grid is an unfinished batch as MLflow shows it.
type grid struct {
	plan     *batch.Plan
	standing *batch.Standing // nil = no launcher said anything
	slots    []gridSlot      // plan order
	history  *planner.History
	spent    *float64 // USD, of the evaluations of this batch, the known part; nil = nothing is known
	unknown  int      // evaluations that ended at a cost that is not known
}

// gridOf reads plan and evaluations of a batch, and the claims of what runs: two calls,
// or four.
func gridOf(ctx context.Context, client *mlflow.Client, l *ledger.Ledger, p ledger.Parent) (*grid, error) {
	plan, _, err := l.ReadPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	own, err := l.Children(ctx, p)
	if err != nil {
		return nil, err
	}
	g := &grid{plan: plan, standing: p.Standing()}
	unbilled := ledger.Unbilled(own)
	var done, live []ledger.Entry
	for _, e := range own {
		if e.State.Counts() && !e.Live() {
			done = append(done, e)
		}
		if e.Live() {
			live = append(live, e)
		} else {
			g.pay(e, unbilled[e.Info.RunID])
		}
	}
	g.history = planner.NewHistory(plan.Panel.Tasks, done, nil)
	for _, c := range plan.Cells {
		g.slots = append(g.slots, g.row(c, own)...)
	}
	lapsed, err := lapsedOf(ctx, client, live)
	if err != nil {
		return nil, err
	}
	for i := range g.slots {
		_, g.slots[i].Lapsed = lapsed[g.slots[i].RunID]
	}
	g.queue()
	return g, nil
}

func (g *grid) pay(e ledger.Entry, unbilled bool) {
	if unbilled || (e.CostUnknown != nil && *e.CostUnknown > 0) {
		g.unknown++
	}
	if e.CostUSD != nil {
		if g.spent == nil {
			g.spent = new(float64)
		}
		*g.spent += *e.CostUSD
	}
}

// row is a cell's slots: what was reused at the start, then what the batch measured,
// runs, and failed to measure.
func (g *grid) row(c batch.Cell, own []ledger.Entry) []gridSlot {
	row := make([]gridSlot, g.plan.Repeats)
	for i := range row {
		row[i] = gridSlot{Variant: c.Variant, Slot: i + 1, State: batch.SlotNotStarted, cell: c}
	}
	for _, r := range g.plan.Reused {
		if r.Cell == c.Identity.Cell && r.Slot >= 1 && r.Slot <= len(row) {
			row[r.Slot-1].State, row[r.Slot-1].RunID = batch.SlotReused, r.RunID
		}
	}
	for _, state := range []batch.SlotState{batch.SlotDone, slotRunning, batch.SlotFailed} {
		for _, e := range own {
			if e.Identity.Cell == c.Identity.Cell && stateOf(e) == state {
				seatIn(row, e, state)
			}
		}
	}
	return row
}

// stateOf is what an evaluation makes of its slot; "" = nothing.
func stateOf(e ledger.Entry) batch.SlotState {
	switch {
	case e.Live():
		return slotRunning
	case e.State.Counts():
		return batch.SlotDone
	case e.State == batch.StateIncomplete:
		return batch.SlotFailed
	}
	return ""
}

// seatIn gives an evaluation its slot, or else a free one.
func seatIn(row []gridSlot, e ledger.Entry, state batch.SlotState) {
	at := e.Slot - 1
	free := func(i int) bool {
		return i >= 0 && i < len(row) && (row[i].State == batch.SlotNotStarted || row[i].State == state && state == batch.SlotFailed)
	}
	if !free(at) {
		if state == batch.SlotFailed {
			return // measured since
		}
		at = slices.IndexFunc(row, func(s gridSlot) bool { return s.State == batch.SlotNotStarted })
	}
	if at < 0 {
		return
	}
	s := &row[at]
	s.State, s.RunID = state, e.Info.RunID
	switch state {
	case slotRunning:
		s.started = e.Started()
		s.Started, s.Launcher, s.Gone = timeText(e.Started()), e.Launcher, executor.LauncherGone(e.Launcher)
	case batch.SlotFailed:
		s.Reason, s.Class = e.Reason, usualClass(e.Tally, outcome.TimeoutPolicy(""))
	}
}

// usualClass is why most of an evaluation's missing tasks are missing; "" = not known.
func usualClass(t outcome.Tally, p outcome.TimeoutPolicy) outcome.State {
	var best outcome.State
	missing := t.Missing(p)
	for _, s := range outcome.States {
		if missing[s] > missing[best] {
			best = s
		}
	}
	return best
}

// queue says of every slot that is not started what it waits for.
func (g *grid) queue() {
	if g.standing == nil {
		return
	}
	running, models := map[string]int{}, map[string][]string{} // by quota
	all := 0
	for _, s := range g.slots {
		if s.State != slotRunning || s.Gone || s.Lapsed {
			continue
		}
		all++
		for _, name := range g.standing.Models[s.Model] {
			running[name]++
			models[name] = append(models[name], s.Model)
		}
	}
	for i := range g.slots {
		s := &g.slots[i]
		if s.State != batch.SlotNotStarted {
			continue
		}
		if out := g.out(s.Variant); out != nil {
			s.State, s.Reason = out.State, out.Reason
			if out.State == batch.SlotNotStarted {
				s.State = slotPutBack
			}
			continue
		}
		s.WaitsFor = g.waitsFor(s.Model, all, running, models)
	}
}

func (g *grid) out(v batch.Variant) *batch.StandingOut {
	for i, o := range g.standing.Out {
		if o.Model == v.Model && (o.Agents == nil || slices.Contains(o.Agents, v.Agent)) {
			return &g.standing.Out[i]
		}
	}
	return nil
}

// idle is what a repeat waits for while no launcher runs.
const idle = "nobody is at work"

func (g *grid) waitsFor(model string, all int, running map[string]int, models map[string][]string) string {
	if all == 0 {
		return idle
	}
	for _, name := range g.standing.Models[model] {
		q := g.standing.Quotas[name]
		switch {
		case q.AtOnce > 0 && running[name] >= q.AtOnce:
			return fmt.Sprintf("quota %s: %d of %d run", name, running[name], q.AtOnce)
		case q.Exclusive && running[name] > 0 && !slices.Contains(models[name], model):
			return fmt.Sprintf("quota %s: it holds %s", name, models[name][0])
		case q.TokensPerMinute > 0 && running[name] > 0:
			return fmt.Sprintf("quota %s: %d tokens a minute", name, q.TokensPerMinute)
		}
	}
	if all >= g.standing.AtOnce {
		return fmt.Sprintf("a worker: %d of %d are at work", all, g.standing.AtOnce)
	}
	return "its turn"
}

// end is when what runs and is queued will probably have ended; nil = unknown, or
// nobody is at work.
func (g *grid) end(now time.Time) *time.Time {
	if g.standing == nil {
		return nil
	}
	var left []planner.Slot
	var elapsed time.Duration
	busy := false
	for _, s := range g.slots {
		switch {
		case s.State == slotRunning && !s.Gone && !s.Lapsed:
			if d := now.Sub(s.started); !busy || d < elapsed {
				elapsed = d
			}
			busy = true
		case s.State != batch.SlotNotStarted:
			continue
		}
		left = append(left, planner.Slot{Cell: s.cell, Slot: s.Slot})
	}
	if !busy {
		return nil
	}
	t := executor.Forecast(left, executor.LimitsIn(*g.standing), g.history)
	if t == nil {
		return nil
	}
	at := now.Add(max(0, time.Duration(*t*float64(time.Second))-max(0, elapsed))).UTC()
	return &at
}

// classes counts failed slots by why, as "2 provider, 1 harness".
func classes(n map[string]int) string {
	var parts []string
	for _, c := range slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(n[b]-n[a], cmp.Compare(a, b)) }) {
		parts = append(parts, fmt.Sprintf("%d %s", n[c], c))
	}
	return strings.Join(parts, ", ")
}
