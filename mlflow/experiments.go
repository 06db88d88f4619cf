package mlflow

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// GetExperimentByName finds an experiment, soft-deleted ones included: see LifecycleStage. ErrNotFound if there is none.
func (c *Client) GetExperimentByName(ctx context.Context, name string) (Experiment, error) {
	var out struct{ Experiment Experiment }
	if err := checkText(experimentsGetByName.name, "the experiment's name", name, MaxExperimentName); err != nil {
		return Experiment{}, err
	}
	err := c.call(ctx, experimentsGetByName, url.Values{"experiment_name": {name}}, nil, &out)
	return out.Experiment, err
}

// GetExperiment finds an experiment, soft-deleted ones included. Unlike a search, it tells a missing permission (ErrForbidden) from absence.
func (c *Client) GetExperiment(ctx context.Context, id string) (Experiment, error) {
	var out struct{ Experiment Experiment }
	if err := checkID(experimentsGet.name, "the experiment's id", id); err != nil {
		return Experiment{}, err
	}
	err := c.call(ctx, experimentsGet, url.Values{"experiment_id": {id}}, nil, &out)
	return out.Experiment, err
}

// CreateExperiment makes an experiment with tags. A name exists once, and stays taken after a soft delete: exactly one of many
// contenders succeeds, the others get ErrAlreadyExists. So does the winner whose answer was lost: the tags say who won.
func (c *Client) CreateExperiment(ctx context.Context, name string, tags []Tag) (id string, err error) {
	op := experimentsCreate.name
	if name == "" {
		return "", invalid(op, "the experiment's name is empty")
	}
	if err := checkText(op, "the experiment's name", name, MaxExperimentName); err != nil {
		return "", err
	}
	for _, t := range tags {
		if err := checkExperimentTag(op, t); err != nil {
			return "", err
		}
	}
	in := struct {
		Name string `json:"name"`
		Tags []Tag  `json:"tags,omitempty"`
	}{name, tags}
	var out struct {
		ID string `json:"experiment_id"`
	}
	err = c.call(ctx, experimentsCreate, nil, in, &out)
	if err == nil && out.ID == "" {
		err = &Error{Op: op, Kind: ErrNotStored, Message: "the server answered without an experiment id"}
	}
	return out.ID, err
}

// EnsureExperiment finds the experiment or makes it, whoever else does so at the same time. tags are given to a new one only.
// A soft-deleted one is an error of kind ErrDeleted: it is not restored behind anyone's back.
func (c *Client) EnsureExperiment(ctx context.Context, name string, tags []Tag) (Experiment, error) {
	var createErr error
	for try := 1; ; try++ {
		exp, err := c.GetExperimentByName(ctx, name)
		if err == nil {
			return exp, checkActive(exp)
		}
		if !errors.Is(err, ErrNotFound) {
			return Experiment{}, err
		}
		if try > min(createTries, c.retries+1) || try > 1 && !ambiguous(createErr) {
			return Experiment{}, errors.Join(createErr, err)
		}
		if try > 1 {
			if waitErr := sleep(ctx, backoff(c.cfg.BackoffMin, c.cfg.BackoffMax, try-1)); waitErr != nil {
				return Experiment{}, &Error{Op: experimentsCreate.name, Kind: waitErr, Err: createErr}
			}
		}
		if _, createErr = c.CreateExperiment(ctx, name, tags); createErr != nil && !mayExist(createErr) {
			return Experiment{}, createErr
		}
	}
}

func checkActive(exp Experiment) error {
	if exp.LifecycleStage != StageDeleted {
		return nil
	}
	return &Error{Op: experimentsGetByName.name, Kind: ErrDeleted,
		Message: "experiment " + quote(exp.Name) + " (id " + exp.ID + ") is deleted, and its name stays taken",
		Remedy:  "restore it with: mlflow experiments restore --experiment-id " + exp.ID + ", or use another name"}
}

// mayExist tells whether an experiment may be there although its create failed: lost races (some servers say BAD_REQUEST), lost answers.
func mayExist(err error) bool {
	var e *Error
	return errors.Is(err, ErrAlreadyExists) || errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.fate == unknownFate)
}

// SearchExperiments lists active experiments, newest first. filter is as `name LIKE 'support-%'` or "" for all.
func (c *Client) SearchExperiments(ctx context.Context, filter string) ([]Experiment, error) {
	in := struct {
		MaxResults int    `json:"max_results"`
		Filter     string `json:"filter,omitempty"`
		PageToken  string `json:"page_token,omitempty"`
	}{MaxResults: 1000, Filter: filter}
	var all []Experiment
	pages := newPages(experimentsSearch.name)
	for {
		var out struct {
			Experiments []Experiment `json:"experiments"`
			NextToken   string       `json:"next_page_token"`
		}
		if err := c.call(ctx, experimentsSearch, nil, in, &out); err != nil {
			return nil, err
		}
		fresh := 0
		for _, e := range out.Experiments {
			if pages.fresh(e.ID) {
				all = append(all, e)
				fresh++
			}
		}
		more, err := pages.next(out.NextToken, fresh)
		if err != nil || !more {
			return all, err
		}
		in.PageToken = out.NextToken
	}
}

// SetExperimentTag sets a tag of an experiment; the last write wins.
func (c *Client) SetExperimentTag(ctx context.Context, experimentID, key, value string) error {
	op := experimentsSetTag.name
	if err := checkID(op, "the experiment's id", experimentID); err != nil {
		return err
	}
	if err := checkExperimentTag(op, Tag{key, value}); err != nil {
		return err
	}
	in := struct {
		ExperimentID string `json:"experiment_id"`
		Key          string `json:"key"`
		Value        string `json:"value"`
	}{experimentID, key, value}
	return c.call(ctx, experimentsSetTag, nil, in, nil)
}

// DeleteExperimentTag removes a tag of an experiment; one that is not there is no error. Servers before 3.x can't, which is an error of
// kind ErrUnsupported: there the tag can only be overwritten.
func (c *Client) DeleteExperimentTag(ctx context.Context, experimentID, key string) error {
	op := experimentsDeleteTag.name
	if err := checkID(op, "the experiment's id", experimentID); err != nil {
		return err
	}
	if err := checkKey(op, "experiment tag", key); err != nil {
		return err
	}
	in := struct {
		ExperimentID string `json:"experiment_id"`
		Key          string `json:"key"`
	}{experimentID, key}
	err := c.call(ctx, experimentsDeleteTag, nil, in, nil)
	var e *Error
	switch {
	case !errors.As(err, &e) || e.Status != http.StatusNotFound:
		return err
	case errors.Is(err, ErrNotFound):
		return c.absent(ctx, experimentID, key, err)
	}
	e.Kind, e.Message, e.Remedy = ErrUnsupported, "the server can't remove an experiment's tag", "overwrite it, or use MLflow 3"
	return e
}

// absent turns the refusal to delete a tag into none where the experiment is there and the tag is not.
func (c *Client) absent(ctx context.Context, experimentID, key string, refusal error) error {
	e, err := c.GetExperiment(ctx, experimentID)
	if err == nil && !slices.ContainsFunc(e.Tags, func(t Tag) bool { return t.Key == key }) {
		return nil
	}
	return errors.Join(refusal, err)
}
