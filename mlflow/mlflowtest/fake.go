package mlflowtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Version is a version of MLflow that is supported and tested.
type Version string

// The versions for which scripts/mlflow holds a lock.
const (
	Newest Version = "3.17.2"
	Oldest Version = "2.22.5"
)

// Fake is an in-memory MLflow server on loopback. It behaves as the real one does as far as [RunConformance] looks.
type Fake struct {
	*Faults
	URL string

	version        Version
	mu             sync.Mutex
	nextID         int
	nextExperiment int
	ahead          time.Duration // of the fake's clock

	experiments []*fakeExperiment
	runs        map[string]*fakeRun
	artifacts   map[string][]byte // by path below the artifact store
	traces      map[string]*fakeTrace
}

// NewFake starts a server that behaves as the newest supported MLflow; it ends with the test.
func NewFake(t testing.TB) *Fake { return NewFakeOf(t, Newest) }

// NewFakeOf starts a server that behaves as the given version.
func NewFakeOf(t testing.TB, version Version) *Fake {
	f := &Fake{version: version, runs: map[string]*fakeRun{}, artifacts: map[string][]byte{}, traces: map[string]*fakeTrace{}}
	f.experiments = []*fakeExperiment{{id: "0", name: "Default", created: time.Now().UnixMilli()}}
	f.Faults = NewFaults(http.HandlerFunc(f.serve))
	server := httptest.NewServer(f.Faults)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.URL = server.URL
	return f
}

// Advance sets the server's clock forward (or, with a negative d, back), as its answers' header Date tells it.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
}

// Collect removes for good what is deleted, as mlflow gc does; where runs are named, only these.
func (f *Fake) Collect(runs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, run := range f.runs {
		if run.deleted && (len(runs) == 0 || slices.Contains(runs, id)) {
			delete(f.runs, id)
		}
	}
	if len(runs) > 0 {
		return
	}
	f.experiments = slices.DeleteFunc(f.experiments, func(e *fakeExperiment) bool { return e.deleted })
}

// date puts the server's time on an answer.
func (f *Fake) date(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Date", time.Now().Add(f.ahead).UTC().Format(http.TimeFormat))
}

// request is a call with its message.
type request struct {
	*http.Request
	message object
}

// read converts the message as far as that is possible; the server says nothing about the rest.
func (q request) read(f fields) { _ = f.fill(q.message) }

type handler func(f *Fake, q request) (any, error)

var handlers = map[string]handler{
	"POST experiments/create":                (*Fake).createExperiment,
	"GET experiments/get-by-name":            (*Fake).getExperimentByName,
	"GET experiments/get":                    (*Fake).getExperiment,
	"POST experiments/search":                (*Fake).searchExperiments,
	"POST experiments/set-experiment-tag":    (*Fake).setExperimentTag,
	"POST experiments/delete-experiment-tag": (*Fake).deleteExperimentTag,
	"POST experiments/delete":                (*Fake).deleteExperiment,
	"POST experiments/restore":               (*Fake).restoreExperiment,
	"POST runs/create":                       (*Fake).createRun,
	"GET runs/get":                           (*Fake).getRun,
	"POST runs/update":                       (*Fake).updateRun,
	"POST runs/delete":                       (*Fake).deleteRun,
	"POST runs/restore":                      (*Fake).restoreRun,
	"POST runs/search":                       (*Fake).searchRuns,
	"POST runs/set-tag":                      (*Fake).setRunTag,
	"POST runs/log-batch":                    (*Fake).logBatch,
	"POST runs/log-inputs":                   (*Fake).logInputs,
	"GET artifacts/list":                     (*Fake).listArtifacts,
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	f.date(w)
	switch {
	case r.URL.Path == "/health":
		_, _ = io.WriteString(w, "OK")
	case r.URL.Path == "/version":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, string(f.version))
	case f.version == Newest && !localHost(r.Host):
		http.Error(w, "Invalid Host header - possible DNS rebinding attack detected", http.StatusForbidden)
	case r.URL.Path == "/api/3.0/mlflow/server-info" && f.version == Newest:
		writeJSON(w, http.StatusOK, map[string]any{"store_type": "SqlStore", "workspaces_enabled": false})
	case f.isTraces(r):
		f.serveTraces(w, r)
	case strings.HasPrefix(r.URL.Path, proxyPrefix):
		f.serveProxied(w, r)
	case r.URL.Path == "/get-artifact" && r.Method == http.MethodGet:
		f.serveRunArtifact(w, r)
	case r.URL.Path == "/ajax-api/2.0/mlflow/upload-artifact" && r.Method == http.MethodPost:
		f.uploadRunArtifact(w, r)
	default:
		f.serveCall(w, r)
	}
}

func localHost(host string) bool {
	name, _, _ := strings.Cut(host, ":")
	return name == "127.0.0.1" || name == "localhost"
}

func (f *Fake) serveCall(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutPrefix(r.URL.Path, "/api/2.0/mlflow/")
	if !found {
		path, found = strings.CutPrefix(r.URL.Path, "/ajax-api/2.0/mlflow/")
	}
	handle := handlers[r.Method+" "+path]
	if !found || handle == nil || f.version == Oldest && path == "experiments/delete-experiment-tag" {
		writePage(w, http.StatusNotFound, "Not Found")
		return
	}
	if f.version == Newest && r.Header.Get("X-MLFLOW-WORKSPACE") != "" {
		writeFailure(w, &failure{http.StatusInternalServerError, "FEATURE_DISABLED", "Workspace APIs are not available: workspaces are not enabled on this server"})
		return
	}
	q := request{Request: r}
	if r.Method == http.MethodGet {
		for name, values := range r.URL.Query() {
			q.message = append(q.message, member{name, values[0]})
		}
	} else {
		if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); media != "application/json" {
			writeFailure(w, badValue("Bad Request. Content-Type must be one of ['application/json']."))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		q.message = parseLenient(body)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	answer, err := handle(f, q)
	if err != nil {
		writeFailure(w, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// id makes a run id: 32 hex digits, not in the order of creation, as on the real server.
func (f *Fake) id() string {
	f.nextID++
	return fmt.Sprintf("%016x%016x", uint64(f.nextID)*0x9e3779b97f4a7c15, uint64(f.nextID))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func writeFailure(w http.ResponseWriter, err error) {
	fail, ok := err.(*failure)
	if !ok {
		fail = &failure{http.StatusInternalServerError, "INTERNAL_ERROR", err.Error()}
	}
	writeJSON(w, fail.status, map[string]any{"error_code": fail.code, "message": fail.message})
}

func writePage(w http.ResponseWriter, status int, title string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html>\n<html lang=en>\n<title>%d %s</title>\n<h1>%s</h1>\n", status, title, title)
}
