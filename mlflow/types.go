package mlflow

// RunStatus is the state of a run. The server ignores any other word without saying so.
type RunStatus string

// The statuses a run can have. Nothing on the server enforces an order of them, or ends a run whose client died.
const (
	StatusRunning   RunStatus = "RUNNING"
	StatusScheduled RunStatus = "SCHEDULED"
	StatusFinished  RunStatus = "FINISHED"
	StatusFailed    RunStatus = "FAILED"
	StatusKilled    RunStatus = "KILLED"
)

// Lifecycle stages of runs and experiments.
const (
	StageActive  = "active"
	StageDeleted = "deleted"
)

// Experiment holds runs.
type Experiment struct {
	ID               string `json:"experiment_id"`
	Name             string `json:"name"`
	ArtifactLocation string `json:"artifact_location"`
	LifecycleStage   string `json:"lifecycle_stage"` // StageActive or StageDeleted
	Tags             []Tag  `json:"tags"`
}

// Tag gives the value of a tag, "" if the experiment has none of that name.
func (e Experiment) Tag(key string) string { return tagValue(e.Tags, key) }

// Run is a run as the server shows it.
type Run struct {
	Info   RunInfo
	Data   RunData
	Inputs []DatasetInput
}

// RunInfo identifies a run and says how it stands.
type RunInfo struct {
	RunID          string
	RunName        string
	ExperimentID   string
	Status         RunStatus
	StartTime      int64  // ms UTC, as the client that created it said
	EndTime        *int64 // ms UTC; nil while it is not set
	ArtifactURI    string
	LifecycleStage string // StageActive or StageDeleted
}

// RunData holds what was logged. Of each metric it is the latest point, by step, then time, then value.
type RunData struct {
	Metrics []Metric `json:"metrics"`
	Params  []Param  `json:"params"`
	Tags    []Tag    `json:"tags"`
}

// Tag is a key and a value of at most 8,000 characters; the last write wins.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Param is a key and a value of at most 6,000 characters; it is written once.
type Param struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Metric is one point of a metric. Only finite values are sent. When read, a NaN is a NaN; an infinity that some client logged comes back
// from MLflow as ±[math.MaxFloat64].
type Metric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // ms UTC
	Step      int64   `json:"step"`
}

// Batch is what [Client.LogBatch] stores on a run. Any part may be empty and of any length.
type Batch struct {
	Metrics []Metric
	Params  []Param
	Tags    []Tag
}

// DatasetInput says which data a run used. Name and Digest identify it within an experiment; the first write of the rest wins for good.
type DatasetInput struct {
	Name       string // at most 500 characters
	Digest     string // at most 36 characters: a SHA-256 in hex does not fit
	SourceType string
	Source     string // at most 65,535 characters
	Schema     string // JSON, at most 1,048,575 characters; "" for none
	Profile    string // JSON, at most 16,777,215 characters; "" for none
	Context    string // shown beside the dataset, as "eval"; "" for none
}

// CreateRun describes a new run. It starts as RUNNING.
type CreateRun struct {
	ExperimentID string
	Name         string // at most 250 characters; the tag mlflow.runName is set from it
	StartTime    int64  // ms UTC, required: the server takes a missing one as 1970
	Tags         []Tag

	// UniqueTag names one of Tags whose value no other run of the experiment carries. When an answer is lost, it is
	// looked up before the create is repeated, so that exactly one run comes to be. Without it, a lost answer is
	// an error of kind ErrStateUnknown.
	UniqueTag string
}

// View selects runs by their lifecycle stage.
type View string

// Views of a search.
const (
	ViewActive  View = "ACTIVE_ONLY"
	ViewDeleted View = "DELETED_ONLY"
	ViewAll     View = "ALL"
)

// Order of a search. Only orders that cannot drop or repeat rows are offered.
type Order string

// Orders of a search; runs of the same millisecond are ordered by run id.
const (
	OldestFirst Order = "attributes.start_time ASC"
	NewestFirst Order = "attributes.start_time DESC"
)

// Search says which runs [Client.SearchRuns] returns.
type Search struct {
	ExperimentIDs []string // at least one
	Filter        string   // as made by [TagEquals], [AttributeEquals], [And]; "" for all
	View          View     // "" means ViewActive
	OrderBy       Order    // "" means OldestFirst
	PageSize      int      // runs per request, 1 to 50,000; 0 means 2,000
	Limit         int      // stop after so many runs; 0 means all
}

// FileInfo is one entry of an artifact listing.
type FileInfo struct {
	Path  string // relative to the run's artifact root
	IsDir bool
	Size  int64 // bytes; -1 where the server does not say, which is so for folders and empty files
}

// ServerInfo says what answers.
type ServerInfo struct {
	Version    string // as "3.17.2"; "" if the server does not say
	StoreType  string // as "SqlStore"; "" on servers before 3.x
	Workspaces bool   // true if the server keeps workspaces apart
}

// Tag gives the value of a tag, "" if the run has none of that name.
func (r Run) Tag(key string) string { return tagValue(r.Data.Tags, key) }

// HasTag tells an empty tag from an absent one.
func (r Run) HasTag(key string) bool {
	for _, t := range r.Data.Tags {
		if t.Key == key {
			return true
		}
	}
	return false
}

// Param gives the value of a parameter, "" if the run has none of that name.
func (r Run) Param(key string) string {
	for _, p := range r.Data.Params {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// Metric gives the latest value of a metric; false if the run has none of that name. The value may be NaN.
func (r Run) Metric(key string) (float64, bool) {
	for _, m := range r.Data.Metrics {
		if m.Key == key {
			return m.Value, true
		}
	}
	return 0, false
}

func tagValue(tags []Tag, key string) string {
	for _, t := range tags {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}
