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
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// runner is one Run at work.
type runner struct {
	Options
	parent  ledger.Parent
	mu      sync.Mutex
	fates   map[planner.SlotKey]planner.Fate
	started int
	asked   string              // who asked to stop; "" = nobody
	out     []batch.StandingOut // models that are left out
	health  *health
	server  server
	sc      *schedule
	frame   []byte // what traces are made with; nil = there are none
	tracer  tracer
	traces  Traces
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
	b := newBudget(r.Resolved.Spec.Budget.CeilingUSD, r.MaxUSD, r.Plan, r.parent.Info.RunID)
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
		s, done, ok := r.sc.next()
		if !ok {
			return nil
		}
		paid := r.paidBefore(s)
		m, err := r.measure(ctx, s)
		r.sc.change(func() { r.sc.queue.budget.credit(paid) })
		if err == nil {
			r.watchProvider(ctx, s, m)
		}
		r.learn(s, m)
		done(billOf(m).worst)
		if err != nil {
			r.sc.stop()
			return err
		}
	}
}

// paidBefore is what a slot's evaluation takes over from one that was cut short: it is
// in the batch's spend already.
func (r *runner) paidBefore(s planner.Slot) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.State.cut {
		if e.Cell.Identity.Cell == s.Cell.Identity.Cell && e.Slot == s.Slot && e.Batch == r.parent.Info.RunID {
			return r.State.paidFor(e)
		}
	}
	return 0
}

// learn adds what an evaluation took to the history.
func (r *runner) learn(s planner.Slot, m evaluation.Measured) {
	if !m.State.Counts() {
		return
	}
	wall := m.Ended.Sub(m.Started).Seconds()
	r.sc.change(func() { r.Plan.History.Add(s.Cell.Identity, billOf(m).known, &wall, tokensOf(m)) })
}

// measure runs one evaluation from its run's creation to its last tag.
func (r *runner) measure(ctx context.Context, s planner.Slot) (evaluation.Measured, error) {
	var none evaluation.Measured
	e, err := r.create(ctx, s)
	if err != nil {
		return none, err
	}
	r.Observer.Started(s)
	m, err := evaluation.Measure(ctx, r.request(s, e))
	var unsaved *evaluation.NotSaved
	if errors.As(err, &unsaved) {
		// It may have been paid for: its run stays open until the next run has saved and logged it.
		return none, fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, err)
	}
	// From here on what was paid for is on disk; it is logged even when the run is being cancelled.
	late := context.WithoutCancel(ctx)
	if err != nil {
		why := fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, err)
		return none, errors.Join(why, closeRun(late, r.Ledger, e.RunID, err.Error()), r.giveBack(e))
	}
	err = r.patiently(ctx, func() error { return logOne(late, r.Ledger, e, r.State.of(e), m) })
	if err != nil {
		return m, fmt.Errorf("%s, repeat %d was measured and is kept in %s; the next run logs it first: %w", s.Cell.Variant, s.Slot, r.State.of(e), err)
	}
	r.note(s, e, m)
	r.Observer.Ended(s, m)
	return m, r.trace(e, m)
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

// create makes the run of an evaluation. Its entry is on disk before.
func (r *runner) create(ctx context.Context, s planner.Slot) (entry, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return entry{}, err
	}
	e := r.entryFor(s, id.String())
	was, cut := r.takeCut(s)
	if cut {
		e.name, e.Continues = was.folder(), was.Continues
	}
	if err := errors.Join(r.State.write(e), r.State.writeFrame(e, r.frame)); err != nil {
		return e, err
	}
	start := ledger.Start{
		Parent: r.parent, Cell: s.Cell, Place: r.place(s.Cell), Slot: s.Slot, UUID: e.UUID, Launcher: Launcher(), BrainName: e.Labels.Brain,
		From: r.From, At: e.At, Continues: e.continues(),
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
	r.mu.Lock()
	r.started++
	r.mu.Unlock()
	return e, r.State.write(e)
}

// note records the fate of a slot whose evaluation does not count.
func (r *runner) note(s planner.Slot, e entry, m evaluation.Measured) {
	if m.State.Counts() || m.State == batch.StateInterrupted {
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
	f, err := finishOf(e, dir, m)
	if err != nil {
		return err
	}
	return l.FinishEvaluation(ctx, f)
}
