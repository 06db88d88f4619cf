package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/benchbatch/benchbatch/mlflow"
)

// Set writes a view of an experiment, over one with the same id. Where e, as read from the server, holds the same view
// already, nothing is sent and wrote is false.
func Set(ctx context.Context, c *mlflow.Client, e mlflow.Experiment, v View, at time.Time) (wrote bool, err error) {
	value, err := v.Value(at)
	if err != nil {
		return false, err
	}
	if n := utf8.RuneCountInString(value); n > mlflow.MaxExperimentValue {
		return false, fmt.Errorf("view %s needs %d characters, MLflow keeps %d: give it fewer columns or charts", v.ID, n, mlflow.MaxExperimentValue)
	}
	if stands(e.Tag(Prefix+v.ID), v) {
		return false, nil
	}
	return true, c.SetExperimentTag(ctx, e.ID, Prefix+v.ID, value)
}

// stands says whether a tag's value is the view, made at any time.
func stands(value string, v View) bool {
	var made struct {
		CreatedAt int64 `json:"createdAt"`
	}
	if json.Unmarshal([]byte(value), &made) != nil {
		return false
	}
	same, err := v.Value(time.UnixMilli(made.CreatedAt))
	return err == nil && same == value
}

// IDs lists the views of an experiment, as read from the server, whose id begins with prefix. Emptied ones are not listed.
func IDs(e mlflow.Experiment, prefix string) []string {
	var out []string
	for _, t := range e.Tags {
		if id, ok := strings.CutPrefix(t.Key, Prefix); ok && strings.HasPrefix(id, prefix) && t.Value != "" {
			out = append(out, id)
		}
	}
	return out
}

// Remove takes a view away. A server that can't remove the tag has it emptied instead, and removed is false.
func Remove(ctx context.Context, c *mlflow.Client, experimentID, id string) (removed bool, err error) {
	err = c.DeleteExperimentTag(ctx, experimentID, Prefix+id)
	if errors.Is(err, mlflow.ErrUnsupported) {
		return false, c.SetExperimentTag(ctx, experimentID, Prefix+id, "")
	}
	return err == nil, err
}
