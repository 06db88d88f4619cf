package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// FinishBatch freezes a batch with the bytes of its result.json. A batch is frozen
// once: the bytes are stored under a name of their own, then their digest is claimed
// as a parameter, which MLflow writes once, and only the bytes that hold the claim
// become result.json. Won is false where another result stands already; p then says
// which, and ReadResult reads it.
func (l *Ledger) FinishBatch(ctx context.Context, p *Parent, result []byte, metrics []mlflow.Metric) (won bool, err error) {
	now, err := l.client.GetRun(ctx, p.Info.RunID)
	if err != nil {
		return false, err
	}
	if *p = parentOf(now); p.Frozen() {
		return false, nil
	}
	digest := batch.Sum(result)
	if err := l.put(ctx, p.Info, []Document{{Name: claimName(digest), Body: result}}); err != nil {
		return false, err
	}
	err = l.client.LogBatch(ctx, p.Info.RunID, mlflow.Batch{
		Params: []mlflow.Param{{Key: paramResult, Value: string(digest)}}, Metrics: metrics,
		Tags: []mlflow.Tag{{Key: TagResult, Value: string(digest)}},
	})
	var taken *mlflow.ParamTaken
	if errors.As(err, &taken) {
		p.Result = batch.Digest(taken.Have)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.Result = digest
	if err := l.put(ctx, p.Info, []Document{{Name: batch.FileResult, Body: result}}); err != nil {
		return true, err
	}
	return true, l.end(ctx, p)
}

// claimName is the artifact that holds a result before its digest is claimed.
func claimName(d batch.Digest) string { return "result-" + d.Short() + ".json" }

// EndBatch completes a frozen batch that is not FINISHED, because its launcher died
// on the way or somebody set another status: result.json is stored if it is not
// there, and the status is set. The result itself is what it was.
func (l *Ledger) EndBatch(ctx context.Context, p *Parent) error {
	_, err := l.ReadDocument(ctx, *p, batch.FileResult, p.Result)
	var changed *IntegrityError
	if errors.Is(err, mlflow.ErrNotFound) || errors.As(err, &changed) { // not there, or an upload that was cut off
		if lost := l.copyResult(ctx, *p); lost != nil {
			return errors.Join(err, lost)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return l.end(ctx, p)
}

// end sets a frozen batch's status; the time at which it first ended stays.
func (l *Ledger) end(ctx context.Context, p *Parent) error {
	end := time.Now().UnixMilli()
	if p.Info.EndTime != nil {
		end = *p.Info.EndTime
	}
	info, err := l.client.UpdateRun(ctx, p.Info.RunID, mlflow.StatusFinished, end)
	if err == nil {
		p.Info = info
	}
	return err
}

func (l *Ledger) copyResult(ctx context.Context, p Parent) error {
	b, err := l.ReadDocument(ctx, p, claimName(p.Result), p.Result)
	if err != nil {
		return fmt.Errorf("%s of batch %s can't be restored: %w", batch.FileResult, p.Info.RunID, err)
	}
	return l.put(ctx, p.Info, []Document{{Name: batch.FileResult, Body: b}})
}

// ReadResult reads the frozen result of a batch, checked against its digest. It is
// there from the moment that the batch is frozen, even before result.json is.
func (l *Ledger) ReadResult(ctx context.Context, p Parent) (*batch.Result, []byte, error) {
	b, err := l.ReadDocument(ctx, p, batch.FileResult, p.Result)
	if errors.Is(err, mlflow.ErrNotFound) {
		b, err = l.ReadDocument(ctx, p, claimName(p.Result), p.Result)
	}
	if err != nil {
		return nil, nil, err
	}
	var r batch.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, nil, fmt.Errorf("%s of batch %s: %w", batch.FileResult, p.Info.RunID, err)
	}
	return &r, b, nil
}
