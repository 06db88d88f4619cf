package calibration

import (
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Verdict is how a calibration ends.
type Verdict string

// The heaviest reason decides: one that stops, else one that asks for a change.
const (
	Go     Verdict = "go"
	Change Verdict = "change"
	Stop   Verdict = "stop"
	note   Verdict = "note" // of a reason that decides nothing
)

// Planned is the batch that the slice is of, as it stands now.
type Planned struct {
	Version    string
	Tasks      int      // of the whole panel
	Units      int      // independent units: families where 1 < families < tasks, else tasks; see Units
	Repeats    int      // of each variant
	Variants   []Rest   // in the plan's order
	CeilingUSD *float64 // budget.ceiling_usd; nil = none
	SpentUSD   float64  // by the batch so far, as far as it is known
	// Forecast is how long the missing evaluations take under the quotas, in seconds,
	// where one of a variant takes so many; variants that are not in the map are left
	// out. Nil = unknown.
	Forecast func(seconds map[string]float64) *float64
}

// Rest is what of a variant is still to be measured.
type Rest struct {
	Variant string
	Missing int // evaluations
}

// Units is the number of independent units of a panel whose tasks have these
// families; "" is a family of its own.
func Units(families []string) int {
	seen := map[string]bool{}
	n := 0
	for _, f := range families {
		if f == "" || !seen[f] {
			n++
		}
		seen[f] = true
	}
	if n < 2 {
		return len(families)
	}
	return n
}

// Calibration is the answers of a slice and what follows from them.
type Calibration struct {
	Verdict  Verdict   `json:"verdict"`
	Reasons  []Reason  `json:"reasons"` // heaviest first, then in one fixed order
	Slice    Slice     `json:"slice"`
	Panel    Panel     `json:"panel"`
	Runs     Runs      `json:"runs"`
	Failures Failures  `json:"failures"`
	Power    *Power    `json:"power"` // nil = unknown: fewer than two measured variants, or too small a slice
	Rest     Missing   `json:"rest"`
	Variants []Variant `json:"variants"` // of the slice, in its plan's order

	plan    *batch.Plan
	planned Planned
}

// Reason is one of a fixed set of sentences.
type Reason struct {
	Code   string        `json:"code"`
	Weight Verdict       `json:"weight"` // stop, change, or "note": it decides nothing
	Text   string        `json:"text"`   // plain; it may quote ids
	Said   document.Text `json:"-"`
}

// Slice says what was measured.
type Slice struct {
	Batch     string `json:"batch"` // run id
	Benchmark string `json:"benchmark"`
	Version   string `json:"version"` // of the whole benchmark
	Tasks     int    `json:"tasks"`
	Of        int    `json:"of_tasks"` // of the whole panel
	Repeats   int    `json:"repeats"`
	Whole     bool   `json:"whole_panel"` // its repeats count in the batch
}

// Panel is whether the tasks leave room, and which tell anything apart.
type Panel struct {
	Spread       string   `json:"spread"` // room, ceiling, floor or not computable (F23)
	Lowest       *float64 `json:"lowest_mean"`
	Highest      *float64 `json:"highest_mean"`
	Informative  int      `json:"informative_tasks"`
	Saturated    bool     `json:"saturated"` // less than a fifth are informative
	Silent       []string `json:"tasks_without_information"`
	Families     []Family `json:"families"`
	SilentGroups []string `json:"families_without_information"`
}

// Family is F24 for one family of the slice.
type Family struct {
	Family      string `json:"family"`
	Tasks       int    `json:"tasks"`
	Informative int    `json:"informative_tasks"`
	Verdict     string `json:"verdict"` // discriminates, no discriminating power, not shown
}

// Runs is whether runs of the same variant agree.
type Runs struct {
	P        *float64 `json:"p"`        // F8; nil = nothing varies
	Unstable bool     `json:"unstable"` // whole runs differ by more than rerun noise
	// SingleRuns is F25 for the batch's panel: two single runs of the noisiest variant
	// differ by less than this in 95 of 100 cases; nil = unknown.
	SingleRuns *float64 `json:"single_runs"`
}

// Failures is what failed for reasons that are not the agents' (F22).
type Failures struct {
	Failed   int      `json:"failed"` // task runs, over counted and unfilled evaluations
	Started  int      `json:"started"`
	Dominate []string `json:"dominate"` // variants whose failures alone could move them by more than the margin
}

// Power is what the planned batch could detect (F18), at its own level.
type Power struct {
	Pairs  int      `json:"pairs"`  // that share the level
	Known  int      `json:"known"`  // pairs that the slice tells about
	MDE    Interval `json:"mde"`    // of the median pair, in score; the interval is of its noise, known from few tasks
	Seen   int      `json:"seen"`   // pairs that could show the margin
	Margin *float64 `json:"margin"` // nil = not declared
	// Repeats and Tasks are what the median pair needs for the margin, the other left
	// as planned; nil = no number helps, or no margin.
	Repeats *int `json:"repeats_needed"`
	Tasks   *int `json:"tasks_needed"`
	// ByRepeats is the MDE with other numbers of repeats, the planned one among them if
	// it is at least 3; fewest first.
	ByRepeats []AtRepeats `json:"by_repeats"`
	// Units is how many independent units must differ before any pair can be separated
	// at all; 0 where the rule doesn't ask.
	Units int `json:"units_needed"`

	noise float64 // the median pair's MDE by its noise alone
}

// Interval is a figure with its 95 % interval; nil = undefined.
type Interval struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Missing is what the rest of the batch costs and takes.
type Missing struct {
	Evaluations int       `json:"evaluations"`
	CostUSD     *Interval `json:"cost_usd"`     // of those that are known (F21); nil = none is
	UnknownCost int       `json:"unknown_cost"` // evaluations
	WallS       *Interval `json:"wall_s"`       // under the quotas, seconds; nil = unknown
	UnknownTime int       `json:"unknown_time"` // evaluations

	untold int // evaluations of variants that were measured and said no cost
}

// Variant is a variant of the slice. It is described, not ranked.
type Variant struct {
	batch.Variant
	Repeats int      `json:"repeats"` // that count
	Mean    *float64 `json:"mean"`
	Lowest  *float64 `json:"lowest_run"`
	Highest *float64 `json:"highest_run"`
	Failed  int      `json:"failed"`
	CostUSD *float64 `json:"task_usd"`     // of a task run, tries and judges included; nil = unknown
	WallS   *float64 `json:"evaluation_s"` // expected of an evaluation of the whole panel, seconds; nil = unknown
	Missing int      `json:"missing"`      // evaluations of the batch
}
