package mlflow

import "net/http"

// class says whether a call may be repeated after a failure.
type class int

const (
	// never: not repeated, whatever happened.
	never class = iota
	// create: repeated only when the server certainly did nothing (connection refused, 429). What happens after a lost answer is
	// decided by the method, which can look first.
	create
	// safe: reads.
	safe
	// download: reads whose 500 may mean that the file is missing, which the method finds out.
	download
	// set: the last write wins, so a repeated one changes nothing.
	set
	// dedup: the server takes an identical repeat for the first one.
	dedup
)

// route is one call of the REST interface.
type route struct {
	name   string // as in errors and in [Client.Calls]
	method string
	path   string
	class  class
}

// permission is what MLflow's basic authentication asks for, on the experiment: who may edit runs may not delete any.
func (r route) permission() string {
	switch {
	case r == runsDelete || r == experimentsDelete:
		return "MANAGE"
	case r.class == safe || r.class == download:
		return "READ"
	}
	return "EDIT"
}

// The one table of calls, with what may be done after a failure.
var (
	experimentsGetByName = route{"experiments/get-by-name", http.MethodGet, "/api/2.0/mlflow/experiments/get-by-name", safe}
	experimentsGet       = route{"experiments/get", http.MethodGet, "/api/2.0/mlflow/experiments/get", safe}
	experimentsSearch    = route{"experiments/search", http.MethodPost, "/api/2.0/mlflow/experiments/search", safe}
	// A name exists once: whoever repeats the create is told so, and reads the experiment.
	experimentsCreate = route{"experiments/create", http.MethodPost, "/api/2.0/mlflow/experiments/create", create}
	experimentsDelete = route{"experiments/delete", http.MethodPost, "/api/2.0/mlflow/experiments/delete", set}
	experimentsSetTag = route{"experiments/set-experiment-tag", http.MethodPost, "/api/2.0/mlflow/experiments/set-experiment-tag", set}
	// Came with 3.x. A repeat may find the tag gone, which is what was wanted.
	experimentsDeleteTag = route{"experiments/delete-experiment-tag", http.MethodPost, "/api/2.0/mlflow/experiments/delete-experiment-tag", set}

	// The server makes a new run for every request: looked up by unique tag before it is repeated.
	runsCreate = route{"runs/create", http.MethodPost, "/api/2.0/mlflow/runs/create", create}
	runsGet    = route{"runs/get", http.MethodGet, "/api/2.0/mlflow/runs/get", safe}
	runsUpdate = route{"runs/update", http.MethodPost, "/api/2.0/mlflow/runs/update", set}
	runsSearch = route{"runs/search", http.MethodPost, "/api/2.0/mlflow/runs/search", safe}
	runsSetTag = route{"runs/set-tag", http.MethodPost, "/api/2.0/mlflow/runs/set-tag", set}
	runsDelete = route{"runs/delete", http.MethodPost, "/api/2.0/mlflow/runs/delete", set}
	// Equal parameters and equal points (key, value, time, step) are absorbed.
	runsLogBatch = route{"runs/log-batch", http.MethodPost, "/api/2.0/mlflow/runs/log-batch", dedup}
	// Equal inputs (name, digest) are absorbed.
	runsLogInputs = route{"runs/log-inputs", http.MethodPost, "/api/2.0/mlflow/runs/log-inputs", dedup}

	artifactsList = route{"artifacts/list", http.MethodGet, "/api/2.0/mlflow/artifacts/list", safe}
	// Through the server's artifact proxy.
	artifactsPut = route{"artifacts/put", http.MethodPut, "/api/2.0/mlflow-artifacts/artifacts/", set}
	artifactsGet = route{"artifacts/get", http.MethodGet, "/api/2.0/mlflow-artifacts/artifacts/", download}
	// By run, for artifact roots that are not proxied.
	runArtifactPut = route{"upload-artifact", http.MethodPost, "/ajax-api/2.0/mlflow/upload-artifact", set}
	runArtifactGet = route{"get-artifact", http.MethodGet, "/get-artifact", download}

	// Trace and assessments carry ids of ours: a repeat replaces what the first one stored.
	tracesStart  = route{"traces/start", http.MethodPost, "/api/3.0/mlflow/traces", set}
	tracesSearch = route{"traces/search", http.MethodPost, "/api/3.0/mlflow/traces/search", safe}
	// Spans replace themselves by their ids.
	spansExport = route{"traces/spans", http.MethodPost, "/v1/traces", set}

	serverVersion = route{"version", http.MethodGet, "/version", safe}
	serverInfo    = route{"server-info", http.MethodGet, "/api/3.0/mlflow/server-info", safe}
)
