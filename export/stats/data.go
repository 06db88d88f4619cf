package stats

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// State says what a cell holds.
type State uint8

// Failed and NotRun are missing, never 0. Only failures enter the second
// reading (F22): what never started for a reason blind to its score does not.
const (
	NotRun State = iota // coverage: never started (ceiling, skipped model, interrupt)
	Failed              // failure: provider, tool, harness, judge, or stopped for money after it had begun
	Scored              // a measurement, a score of 0 for the agent's own failure included
)

// Place says what a run is worth.
type Place uint8

// Only counted runs make the numbers. An unfilled one joins the second reading
// (F22) if it has a failure; a replaced one is for the reliability table alone.
const (
	Counted  Place = iota // a valid repeat that fills a slot
	Unfilled              // started, not valid, and no valid repeat filled its slot
	Replaced              // started, not valid, but a valid repeat filled its slot
)

// Metric says which value of a cell is compared.
type Metric uint8

// The primary metric is one of these.
const (
	Score Metric = iota // the score, in [0,1]
	Pass                // 1 where the cell passed, else 0
)

var metricNames = [...]string{"score", "pass"}

// Batch is the raw input of New: every variant's runs over one panel of tasks.
type Batch struct {
	Metric   Metric
	Tasks    []Task
	Variants []Variant
	Judges   []Judge // nil = no votes were kept
	Digest   string  // of the frozen batch: seeds everything that is drawn; "" = the ids do

	// PassThreshold is the score from which a cell passes; nil = passes are reported
	// and do not follow from the score.
	PassThreshold *float64
}

// Task is one task of the panel.
type Task struct {
	ID     string
	Family string // "" = a family of its own
}

// Judge names a judge. Family is that of its model, to be compared with the
// variants'; "" = of no family (code, people).
type Judge struct {
	ID     string
	Family string
}

// Variant is one agent on one model with its runs.
type Variant struct {
	ID     string
	Family string // of its model, for F20; "" = unknown
	Runs   []Run
}

// Run is one evaluation: a cell for each task of the panel, in the panel's order.
type Run struct {
	Started time.Time // zero = unknown; then it is unknown for all runs
	Place   Place
	Cells   []Cell
}

// Cell is the outcome of one task in one run.
type Cell struct {
	State    State
	Score    float64  // in [0,1]; 0 unless Scored
	Passed   bool     // false unless Scored
	CostUSD  *float64 // USD, as reported; nil = unknown
	Repriced *float64 // USD, from tokens and a frozen price table; nil = unknown
	WallS    *float64 // seconds; nil = unknown
	Votes    []Vote   // at most one a judge
}

// Vote is a judge's score of a cell, in [0,1].
type Vote struct {
	Judge int // index into Batch.Judges
	Score float64
}

// Data is a checked, compact, immutable batch.
type Data struct {
	metric    Metric
	threshold *float64
	tasks     []Task
	unit      []int // of each task: its family's number, in order of appearance
	judges    []Judge
	variants  []variant
	timed     bool   // start times are known
	seed      string // digest of the batch, for drawings
}

// variant holds the cells of one variant, task by task: cell (t, r) stands at t*len(runs)+r.
type variant struct {
	id, family string
	runs       []runInfo
	state      []State
	y          []float64 // the metric's value; 0 unless scored
	score      []float64
	pass       []bool
	cost, wall []float64 // NaN = unknown
	repriced   []float64 // NaN = unknown; nil = no cell has one
	votes      []float64 // cell-major, one a judge; NaN = none
}

type runInfo struct {
	started time.Time
	place   Place
	failed  int // failures
}

func (d *Data) checkPanel() error {
	if d.metric > Pass {
		return fmt.Errorf("metric %d: must be Score or Pass", d.metric)
	}
	if t := d.threshold; t != nil && !(*t >= 0 && *t <= 1) {
		return fmt.Errorf("pass threshold %v: must lie in [0,1]", *t)
	}
	seen := map[string]bool{}
	for i, t := range d.tasks {
		if t.ID == "" || seen[t.ID] {
			return fmt.Errorf("task %d: id %q: must be given and be unique", i+1, t.ID)
		}
		seen[t.ID] = true
	}
	judge := map[string]bool{}
	for i, j := range d.judges {
		if j.ID == "" || judge[j.ID] {
			return fmt.Errorf("judge %d: id %q: must be given and be unique", i+1, j.ID)
		}
		judge[j.ID] = true
	}
	return nil
}

// units numbers the families; a task without one is a family of its own.
func units(tasks []Task) []int {
	unit := make([]int, len(tasks))
	number := map[string]int{}
	next := 0
	for t := range tasks {
		f := tasks[t].Family
		n, known := number[f]
		if f == "" || !known {
			n = next
			next++
			if f != "" {
				number[f] = n
			}
		}
		unit[t] = n
	}
	return unit
}

func (d *Data) put(v *variant, i int, c *Cell) error {
	switch {
	case c.State > Scored:
		return fmt.Errorf("state %d: must be NotRun, Failed or Scored", c.State)
	case c.State != Scored && (c.Score != 0 || c.Passed || len(c.Votes) > 0):
		return errors.New("a score, pass or vote beside a state without a measurement")
	case !(c.Score >= 0 && c.Score <= 1):
		return fmt.Errorf("score %v: must lie in [0,1]", c.Score)
	}
	v.state[i], v.score[i], v.pass[i], v.y[i] = c.State, c.Score, c.Passed, c.Score
	if d.metric == Pass {
		v.y[i] = indicator(c.Passed)
	}
	var err error
	if v.cost[i], err = known("cost", c.CostUSD); err != nil {
		return err
	}
	if v.wall[i], err = known("wall time", c.WallS); err != nil {
		return err
	}
	if c.Repriced != nil && v.repriced == nil {
		v.repriced = unknown(len(v.state))
	}
	if v.repriced != nil {
		if v.repriced[i], err = known("repriced cost", c.Repriced); err != nil {
			return err
		}
	}
	for _, vote := range c.Votes {
		if vote.Judge < 0 || vote.Judge >= len(d.judges) {
			return fmt.Errorf("vote of judge %d: there are %d judges", vote.Judge, len(d.judges))
		}
		at := i*len(d.judges) + vote.Judge
		if !math.IsNaN(v.votes[at]) {
			return fmt.Errorf("judge %q: more than one vote", d.judges[vote.Judge].ID)
		}
		if !(vote.Score >= 0 && vote.Score <= 1) {
			return fmt.Errorf("judge %q: vote %v: must lie in [0,1]", d.judges[vote.Judge].ID, vote.Score)
		}
		v.votes[at] = vote.Score
	}
	return nil
}

// known is the value, or NaN where it is unknown.
func known(what string, p *float64) (float64, error) {
	if p == nil {
		return math.NaN(), nil
	}
	if !(*p >= 0) || math.IsInf(*p, 0) {
		return 0, fmt.Errorf("%s %v: must be finite and not negative", what, *p)
	}
	return *p, nil
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Variants lists the variants' ids in input order; results refer to them by index.
func (d *Data) Variants() []string {
	ids := make([]string, len(d.variants))
	for i := range d.variants {
		ids[i] = d.variants[i].id
	}
	return ids
}

// Tasks is the size of the panel.
func (d *Data) Tasks() int { return len(d.tasks) }

// Repeats is how many counted runs each variant has.
func (d *Data) Repeats() []int {
	k := make([]int, len(d.variants))
	for v := range k {
		k[v] = len(d.variants[v].counted())
	}
	return k
}
