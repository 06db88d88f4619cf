package outcome

import (
	"github.com/go-json-experiment/json/jsontext"
)

// State says what became of a task in an evaluation.
type State string

// Scored, Agent and (by policy) Timeout are measurements. The others are
// missing: never a score of 0, and counted in the reliability table.
const (
	Scored   State = "scored"
	Agent    State = "agent"    // the agent failed: score 0
	Timeout  State = "timeout"  // score 0, or missing, by the declared policy
	Provider State = "provider" // the model's provider failed
	Tool     State = "tool"     // a tool that is not the agent's failed
	Harness  State = "harness"  // the runner or its output failed
	Judge    State = "judge"    // the answer could not be judged
	Budget   State = "budget"   // stopped for money
	NotRun   State = "not_run"  // never started
)

// States lists all states in the order in which they are reported.
var States = []State{Scored, Agent, Timeout, Provider, Tool, Harness, Judge, Budget, NotRun}

// Outcome is the result of one task in one evaluation. Nil means unknown, never 0.
type Outcome struct {
	Task       string         `json:"task"`
	State      State          `json:"state,omitempty"`      // empty in a runner's short form
	Score      *float64       `json:"score"`                // [0,1]; nil = missing
	Passed     *bool          `json:"passed,omitzero"`      // as reported by the runner or judge
	Attempt    int            `json:"attempt,omitzero"`     // 1..; 0 = not recorded
	Judges     []Vote         `json:"judges,omitempty"`     // one a judge
	Tokens     *Tokens        `json:"tokens,omitzero"`      // by kind
	CostUSD    *float64       `json:"cost_usd,omitzero"`    // USD, as reported
	DurationS  *float64       `json:"duration_s,omitzero"`  // seconds, waiting included
	WaitS      *float64       `json:"wait_s,omitzero"`      // seconds of it spent waiting for a provider's limit
	ToolCalls  *int64         `json:"tool_calls,omitzero"`  // count
	ToolErrors *int64         `json:"tool_errors,omitzero"` // count
	Served     *Served        `json:"served,omitzero"`      // who really answered
	Output     string         `json:"output,omitempty"`     // slash path in the bundle
	Transcript string         `json:"transcript,omitempty"` // slash path in the bundle
	Flags      []Flag         `json:"flags,omitempty"`      // findings of audits; never alter a score
	Error      *Failure       `json:"error,omitzero"`       // nil = none
	Repaired   bool           `json:"repaired,omitzero"`    // text was not valid UTF-8 and was repaired
	Other      jsontext.Value `json:",embed"`               // members that the contract does not know
}

// Tokens counts tokens by kind. Input excludes cached input. Nil = unknown.
type Tokens struct {
	Input      *int64 `json:"input,omitzero"`
	CacheRead  *int64 `json:"cache_read,omitzero"`
	CacheWrite *int64 `json:"cache_write,omitzero"`
	Output     *int64 `json:"output,omitzero"`
}

// Vote is one judge's view of one answer.
type Vote struct {
	Name      string      `json:"name"`
	Score     *float64    `json:"score"`             // on Scale; nil = the judge gave none
	Kind      string      `json:"kind,omitempty"`    // code, model or human
	Model     string      `json:"model,omitempty"`   // of a model judge
	Scale     *[2]float64 `json:"scale,omitzero"`    // lowest and highest score; nil = [0,1]
	Samples   []float64   `json:"samples,omitempty"` // single votes behind Score
	CostUSD   *float64    `json:"cost_usd,omitzero"` // USD
	Rationale string      `json:"rationale,omitempty"`
	Error     string      `json:"error,omitempty"` // why there is no score
}

// Served says which model and provider really answered.
type Served struct {
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
}

// Flag is a finding of an audit.
type Flag struct {
	Audit    string `json:"audit"`
	Evidence string `json:"evidence,omitempty"`
}

// Failure says why there is no score, or why it is 0.
type Failure struct {
	Class   State  `json:"class"`
	Message string `json:"message,omitempty"`
}

// Attempt is one try of one task: a line of attempts.jsonl. The accepted one is
// also the outcome.
type Attempt struct {
	Accepted bool `json:"accepted"`
	Outcome
}
