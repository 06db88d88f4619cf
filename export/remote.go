package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Remote is a frozen batch whose evidence is fetched evaluation by evaluation, for
// those who need no folder.
type Remote struct {
	Frozen *Frozen

	b       Batch
	workers int
}

// OpenBatch checks the documents of a batch. 0 workers are 4 evaluations at once.
func OpenBatch(b Batch, workers int) (*Remote, error) {
	f, err := newFrozen(b, Options{})
	if err != nil {
		return nil, err
	}
	return &Remote{Frozen: f, b: b, workers: workers}, nil
}

// Each calls use with every evaluation and its outcomes, in the result's order.
// Attempts and bundles are not fetched: what was spent on tries is not in Measures.
// Outcomes that do not match what was frozen are an *IntegrityError.
func (r *Remote) Each(ctx context.Context, use func(*Evidence) error) error {
	dir, err := os.MkdirTemp("", "benchbatch-read-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	evals := r.Frozen.Result.Evaluations
	var bad []Finding
	err = inOrder(ctx, len(evals), workers(r.workers), func(ctx context.Context, i int) (loaded, error) {
		return r.load(ctx, dir, evals[i])
	}, func(_ int, l loaded) error {
		if bad = append(bad, l.bad...); len(bad) > 0 {
			return nil
		}
		return use(l.evidence)
	})
	if err == nil && len(bad) > 0 {
		return &IntegrityError{r.Frozen.Result.Name, bad}
	}
	return err
}

// load fetches and reads the outcomes of one evaluation.
func (r *Remote) load(ctx context.Context, dir string, ev batch.Evaluation) (loaded, error) {
	e := &Evidence{Evaluation: ev, Planned: r.Frozen.Cell(ev.Cell)}
	l := loaded{evidence: e}
	if a := e.Artifact(batch.FileOutcomes); a != nil {
		name := rawPath(ev.RunID, a.Path)
		path := filepath.Join(dir, name)
		err := fetch(ctx, r.b, ev, *a, path)
		var m *mismatch
		switch {
		case ctx.Err() != nil:
			return l, ctx.Err()
		case errors.As(err, &m):
			l.bad = []Finding{{File: name, Run: ev.RunID, Reason: m.reason}}
			return l, nil
		case err != nil:
			return l, fmt.Errorf("run %s: %s: %w", ev.RunID, a.Path, err)
		}
		e.Outcomes, err = readOutcomes(path, outcome.TimeoutPolicy(r.Frozen.Plan.TimeoutPolicy), len(r.Frozen.Tasks))
		if err != nil {
			l.bad = e.refuse(r.Frozen, l.bad, name, err)
		}
		if err := os.Remove(path); err != nil {
			return l, err
		}
	}
	e.follow(r.Frozen)
	return l, nil
}
