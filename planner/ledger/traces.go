package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/mlflow"
)

// StartTraces stores traces with their assessments, so many calls at once. Sent again they replace themselves.
func (l *Ledger) StartTraces(ctx context.Context, traces []mlflow.Trace, atOnce int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, t := range traces {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return l.client.StartTrace(ctx, t) })
	}
	return g.Wait()
}

// SendSpans stores spans of traces of this experiment.
func (l *Ledger) SendSpans(ctx context.Context, spans []mlflow.Span) error {
	return l.client.SendSpans(ctx, l.experiment.ID, spans)
}

// CheckTraces is an error of kind mlflow.ErrNotOffered where the server is too old for traces of the form that is sent.
func (l *Ledger) CheckTraces(ctx context.Context) error {
	info, err := l.client.ServerInfo(ctx)
	if err != nil {
		return err
	}
	major, _, _ := strings.Cut(info.Version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 3 {
		return fmt.Errorf("%w: MLflow %s has no traces of the form that is sent", mlflow.ErrNotOffered, info.Version)
	}
	return nil
}
