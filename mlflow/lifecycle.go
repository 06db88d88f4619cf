package mlflow

import "context"

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
