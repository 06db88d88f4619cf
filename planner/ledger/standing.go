package ledger

import (
	"context"
	"encoding/json"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// maxTag is the longest value, in bytes, that every supported server keeps.
const maxTag = 5000

// SetStanding says how a batch stands, for people who look on. What does not fit
// into a tag is left out: quotas first.
func (l *Ledger) SetStanding(ctx context.Context, p Parent, s batch.Standing) error {
	b, err := json.Marshal(s)
	if err == nil && len(b) > maxTag {
		s.Quotas, s.Models = nil, nil
		b, err = json.Marshal(s)
	}
	for err == nil && len(b) > maxTag && len(s.Out) > 0 {
		s.Out = s.Out[:len(s.Out)-1]
		b, err = json.Marshal(s)
	}
	if err != nil {
		return err
	}
	return l.client.SetTag(ctx, p.Info.RunID, TagStanding, string(b))
}

// Standing is what a launcher said last; nil where none said anything that can be read.
func (p Parent) Standing() *batch.Standing {
	var s batch.Standing
	if json.Unmarshal([]byte(p.standing), &s) != nil {
		return nil
	}
	return &s
}

// AskStop asks the launchers of a batch to start nothing new. Who is for people;
// "" takes the request back.
func (l *Ledger) AskStop(ctx context.Context, p Parent, who string) error {
	return l.client.SetTag(ctx, p.Info.RunID, TagStop, who)
}

// Refresh reads the parent of a batch again.
func (l *Ledger) Refresh(ctx context.Context, p Parent) (Parent, error) {
	r, err := l.client.GetRun(ctx, p.Info.RunID)
	if err != nil {
		return p, err
	}
	return parentOf(r), nil
}

// Running lists the evaluations that have not ended: of this experiment or, where
// the ledger has none, of all experiments. Oldest first.
func (l *Ledger) Running(ctx context.Context) ([]Entry, error) {
	ids, err := l.everywhere(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	tags, err := where(condition{key: TagKind, value: KindEvaluation})
	if err != nil {
		return nil, err
	}
	status, err := mlflow.AttributeEquals("status", string(mlflow.StatusRunning))
	if err != nil {
		return nil, err
	}
	runs, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: ids, Filter: mlflow.And(status, tags), PageSize: 5000})
	if err != nil {
		return nil, err
	}
	return entriesOf(runs), nil
}

// LedgerRuns lists the runs on which launchers meet, with all that stands on them: of
// this experiment or, where the ledger has none, of all experiments.
func (l *Ledger) LedgerRuns(ctx context.Context) ([]mlflow.Run, error) {
	ids, err := l.everywhere(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	filter, err := where(condition{key: TagKind, value: KindLedger})
	if err != nil {
		return nil, err
	}
	return l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: ids, Filter: filter})
}
