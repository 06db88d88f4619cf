package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Query says which repeats are looked for and what makes one valid.
type Query struct {
	Recipe        batch.Digest
	Panel         []string // task ids
	Allowed       int      // how many tasks may be missing
	TimeoutPolicy outcome.TimeoutPolicy
	Experiments   []string // further experiments to look in, by name
}

// Entry is an evaluation of the recipe as MLflow shows it.
type Entry struct {
	Info      mlflow.RunInfo
	Identity  batch.Identity
	UUID      string
	Outcomes  batch.Digest // of outcomes.jsonl
	State     batch.EvaluationState
	Reason    string
	Batch     string // parent run id; "" = none of ours
	Slot      int    // 0 = none
	Agent     string
	Model     string
	Launcher  string
	Role      string
	User      string
	Foreign   bool // not logged by benchbatch
	Artifacts []batch.Artifact
	Score     *float64 // mean over tasks, as logged; nil = none
	CostUSD   *float64 // the known part, judges included, as logged; nil = unknown
	WorstUSD  *float64 // with the worst case for what is unknown; nil = unknown
	// CostUnknown counts attempts at an unknown cost, so that CostUSD is "at least"; nil = not logged.
	CostUnknown *float64
	WallS       *float64 // seconds; nil = unknown
}

// Live says that the run has not ended.
func (e Entry) Live() bool {
	return e.Info.Status == mlflow.StatusRunning || e.Info.Status == mlflow.StatusScheduled
}

// Started is the run's start time in UTC.
func (e Entry) Started() time.Time { return time.UnixMilli(e.Info.StartTime).UTC() }

// Ended is the run's end time in UTC; nil where it has none.
func (e Entry) Ended() *time.Time {
	if e.Info.EndTime == nil {
		return nil
	}
	t := time.UnixMilli(*e.Info.EndTime).UTC()
	return &t
}

// Found is everything MLflow holds of a recipe.
type Found struct {
	Valid   []Entry         // repeats that count, by start time, then run id
	Live    []Entry         // RUNNING or SCHEDULED: neither counted nor ignored
	Ended   []Entry         // evaluations of ours that ended without counting
	Ignored []batch.Ignored // the rest, with the reason
	Batches []Parent        // batches of the recipe, newest first
}

// errDeletedBatch flags the evaluations of a batch whose parent run is gone: each
// was measured whole and stands on its own.
var errDeletedBatch = errors.New("a batch that was deleted; those of its evaluations that were not deleted still count")

// Find reads the runs of one recipe, never the whole history, and sorts them by
// what they are worth. Runs that benchbatch did not log are downloaded and checked.
func (l *Ledger) Find(ctx context.Context, q Query) (*Found, error) {
	ids, err := l.experimentIDs(ctx, q.Experiments)
	if err != nil || len(ids) == 0 {
		return &Found{}, err
	}
	filter, err := where(condition{key: TagRecipe, value: q.Recipe.Short()})
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: ids, Filter: filter, View: mlflow.ViewAll, PageSize: 5000})
	if err != nil {
		return nil, err
	}
	f := &Found{}
	var foreign []Entry
	for _, r := range runs {
		if r.Tag(TagKind) == KindBatch {
			if r.Info.LifecycleStage == mlflow.StageDeleted {
				f.ignore(r, errDeletedBatch)
			} else {
				f.Batches = append(f.Batches, parentOf(r))
			}
			continue
		}
		e, err := entryOf(r, q.Recipe)
		switch {
		case err != nil:
			f.ignore(r, err)
		case e.Live():
			f.Live = append(f.Live, e)
		case e.Foreign:
			foreign = append(foreign, e)
		case e.State.Counts():
			f.Valid = append(f.Valid, e)
		default:
			f.Ended = append(f.Ended, e)
		}
	}
	slices.SortFunc(f.Batches, func(a, b Parent) int { return cmp.Compare(b.Info.StartTime, a.Info.StartTime) })
	if err := l.addForeign(ctx, f, q, foreign, runs); err != nil {
		return nil, err
	}
	f.dedupe()
	return f, nil
}

func (l *Ledger) experimentIDs(ctx context.Context, more []string) ([]string, error) {
	var ids []string
	if l.experiment.ID != "" {
		ids = append(ids, l.experiment.ID)
	}
	for _, name := range more {
		e, err := l.client.GetExperimentByName(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("reuse.experiments: %q: %w", name, err)
		}
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

func (f *Found) ignore(r mlflow.Run, reason error) {
	f.Ignored = append(f.Ignored, batch.Ignored{RunID: r.Info.RunID, Cell: r.Tag(TagCell), Reason: reason.Error()})
}

// entryOf reads a run's tags. An error says why the run does not count.
func entryOf(r mlflow.Run, recipe batch.Digest) (Entry, error) {
	e := Entry{
		Info: r.Info, UUID: r.Tag(TagEvaluation), Outcomes: batch.Digest(r.Tag(TagOutcomes)),
		State: batch.EvaluationState(r.Tag(TagState)), Reason: r.Tag(TagReason), Batch: r.Tag(TagBatch), Agent: r.Tag(TagAgent), Model: r.Tag(TagModel),
		Launcher: r.Tag(TagLauncher), Role: r.Tag(TagRole), User: r.Tag(tagUser), Foreign: r.Tag(TagState) == "",
		Score: metric(r, "score"), CostUSD: metric(r, "cost_usd"), WorstUSD: cmp.Or(metric(r, "cost_worst_usd"), metric(r, "cost_usd")), CostUnknown: metric(r, "cost_unknown"), WallS: metric(r, "wall_s"),
	}
	e.Slot, _ = strconv.Atoi(r.Tag(TagSlot)) // 0 where absent or not a number: the run then takes any slot
	if r.Info.LifecycleStage == mlflow.StageDeleted {
		return e, fmt.Errorf("deleted")
	}
	id, err := readIdentity(r)
	if err != nil {
		return e, err
	}
	unique, err := uuid.Parse(e.UUID)
	if err != nil {
		return e, fmt.Errorf("tag %s is %q, not a UUID", TagEvaluation, e.UUID)
	}
	e.UUID = unique.String() // one spelling, so that the same one twice is seen
	if id.Recipe != recipe {
		return e, fmt.Errorf("tag %s names recipe %s: the short digests agree by chance only", TagIdentity, id.Recipe)
	}
	e.Identity = id
	if v, ok := r.Metric("score"); ok && math.IsNaN(v) {
		return e, fmt.Errorf("metric score is NaN")
	}
	switch e.Info.Status {
	case mlflow.StatusRunning, mlflow.StatusScheduled, mlflow.StatusFinished:
	default:
		switch {
		case e.Foreign:
			return e, fmt.Errorf("status %s", e.Info.Status)
		case e.State.Counts():
			return e, fmt.Errorf("status %s, although tag %s says %s", e.Info.Status, TagState, e.State)
		}
		e.Artifacts, _ = readArtifacts(r) // what was left behind, where it was logged at all
		return e, nil
	}
	if e.Info.Status == mlflow.StatusFinished && e.State.Counts() {
		e.Artifacts, err = readArtifacts(r)
		if err == nil && !e.Outcomes.Valid() {
			err = fmt.Errorf("tag %s is %q, not a SHA-256", TagOutcomes, e.Outcomes)
		}
	}
	return e, err
}

func metric(r mlflow.Run, key string) *float64 {
	v, ok := r.Metric(key)
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// addForeign checks runs that were logged by others: not below an evaluation,
// and with outcomes that make a valid repeat.
func (l *Ledger) addForeign(ctx context.Context, f *Found, q Query, foreign []Entry, runs []mlflow.Run) error {
	if len(foreign) == 0 {
		return nil
	}
	below, err := l.belowEvaluations(ctx, foreign, runs)
	if err != nil {
		return err
	}
	reasons := make([]error, len(foreign))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range foreign {
		if p := below[foreign[i].Info.RunID]; p != "" {
			reasons[i] = fmt.Errorf("lies below the evaluation %s", p)
			continue
		}
		g.Go(func() (err error) {
			reasons[i], err = l.checkForeign(ctx, &foreign[i], q)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, e := range foreign {
		if reasons[i] != nil {
			f.Ignored = append(f.Ignored, batch.Ignored{RunID: e.Info.RunID, Cell: e.Identity.Cell.Short(), Reason: reasons[i].Error()})
			continue
		}
		f.Valid = append(f.Valid, e)
	}
	return nil
}

// maxDepth bounds how far up the parents of a run are followed.
const maxDepth = 8

// belowEvaluations maps a run id to the evaluation that it lies below, at any depth.
func (l *Ledger) belowEvaluations(ctx context.Context, foreign []Entry, runs []mlflow.Run) (map[string]string, error) {
	byID := map[string]mlflow.Run{}
	for _, r := range runs {
		byID[r.Info.RunID] = r
	}
	below := map[string]string{}
	for _, e := range foreign {
		id := byID[e.Info.RunID].Tag(tagParent)
		for depth := 0; id != "" && depth < maxDepth; depth++ {
			r, err := l.runOf(ctx, byID, id)
			if err != nil {
				return nil, err
			}
			if r.Tag(TagKind) == KindEvaluation {
				below[e.Info.RunID] = id
				break
			}
			id = r.Tag(tagParent)
		}
	}
	return below, nil
}

// runOf reads a run once. One that is gone is an empty run: what names it stands alone.
func (l *Ledger) runOf(ctx context.Context, known map[string]mlflow.Run, id string) (mlflow.Run, error) {
	if r, ok := known[id]; ok {
		return r, nil
	}
	r, err := l.client.GetRun(ctx, id)
	if err != nil && !errors.Is(err, mlflow.ErrNotFound) {
		return r, err
	}
	known[id] = r
	return r, nil
}

// checkForeign downloads the record of a run that benchbatch did not log. The
// first result says why it does not count; the second is a failure of the server.
func (l *Ledger) checkForeign(ctx context.Context, e *Entry, q Query) (reason, err error) {
	b, err := l.read(ctx, e.Info, batch.FileOutcomes, maxRecord)
	if errors.Is(err, mlflow.ErrNotFound) {
		return fmt.Errorf("FINISHED, but it has no %s", batch.FileOutcomes), nil
	}
	if err != nil { // perhaps it counts: going on could pay for it again
		return nil, fmt.Errorf("%s of run %s, logged by another tool, can't be read (a deleted run is not asked for): %w", batch.FileOutcomes, e.Info.RunID, err)
	}
	d := batch.Sum(b)
	if e.Outcomes != "" && e.Outcomes != d {
		return fmt.Errorf("%s has digest %s, but tag %s says %s", batch.FileOutcomes, d, TagOutcomes, e.Outcomes), nil
	}
	outcomes, err := readRecord(b, q.TimeoutPolicy)
	if err != nil {
		return fmt.Errorf("%s: %w", batch.FileOutcomes, err), nil
	}
	if err := outcome.Check(outcomes, q.Panel, q.Allowed); err != nil {
		return err, nil
	}
	e.Outcomes = d
	e.State = batch.StateComplete
	if outcome.Missing(outcomes) > 0 {
		e.State = batch.StatePartial
	}
	e.Artifacts = []batch.Artifact{{Path: batch.FileOutcomes, Digest: d, Size: int64(len(b))}}
	e.Score = meanScore(outcomes) // by the record: what others log as a metric may be on another scale
	return nil, nil
}

// meanScore is the mean over the tasks that have a score; nil where none has.
func meanScore(outcomes []outcome.Outcome) *float64 {
	var sum, n float64
	for _, o := range outcomes {
		if o.Score != nil {
			sum += *o.Score
			n++
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum / n
	return &mean
}

// dedupe counts an evaluation UUID once: the earliest run.
func (f *Found) dedupe() {
	slices.SortFunc(f.Valid, byStart)
	first := map[string]string{}
	f.Valid = slices.DeleteFunc(f.Valid, func(e Entry) bool {
		if run, ok := first[e.UUID]; ok {
			f.Ignored = append(f.Ignored, batch.Ignored{RunID: e.Info.RunID, Cell: e.Identity.Cell.Short(),
				Reason: fmt.Sprintf("same evaluation UUID as run %s", run)})
			return true
		}
		first[e.UUID] = e.Info.RunID
		return false
	})
	slices.SortFunc(f.Ignored, func(a, b batch.Ignored) int { return cmp.Compare(a.RunID, b.RunID) })
}

func byStart(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Info.StartTime, b.Info.StartTime), cmp.Compare(a.Info.RunID, b.Info.RunID))
}
