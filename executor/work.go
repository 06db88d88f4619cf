package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// runner is one Run at work.
type runner struct {
	Options
	frame     []byte // what traces are made with; nil = there are none
	tracer    tracer
	traces    Traces
	parent    ledger.Parent
	mu        sync.Mutex
	fates     map[planner.SlotKey]planner.Fate
	started   int
	asked     string              // who asked to stop; "" = nobody
	out       []batch.StandingOut // models that are left out
	health    *health
	server    server
	sc        *schedule
	shared    *shared
	known     map[string]bool          // runs that the plan has judged
	before    map[string]bool          // runs that the first plan had judged
	told      map[string]bool          // runs that other launchers have named
	elsewhere map[planner.SlotKey]bool // slots whose evaluation another launcher has ended since the last plan
	paid      float64                  // USD, by this run, the worst case
	// exhausted says why the budget left slots out; "" = it did not.
	exhausted string
}

func keyOf(s planner.Slot) planner.SlotKey {
	return planner.SlotKey{Cell: s.Cell.Identity.Cell, Slot: s.Slot}
}

func (r *runner) wanted(queue []planner.Slot) []planner.Slot {
	if r.Only == nil {
		return queue
	}
	var out []planner.Slot
	for _, s := range queue {
		if r.Only(s.Cell.Variant) {
			out = append(out, s)
		}
	}
	return out
}

func (r *runner) stopped() bool {
	select {
	case <-r.Stop:
		return true
	default:
		return false
	}
}

// measureAll runs the queue with AtOnce workers. The first failure to write to
// MLflow or to disk stops new starts and is returned when all have ended; a server
// that is merely away is waited for.
func (r *runner) measureAll(ctx context.Context, queue []planner.Slot) error {
	own := r.MaxUSD
	if own != nil { // of an earlier round something may be paid
		left := max(0, *own-r.paid)
		own = &left
	}
	b := newBudget(r.Resolved.Spec.Budget.CeilingUSD, own, r.Plan, r.parent.Info.RunID)
	if b != nil {
		b.spent += r.State.cutCost(r.parent.Info.RunID)
	}
	r.sc = newSchedule(newQueue(queue, LimitsOf(r.Resolved.Spec, r.AtOnce), r.Plan.History, b))
	ended := make(chan struct{})
	go func() {
		select {
		case <-r.Stop:
		case <-ctx.Done():
		case <-ended:
		}
		r.sc.stop()
	}()
	var looking sync.WaitGroup
	looking.Go(func() { r.heed(ctx, ended) })
	looking.Go(func() { r.tend(ctx, ended) })
	defer looking.Wait()
	defer close(ended)
	var g errgroup.Group
	for range max(1, r.AtOnce) {
		g.Go(func() error { return r.work(ctx) })
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	r.exhausted = r.sc.exhausted
	return err
}

// work measures one slot after another.
func (r *runner) work(ctx context.Context) error {
	for {
		t, ok := r.sc.next()
		if !ok {
			return nil
		}
		h, err := r.take(ctx, t)
		if err != nil {
			r.sc.leaveOut(t)
			r.sc.stop()
			return err
		}
		if h == nil {
			continue
		}
		r.sc.begun()
		paid, settled := r.paidBefore(t.Slot)
		m, err := r.measure(ctx, t.Slot, h)
		r.sc.change(func() { r.sc.queue.budget.credit(paid) })
		if err == nil {
			r.watchProvider(ctx, t.Slot, m)
		}
		r.learn(t.Slot, m)
		cost := billOf(m).worst
		if m.State == batch.StateSuperseded && m.Started.IsZero() { // it was not started
			cost = new(float64)
		}
		r.letGo(ctx, t, h, cost, settled)
		t.money.cut = cutShort(m.State)
		r.sc.done(t, cost)
		if err != nil {
			r.sc.stop()
			return err
		}
	}
}

// paidBefore is what a slot's evaluation takes over from one that was cut short: it is
// in the batch's spend already. Settled is the part of it that stands on the ledger run.
func (r *runner) paidBefore(s planner.Slot) (paid, settled float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.State.cut {
		if e.Cell.Identity.Cell == s.Cell.Identity.Cell && e.Slot == s.Slot && e.Batch == r.parent.Info.RunID {
			return r.State.paidFor(e), e.Settled
		}
	}
	return 0, 0
}

// learn adds what an evaluation took to the history.
func (r *runner) learn(s planner.Slot, m evaluation.Measured) {
	if !m.State.Counts() {
		return
	}
	wall := m.Ended.Sub(m.Started).Seconds()
	r.sc.change(func() { r.Plan.History.Add(s.Cell.Identity, billOf(m).known, &wall, tokensOf(m)) })
}

// measure runs one evaluation from its run's creation to its last tag and the end of
// its claim.
func (r *runner) measure(ctx context.Context, s planner.Slot, h *hand) (evaluation.Measured, error) {
	var none evaluation.Measured
	late := context.WithoutCancel(ctx)
	e, err := r.create(ctx, s, h.lease.Generation())
	if err != nil {
		return none, errors.Join(err, h.lease.Release(late, "its run could not be created"))
	}
	if err := r.patiently(ctx, func() error { return h.lease.Confirm(ctx) }); err != nil { // the run may have taken long to create
		return r.notStarted(late, s, h, e, err)
	}
	r.mu.Lock()
	r.started++
	r.mu.Unlock()
	r.Observer.Started(s)
	mine, cancel := h.lease.Context(ctx)
	m, err := evaluation.Measure(mine, r.request(s, e))
	cancel()
	var unsaved *evaluation.NotSaved
	if errors.As(err, &unsaved) {
		// It may have been paid for: its run stays open until the next run has saved and logged it.
		return none, fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, err)
	}
	// From here on what was paid for is on disk; it is logged even when the run is being cancelled.
	if err != nil {
		why := fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, err)
		return none, errors.Join(why, closeRun(late, r.Ledger, e.RunID, err.Error()), r.giveBack(e), h.lease.Release(late, "it could not be started"))
	}
	err = r.patiently(ctx, func() error {
		found, err := stands(late, h.lease, e, &m)
		if found || err != nil {
			return err
		}
		if err = logOne(late, r.Ledger, e, r.State.of(e), m); err == nil {
			err = r.endClaim(late, h.lease, e, &m)
		}
		return err
	})
	if err != nil {
		return m, fmt.Errorf("%s, repeat %d was measured and is kept in %s; the next run logs it first: %w", s.Cell.Variant, s.Slot, r.State.of(e), err)
	}
	if m.State == batch.StateSuperseded {
		r.abroad(s, "")
	}
	r.note(s, e, m)
	r.Observer.Ended(s, m)
	return m, r.trace(e, m)
}

// notStarted closes the run of an evaluation whose claim did not stand any more when that
// had been created. It has cost nothing.
func (r *runner) notStarted(ctx context.Context, s planner.Slot, h *hand, e entry, why error) (evaluation.Measured, error) {
	var m evaluation.Measured
	if !errors.Is(why, claim.ErrLost) {
		why = fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, why)
		return m, errors.Join(why, closeUnstarted(ctx, r.Ledger, e.RunID, "it was not started"), r.giveBack(e), h.lease.Release(ctx, "it was not started"))
	}
	supersede(&m, why)
	r.abroad(s, "")
	err := r.patiently(ctx, func() error {
		return closeUnstarted(ctx, r.Ledger, e.RunID, "its claim was lost before it was started")
	})
	return m, errors.Join(err, r.giveBack(e))
}

// stands confirms the claim of an evaluation that was measured. Where it was lost, the
// evaluation is superseded, unless an earlier try has logged it, and who took the claim
// over has found that.
func stands(ctx context.Context, l *claim.Lease, e entry, m *evaluation.Measured) (found bool, err error) {
	lost := l.Confirm(ctx)
	if !errors.Is(lost, claim.ErrLost) {
		return false, lost
	}
	if found, err = l.Found(ctx, e.RunID); !found && err == nil {
		supersede(m, lost)
	}
	return found, err
}

// supersede says that the slot was another launcher's when the evaluation ended.
func supersede(m *evaluation.Measured, why error) {
	m.State, m.Reason = batch.StateSuperseded, why.Error()
}

// endClaim ends the claim of an evaluation that is logged.
func (r *runner) endClaim(ctx context.Context, l *claim.Lease, e entry, m *evaluation.Measured) error {
	var err error
	switch m.State {
	case batch.StateSuperseded:
		return nil
	case batch.StateInterrupted:
		err = l.Release(ctx, m.Reason)
	default: // a failure too: who shares the batch does not try the slot again
		err = l.Done(ctx, e.RunID)
	}
	if errors.Is(err, claim.ErrLost) {
		supersede(m, err)
		return r.Ledger.Supersede(ctx, e.RunID, m.Reason, m.Ended)
	}
	return err
}

// giveBack forgets an evaluation that did not start. What it was to go on with is kept.
func (r *runner) giveBack(e entry) error {
	if len(e.Continues) == 0 {
		return r.State.forget(e)
	}
	e.RunID, e.Cut = "", true
	return r.State.write(e)
}

// place is where a cell stands in the plan.
func (r *runner) place(c batch.Cell) int {
	return max(0, slices.IndexFunc(r.Plan.Doc.Cells, func(p batch.Cell) bool { return p.Identity.Cell == c.Identity.Cell }))
}

// name is what the run of a slot is called.
func (r *runner) name(s planner.Slot) string {
	var all []batch.Variant
	for _, c := range r.Plan.Doc.Cells {
		all = append(all, c.Variant)
	}
	return ledger.NamesOf(all, r.Plan.Doc.Repeats).Of(s.Cell.Variant, s.Slot)
}

// create makes the run of an evaluation. Its entry is on disk before.
func (r *runner) create(ctx context.Context, s planner.Slot, generation int) (entry, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return entry{}, err
	}
	e := r.entryFor(s, id.String())
	e.Generation = generation
	was, cut := r.takeCut(s)
	if cut {
		e.name, e.Continues, e.Settled = was.folder(), was.Continues, was.Settled
	}
	if err := errors.Join(r.State.write(e), r.State.writeFrame(e, r.frame)); err != nil {
		return e, err
	}
	start := ledger.Start{
		Parent: r.parent, Cell: s.Cell, Place: r.place(s.Cell), Slot: s.Slot, Name: r.name(s), UUID: e.UUID, Launcher: Launcher(), BrainName: e.Labels.Brain,
		From: r.From, At: e.At, Generation: generation, Continues: e.continues(),
	}
	err = r.patiently(ctx, func() error {
		info, err := r.Ledger.StartEvaluation(ctx, start)
		start.Again = true // it may have been created, although the answer was lost
		e.RunID, e.URI = info.RunID, info.ArtifactURI
		return err
	})
	if err != nil {
		return e, errors.Join(err, r.giveBack(e))
	}
	return e, r.State.write(e)
}

// note records the fate of a slot whose evaluation does not count.
func (r *runner) note(s planner.Slot, e entry, m evaluation.Measured) {
	if m.State.Counts() || m.State == batch.StateInterrupted || m.State == batch.StateSuperseded {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fates[keyOf(s)] = planner.Fate{State: batch.SlotFailed, Reason: reasonOf(m), RunID: e.RunID}
}

func (r *runner) entryFor(s planner.Slot, id string) entry {
	p := r.Plan.Doc
	return entry{
		UUID: id, Experiment: r.Ledger.ExperimentID(), Batch: r.parent.Info.RunID, Slot: s.Slot, Cell: s.Cell,
		Labels: labels{p.Benchmark, p.Version, p.BrainPath}, Pass: passRule{p.PassThreshold, p.PassReported},
		Panel: p.Panel.Digest, Tasks: p.Panel.Tasks, At: time.Now().UTC().Truncate(time.Millisecond),
	}
}

func (r *runner) request(s planner.Slot, e entry) evaluation.Request {
	// A runner that logs to MLflow itself makes runs below this evaluation's.
	nested := fmt.Sprintf(`MLFLOW_RUN_CONTEXT={"mlflow.parentRunId":%q}`, e.RunID)
	q := evaluation.Request{
		Spec: r.Resolved.Spec, Cell: s.Cell, Slot: s.Slot, UUID: e.UUID, Dir: r.State.of(e), Continue: len(e.Continues) > 0, Lookup: r.Lookup, Launcher: r.Launcher,
		Files: r.Resolved.Files(s.Cell), MLflowEnv: append(slices.Clone(r.MLflowEnv), "MLFLOW_EXPERIMENT_ID="+e.Experiment, nested), Progress: func(done, total int) { r.Observer.Progress(s, done, total) },
	}
	for _, a := range r.Resolved.Spec.Agents {
		if a.ID == s.Cell.Agent {
			q.Agent = a
		}
	}
	for _, m := range r.Resolved.Spec.Models {
		if m.ID == s.Cell.Model {
			q.Model = m
		}
	}
	return q
}

// logOne tells MLflow of one measured evaluation.
func logOne(ctx context.Context, l *ledger.Ledger, e entry, dir string, m evaluation.Measured) error {
	if m.State == batch.StateInterrupted && len(m.Artifacts) == 0 {
		return closeRun(ctx, l, e.RunID, m.Reason)
	}
	if m.State == batch.StateSuperseded && len(m.Artifacts) == 0 {
		return l.Supersede(ctx, e.RunID, m.Reason, time.Now())
	}
	f, err := finishOf(e, dir, m)
	if err != nil {
		return err
	}
	return l.FinishEvaluation(ctx, f)
}
