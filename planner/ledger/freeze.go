package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// FinishBatch freezes a batch with the bytes of its result.json. A batch is frozen
// once: the bytes are stored under a name of their own, then their digest is claimed
// as a parameter, which MLflow writes once, and only the bytes that hold the claim
// become result.json. So do beside, the documents whose digests the result holds. Won is
// false where another result stands already; p then says which, and ReadResult reads it.
func (l *Ledger) FinishBatch(ctx context.Context, p *Parent, result []byte, metrics []mlflow.Metric, beside ...Document) (won bool, err error) {
	now, err := l.client.GetRun(ctx, p.Info.RunID)
	if err != nil {
		return false, err
	}
	if *p = parentOf(now); p.Frozen() {
		return false, nil
	}
	digest := batch.Sum(result)
	docs := append(slices.Clone(beside), Document{Name: batch.FileResult, Body: result})
	claimed := make([]Document, len(docs))
	for i, d := range docs {
		claimed[i] = Document{Name: claimName(d.Name, batch.Sum(d.Body)), Body: d.Body}
	}
	if err := l.put(ctx, p.Info, claimed); err != nil {
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
	if err := l.put(ctx, p.Info, docs); err != nil {
		return true, err
	}
	return true, l.end(ctx, p)
}

// claimName is the artifact that holds a document before the result's digest is claimed.
func claimName(name string, d batch.Digest) string {
	stem, ext, _ := strings.Cut(name, ".")
	return stem + "-" + d.Short() + "." + ext
}

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

// copyResult puts the result and what it names under their final names again.
func (l *Ledger) copyResult(ctx context.Context, p Parent) error {
	b, err := l.ReadDocument(ctx, p, claimName(batch.FileResult, p.Result), p.Result)
	var r batch.Result
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	var docs []Document
	if f := r.Feedback; err == nil && f != nil && f.Rows > 0 {
		docs = []Document{{Name: batch.FileFeedback}}
		docs[0].Body, err = l.ReadDocument(ctx, p, claimName(batch.FileFeedback, f.Digest), f.Digest)
	}
	if err != nil {
		return fmt.Errorf("%s of batch %s can't be restored: %w", batch.FileResult, p.Info.RunID, err)
	}
	return l.put(ctx, p.Info, append(docs, Document{Name: batch.FileResult, Body: b}))
}

// ReadResult reads the frozen result of a batch, checked against its digest. It is
// there from the moment that the batch is frozen, even before result.json is.
func (l *Ledger) ReadResult(ctx context.Context, p Parent) (*batch.Result, []byte, error) {
	b, err := l.readFrozen(ctx, p, batch.FileResult, p.Result)
	if err != nil {
		return nil, nil, err
	}
	var r batch.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, nil, fmt.Errorf("%s of batch %s: %w", batch.FileResult, p.Info.RunID, err)
	}
	return &r, b, nil
}

// ReadFeedback reads the lines of a frozen batch's feedback.jsonl, checked against their
// digest. There are none where nobody had said anything, or f is nil.
func (l *Ledger) ReadFeedback(ctx context.Context, p Parent, f *batch.Feedback) ([]byte, error) {
	if f == nil || f.Rows == 0 {
		return nil, nil
	}
	return l.readFrozen(ctx, p, batch.FileFeedback, f.Digest)
}

// readFrozen reads a document by its final name, or by that under which it was claimed.
func (l *Ledger) readFrozen(ctx context.Context, p Parent, name string, want batch.Digest) ([]byte, error) {
	b, err := l.ReadDocument(ctx, p, name, want)
	if errors.Is(err, mlflow.ErrNotFound) {
		b, err = l.ReadDocument(ctx, p, claimName(name, want), want)
	}
	return b, err
}
