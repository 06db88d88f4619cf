package batch

import (
	"encoding/json"
	"regexp"
)

// IDPattern is what ids of agents, models, tasks and judges must match.
var IDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Task is one frozen item of the panel.
type Task struct {
	ID       string          `json:"id" class:"execution"`
	Input    json.RawMessage `json:"input" class:"execution"`            // any JSON value, as the agent sees it
	Expected json.RawMessage `json:"expected,omitempty" class:"scoring"` // for judges only; nil = none
	Family   string          `json:"family,omitempty" class:"batch"`     // tasks of a family are not independent; "" = a family of its own
	Anchor   bool            `json:"anchor,omitempty" class:"batch"`     // kept unchanged between panels, to see drift
}

// Variant is one agent on one model, by id.
type Variant struct {
	Agent string `json:"agent" class:"batch"`
	Model string `json:"model" class:"batch"`
}

// String is the name used everywhere: agent+model.
func (v Variant) String() string { return v.Agent + "+" + v.Model }

// Cell is a variant with its full identity: the unit of reuse.
type Cell struct {
	Variant
	AgentVersion string   `json:"agent_version,omitempty"`
	Route        string   `json:"route"` // of the model, as called
	Identity     Identity `json:"identity"`
}
