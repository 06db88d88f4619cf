package cli

import (
	"context"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// client talks to the shell's server as another program would.
func (s *shell) client() *mlflow.Client {
	s.t.Helper()
	return mlflowtest.Client(s.t, s.env["MLFLOW_TRACKING_URI"], func(c *mlflow.Config) {
		c.Username, c.Password = s.env["MLFLOW_TRACKING_USERNAME"], mlflow.Secret(s.env["MLFLOW_TRACKING_PASSWORD"])
	})
}

// experiment is the id of the benchmark's experiment.
func (s *shell) experiment() string {
	s.t.Helper()
	var cells []hashed
	s.json(&cells, "hash", s.spec)
	e, err := s.client().GetExperimentByName(context.Background(), cells[0].Tags["benchbatch.benchmark"])
	require.NoError(s.t, err)
	return e.ID
}

// runs are the runs of the benchmark's experiment that match a filter, deleted ones included.
func (s *shell) runs(filter string) []mlflow.Run {
	s.t.Helper()
	found, err := s.client().SearchRuns(context.Background(), mlflow.Search{ExperimentIDs: []string{s.experiment()}, Filter: filter, View: mlflow.ViewAll})
	require.NoError(s.t, err)
	return found
}

// measurements are the runs without those on which launchers meet.
func measurements(runs []mlflow.Run) []mlflow.Run {
	return slices.DeleteFunc(runs, func(r mlflow.Run) bool { return r.Tag("benchbatch.kind") == "ledger" })
}
