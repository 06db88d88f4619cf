package mlflowtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
)

func (f *Fake) createRun(q request) (any, error) {
	run := &fakeRun{status: string(mlflow.StatusRunning)}
	var tags []mlflow.Tag
	q.read(fields{
		"experiment_id": text(&run.experiment), "run_name": text(&run.name), "start_time": integer(&run.start), "tags": list(&tags, message(tagFields)),
	})
	e, err := f.experiment(run.experiment)
	if err != nil {
		return nil, err
	}
	if e.deleted {
		return nil, badValue("The experiment " + e.id + " must be in the 'active' state. Current state is deleted.")
	}
	run.experiment, run.id = e.id, f.id()
	named := false
	for _, t := range tags {
		run.setTag(t)
		named = named || t.Key == "mlflow.runName"
	}
	if run.name == "" {
		run.name = "nameless-" + run.id[:4]
	}
	if !named {
		run.setTag(mlflow.Tag{Key: "mlflow.runName", Value: run.name})
	}
	f.runs[run.id] = run
	return map[string]any{"run": run.json()}, nil
}

func (q request) runID() string {
	var id string
	q.read(fields{"run_id": text(&id), "run_uuid": text(&id)})
	return id
}

func (f *Fake) getRun(q request) (any, error) {
	run, err := f.run(q.runID())
	if err != nil {
		return nil, err
	}
	return map[string]any{"run": run.json()}, nil
}

func (f *Fake) updateRun(q request) (any, error) {
	var id, status, name string
	var end int64
	q.read(fields{
		"run_id": text(&id), "status": word(&status, "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"), "end_time": integer(&end), "run_name": text(&name),
	})
	run, err := f.activeRun(id)
	if err != nil {
		return nil, err
	}
	if status != "" {
		run.status = status
	}
	if end != 0 {
		run.end = end
	}
	if name != "" {
		run.setTag(mlflow.Tag{Key: "mlflow.runName", Value: name})
	}
	return map[string]any{"run_info": run.info()}, nil
}

func (f *Fake) deleteRun(q request) (any, error) { return f.flipRun(q, true) }

func (f *Fake) restoreRun(q request) (any, error) { return f.flipRun(q, false) }

func (f *Fake) flipRun(q request, deleted bool) (any, error) {
	run, err := f.run(q.runID())
	if err != nil {
		return nil, err
	}
	run.deleted = deleted
	return struct{}{}, nil
}

func (f *Fake) setRunTag(q request) (any, error) {
	var t mlflow.Tag
	q.read(fields{"key": text(&t.Key), "value": text(&t.Value)})
	run, err := f.activeRun(q.runID())
	if err != nil {
		return nil, err
	}
	if err := checkName(t.Key); err != nil {
		return nil, err
	}
	run.setTag(t)
	return struct{}{}, nil
}

func metricFields(m *mlflow.Metric) fields {
	return fields{"key": text(&m.Key), "value": double(&m.Value), "timestamp": integer(&m.Timestamp), "step": integer(&m.Step)}
}

func paramFields(p *mlflow.Param) fields { return fields{"key": text(&p.Key), "value": text(&p.Value)} }

func (f *Fake) logBatch(q request) (any, error) {
	var id string
	var b mlflow.Batch
	q.read(fields{
		"run_id": text(&id), "metrics": list(&b.Metrics, message(metricFields)), "params": list(&b.Params, message(paramFields)),
		"tags": list(&b.Tags, message(tagFields)),
	})
	run, err := f.activeRun(id)
	if err != nil {
		return nil, err
	}
	if err := checkBatch(b); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(b.Params, run.takenParam); i >= 0 {
		return nil, badValue("Changing param values is not allowed. Param with key='" + b.Params[i].Key + "' was already logged for run ID='" + id + "'.")
	}
	for _, p := range b.Params {
		run.setParam(p)
	}
	if f.version == Oldest && len(b.Metrics) > 100 && slices.ContainsFunc(b.Metrics, run.hasPoint) {
		return nil, &failure{http.StatusBadRequest, "BAD_REQUEST", "(sqlite3.IntegrityError) UNIQUE constraint failed: metrics.key, metrics.timestamp, ..."}
	}
	for _, m := range b.Metrics {
		run.setMetric(m)
	}
	for _, t := range b.Tags {
		run.setTag(t)
	}
	return struct{}{}, nil
}

func checkBatch(b mlflow.Batch) error {
	if len(b.Metrics) > 1000 || len(b.Params) > 100 || len(b.Tags) > 100 || len(b.Metrics)+len(b.Params)+len(b.Tags) > 1000 {
		return badValue("A batch logging request can contain at most 1000 metrics, 100 params, 100 tags, 1000 together.")
	}
	seen := map[string]bool{}
	for _, p := range b.Params {
		if err := checkName(p.Key); err != nil {
			return err
		}
		if seen[p.Key] {
			return badValue("Duplicate parameter keys have been submitted: ['" + p.Key + "'].")
		}
		seen[p.Key] = true
	}
	for _, m := range b.Metrics {
		if err := checkName(m.Key); err != nil {
			return err
		}
	}
	for _, t := range b.Tags {
		if err := checkName(t.Key); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fake) logInputs(q request) (any, error) {
	type input struct {
		tags    []mlflow.Tag
		dataset map[string]string
	}
	var inputs []input
	var id string
	q.read(fields{"run_id": text(&id), "datasets": list(&inputs, message(func(in *input) fields {
		in.dataset = map[string]string{}
		return fields{"tags": list(&in.tags, message(tagFields)), "dataset": func(v any) error {
			o, _ := v.(object)
			for _, m := range o {
				if s, ok := m.value.(string); ok {
					in.dataset[m.name] = s
				}
			}
			return nil
		}}
	}))})
	run, err := f.activeRun(id)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if len([]rune(in.dataset["digest"])) > 36 {
			return nil, badValue("'digest' exceeds the maximum length of 36 characters")
		}
		same := func(old fakeInput) bool {
			return old.dataset["name"] == in.dataset["name"] && old.dataset["digest"] == in.dataset["digest"]
		}
		if slices.ContainsFunc(run.inputs, same) {
			continue
		}
		stored := fakeInput{dataset: in.dataset}
		for _, t := range in.tags {
			if t.Key == "mlflow.data.context" {
				stored.context = t.Value
			}
		}
		run.inputs = append(run.inputs, stored)
	}
	return struct{}{}, nil
}

func viewWord(dst *string) setter { return word(dst, "ACTIVE_ONLY", "DELETED_ONLY", "ALL") }

func inView(deleted bool, view string) bool {
	return view == string(mlflow.ViewAll) || deleted == (view == string(mlflow.ViewDeleted))
}

func (f *Fake) searchRuns(q request) (any, error) {
	var ids, order []string
	var filter, token string
	limit, view := int64(1000), string(mlflow.ViewActive)
	q.read(fields{
		"experiment_ids": texts(&ids), "filter": text(&filter), "run_view_type": viewWord(&view), "max_results": integer(&limit),
		"order_by": texts(&order), "page_token": text(&token),
	})
	if limit < 0 || limit > mlflow.MaxPageSize {
		return nil, badValue("Invalid value " + strconv.FormatInt(limit, 10) + " for parameter 'max_results' supplied.")
	}
	conditions, err := parseFilter(filter)
	if err != nil {
		return nil, err
	}
	joins := 0
	for _, c := range conditions {
		if f.version == Oldest && strings.HasPrefix(c.op, "IS ") {
			return nil, badValue("Invalid clause(s) in filter string: " + c.op)
		}
		if c.kind != "attributes" {
			joins++
		}
	}
	if joins > 62 {
		return nil, &failure{http.StatusServiceUnavailable, "TEMPORARILY_UNAVAILABLE", "(sqlite3.OperationalError) at most 64 tables in a join"}
	}
	var runs []*fakeRun
	for _, run := range f.runs {
		if slices.Contains(ids, run.experiment) && inView(run.deleted, view) && matchAll(conditions, run.value) {
			runs = append(runs, run)
		}
	}
	descending := len(order) == 0 || strings.HasSuffix(strings.ToUpper(order[0]), " DESC")
	slices.SortFunc(runs, func(a, b *fakeRun) int { return compareRuns(a, b, descending) })
	found := make([]map[string]any, len(runs))
	for i, run := range runs {
		found[i] = run.json()
	}
	return page("runs", found, int(limit), token, f.version)
}

// value is what a condition of a search compares.
func (r *fakeRun) value(c condition) (string, bool) {
	switch c.kind {
	case "tags":
		for _, t := range r.tags {
			if t.Key == c.key {
				return t.Value, true
			}
		}
	case "params":
		for _, p := range r.params {
			if p.Key == c.key {
				return p.Value, true
			}
		}
	case "metrics":
		for _, m := range r.metrics {
			if m.Key == c.key {
				return strconv.FormatFloat(m.Value, 'g', -1, 64), true
			}
		}
	case "attributes":
		info := r.info()
		if v, ok := info[c.key].(string); ok {
			return v, true
		}
		if v, ok := info[c.key].(int64); ok {
			return strconv.FormatInt(v, 10), true
		}
	}
	return "", false
}

// page cuts a list. The oldest version hands out a token for every full page, so that the last one may be empty.
func page(name string, all []map[string]any, limit int, token string, version Version) (any, error) {
	offset := 0
	if token != "" {
		data, err := base64.StdEncoding.DecodeString(token)
		var at struct{ Offset *int }
		if err != nil || json.Unmarshal(data, &at) != nil || at.Offset == nil {
			return nil, badValue("Invalid page token, could not base64-decode")
		}
		offset = *at.Offset
	}
	rows := all[min(offset, len(all)):min(offset+limit, len(all))]
	out := map[string]any{}
	if len(rows) > 0 {
		out[name] = rows
	}
	if offset+limit < len(all) || version == Oldest && len(rows) == limit {
		out["next_page_token"] = base64.StdEncoding.EncodeToString([]byte(`{"offset": ` + strconv.Itoa(offset+limit) + `}`))
	}
	return out, nil
}
