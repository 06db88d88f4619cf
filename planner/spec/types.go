package spec

import (
	"encoding/json"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Spec is a checked benchmark definition. Paths are slash paths relative to Dir.
type Spec struct {
	Path string `yaml:"-" class:"free"` // of the file, as given
	Dir  string `yaml:"-" class:"free"` // folder of the file, absolute
	Raw  []byte `yaml:"-" class:"free"` // the file's bytes, as frozen with the batch

	at map[string]position // where each field is written
	of *batch.Calibration  // what this is a slice of; nil = a spec as it was written

	Benchmark  string       `yaml:"benchmark" class:"batch"` // an id; also the experiment's name
	Version    string       `yaml:"version" class:"batch"`   // a label; "draft" is never taken
	Question   string       `yaml:"question" class:"free"`   // printed on every report
	Experiment string       `yaml:"experiment" class:"free"` // MLflow experiment; default: the benchmark's name
	Panel      string       `yaml:"panel" class:"free"`      // .jsonl or .csv; its tasks count, not its name
	Tasks      []batch.Task `yaml:"-" class:"execution"`     // read from Panel, sorted by id, in canonical JSON; expected answers are scoring, family and anchor batch
	Brain      string       `yaml:"brain" class:"batch"`     // a folder; "" = none
	Repeats    int          `yaml:"repeats" class:"batch"`   // 1..1000, default 5
	Agents     []Agent      `yaml:"agents" class:"agent"`    // default: one agent "default"
	Models     []Model      `yaml:"models" class:"model"`
	Recipe     Recipe       `yaml:"recipe" class:"execution"`
	Runner     Runner       `yaml:"runner" class:"execution"`
	Judge      *JudgeStage  `yaml:"judge" class:"scoring"` // nil = the runner scores

	Preflight *Preflight         `yaml:"preflight" class:"free"` // nil = models are not called first
	Exclude   []batch.Exclusion  `yaml:"exclude" class:"batch"`
	Withdraw  []batch.Withdrawal `yaml:"withdraw" class:"free"`
	Quotas    map[string]Quota   `yaml:"quotas" class:"free"`
	Budget    Budget             `yaml:"budget" class:"free"`
	Prices    string             `yaml:"prices" class:"free"` // a YAML file: model id → USD per million tokens
	PriceList batch.Prices       `yaml:"-" class:"free"`      // read from Prices
	Retry     map[string]int     `yaml:"retry" class:"free"`  // class → retries of a task, 0..10; default provider 2, harness 1
	Valid     batch.Validity     `yaml:"valid" class:"batch"` // default max_missing 5%
	Reuse     Reuse              `yaml:"reuse" class:"batch"`
	Decision  Decision           `yaml:"decision" class:"batch"`

	Traces string `yaml:"traces" class:"free"` // what MLflow is told of single tasks: none (default), scores or full

	Calibration Calibration `yaml:"calibration" class:"free"`
}

// The values of Spec.Traces.
const (
	TracesNone   = "none"
	TracesScores = "scores" // one trace an outcome, with its scores
	TracesFull   = "full"   // and what the runner's transcript tells
)

// Agent is one way of doing the tasks.
type Agent struct {
	ID             string         `yaml:"id" class:"agent"`
	Version        string         `yaml:"version" class:"agent"`
	VersionCommand []string       `yaml:"version_command" class:"free"` // prints Version, checked before a run
	Files          []string       `yaml:"files" class:"agent"`          // its own files and folders
	Settings       map[string]any `yaml:"settings" class:"agent"`
	BrainPlacement string         `yaml:"brain_placement" class:"agent"` // where the brain's files go in the working folder; default "brain"
	Preflight      *Preflight     `yaml:"preflight" class:"free"`        // overrides fields of the spec's and the model's: how this agent calls models
}

// Model is one model as called.
type Model struct {
	ID        string         `yaml:"id" class:"batch"`    // a name for reports; default: the route with _ for what an id cannot hold
	Route     string         `yaml:"route" class:"model"` // as called; default: the id
	Revision  string         `yaml:"revision" class:"model"`
	Settings  map[string]any `yaml:"settings" class:"model"`
	Quota     string         `yaml:"quota" class:"free"`     // name in Quotas; default: none
	Preflight *Preflight     `yaml:"preflight" class:"free"` // overrides fields of the spec's
}

// Recipe is what a score depends on except agent, model and brain.
type Recipe struct {
	Include       []string `yaml:"include" class:"execution"` // files and folders copied for every agent
	Judges        []Judge  `yaml:"judges" class:"scoring"`
	Limits        Limits   `yaml:"limits" class:"execution"`
	TimeoutPolicy string   `yaml:"timeout_policy" class:"scoring"` // fail (default) or missing
}

// Judge declares one judge.
type Judge struct {
	ID        string         `yaml:"id" json:"id" class:"scoring"`
	Kind      string         `yaml:"kind" json:"kind" class:"scoring"` // code, model or human
	Model     string         `yaml:"model" json:"model,omitempty" class:"scoring"`
	Samples   int            `yaml:"samples" json:"samples,omitempty" class:"scoring"`     // default 1
	Aggregate string         `yaml:"aggregate" json:"aggregate,omitempty" class:"scoring"` // mean (default) or median
	Settings  map[string]any `yaml:"settings" json:"settings,omitempty" class:"scoring"`
	Scale     []float64      `yaml:"scale" json:"scale,omitempty" class:"scoring"` // [lowest, highest]; default [0,1]
}

// Limits bound one task. Zero means unlimited.
type Limits struct {
	Turns       int           `yaml:"turns" class:"execution"`
	TaskTimeout time.Duration `yaml:"task_timeout" class:"execution"`
	CPUs        float64       `yaml:"cpus" class:"execution"`
	Memory      int64         `yaml:"memory" class:"execution" form:"size"` // bytes; written 4GiB
}

// Runner is the user's program.
type Runner struct {
	Command        []string      `yaml:"command" class:"execution"`
	Unit           string        `yaml:"unit" class:"execution"`    // evaluation (default): started once; task: once per task
	Check          []string      `yaml:"check" class:"scoring"`     // unit task: exit code 0 = pass, 1 = fail; the answer on stdin
	Timeout        time.Duration `yaml:"timeout" class:"execution"` // of the whole evaluation; default 1h
	Env            []string      `yaml:"env" class:"execution"`     // by name and value
	PassEnv        []string      `yaml:"pass_env" class:"free"`     // by name: addresses
	Secrets        []string      `yaml:"secrets" class:"free"`      // by name, redacted everywhere
	Files          []string      `yaml:"files" class:"execution"`   // further files that belong to the runner
	Harness        string        `yaml:"harness" class:"execution"`
	HarnessVersion string        `yaml:"harness_version" class:"execution"`
	Image          string        `yaml:"image" class:"execution"`  // container image with digest
	MLflow         bool          `yaml:"mlflow" class:"execution"` // the runner may see the tracking server
	Home           string        `yaml:"home" class:"execution"`   // private (default) or user
}

// JudgeStage scores what the runner left, in a process of its own.
type JudgeStage struct {
	Command []string      `yaml:"command" class:"scoring"`
	Files   []string      `yaml:"files" class:"scoring"`
	Timeout time.Duration `yaml:"timeout" class:"free"` // default 30m
	Env     []string      `yaml:"env" class:"scoring"`
	PassEnv []string      `yaml:"pass_env" class:"free"`
	Secrets []string      `yaml:"secrets" class:"free"`
}

// Preflight is one tiny call before a model's cells start.
type Preflight struct {
	Kind      string        `yaml:"kind" class:"free"`       // openai-chat, openai-responses, anthropic-messages or command
	URL       string        `yaml:"url" class:"free"`        // may hold ${NAME} of a pass_env or secret
	Key       string        `yaml:"key" class:"free"`        // name of the environment variable that holds the key
	MaxTokens int           `yaml:"max_tokens" class:"free"` // default 16
	Timeout   time.Duration `yaml:"timeout" class:"free"`    // default 20s
	Command   []string      `yaml:"command" class:"free"`    // kind command: exit code 0 = the model answers
}

// Quota bounds a group of models: those that name it, the model of that id, and
// those whose route begins with its name and a slash (see Spec.QuotasOf). AtOnce and
// Exclusive hold across launchers; so do tokens where there is AtOnce, by which they
// are shared out: a launcher that holds h of the places uses at most h/AtOnce of them,
// but always may run one evaluation. Spacing is each launcher's own.
type Quota struct {
	AtOnce          int           `yaml:"at_once" class:"free"`           // evaluations at once; 0 = unlimited
	Spacing         time.Duration `yaml:"spacing" class:"free"`           // between two starts
	TokensPerMinute int           `yaml:"tokens_per_minute" class:"free"` // of all that run, by the history of each; 0 = unlimited
	Exclusive       bool          `yaml:"exclusive" class:"free"`         // one model of the group at a time
}

// Budget bounds spending. Nil = no ceiling.
type Budget struct {
	CeilingUSD *float64 `yaml:"ceiling_usd" class:"free"`
}

// Reuse bounds which earlier repeats count. Zero values do not bound.
type Reuse struct {
	MaxAge      time.Duration `yaml:"max_age" class:"batch"`     // written 30d
	NotBefore   string        `yaml:"not_before" class:"batch"`  // RFC 3339 or YYYY-MM-DD (UTC)
	Experiments []string      `yaml:"experiments" class:"batch"` // further experiments to look in, by name
}

// Calibration says which slice of the batch is measured first. See Resolved.Slice.
type Calibration struct {
	Tasks    TaskChoice `yaml:"tasks" class:"free"`
	Repeats  int        `yaml:"repeats" class:"free"`  // 2..1000, default 3
	Variants []string   `yaml:"variants" class:"free"` // agent+model; default: all
}

// TaskChoice chooses tasks of the panel: so many of each family (tasks without one
// are together one family), or these. Written as a number or as a list of ids.
type TaskChoice struct {
	PerFamily int      `yaml:"-" class:"free"` // 0 = the default: 1, and at least 5 tasks in all
	IDs       []string `yaml:"-" class:"free"` // nil = by number
}

// Decision is the frozen rule of the verdict.
type Decision struct {
	Metric        string             `yaml:"metric" json:"metric" class:"batch"`                              // score (default), passed or judge/<id>
	PassThreshold float64            `yaml:"pass_threshold" json:"pass_threshold" class:"batch" form:"share"` // default 1
	Pass          string             `yaml:"pass" json:"pass" class:"batch"`                                  // threshold (default) or reported
	Margin        *float64           `yaml:"margin" json:"margin,omitempty" class:"batch" form:"share"`       // nil = none declared
	Alpha         float64            `yaml:"alpha" json:"alpha" class:"batch" form:"share"`                   // one-sided, default 0.025
	Reference     string             `yaml:"reference" json:"reference,omitempty" class:"batch"`              // agent+model
	Compare       string             `yaml:"compare" json:"compare" class:"batch"`                            // all (default) or reference
	Scope         string             `yaml:"scope" json:"scope" class:"batch"`                                // population (default) or list
	Advantage     map[string]float64 `yaml:"advantage" json:"advantage,omitempty" class:"batch" form:"share"` // property → share, written 20%
	By            string             `yaml:"by" json:"by,omitempty" class:"batch"`                            // family: a verdict on each family too; default: none
}

// Resolved is a spec with the identity of everything.
type Resolved struct {
	Spec      *Spec
	Agents    map[string]batch.Manifest // by id
	Models    map[string]batch.Manifest // by id
	Brain     batch.Manifest
	Execution batch.Manifest
	Scoring   batch.Manifest
	Cells     []batch.Cell // agents in spec order, then models; exclusions left out
	Recipe    batch.Digest
	Brains    batch.Digest // digest of the brain folder, or batch.NoBrain
	Key       batch.Digest // batch key
	// PanelFile is panel.jsonl in normal form: one task a line, sorted by id.
	PanelFile []byte
	// Decision is the decision with defaults filled in, as canonical JSON.
	Decision json.RawMessage
}
