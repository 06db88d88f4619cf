package mlflowtest

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fakeTrace is a trace as its parts arrived.
type fakeTrace struct {
	id, experiment string
	info           map[string]any // as it was sent, without what is merged
	metadata, tags map[string]any
	assessments    []map[string]any
	spans          map[string]map[string]any // by id
}

const tracesPath = "/api/3.0/mlflow/traces"

// isTraces says whether a request is about traces; the oldest server knows none of them.
func (f *Fake) isTraces(r *http.Request) bool {
	return f.version == Newest && (r.URL.Path == "/v1/traces" || r.URL.Path == tracesPath || strings.HasPrefix(r.URL.Path, tracesPath+"/"))
}

func (f *Fake) serveTraces(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	var in map[string]any
	if r.Method == http.MethodPost && json.Unmarshal(body, &in) != nil {
		writeFailure(w, badValue("Bad Request"))
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path == "/v1/traces" {
		f.exportSpans(w, r, in)
		return
	}
	var answer any
	rest := strings.TrimPrefix(r.URL.Path, tracesPath)
	id, assessments := strings.CutSuffix(strings.Trim(rest, "/"), "/assessments")
	switch {
	case rest == "" && r.Method == http.MethodPost:
		answer, err = f.startTrace(in)
	case rest == "/search" && r.Method == http.MethodPost:
		answer, err = f.searchTraces(in)
	case rest == "/get" && r.Method == http.MethodGet:
		answer, err = f.getTrace(r.URL.Query().Get("trace_id"))
	case assessments && r.Method == http.MethodPost:
		answer, err = f.assess(id, in)
	default:
		writePage(w, http.StatusNotFound, "Not Found")
		return
	}
	if err != nil {
		writeFailure(w, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func dig(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

func (f *Fake) startTrace(in map[string]any) (any, error) {
	info, _ := dig(in, "trace", "trace_info").(map[string]any)
	experiment, _ := dig(info, "trace_location", "mlflow_experiment", "experiment_id").(string)
	if _, err := f.experiment(experiment); err != nil {
		return nil, err
	}
	id, _ := info["trace_id"].(string)
	given, _ := info["assessments"].([]any)
	for _, v := range given {
		if other := f.holder(dig(v, "assessment_id")); other != "" && other != id {
			return nil, missing("Trace with ID '" + id + "' no longer exists.")
		}
	}
	t := f.traces[id]
	if t == nil {
		t = &fakeTrace{id: id, experiment: experiment, metadata: map[string]any{}, tags: map[string]any{}, spans: map[string]map[string]any{}}
		f.traces[id] = t
	}
	metadata, _ := info["trace_metadata"].(map[string]any)
	tags, _ := info["tags"].(map[string]any)
	maps.Copy(t.metadata, metadata)
	maps.Copy(t.tags, tags)
	for _, name := range []string{"trace_metadata", "tags", "assessments"} {
		delete(info, name)
	}
	t.info = info
	for _, v := range given {
		a, _ := v.(map[string]any)
		f.keep(t, a)
	}
	return map[string]any{"trace": map[string]any{"trace_info": t.json()}}, nil
}

// holder is the trace that has an assessment of that id, "" = none.
func (f *Fake) holder(id any) string {
	for _, t := range f.traces {
		if slices.ContainsFunc(t.assessments, func(a map[string]any) bool { return id != nil && a["assessment_id"] == id }) {
			return t.id
		}
	}
	return ""
}

// keep stores an assessment, in the place of the one with its id.
func (f *Fake) keep(t *fakeTrace, a map[string]any) {
	if a["assessment_id"] == nil {
		a["assessment_id"] = "a-" + f.id()
	}
	now := time.Now().Add(f.ahead).UTC().Format("2006-01-02T15:04:05.000Z")
	a["trace_id"], a["create_time"], a["last_update_time"] = t.id, now, now
	for i := range t.assessments {
		if t.assessments[i]["assessment_id"] == a["assessment_id"] {
			t.assessments[i] = a
			return
		}
	}
	t.assessments = append(t.assessments, a)
}

func (f *Fake) assess(id string, in map[string]any) (any, error) {
	t := f.traces[id]
	if t == nil {
		return nil, missing("Trace with ID '" + id + "' not found.")
	}
	a, _ := in["assessment"].(map[string]any)
	if f.holder(a["assessment_id"]) != "" {
		return nil, &failure{http.StatusInternalServerError, "INTERNAL_ERROR", "constraint violation"}
	}
	f.keep(t, a)
	return map[string]any{"assessment": a}, nil
}

func (t *fakeTrace) json() map[string]any {
	out := maps.Clone(t.info)
	out["trace_metadata"], out["tags"] = t.metadata, t.tags
	if len(t.assessments) > 0 {
		out["assessments"] = t.assessments
	}
	return out
}

func (f *Fake) getTrace(id string) (any, error) {
	t := f.traces[id]
	if t == nil {
		return nil, missing("Trace with ID '" + id + "' not found.")
	}
	var spans []map[string]any
	for _, id := range slices.Sorted(maps.Keys(t.spans)) {
		spans = append(spans, t.spans[id])
	}
	return map[string]any{"trace": map[string]any{"trace_info": t.json(), "spans": spans}}, nil
}

// searchTraces knows one filter: that by run.
func (f *Fake) searchTraces(in map[string]any) (any, error) {
	filter, _ := in["filter"].(string)
	run, ok := strings.CutPrefix(filter, "attributes.run_id = '")
	if !ok {
		return nil, badValue("the in-memory server can't read the filter " + filter)
	}
	run = strings.TrimSuffix(run, "'")
	experiments := map[any]bool{}
	locations, _ := in["locations"].([]any)
	for _, l := range locations {
		experiments[dig(l, "mlflow_experiment", "experiment_id")] = true
	}
	var found []any
	for _, id := range slices.Sorted(maps.Keys(f.traces)) {
		if t := f.traces[id]; experiments[t.experiment] && t.metadata["mlflow.sourceRun"] == run {
			found = append(found, t.json())
		}
	}
	size, _ := in["max_results"].(float64)
	token, _ := in["page_token"].(string)
	text, _ := base64.StdEncoding.DecodeString(token)
	from, _ := strconv.Atoi(string(text))
	page := found[min(from, len(found)):]
	answer := map[string]any{"traces": page[:min(int(size), len(page))]}
	if len(page) >= int(size) {
		answer["next_page_token"] = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(from + int(size))))
	}
	return answer, nil
}

func (f *Fake) exportSpans(w http.ResponseWriter, r *http.Request, in map[string]any) {
	experiment := r.Header.Get("X-Mlflow-Experiment-Id")
	if experiment == "" {
		writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": "x-mlflow-experiment-id: Field required"})
		return
	}
	resources, _ := in["resourceSpans"].([]any)
	for _, resource := range resources {
		scopes, _ := dig(resource, "scopeSpans").([]any)
		for _, scope := range scopes {
			spans, _ := dig(scope, "spans").([]any)
			for _, v := range spans {
				s, _ := v.(map[string]any)
				hex, _ := s["traceId"].(string)
				if t := f.traces["tr-"+hex]; t != nil { // those that were not started are not needed here
					id, _ := s["spanId"].(string)
					t.spans[id] = s
				}
			}
		}
	}
	w.WriteHeader(http.StatusOK)
}
