package batch

import "time"

// ResultSchema is the version of the result.json document.
const ResultSchema = 1

// Result is the frozen end of a batch, stored as result.json on the parent run:
// for every (cell, slot) the run and the digests that count. An export needs
// nothing else of MLflow but the artifacts named here.
type Result struct {
	Schema     int       `json:"schema"`
	Tool       string    `json:"tool"`
	Batch      string    `json:"batch"` // parent run id
	Name       string    `json:"name"`  // name of the dated folder
	Experiment string    `json:"experiment"`
	Started    time.Time `json:"started"` // of the parent run, UTC
	Frozen     time.Time `json:"frozen"`  // UTC

	Plan  Digest `json:"plan"`  // of plan.json
	Spec  Digest `json:"spec"`  // of spec.yaml
	Panel Digest `json:"panel"` // of panel.jsonl
	Key   Digest `json:"key"`

	Counts      Counts       `json:"counts"`
	Slots       []Slot       `json:"slots"`       // plan order, then slot
	Evaluations []Evaluation `json:"evaluations"` // by start time, then run id
	Ignored     []Ignored    `json:"ignored,omitempty"`
	// Feedback is what people had said in MLflow until the freeze; nil = it was not
	// asked for, because the batch's evaluations have no traces.
	Feedback *Feedback `json:"feedback,omitempty"`
}

// Counts always add up: Planned = Reused + Done + Failed + Skipped + NotStarted.
type Counts struct {
	Planned    int `json:"planned"`
	Reused     int `json:"reused"`
	Done       int `json:"done"`
	Failed     int `json:"failed"`
	Skipped    int `json:"skipped"`
	NotStarted int `json:"not_started"`
}

// AddUp says whether the counts are consistent.
func (c Counts) AddUp() bool {
	return c.Planned == c.Reused+c.Done+c.Failed+c.Skipped+c.NotStarted
}

// Count adds one slot.
func (c *Counts) Count(s SlotState) {
	c.Planned++
	switch s {
	case SlotReused:
		c.Reused++
	case SlotDone:
		c.Done++
	case SlotFailed:
		c.Failed++
	case SlotSkipped:
		c.Skipped++
	default:
		c.NotStarted++
	}
}

// SlotState is how a planned repeat ended.
type SlotState string

// The states of a slot.
const (
	SlotReused     SlotState = "reused"
	SlotDone       SlotState = "done"
	SlotFailed     SlotState = "failed"
	SlotSkipped    SlotState = "skipped"
	SlotNotStarted SlotState = "not_started"
)

// Known says whether s is one of the states above.
func (s SlotState) Known() bool {
	switch s {
	case SlotReused, SlotDone, SlotFailed, SlotSkipped, SlotNotStarted:
		return true
	}
	return false
}

// Slot is one planned repeat of a cell.
type Slot struct {
	Variant
	Cell   Digest    `json:"cell"`
	Slot   int       `json:"slot"`
	State  SlotState `json:"state"`
	RunID  string    `json:"run_id,omitempty"` // the evaluation that counts, or the last that failed
	Reason string    `json:"reason,omitempty"` // why it failed, was skipped or was not started
}

// EvaluationState is the value of the tag benchbatch.state.
type EvaluationState string

// The states of an evaluation. Complete and partial count as a repeat.
const (
	StateComplete    EvaluationState = "complete"    // every task has a score by the rules
	StatePartial     EvaluationState = "partial"     // some are missing, within the allowance
	StateIncomplete  EvaluationState = "incomplete"  // too many are missing
	StateInterrupted EvaluationState = "interrupted" // its launcher died or was stopped
	StateSuperseded  EvaluationState = "superseded"  // another launcher measured the slot
)

// Counts says whether an evaluation in this state can be a repeat.
func (s EvaluationState) Counts() bool { return s == StateComplete || s == StatePartial }

// Evaluation is one evaluation that the batch knows: counted or not.
type Evaluation struct {
	Variant
	RunID       string          `json:"run_id"`
	Evaluation  string          `json:"evaluation"` // UUID
	Cell        Digest          `json:"cell"`
	Slot        int             `json:"slot"`
	State       EvaluationState `json:"state"`
	Counted     bool            `json:"counted"`
	Reused      bool            `json:"reused"`
	Foreign     bool            `json:"foreign,omitempty"` // not logged by benchbatch
	Batch       string          `json:"batch,omitempty"`   // parent run id; "" = none
	RunName     string          `json:"run_name,omitempty"`
	User        string          `json:"user,omitempty"`
	Role        string          `json:"role,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Started     time.Time       `json:"started"`
	Ended       *time.Time      `json:"ended,omitempty"` // nil = unknown
	ArtifactURI string          `json:"artifact_uri"`
	Artifacts   []Artifact      `json:"artifacts"` // sorted by path
	// Unbilled says that it ran in this batch and that nothing tells what it cost: its
	// launcher was ended before that was logged, and no evaluation goes on with it.
	Unbilled bool `json:"unbilled,omitempty"`
}

// Artifact is one frozen file of a run.
type Artifact struct {
	Path   string `json:"path"`
	Digest Digest `json:"sha256"`
	Size   int64  `json:"size"` // bytes
}

// Ignored is a run of the recipe that does not count, with the reason.
type Ignored struct {
	RunID  string `json:"run_id"`
	Cell   string `json:"cell,omitempty"` // as tagged
	Reason string `json:"reason"`
	// Unsettled says that somebody may be logging the run now: it may count soon.
	Unsettled bool `json:"-"`
}

// Names of the files that a batch keeps on its runs and in the dated folder.
const (
	FilePlan     = "plan.json"
	FileResult   = "result.json"
	FileSpec     = "spec.yaml"
	FilePanel    = "panel.jsonl"
	FileOutcomes = "outcomes.jsonl"
	FileAttempts = "attempts.jsonl"
	FileTable    = "outcomes_table.json"
	FileBundle   = "bundle.tar.zst"
)
