package mlflow

import "context"

// DeleteExperiment moves an experiment with its runs to the deleted ones: it is not shown any more, its name stays taken,
// and [Client.GetExperimentByName] still reads it with its tags.
func (c *Client) DeleteExperiment(ctx context.Context, experimentID string) error {
	if err := checkID(experimentsDelete.name, "the experiment's id", experimentID); err != nil {
		return err
	}
	in := struct {
		ExperimentID string `json:"experiment_id"`
	}{experimentID}
	return c.call(ctx, experimentsDelete, nil, in, nil)
}

// DeleteRun moves a run to the deleted ones, where [Client.GetRun] still reads it. Deleting it again changes nothing.
func (c *Client) DeleteRun(ctx context.Context, runID string) error {
	if err := checkID(runsDelete.name, "the run id", runID); err != nil {
		return err
	}
	in := struct {
		RunID string `json:"run_id"`
	}{runID}
	return c.call(ctx, runsDelete, nil, in, nil)
}
