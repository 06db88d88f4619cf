package mlflowtest

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
)

type fakeExperiment struct {
	id, name string
	deleted  bool
	created  int64
	tags     []mlflow.Tag
}

type fakeRun struct {
	id, experiment, name string
	status               string
	start, end           int64 // end 0: not set
	deleted              bool
	tags                 []mlflow.Tag
	params               []mlflow.Param
	metrics              []mlflow.Metric // the latest of each
	points               map[mlflow.Metric]bool
	inputs               []fakeInput
}

type fakeInput struct {
	context string
	dataset map[string]string
}

// failure is an error answer.
type failure struct {
	status        int
	code, message string
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func badValue(message string) error {
	return &failure{http.StatusBadRequest, "INVALID_PARAMETER_VALUE", message}
}

func missing(message string) error {
	return &failure{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", message}
}

func (f *Fake) experiment(id string) (*fakeExperiment, error) {
	if id == "" {
		id = "0"
	}
	for _, e := range f.experiments {
		if e.id == id {
			return e, nil
		}
	}
	return nil, missing("No Experiment with id=" + id + " exists")
}

func (f *Fake) run(id string) (*fakeRun, error) {
	if id == "" {
		return nil, badValue("Missing value for required parameter 'run_id'. See the API docs for more information about request parameters.")
	}
	if run, ok := f.runs[id]; ok {
		return run, nil
	}
	return nil, missing("Run with id=" + id + " not found")
}

func (f *Fake) activeRun(id string) (*fakeRun, error) {
	run, err := f.run(id)
	if err == nil && run.deleted {
		err = badValue("The run " + id + " must be in the 'active' state. Current state is deleted.")
	}
	return run, err
}

func setTag(tags *[]mlflow.Tag, t mlflow.Tag) {
	for i := range *tags {
		if (*tags)[i].Key == t.Key {
			(*tags)[i].Value = t.Value
			return
		}
	}
	*tags = append(*tags, t)
}

// setTag stores a run's tag, cut to what the database holds.
func (r *fakeRun) setTag(t mlflow.Tag) {
	if chars := []rune(t.Value); len(chars) > mlflow.MaxTagValue {
		t.Value = string(chars[:mlflow.MaxTagValue])
	}
	if t.Key == "mlflow.runName" {
		r.name = t.Value
	}
	setTag(&r.tags, t)
}

// setMetric keeps the latest point by step, time and value. NaN counts as 0 in that order; infinities become the largest numbers.
func (r *fakeRun) setMetric(m mlflow.Metric) {
	if math.IsInf(m.Value, 0) {
		m.Value = math.Copysign(math.MaxFloat64, m.Value)
	}
	if r.points == nil {
		r.points = map[mlflow.Metric]bool{}
	}
	r.points[m] = true
	for i, old := range r.metrics {
		if old.Key != m.Key {
			continue
		}
		later := m.Step > old.Step || m.Step == old.Step && m.Timestamp > old.Timestamp ||
			m.Step == old.Step && m.Timestamp == old.Timestamp && m.Value > old.Value
		if later {
			r.metrics[i] = m
		}
		return
	}
	r.metrics = append(r.metrics, m)
}

func (r *fakeRun) hasPoint(m mlflow.Metric) bool { return r.points[m] }

// takenParam tells whether a parameter has another value already.
func (r *fakeRun) takenParam(p mlflow.Param) bool {
	return slices.ContainsFunc(r.params, func(old mlflow.Param) bool { return old.Key == p.Key && old.Value != p.Value })
}

func (r *fakeRun) setParam(p mlflow.Param) {
	if !slices.ContainsFunc(r.params, func(old mlflow.Param) bool { return old.Key == p.Key }) {
		r.params = append(r.params, p)
	}
}

func stage(deleted bool) string {
	if deleted {
		return mlflow.StageDeleted
	}
	return mlflow.StageActive
}

func (e *fakeExperiment) json() map[string]any {
	out := map[string]any{
		"experiment_id": e.id, "name": e.name, "artifact_location": "mlflow-artifacts:/" + e.id,
		"lifecycle_stage": stage(e.deleted), "creation_time": e.created, "last_update_time": e.created,
	}
	if len(e.tags) > 0 {
		out["tags"] = e.tags
	}
	return out
}

func (r *fakeRun) info() map[string]any {
	info := map[string]any{
		"run_id": r.id, "run_uuid": r.id, "run_name": r.name, "experiment_id": r.experiment, "user_id": "", "status": r.status,
		"start_time": r.start, "artifact_uri": "mlflow-artifacts:/" + r.root(), "lifecycle_stage": stage(r.deleted),
	}
	if r.end != 0 {
		info["end_time"] = r.end
	}
	return info
}

// root is where the run's artifacts lie.
func (r *fakeRun) root() string { return r.experiment + "/" + r.id + "/artifacts" }

func (r *fakeRun) json() map[string]any {
	data, inputs := map[string]any{}, map[string]any{}
	if len(r.tags) > 0 {
		data["tags"] = r.tags
	}
	if len(r.params) > 0 {
		data["params"] = r.params
	}
	var metrics []map[string]any
	for _, m := range r.metrics {
		var value any = m.Value
		if math.IsNaN(m.Value) {
			value = "NaN"
		}
		metrics = append(metrics, map[string]any{"key": m.Key, "value": value, "timestamp": m.Timestamp, "step": m.Step})
	}
	if metrics != nil {
		data["metrics"] = metrics
	}
	var datasets []map[string]any
	for _, in := range r.inputs {
		one := map[string]any{"dataset": in.dataset}
		if in.context != "" {
			one["tags"] = []mlflow.Tag{{Key: "mlflow.data.context", Value: in.context}}
		}
		datasets = append(datasets, one)
	}
	if datasets != nil {
		inputs["dataset_inputs"] = datasets
	}
	return map[string]any{"info": r.info(), "data": data, "inputs": inputs}
}

// compareRuns is the order of a search: by start, then by id.
func compareRuns(a, b *fakeRun, descending bool) int {
	if a.start != b.start {
		if (a.start < b.start) != descending {
			return -1
		}
		return 1
	}
	return strings.Compare(a.id, b.id)
}
