package batch

import (
	"encoding/json"
	"time"
)

// PlanSchema is the version of the plan.json document.
const PlanSchema = 1

// Plan is the frozen start of a batch, stored as plan.json on the parent run.
// What the free fields (budget, quotas, retry) were at the start is in the
// frozen spec beside it.
type Plan struct {
	Schema    int       `json:"schema"`
	Tool      string    `json:"tool"` // benchbatch version
	Benchmark string    `json:"benchmark"`
	Version   string    `json:"version"`
	Draft     bool      `json:"draft,omitempty"`
	Question  string    `json:"question,omitempty"`
	Created   time.Time `json:"created"` // UTC, by the launcher's clock
	Key       Digest    `json:"key"`     // batch key
	Seed      uint64    `json:"seed,string"`

	Repeats int         `json:"repeats"`
	Cells   []Cell      `json:"cells"` // spec order: agents, then models
	Exclude []Exclusion `json:"exclude,omitempty"`

	Agents    map[string]Manifest `json:"agents"` // by id
	Models    map[string]Manifest `json:"models"` // by id
	Brain     Manifest            `json:"brain"`
	BrainPath string              `json:"brain_path,omitempty"`
	Execution Manifest            `json:"execution"`
	Scoring   Manifest            `json:"scoring"`

	Panel    PanelInfo       `json:"panel"`
	Decision json.RawMessage `json:"decision"` // as frozen, defaults filled in
	Judges   json.RawMessage `json:"judges,omitempty"`
	Valid    Validity        `json:"valid"`
	// DecisionDigest is the digest of Decision as canonical JSON.
	DecisionDigest Digest `json:"decision_digest"`

	PassThreshold float64      `json:"pass_threshold"` // a score at least this high passes
	PassReported  bool         `json:"pass_reported,omitempty"`
	TimeoutPolicy string       `json:"timeout_policy"` // fail (score 0) or missing
	JudgeStage    bool         `json:"judge_stage,omitempty"`
	Home          string       `json:"home,omitempty"` // "user" when the runner saw the user's home
	Withdraw      []Withdrawal `json:"withdraw,omitempty"`
	Prices        Prices       `json:"prices,omitempty"` // by model id
	SpecDigest    Digest       `json:"spec_digest"`      // of the spec file's bytes

	Reused  []Repeat `json:"reused"`            // chosen at planning time
	Fresh   []string `json:"fresh,omitempty"`   // variants whose earlier repeats are not counted
	Earlier []string `json:"earlier,omitempty"` // frozen batches of the benchmark with the same decision or recipe: the looks

	Calibration *Calibration `json:"calibration,omitempty"` // what this is a slice of; nil = a batch
}

// CalibrationLabel is the version label of calibrations and their evaluations. Like
// "draft" it is never taken; a spec can't use it.
const CalibrationLabel = "calibration"

// RoleCalibration is the role of a calibration and of its evaluations. They are
// no repeats of the batch that they are a slice of: the panel is another one.
const RoleCalibration = "calibration"

// Calibration says which batch a calibration is a slice of.
type Calibration struct {
	Version  string `json:"version"`  // label of the whole benchmark
	Recipe   Digest `json:"recipe"`   // of the whole panel
	Key      Digest `json:"key"`      // of the batch
	Tasks    int    `json:"tasks"`    // of the whole panel
	Repeats  int    `json:"repeats"`  // planned of each cell
	Variants int    `json:"variants"` // of the batch
}

// Whole says whether the slice's recipe is that of the batch: it holds the whole
// panel, and its repeats count there.
func (c *Calibration) Whole(recipe Digest) bool { return c.Recipe == recipe }

// MostFamilyVerdicts is how many verdicts decision.by: family may ask for, pairs of
// variants × families of the panel.
const MostFamilyVerdicts = 50_000

// Exclusion is a variant that the spec leaves out on purpose.
type Exclusion struct {
	Variant
	Why string `json:"why" class:"free"`
}

// Validity is the rule for a repeat that counts.
type Validity struct {
	// MaxMissing is the largest share of the panel, in [0,1], that may be missing
	// for reasons that are not the agent's doing. One task always may, unless it is
	// the only one: a repeat has a score.
	MaxMissing float64 `json:"max_missing" class:"batch" form:"share"`
}

// Allowed is how many of n tasks may be missing, at most n-1.
func (v Validity) Allowed(n int) int { return min(n-1, max(1, int(v.MaxMissing*float64(n)+1e-9))) }

// PanelInfo describes the panel; its tasks are in panel.jsonl.
type PanelInfo struct {
	Digest   Digest `json:"digest"` // of panel.jsonl as stored with the batch
	Tasks    int    `json:"tasks"`
	Families int    `json:"families"`
	Anchors  int    `json:"anchors"`
}

// Withdrawal marks a task that was found wrong after it was measured. Rows stay.
type Withdrawal struct {
	Task string `json:"task" class:"free"`
	Why  string `json:"why" class:"free"`
	Date string `json:"date" class:"free"` // YYYY-MM-DD
}

// Prices is the frozen price table, by model id.
type Prices map[string]Price

// Price is USD per million tokens. Nil means unknown: a cost that needs it is unknown too.
type Price struct {
	Input      *float64 `json:"input,omitempty" yaml:"input" class:"free"`
	CacheRead  *float64 `json:"cache_read,omitempty" yaml:"cache_read" class:"free"`
	CacheWrite *float64 `json:"cache_write,omitempty" yaml:"cache_write" class:"free"`
	Output     *float64 `json:"output,omitempty" yaml:"output" class:"free"`
}

// Repeat names one evaluation that counts for a slot.
type Repeat struct {
	Cell       Digest    `json:"cell"`
	Slot       int       `json:"slot"` // 1..repeats
	RunID      string    `json:"run_id"`
	Evaluation string    `json:"evaluation"` // UUID
	Started    time.Time `json:"started"`
}
