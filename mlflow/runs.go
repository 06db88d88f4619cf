package mlflow

import (
	"context"
	"fmt"
	"net/url"
)

// GetRun reads a run, soft-deleted ones included: see Info.LifecycleStage. ErrNotFound if there is none.
func (c *Client) GetRun(ctx context.Context, runID string) (Run, error) {
	if err := checkID(runsGet.name, "the run id", runID); err != nil {
		return Run{}, err
	}
	var out struct{ Run runWire }
	if err := c.call(ctx, runsGet, url.Values{"run_id": {runID}}, nil, &out); err != nil {
		return Run{}, err
	}
	run := out.Run.run()
	if run.Info.RunID != runID {
		return Run{}, &Error{Op: runsGet.name, Kind: ErrNotJSON, Message: fmt.Sprintf("asked for run %s, the server answered with %s", runID, quote(run.Info.RunID))}
	}
	return run, nil
}

// UpdateRun sets a run's status and, unless endTime is 0, the time at which it ended (ms UTC). The server's answer is compared with what was
// sent: a status that did not take is an error of kind ErrNotStored.
func (c *Client) UpdateRun(ctx context.Context, runID string, status RunStatus, endTime int64) (RunInfo, error) {
	op := runsUpdate.name
	if err := checkID(op, "the run id", runID); err != nil {
		return RunInfo{}, err
	}
	if err := checkStatus(op, status); err != nil {
		return RunInfo{}, err
	}
	if endTime < 0 {
		return RunInfo{}, invalid(op, "end time %d: milliseconds since 1970 are wanted", endTime)
	}
	in := struct {
		RunID   string    `json:"run_id"`
		Status  RunStatus `json:"status"`
		EndTime int64     `json:"end_time,omitempty"`
	}{runID, status, endTime}
	var out struct {
		Info infoWire `json:"run_info"`
	}
	if err := c.call(ctx, runsUpdate, nil, in, &out); err != nil {
		return RunInfo{}, err
	}
	info := out.Info.info()
	if info.Status != status || endTime != 0 && (info.EndTime == nil || *info.EndTime != endTime) {
		return info, &Error{Op: op, Kind: ErrNotStored,
			Message: fmt.Sprintf("run %s was set to %s (end %d), the server says %s (end %s)", runID, status, endTime, quote(string(info.Status)), timeText(info.EndTime))}
	}
	return info, nil
}

func timeText(ms *int64) string {
	if ms == nil {
		return "not set"
	}
	return fmt.Sprint(*ms)
}

// SetTag sets a tag of a run; the last write wins.
func (c *Client) SetTag(ctx context.Context, runID, key, value string) error {
	op := runsSetTag.name
	if err := checkID(op, "the run id", runID); err != nil {
		return err
	}
	if err := checkTags(op, []Tag{{key, value}}); err != nil {
		return err
	}
	in := struct {
		RunID string `json:"run_id"`
		Key   string `json:"key"`
		Value string `json:"value"`
	}{runID, key, value}
	return c.call(ctx, runsSetTag, nil, in, nil)
}
