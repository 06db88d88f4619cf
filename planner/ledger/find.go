package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/google/uuid"

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
	Info       mlflow.RunInfo
	Identity   batch.Identity
	UUID       string
	Outcomes   batch.Digest // of outcomes.jsonl
	State      batch.EvaluationState
	Reason     string
	Batch      string // parent run id; "" = none of ours
	Slot       int    // 0 = none
	Agent      string
	Model      string
	Launcher   string
	Generation int      // of the claim under which it was started; 0 = of none
	Continues  []string // run ids of those that were cut short, whose finished tasks and cost are in this one
	Role       string
	User       string
	Foreign    bool // not logged by benchbatch
	Artifacts  []batch.Artifact
	Score      *float64 // mean over tasks, as logged; nil = none
	CostUSD    *float64 // the known part, judges included, as logged; nil = unknown
	WorstUSD   *float64 // with the worst case for what is unknown; nil = unknown
	// CostUnknown counts attempts at an unknown cost, so that CostUSD is "at least"; nil = not logged.
	CostUnknown *float64
	WallS       *float64      // seconds; nil = unknown
	Tasks       int           // of its panel, as logged; 0 = unknown
	Tally       outcome.Tally // of its tasks, as logged; nil = unknown
	Tokens      *float64      // of all kinds and attempts, the known part; nil = unknown
}

// Live says that the run has not ended.
func (e Entry) Live() bool {
	return e.Info.Status == mlflow.StatusRunning || e.Info.Status == mlflow.StatusScheduled
}

// Unbilled are, by run id, the evaluations that have ended at a cost that nothing tells,
// not even another evaluation that goes on with them.
func Unbilled(all []Entry) map[string]bool {
	out := map[string]bool{}
	for _, e := range all {
		if !e.Live() && e.CostUSD == nil {
			out[e.Info.RunID] = true
		}
	}
	for _, e := range all {
		if !e.Live() && len(e.Artifacts) == 0 {
			continue // it tells no cost of its own, and none of theirs
		}
		for _, id := range e.Continues {
			delete(out, id)
		}
	}
	return out
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

// unsettledError is of a run that somebody may be logging now: it may count soon.
type unsettledError struct{ error }

// Find reads the runs of one recipe, never the whole history, and sorts them by
// what they are worth under this query's rule: what is valid for one spec may miss
// too much for another. Of our own runs the logged counts say it; the records of
// others, and of ours without such counts, are downloaded and checked.
func (l *Ledger) Find(ctx context.Context, q Query) (*Found, error) {
	ids, err := l.experimentIDs(ctx, q.Experiments)
	if err != nil || len(ids) == 0 {
		return &Found{}, err
	}
	filter, err := where(condition{key: TagRecipe, value: q.Recipe.Short()})
	if err != nil {
		return nil, err
	}
	f := &Found{}
	var unread []Entry    // worth to be found out from their records
	var runs []mlflow.Run // without metrics and params: batches of thousands are held
	search := mlflow.Search{ExperimentIDs: ids, Filter: filter, View: mlflow.ViewAll, PageSize: 1000}
	err = l.client.EachRun(ctx, search, func(r mlflow.Run) {
		if e := l.sort(f, q, r); e != nil {
			unread = append(unread, *e)
		}
		r.Data.Metrics, r.Data.Params = nil, nil
		runs = append(runs, r)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(f.Batches, func(a, b Parent) int { return cmp.Compare(b.Info.StartTime, a.Info.StartTime) })
	if err := l.addUnread(ctx, f, q, unread, runs); err != nil {
		return nil, err
	}
	f.dedupe()
	return f, nil
}

// sort puts a run where it belongs. It returns an evaluation of which only the record
// can tell whether it counts.
func (l *Ledger) sort(f *Found, q Query, r mlflow.Run) (unread *Entry) {
	if r.Tag(TagKind) == KindBatch {
		switch {
		case r.Info.ExperimentID != l.experiment.ID: // a batch goes on where it began
		case r.Info.LifecycleStage == mlflow.StageDeleted:
			f.ignore(r, errDeletedBatch)
		default:
			f.Batches = append(f.Batches, parentOf(r))
		}
		return nil
	}
	e, err := entryOf(r, q.Recipe)
	switch {
	case err != nil:
		f.ignore(r, err)
	case e.Live():
		f.Live = append(f.Live, e)
	case !e.Foreign && !e.State.Counts():
		f.Ended = append(f.Ended, e)
	default:
		missing, known := missingOf(r, q)
		if e.Foreign || !known {
			return &e
		}
		if err := outcome.CheckMissing(missing, len(q.Panel), q.Allowed); err != nil {
			f.ignore(r, err)
			return nil
		}
		e.State = stateOf(missing)
		f.Valid = append(f.Valid, e)
	}
	return nil
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
	var unsettled *unsettledError
	f.Ignored = append(f.Ignored, batch.Ignored{RunID: r.Info.RunID, Cell: r.Tag(TagCell), Reason: reason.Error(), Unsettled: errors.As(reason, &unsettled)})
}

// entryOf reads a run's tags. An error says why the run does not count. The recipe is
// the one that was asked for; "" = whichever the run names.
func entryOf(r mlflow.Run, recipe batch.Digest) (Entry, error) {
	e := Entry{
		Info: r.Info, UUID: r.Tag(TagEvaluation), Outcomes: batch.Digest(r.Tag(TagOutcomes)),
		State: batch.EvaluationState(once(r.Tag(TagState))), Reason: once(r.Tag(TagReason)), Batch: once(r.Tag(TagBatch)), Agent: once(r.Tag(TagAgent)), Model: once(r.Tag(TagModel)),
		Launcher: once(r.Tag(TagLauncher)), Role: once(r.Tag(TagRole)), User: once(r.Tag(tagUser)), Foreign: r.Tag(TagState) == "",
		Score: metric(r, "score"), CostUSD: metric(r, "cost_usd"), WorstUSD: cmp.Or(metric(r, "cost_worst_usd"), metric(r, "cost_usd")), CostUnknown: metric(r, "cost_unknown"), WallS: metric(r, "wall_s"), Tokens: tokensOf(r),
	}
	if counts, ok := tallyOf(r); ok {
		e.Tally, e.Tasks = counts, counts.Sum()
	}
	e.Continues = strings.Fields(r.Tag(TagContinues))
	e.Generation, _ = strconv.Atoi(r.Tag(TagGeneration)) // 0 where absent or not a number
	e.Slot, _ = strconv.Atoi(r.Tag(TagSlot))             // 0 where absent or not a number: the run then takes any slot
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
	if recipe != "" && id.Recipe != recipe {
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
			return e, &unsettledError{fmt.Errorf("status %s, although tag %s says %s", e.Info.Status, TagState, e.State)}
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

// once is a string that is held in memory once, however many runs have it.
func once[T ~string](s T) T { return unique.Make(s).Value() }

// tokensOf adds up the logged tokens; nil where none are.
func tokensOf(r mlflow.Run) *float64 {
	var sum *float64
	for _, kind := range []string{"input", "cache_read", "cache_write", "output"} {
		if v := metric(r, "tokens/"+kind); v != nil {
			if sum == nil {
				sum = new(float64)
			}
			*sum += *v
		}
	}
	return sum
}

func metric(r mlflow.Run, key string) *float64 {
	v, ok := r.Metric(key)
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
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
