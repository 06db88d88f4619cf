package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Ledger is one experiment of a tracking server.
type Ledger struct {
	client     *mlflow.Client
	experiment mlflow.Experiment // ID is "" where it does not exist yet
}

// Open looks the experiment up. Where it does not exist, the ledger is empty
// until Create is called. With the name "" batches are looked for in all experiments.
func Open(ctx context.Context, c *mlflow.Client, experiment string) (*Ledger, error) {
	l := &Ledger{client: c, experiment: mlflow.Experiment{Name: experiment}}
	if experiment == "" {
		return l, nil
	}
	e, err := c.GetExperimentByName(ctx, experiment)
	if errors.Is(err, mlflow.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	if e.LifecycleStage == mlflow.StageDeleted {
		return nil, fmt.Errorf("experiment %q (id %s) is deleted, and its name stays taken: "+
			"restore it with `mlflow experiments restore --experiment-id %s`, or give the spec another experiment", experiment, e.ID, e.ID)
	}
	l.experiment = e
	return l, nil
}

// Create makes the experiment if it does not exist. The tags are given to a new one only.
func (l *Ledger) Create(ctx context.Context, tags ...mlflow.Tag) error {
	if l.experiment.ID != "" {
		return nil
	}
	e, err := l.client.EnsureExperiment(ctx, l.experiment.Name, append(tags, mlflow.Tag{Key: "mlflow.experimentKind", Value: "custom_model_development"}))
	if err != nil {
		return err
	}
	l.experiment = e
	return nil
}

// ExperimentID is the server's id of the experiment, "" where it does not exist yet.
func (l *Ledger) ExperimentID() string { return l.experiment.ID }

// ExperimentName is the experiment's name.
func (l *Ledger) ExperimentName() string { return l.experiment.Name }

// Fetch opens an artifact of a run, deleted or not. The caller closes it.
func (l *Ledger) Fetch(ctx context.Context, runID, artifactURI, path string) (io.ReadCloser, error) {
	body, _, err := l.client.GetArtifact(ctx, mlflow.RunInfo{RunID: runID, ArtifactURI: artifactURI, ExperimentID: l.experiment.ID}, path)
	return body, err
}

// read fetches a small artifact whole.
func (l *Ledger) read(ctx context.Context, info mlflow.RunInfo, path string, limit int64) ([]byte, error) {
	body, _, err := l.client.GetArtifact(ctx, info, path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, limit))
}
