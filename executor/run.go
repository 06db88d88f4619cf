package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Observer is told what happens. Its methods may be called from many goroutines.
type Observer interface {
	Begin(parent ledger.Parent, missing int)
	Started(s planner.Slot)
	Progress(s planner.Slot, done, total int) // tasks
	Ended(s planner.Slot, m evaluation.Measured)
	Skipped(model, reason string, slots int)
}

// Options say how a plan is run.
type Options struct {
	Ledger    *ledger.Ledger
	Resolved  *spec.Resolved
	Plan      *planner.Plan
	State     *State
	Launcher  evaluation.Launcher
	Preflight func(ctx context.Context, m spec.Model) error // nil = models are not asked; an error skips the model's cells
	Lookup    func(string) (string, bool)                   // the launcher's own environment
	MLflowEnv []string                                      // given to the runner where the spec asks for it
	AtOnce    int                                           // evaluations at once over all quotas, at least 1
	Only      func(batch.Variant) bool                      // nil = all variants
	AllModels bool                                          // a model that does not answer is an error
	Stop      <-chan struct{}                               // closed = start nothing new, finish what runs
	Observer  Observer
	Input     planner.Input // for planning anew at the end
	User      string        // as MLflow shows who started a run; "" = unknown
}

// Report is what a run came to.
type Report struct {
	Parent  ledger.Parent
	Result  *batch.Result                    // nil = not frozen: slots are left
	Plan    *planner.Plan                    // as it stands at the end
	Started int                              // evaluations that this run started
	Stopped bool                             // it was told to stop
	Budget  string                           // why the budget left slots out; "" = it did not
	Fates   map[planner.SlotKey]planner.Fate // of the slots that this run failed to fill
}

// Run measures what the plan is missing and freezes the batch when every slot has its fate.
func Run(ctx context.Context, o Options) (*Report, error) {
	parent, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, parent: parent, fates: map[planner.SlotKey]planner.Fate{}}
	queue := r.wanted(order(o.Plan))
	o.Observer.Begin(parent, len(queue))
	queue, err = r.preflight(ctx, queue)
	if err != nil {
		return nil, err
	}
	runErr := r.measureAll(ctx, queue)
	report := &Report{Parent: parent, Started: r.started, Stopped: r.stopped(), Budget: r.exhausted, Fates: r.fates}
	if runErr != nil {
		return report, runErr
	}
	return report, r.freeze(ctx, report)
}

// begin joins the batch, or creates its parent run and stores the plan.
func begin(ctx context.Context, o Options) (ledger.Parent, error) {
	if err := o.Ledger.Create(ctx); err != nil {
		return ledger.Parent{}, err
	}
	p := o.Plan
	var parent ledger.Parent
	if p.Joined != nil {
		parent = *p.Joined
		if parent.Plan != "" {
			return parent, noteRevision(ctx, o, parent)
		}
	} else {
		var err error
		parent, err = o.Ledger.StartBatch(ctx, &p.Doc, o.Resolved.Recipe, o.Resolved.Brains, o.User)
		if err != nil {
			return parent, err
		}
	}
	plan, err := json.MarshalIndent(p.Doc, "", " ")
	if err != nil {
		return parent, err
	}
	docs := []ledger.Document{{Name: batch.FileSpec, Body: o.Resolved.Spec.Raw}, {Name: batch.FilePanel, Body: o.Resolved.PanelFile}, {Name: batch.FilePlan, Body: plan}}
	params := []mlflow.Param{
		{Key: "benchmark", Value: p.Doc.Benchmark}, {Key: "version", Value: p.Doc.Version},
		{Key: "repeats", Value: fmt.Sprint(p.Doc.Repeats)}, {Key: "seed", Value: fmt.Sprint(p.Doc.Seed)},
	}
	panel, err := datasetOf(p.Doc.Benchmark, p.Doc.Panel.Digest, p.Doc.Panel.Tasks)
	if err != nil {
		return parent, err
	}
	if err := o.Ledger.StorePlan(ctx, &parent, docs, params, panel); err != nil {
		return parent, err
	}
	return parent, o.Ledger.SetNote(ctx, parent, startNote(p))
}

// noteRevision keeps the spec beside the frozen one where a free field (budget,
// quotas, retries) was changed since the batch began.
func noteRevision(ctx context.Context, o Options, parent ledger.Parent) error {
	raw := o.Resolved.Spec.Raw
	d := batch.Sum(raw)
	if d == o.Plan.Doc.SpecDigest {
		return nil
	}
	return o.Ledger.AddDocument(ctx, parent, ledger.Document{Name: RevisionName(d), Body: raw})
}

// RevisionName is the artifact of a batch that holds a later revision of its spec.
func RevisionName(spec batch.Digest) string { return "spec-" + spec.Short() + ".yaml" }

// runner is one Run at work.
type runner struct {
	Options
	parent  ledger.Parent
	mu      sync.Mutex
	fates   map[planner.SlotKey]planner.Fate
	started int
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

// preflight asks every model of the queue once and takes the cells of the silent ones out.
func (r *runner) preflight(ctx context.Context, queue []planner.Slot) ([]planner.Slot, error) {
	if r.Preflight == nil || len(queue) == 0 {
		return queue, nil
	}
	slots := map[string]int{}
	for _, s := range queue {
		slots[s.Cell.Model]++
	}
	reasons := map[string]error{}
	var g errgroup.Group
	for _, m := range r.Resolved.Spec.Models {
		if slots[m.ID] == 0 {
			continue
		}
		g.Go(func() error {
			err := r.Preflight(ctx, m)
			r.mu.Lock()
			defer r.mu.Unlock()
			reasons[m.ID] = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var all error
	for _, m := range r.Resolved.Spec.Models {
		if err := reasons[m.ID]; err != nil {
			all = errors.Join(all, fmt.Errorf("model %s does not answer: %w", m.ID, err))
			r.Observer.Skipped(m.ID, err.Error(), slots[m.ID])
		}
	}
	if all != nil && r.AllModels {
		return nil, all
	}
	var out []planner.Slot
	for _, s := range queue {
		if err := reasons[s.Cell.Model]; err != nil {
			r.fates[keyOf(s)] = planner.Fate{State: batch.SlotSkipped, Reason: err.Error()}
			continue
		}
		out = append(out, s)
	}
	return out, nil
}

// measureAll runs the queue with AtOnce workers. The first failure to write to
// MLflow or to disk stops new starts and is returned when all have ended.
func (r *runner) measureAll(ctx context.Context, queue []planner.Slot) error {
	sc := newSchedule(queue, r.Resolved.Spec, newBudget(r.Resolved.Spec.Budget.CeilingUSD, r.Plan, r.parent.Info.RunID))
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-r.Stop:
		case <-ctx.Done():
		case <-ended:
		}
		sc.stop()
	}()
	var g errgroup.Group
	for range max(1, r.AtOnce) {
		g.Go(func() error {
			for {
				s, done, ok := sc.next()
				if !ok {
					return nil
				}
				cost, err := r.measure(ctx, s)
				done(cost)
				if err != nil {
					sc.stop()
					return err
				}
			}
		})
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	r.exhausted = sc.exhausted
	return err
}

// measure runs one evaluation from its run's creation to its last tag, and
// returns what it cost in USD (nil = unknown).
func (r *runner) measure(ctx context.Context, s planner.Slot) (*float64, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, err
	}
	e := r.entryFor(s, id.String())
	if err := r.State.write(e); err != nil {
		return nil, err
	}
	info, err := r.Ledger.StartEvaluation(ctx, ledger.Start{
		Parent: r.parent, Cell: s.Cell, Slot: s.Slot, UUID: e.UUID, Launcher: Launcher(), BrainName: e.Labels.Brain,
		Source: r.Resolved.Spec.Benchmark, At: e.At, User: r.User,
	})
	if err != nil {
		return nil, errors.Join(err, r.State.forget(e.UUID))
	}
	e.RunID, e.URI = info.RunID, info.ArtifactURI
	if err := r.State.write(e); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.started++
	r.mu.Unlock()
	r.Observer.Started(s)
	m, err := evaluation.Measure(ctx, r.request(s, e))
	var unsaved *evaluation.NotSaved
	if errors.As(err, &unsaved) {
		// It may have been paid for: its run stays open until the next run has saved and logged it.
		return nil, fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, err)
	}
	if err != nil {
		why := fmt.Errorf("%s, repeat %d: %w", s.Cell.Variant, s.Slot, err)
		return nil, errors.Join(why, closeRun(context.WithoutCancel(ctx), r.Ledger, e.RunID, err.Error()), r.State.forget(e.UUID))
	}
	// From here on the result is on disk; it is logged even when the run is being cancelled.
	if err := logOne(context.WithoutCancel(ctx), r.Ledger, e, r.State.folder(e.UUID), m); err != nil {
		return nil, fmt.Errorf("%s, repeat %d was measured and is kept in %s; the next run logs it first: %w", s.Cell.Variant, s.Slot, r.State.folder(e.UUID), err)
	}
	r.note(s, e, m)
	r.Observer.Ended(s, m)
	return billOf(m).worst, r.State.forget(e.UUID)
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
		Spec: r.Resolved.Spec, Cell: s.Cell, Slot: s.Slot, UUID: e.UUID, Dir: r.State.folder(e.UUID), Lookup: r.Lookup, Launcher: r.Launcher,
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
