package ledger

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// tallyOf counts a run's tasks by state, as it was logged; false where not every
// count was.
func tallyOf(r mlflow.Run) (outcome.Tally, bool) {
	all := outcome.Tally{}
	for _, s := range outcome.States {
		v, ok := r.Metric("count/" + string(s))
		if n := int(v); ok && n >= 0 && float64(n) == v {
			all[s] = n
		} else {
			return nil, false
		}
	}
	return all, true
}

// missingOf counts a run's missing tasks by what was logged of them. It is false
// where the metrics do not say so: one is not there, or they do not make up the panel.
func missingOf(r mlflow.Run, q Query) (outcome.Tally, bool) {
	all, ok := tallyOf(r)
	return all.Missing(q.TimeoutPolicy), ok && all.Sum() == len(q.Panel)
}

func stateOf(missing outcome.Tally) batch.EvaluationState {
	if missing.Sum() > 0 {
		return batch.StatePartial
	}
	return batch.StateComplete
}

// addUnread checks runs by their records: not below an evaluation, and with
// outcomes that make a valid repeat.
func (l *Ledger) addUnread(ctx context.Context, f *Found, q Query, unread []Entry, runs []mlflow.Run) error {
	if len(unread) == 0 {
		return nil
	}
	below, err := l.belowEvaluations(ctx, unread, runs)
	if err != nil {
		return err
	}
	reasons := make([]error, len(unread))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range unread {
		if p := below[unread[i].Info.RunID]; p != "" {
			reasons[i] = fmt.Errorf("lies below the evaluation %s", p)
			continue
		}
		g.Go(func() (err error) {
			reasons[i], err = l.CheckRecord(ctx, &unread[i], q)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, e := range unread {
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
func (l *Ledger) belowEvaluations(ctx context.Context, entries []Entry, runs []mlflow.Run) (map[string]string, error) {
	byID := map[string]mlflow.Run{}
	for _, r := range runs {
		byID[r.Info.RunID] = r
	}
	below := map[string]string{}
	for _, e := range entries {
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

// CheckRecord downloads the record of a FINISHED run and says whether it makes a
// valid repeat: the first result is the reason why it does not count, the second a
// failure of the server. The entry takes its state from the record, and what
// benchbatch did not log itself all that can be read from it.
func (l *Ledger) CheckRecord(ctx context.Context, e *Entry, q Query) (reason, err error) {
	b, err := l.read(ctx, e.Info, batch.FileOutcomes, maxRecord)
	if errors.Is(err, mlflow.ErrNotFound) {
		return fmt.Errorf("FINISHED, but it has no %s", batch.FileOutcomes), nil
	}
	if err != nil { // perhaps it counts: going on could pay for it again
		return nil, fmt.Errorf("%s of run %s, %s, can't be read (a deleted run is not asked for): %w", batch.FileOutcomes, e.Info.RunID, e.claim(), err)
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
	e.State = stateOf(outcome.Count(outcomes).Missing(q.TimeoutPolicy))
	if e.Foreign {
		e.Outcomes = d
		e.Artifacts = []batch.Artifact{{Path: batch.FileOutcomes, Digest: d, Size: int64(len(b))}}
		e.Score = meanScore(outcomes) // by the record: what others log as a metric may be on another scale
	}
	return nil, nil
}

// claim says why a run's record matters.
func (e *Entry) claim() string {
	if e.Foreign {
		return "logged by another tool"
	}
	return "which is to count"
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
