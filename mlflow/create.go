package mlflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// createTries bounds how often a create is repeated after lost answers.
const createTries = 5

// runNameTag holds a run's name a second time; the server keeps both alike.
const runNameTag = "mlflow.runName"

// CreateRun makes a run and returns it as the server stored it. After a lost answer the run is looked up by its unique tag, and made again
// only after a search that found nothing. If even that ended with two, the later ones are set to KILLED and the first is returned.
func (c *Client) CreateRun(ctx context.Context, r CreateRun) (RunInfo, error) {
	filter, err := r.check()
	if err != nil {
		return RunInfo{}, err
	}
	repeated := false
	for try := 1; ; try++ {
		info, err := c.createRun(ctx, r)
		if err == nil && !repeated {
			return info, nil
		}
		if err != nil && !ambiguous(err) {
			return RunInfo{}, err
		}
		if filter == "" {
			return RunInfo{}, unknownState(err, "give it a unique tag, by which it can be looked up")
		}
		found, lookupErr := c.SearchRuns(ctx, Search{ExperimentIDs: []string{r.ExperimentID}, Filter: filter, View: ViewAll})
		if lookupErr != nil {
			return RunInfo{}, unknownState(errors.Join(err, lookupErr), "look in the experiment for "+filter)
		}
		if len(found) > 0 {
			return c.keepFirst(ctx, found)
		}
		if err == nil {
			return RunInfo{}, &Error{Op: runsCreate.name, Kind: ErrNotStored, Message: "run " + info.RunID + " was created, but a search by its unique tag does not find it"}
		}
		if try == min(createTries, c.retries+1) {
			return RunInfo{}, err
		}
		if waitErr := sleep(ctx, backoff(c.cfg.BackoffMin, c.cfg.BackoffMax, try)); waitErr != nil {
			return RunInfo{}, &Error{Op: runsCreate.name, Kind: waitErr, Err: err}
		}
		repeated = true
	}
}

func unknownState(err error, remedy string) error {
	return &Error{Op: runsCreate.name, Kind: ErrStateUnknown, Message: "the run may or may not have been created", Err: err, Remedy: remedy}
}

// check refuses what can't be created, and returns the filter that finds the run again ("" without a unique tag).
func (r CreateRun) check() (filter string, err error) {
	op := runsCreate.name
	if err := checkID(op, "the experiment's id", r.ExperimentID); err != nil {
		return "", err
	}
	if r.Name == "" {
		return "", invalid(op, "the run's name is empty: the server would invent one")
	}
	if err := checkText(op, "the run's name", r.Name, MaxRunName); err != nil {
		return "", err
	}
	if r.StartTime <= 0 {
		return "", invalid(op, "start time %d: milliseconds since 1970 are wanted, the server takes a missing one as 1970", r.StartTime)
	}
	if err := checkTags(op, r.Tags); err != nil {
		return "", err
	}
	if name := tagValue(r.Tags, runNameTag); name != "" && name != r.Name {
		return "", invalid(op, "the run's name %s and its tag %s %s must agree", quote(r.Name), runNameTag, quote(name))
	}
	if r.UniqueTag == "" {
		return "", nil
	}
	value := tagValue(r.Tags, r.UniqueTag)
	if value == "" {
		return "", invalid(op, "the unique tag %s is not among the tags, or empty", quote(r.UniqueTag))
	}
	return TagEquals(r.UniqueTag, value)
}

func (c *Client) createRun(ctx context.Context, r CreateRun) (RunInfo, error) {
	in := struct {
		ExperimentID string `json:"experiment_id"`
		StartTime    int64  `json:"start_time"`
		RunName      string `json:"run_name"`
		Tags         []Tag  `json:"tags,omitempty"`
	}{r.ExperimentID, r.StartTime, r.Name, r.Tags}
	var out struct{ Run runWire }
	if err := c.call(ctx, runsCreate, nil, in, &out); err != nil {
		return RunInfo{}, err
	}
	info := out.Run.Info.info()
	if info.RunID == "" || info.ExperimentID != r.ExperimentID || info.StartTime != r.StartTime {
		return RunInfo{}, &Error{Op: runsCreate.name, Kind: ErrNotStored,
			Message: fmt.Sprintf("the server answered with run %s in experiment %s, start %d", quote(info.RunID), quote(info.ExperimentID), info.StartTime)}
	}
	return info, nil
}

// keepFirst picks the run that every observer would pick, and ends the others.
func (c *Client) keepFirst(ctx context.Context, found []Run) (RunInfo, error) {
	slices.SortFunc(found, func(a, b Run) int {
		if a.Info.StartTime != b.Info.StartTime {
			return int(min(max(a.Info.StartTime-b.Info.StartTime, -1), 1))
		}
		return strings.Compare(a.Info.RunID, b.Info.RunID)
	})
	for _, extra := range found[1:] {
		if extra.Info.Status != StatusRunning || extra.Info.LifecycleStage != StageActive {
			continue
		}
		if _, err := c.UpdateRun(ctx, extra.Info.RunID, StatusKilled, extra.Info.StartTime); err != nil {
			return RunInfo{}, err
		}
	}
	return found[0].Info, nil
}

// sleep waits, unless the context ends first or is known to.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return ErrDeadline
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
