package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// Book is one ledger run, on which launchers meet.
type Book struct {
	client *mlflow.Client
	of     subject
	runID  string
	stood  string // the candidate that this process made; "" = none
}

// RunID is the ledger run.
func (b *Book) RunID() string { return b.runID }

// subject is what a ledger run is about.
type subject struct {
	experiment string // its id
	key        string // as in the tag benchbatch.ledger
	title      string // as people read it
	note       string
	epoch      int // from 1; the next where the run of the one before is gone for good
}

// tag is the value by which the ledger runs of a subject are found.
func (s subject) tag() string {
	if s.epoch == 1 {
		return s.key
	}
	return fmt.Sprintf("%s/%d", s.key, s.epoch)
}

// lock is the name of the experiment that elects the run.
func (s subject) lock() string {
	return fmt.Sprintf("benchbatch/lock/%s/%s", s.experiment, s.tag())
}

// OpenRecipe finds the ledger run of a recipe in the benchmark's experiment, or has
// it elected. label is the benchmark's name and version, for people.
func OpenRecipe(ctx context.Context, c *mlflow.Client, experimentID string, recipe batch.Digest, label string) (*Book, error) {
	return open(ctx, c, ofRecipe(experimentID, recipe, label))
}

func ofRecipe(experimentID string, recipe batch.Digest, label string) subject {
	return subject{experiment: experimentID, key: "recipe/" + recipe.Short(), title: "ledger · " + label, note: recipeNote, epoch: 1}
}

// OpenQuotas finds the ledger run of an experiment's quotas, or has it elected. All
// who open the same experiment share the quotas of the same name.
func OpenQuotas(ctx context.Context, c *mlflow.Client, experimentID string) (*Book, error) {
	return open(ctx, c, subject{experiment: experimentID, key: "quotas", title: "ledger · quotas", note: quotaNote, epoch: 1})
}

// elections bounds how often a lock is tried while the server fails.
const elections = 5

// errNoLock says that no ledger run was elected yet.
var errNoLock = errors.New("no ledger run was elected")

func open(ctx context.Context, c *mlflow.Client, s subject) (*Book, error) {
	b := &Book{client: c, of: s}
	err := errNoLock
	for range elections {
		lock, run, findErr := b.find(ctx)
		switch {
		case findErr == nil:
			return b, b.tidy(ctx, lock, run)
		case !errors.Is(findErr, errNoLock):
			return nil, findErr
		case !errors.Is(err, errNoLock) && !errors.Is(err, mlflow.ErrUnreachable):
			return nil, b.explain(err)
		}
		if err = b.stand(ctx); err == nil {
			err = errNoLock
		}
	}
	return nil, b.explain(err)
}

// find reads the lock and the ledger run that it elected.
func (b *Book) find(ctx context.Context) (mlflow.Experiment, mlflow.Run, error) {
	for ; ; b.of.epoch++ {
		lock, err := b.client.GetExperimentByName(ctx, b.of.lock())
		if errors.Is(err, mlflow.ErrNotFound) {
			return lock, mlflow.Run{}, errNoLock
		}
		if err != nil {
			return lock, mlflow.Run{}, b.explainLock(err)
		}
		b.runID = lock.Tag(ledger.TagLedger)
		if b.runID == "" {
			return lock, mlflow.Run{}, fmt.Errorf("experiment %q (id %s) has the name of a lock, but no tag %s: somebody else made it; rename it", lock.Name, lock.ID, ledger.TagLedger)
		}
		run, err := b.client.GetRun(ctx, b.runID)
		switch {
		case errors.Is(err, mlflow.ErrNotFound): // gone for good
			continue
		case err != nil:
			return lock, run, b.explain(err)
		case run.Info.LifecycleStage == mlflow.StageDeleted:
			return lock, run, &Deleted{Run: b.runID, Of: b.of.title}
		}
		return lock, run, nil
	}
}

func (b *Book) explain(err error) error { return fmt.Errorf("%s: %w", b.of.title, err) }

func (b *Book) explainLock(err error) error {
	if errors.Is(err, mlflow.ErrForbidden) {
		return fmt.Errorf("%s: whoever was first here owns experiment %q, by which the ledger run is found: "+
			"ask them, or an administrator, for READ permission on it, and for EDIT on the experiment with id %s: %w", b.of.title, b.of.lock(), b.of.experiment, err)
	}
	return b.explain(err)
}

// stand puts a candidate up for election: one that an earlier attempt left, or a new
// one. An error says only that this attempt failed: the lock says who won.
func (b *Book) stand(ctx context.Context) error {
	left, err := b.candidates(ctx)
	if err != nil {
		return err
	}
	var id string
	if len(left) > 0 {
		// Where a lock was purged, the run that it had elected is marked as one at which nothing runs.
		elected := slices.IndexFunc(left, func(r mlflow.Run) bool { return r.Info.Status == mlflow.StatusFinished })
		id = left[max(elected, 0)].Info.RunID
	} else if id, err = b.candidate(ctx); err != nil {
		return err
	}
	lock := []mlflow.Tag{{Key: ledger.TagKind, Value: ledger.KindLock}, {Key: ledger.TagLedger, Value: id}, {Key: "mlflow.note.content", Value: lockNote}}
	_, err = b.client.CreateExperiment(ctx, b.of.lock(), lock)
	return err
}

// candidates lists the runs that could be the ledger, oldest first.
func (b *Book) candidates(ctx context.Context) ([]mlflow.Run, error) {
	kind, err := mlflow.TagEquals(ledger.TagKind, ledger.KindLedger)
	if err != nil {
		return nil, err
	}
	of, err := mlflow.TagEquals(ledger.TagLedger, b.of.tag())
	if err != nil {
		return nil, err
	}
	return b.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{b.of.experiment}, Filter: mlflow.And(kind, of)})
}

// candidate makes a run that could be the ledger.
func (b *Book) candidate(ctx context.Context) (string, error) {
	now, err := b.now()
	if err != nil {
		return "", err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return "", err
	}
	info, err := b.client.CreateRun(ctx, mlflow.CreateRun{
		ExperimentID: b.of.experiment, Name: b.of.title, StartTime: now.UnixMilli(), UniqueTag: tagCreated,
		Tags: []mlflow.Tag{
			{Key: ledger.TagKind, Value: ledger.KindLedger},
			{Key: ledger.TagLedger, Value: b.of.tag()},
			{Key: tagCreated, Value: id.String()},
			{Key: "mlflow.note.content", Value: b.of.note},
			{Key: "mlflow.source.name", Value: "benchbatch"},
			{Key: "mlflow.source.type", Value: "LOCAL"},
		},
	})
	b.stood = info.RunID
	return info.RunID, err
}

const tagCreated = "benchbatch.created"

// settled is after how long a candidate that lost is nobody's any more.
const settled = 5 * time.Minute

// tidy hides the lock, marks the ledger run as one at which nothing runs, and removes
// candidates that lost: this process's own, and those whose launchers died. Only what people see depends on it, so permissions
// that are missing for it are no error.
func (b *Book) tidy(ctx context.Context, lock mlflow.Experiment, run mlflow.Run) error {
	now, err := b.now()
	if err != nil {
		return err
	}
	if lock.LifecycleStage == mlflow.StageActive {
		_ = b.client.DeleteExperiment(ctx, lock.ID)
	}
	if run.Info.Status == mlflow.StatusRunning {
		_, _ = b.client.UpdateRun(ctx, b.runID, mlflow.StatusFinished, run.Info.StartTime)
	}
	all, err := b.candidates(ctx)
	if err != nil {
		return b.explain(err)
	}
	for _, r := range all {
		lost := r.Info.RunID == b.stood || now.Sub(time.UnixMilli(r.Info.StartTime)) > settled
		if lost && r.Info.RunID != b.runID {
			_ = b.client.DeleteRun(ctx, r.Info.RunID)
		}
	}
	return nil
}

// now is the server's time.
func (b *Book) now() (time.Time, error) {
	now, ok := b.client.ServerTime()
	if !ok {
		return time.Time{}, ErrNoClock
	}
	return now, nil
}
