package mlflowtest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
)

func tagFields(t *mlflow.Tag) fields { return fields{"key": text(&t.Key), "value": text(&t.Value)} }

func (f *Fake) createExperiment(q request) (any, error) {
	e := &fakeExperiment{created: time.Now().UnixMilli()}
	q.read(fields{"name": text(&e.name), "tags": list(&e.tags, message(tagFields))})
	if e.name == "" {
		return nil, badValue("Missing value for required parameter 'name'. See the API docs for more information about request parameters.")
	}
	if len([]rune(e.name)) > mlflow.MaxExperimentName {
		return nil, badValue("'name' exceeds the maximum length of 500 characters")
	}
	for _, old := range f.experiments {
		if old.name == e.name {
			return nil, &failure{http.StatusBadRequest, "RESOURCE_ALREADY_EXISTS", "Experiment(name=" + e.name + ") already exists."}
		}
	}
	f.nextExperiment++
	e.id = strconv.Itoa(f.nextExperiment)
	f.experiments = append(f.experiments, e)
	return map[string]any{"experiment_id": e.id}, nil
}

func (f *Fake) getExperimentByName(q request) (any, error) {
	var name string
	q.read(fields{"experiment_name": text(&name)})
	for _, e := range f.experiments {
		if e.name == name {
			return map[string]any{"experiment": e.json()}, nil
		}
	}
	return nil, missing("Could not find experiment with name '" + name + "'")
}

func (f *Fake) namedExperiment(q request) (*fakeExperiment, error) {
	var id string
	q.read(fields{"experiment_id": text(&id)})
	return f.experiment(id)
}

func (f *Fake) getExperiment(q request) (any, error) {
	e, err := f.namedExperiment(q)
	if err != nil {
		return nil, err
	}
	return map[string]any{"experiment": e.json()}, nil
}

func (f *Fake) searchExperiments(q request) (any, error) {
	var filter, token string
	var limit int64
	view := string(mlflow.ViewActive)
	q.read(fields{"max_results": integer(&limit), "filter": text(&filter), "page_token": text(&token), "view_type": viewWord(&view)})
	if limit < 1 || limit > mlflow.MaxPageSize {
		return nil, badValue("Invalid value " + strconv.FormatInt(limit, 10) + " for parameter 'max_results' supplied.")
	}
	conditions, err := parseFilter(filter)
	if err != nil {
		return nil, err
	}
	var found []map[string]any
	for _, e := range slices.Backward(f.experiments) {
		if inView(e.deleted, view) && matchAll(conditions, e.value) {
			found = append(found, e.json())
		}
	}
	return page("experiments", found, int(limit), token, f.version)
}

// value is what a condition of a search compares.
func (e *fakeExperiment) value(c condition) (string, bool) {
	switch {
	case c.kind == "tags":
		for _, t := range e.tags {
			if t.Key == c.key {
				return t.Value, true
			}
		}
		return "", false
	case c.key == "name":
		return e.name, true
	}
	return "", false
}

func (f *Fake) setExperimentTag(q request) (any, error) {
	var t mlflow.Tag
	q.read(fields{"key": text(&t.Key), "value": text(&t.Value)})
	e, err := f.namedExperiment(q)
	if err != nil {
		return nil, err
	}
	if len([]rune(t.Value)) > mlflow.MaxExperimentValue {
		return nil, badValue("'value' exceeds the maximum length of 5000 characters")
	}
	setTag(&e.tags, t)
	return struct{}{}, nil
}

func (f *Fake) deleteExperimentTag(q request) (any, error) {
	var key string
	q.read(fields{"key": text(&key)})
	e, err := f.namedExperiment(q)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(e.tags, func(t mlflow.Tag) bool { return t.Key == key })
	if at < 0 {
		return nil, missing("No tag with name: " + key + " in experiment with id " + e.id)
	}
	e.tags = slices.Delete(e.tags, at, at+1)
	return struct{}{}, nil
}

func (f *Fake) deleteExperiment(q request) (any, error)  { return f.flipExperiment(q, true) }
func (f *Fake) restoreExperiment(q request) (any, error) { return f.flipExperiment(q, false) }

// flipExperiment takes all runs along, also those that had been deleted one by one.
func (f *Fake) flipExperiment(q request, deleted bool) (any, error) {
	e, err := f.namedExperiment(q)
	if err != nil {
		return nil, err
	}
	e.deleted = deleted
	for _, run := range f.runs {
		if run.experiment == e.id {
			run.deleted = deleted
		}
	}
	return struct{}{}, nil
}
