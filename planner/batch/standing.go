package batch

import "time"

// Standing is what a launcher says of a batch beside its evaluations: what bounds
// it, and which models are left out. It is for people who look on; nothing counts by it.
type Standing struct {
	At         time.Time                `json:"at"` // UTC
	Launcher   string                   `json:"launcher"`
	AtOnce     int                      `json:"at_once"`               // evaluations over all quotas
	CeilingUSD *float64                 `json:"ceiling_usd,omitempty"` // nil = none
	Quotas     map[string]StandingQuota `json:"quotas,omitempty"`
	Models     map[string][]string      `json:"models,omitempty"` // the quotas of each model that has some
	Out        []StandingOut            `json:"out,omitempty"`
}

// StandingQuota bounds models. Zero = unbounded.
type StandingQuota struct {
	AtOnce          int     `json:"at_once,omitempty"`
	SpacingS        float64 `json:"spacing_s,omitempty"` // seconds
	TokensPerMinute int     `json:"tokens_per_minute,omitempty"`
	Exclusive       bool    `json:"exclusive,omitempty"`
}

// StandingOut is a model that is left out: skipped because it did not answer, or put
// back because its provider failed again and again.
type StandingOut struct {
	Model  string    `json:"model"`
	Agents []string  `json:"agents,omitempty"` // nil = all
	State  SlotState `json:"state"`            // skipped or not_started
	Reason string    `json:"reason"`
}
