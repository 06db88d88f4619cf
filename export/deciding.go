package export

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// mostJudges is how many judges take part in the statistics: those that the plan
// declares, then others in the order in which they appear.
const mostJudges = 16

// tooMuch is from where a cost (USD) or time (seconds) is taken for unknown: sums
// of such figures mean nothing.
const tooMuch = 1e12

// decision is the frozen rule as the plan holds it.
type decision struct {
	Metric    string             `json:"metric"`
	Margin    *float64           `json:"margin"`
	Alpha     *float64           `json:"alpha"`
	Reference string             `json:"reference"`
	Compare   string             `json:"compare"`
	Scope     string             `json:"scope"`
	Advantage map[string]float64 `json:"advantage"`
	By        string             `json:"by"`
}

// deciding gathers what the verdict rests on while evaluations pass by: a few
// numbers an outcome. The room is taken once, at the start.
type deciding struct {
	f       *Frozen
	d       decision
	v       Verdict
	batch   stats.Batch // without cells
	filling *stats.Filling
	judges  []stats.Judge
	at      map[string][2]int // run id → variant and run
	cells   []stats.Cell      // of one evaluation
	values  []float64         // costs and times that cells point to

	selection [][]bool // by variant and run: it served to choose a setting
	flagged   []bits   // by variant: cells that an audit flagged
	left      [3]int   // outcomes that each of the readings leaves out
}

// newDeciding prepares the data of a batch. Where the rule or the batch can't be
// used, it says so in Verdict.Refused, and no data are gathered.
func newDeciding(f *Frozen) *deciding {
	x := &deciding{f: f, at: map[string][2]int{}, cells: make([]stats.Cell, len(f.Tasks)), values: make([]float64, 3*len(f.Tasks))}
	x.v.Unpassed, x.v.Slice = make([]int, len(f.Plan.Cells)), f.Plan.Calibration != nil
	if err := x.begin(); err != nil {
		x.v.Refused = err.Error()
	}
	return x
}

func (x *deciding) begin() error {
	if err := json.Unmarshal(x.f.Plan.Decision, &x.d); err != nil {
		return fmt.Errorf("the decision in plan.json can't be read: %w", err)
	}
	if err := x.rule(); err != nil {
		return err
	}
	b := stats.Batch{Digest: string(x.f.ResultDigest), Judges: x.declared(), Variants: x.variants()}
	x.judges = b.Judges
	if x.d.Metric == "passed" {
		b.Metric = stats.Pass
	}
	if !x.f.Plan.PassReported {
		b.PassThreshold = &x.f.Plan.PassThreshold
	}
	for i := range x.f.Tasks {
		b.Tasks = append(b.Tasks, stats.Task{ID: x.f.Tasks[i].ID, Family: x.f.Tasks[i].Family})
	}
	var err error
	x.batch = b
	x.filling, err = stats.Begin(b)
	return err
}

// rule makes the decision rule of the plan.
func (x *deciding) rule() error {
	r := stats.DefaultRule()
	if x.d.Alpha != nil {
		r.Alpha = *x.d.Alpha
	}
	r.Margin, r.Reference, r.Look = x.d.Margin, x.d.Reference, min(100, len(x.f.Plan.Earlier)+1)
	if m := x.d.Metric; m != "score" && m != "passed" && !strings.HasPrefix(m, "judge/") {
		return fmt.Errorf("decision.metric %q is not known", m)
	}
	switch x.d.Compare {
	case "", "all":
	case "reference":
		r.Compare = stats.WithReference
	default:
		return fmt.Errorf("decision.compare %q is not known", x.d.Compare)
	}
	switch x.d.Scope {
	case "", "population":
	case "list":
		r.Scope = stats.List
	default:
		return fmt.Errorf("decision.scope %q is not known", x.d.Scope)
	}
	if x.d.By != "" && x.d.By != ByFamily {
		return fmt.Errorf("decision.by %q is not known", x.d.By)
	}
	x.v.Rule, x.v.Metric, x.v.By = r, x.d.Metric, x.d.By
	return nil
}

// declared are the judges of the plan. A judge is of a variant's own family where
// its model is the variant's model; more is not guessed from names.
func (x *deciding) declared() []stats.Judge {
	var list []struct {
		ID    string `json:"id"`
		Model string `json:"model"`
	}
	if json.Unmarshal(x.f.Plan.Judges, &list) != nil {
		return nil
	}
	var out []stats.Judge
	for _, j := range list {
		if j.ID != "" && len(out) < mostJudges && !slices.ContainsFunc(out, func(o stats.Judge) bool { return o.ID == j.ID }) {
			out = append(out, stats.Judge{ID: j.ID, Family: modelName(j.Model)})
		}
	}
	return out
}

// modelName is the last part of a model's route.
func modelName(route string) string { return route[strings.LastIndexByte(route, '/')+1:] }

// variants are those of the plan with the runs that the result knows, without cells.
func (x *deciding) variants() []stats.Variant {
	out := make([]stats.Variant, len(x.f.Plan.Cells))
	for i := range out {
		c := &x.f.Plan.Cells[i]
		out[i].ID, out[i].Family = c.Variant.String(), modelName(c.Route)
	}
	filled := map[string]bool{}
	for _, s := range x.f.Result.Slots {
		if s.State == batch.SlotDone || s.State == batch.SlotReused {
			filled[slotKey(s.Cell, s.Slot)] = true
		}
	}
	x.selection, x.flagged = make([][]bool, len(out)), make([]bits, len(out))
	unknown, timed := 0, 0
	for i := range x.f.Result.Evaluations {
		e := &x.f.Result.Evaluations[i]
		v := x.f.cells[e.Cell]
		r := stats.Run{Started: e.Started, Place: stats.Counted}
		switch {
		case e.Counted:
		case e.Slot == 0 || filled[slotKey(e.Cell, e.Slot)]:
			r.Place = stats.Replaced
		default:
			r.Place = stats.Unfilled
		}
		if Believable(&e.Started) {
			timed++
		} else { // near no other run: an unknown time is no counterpart of anything
			unknown++
			r.Started = time.Unix(0, 0).Add(-time.Duration(unknown) * 48 * time.Hour)
		}
		x.at[e.RunID] = [2]int{v, len(out[v].Runs)}
		x.selection[v] = append(x.selection[v], selects(e))
		out[v].Runs = append(out[v].Runs, r)
	}
	if timed == 0 {
		for i := range out {
			for j := range out[i].Runs {
				out[i].Runs[j].Started = time.Time{}
			}
		}
	}
	x.v.Untimed = unknown
	return out
}

func slotKey(cell batch.Digest, slot int) string { return fmt.Sprintf("%s %d", cell, slot) }

// add takes the outcomes of one evaluation.
func (x *deciding) add(e *Evidence) {
	if x.filling == nil || x.v.Refused != "" {
		return
	}
	at := x.fill(e)
	if err := x.filling.Run(at[0], at[1], x.cells); err != nil {
		x.v.Refused = err.Error()
	}
}

// fill says in cells what an evaluation is worth to the statistics, and where it stands.
func (x *deciding) fill(e *Evidence) [2]int {
	at := x.at[e.RunID]
	absent := stats.NotRun
	if e.Counted { // what a counted evaluation says nothing of was lost, for whatever reason
		absent = stats.Failed
	}
	for i := range x.cells {
		x.cells[i] = stats.Cell{State: absent, Votes: x.cells[i].Votes[:0]}
	}
	for i := range e.Outcomes {
		p := e.Derived[i].Position
		if p < 0 {
			continue
		}
		x.cell(&x.cells[p], p, &e.Outcomes[i], &e.Derived[i])
		x.mark(e, at, p, len(e.Outcomes[i].Flags) > 0)
		if e.Counted && x.cells[p].State == stats.Scored && e.Derived[i].Passed == nil {
			x.v.Unpassed[at[0]]++
		}
	}
	return at
}

// cell says what an outcome is worth to the statistics.
func (x *deciding) cell(c *stats.Cell, p int, o *outcome.Outcome, d *Derived) {
	passed := d.Passed
	c.State = worth(o)
	c.CostUSD = x.value(3*p, o.CostUSD)
	c.WallS = x.value(3*p+1, WorkSeconds(o))
	c.Repriced = x.value(3*p+2, d.Repriced)
	if c.State != stats.Scored {
		return
	}
	for i := range o.Judges {
		x.vote(c, &o.Judges[i])
	}
	score := o.Score
	switch name, ok := strings.CutPrefix(x.d.Metric, "judge/"); {
	case ok && o.State == outcome.Scored:
		score = nil
		for i := range o.Judges {
			if o.Judges[i].Name == name {
				score = unit(&o.Judges[i])
			}
		}
	case x.d.Metric == "passed" && passed == nil:
		score = nil
	}
	if score == nil { // what decides was not measured: the judge's failure, not the agent's
		c.State, c.Votes = stats.Failed, c.Votes[:0]
		return
	}
	c.Score = min(1, max(0, *score))
	c.Passed = passed != nil && *passed
}

// worth maps the state of an outcome: a measurement, a failure that is not the
// agent's, or nothing at all.
func worth(o *outcome.Outcome) stats.State {
	switch o.State {
	case outcome.Scored, outcome.Agent, outcome.Timeout:
		if o.Score == nil {
			return stats.Failed
		}
		return stats.Scored
	case outcome.Budget: // a failure unless it says that nothing was spent: unknown is not 0
		t := o.Tokens.TotalTokens()
		if o.CostUSD == nil && t == nil || o.CostUSD != nil && *o.CostUSD > 0 || t != nil && *t > 0 {
			return stats.Failed
		}
		return stats.NotRun
	case outcome.NotRun:
		return stats.NotRun
	}
	return stats.Failed
}

// WorkSeconds is how long a task took without waiting for a provider's limit; nil
// = unknown. Where waiting was not recorded there was none.
func WorkSeconds(o *outcome.Outcome) *float64 {
	if o.DurationS == nil {
		return nil
	}
	s := *o.DurationS
	if o.WaitS != nil {
		s -= *o.WaitS
	}
	if s < 0 {
		return nil
	}
	return &s
}

// value keeps v at a place of its own until the evaluation is copied.
func (x *deciding) value(i int, v *float64) *float64 {
	if v == nil || !(*v >= 0 && *v < tooMuch) {
		return nil
	}
	x.values[i] = *v
	return &x.values[i]
}

func (x *deciding) vote(c *stats.Cell, v *outcome.Vote) {
	u := unit(v)
	if u == nil {
		return
	}
	j := slices.IndexFunc(x.judges, func(j stats.Judge) bool { return j.ID == v.Name })
	if j < 0 {
		if len(x.judges) == mostJudges {
			x.v.MoreJudges = true
			return
		}
		j = len(x.judges)
		judge := stats.Judge{ID: v.Name, Family: modelName(v.Model)}
		x.judges = append(x.judges, judge)
		if x.filling != nil {
			x.filling.Judge(judge)
		}
	}
	if slices.ContainsFunc(c.Votes, func(o stats.Vote) bool { return o.Judge == j }) {
		return // the first vote of a judge counts
	}
	c.Votes = append(c.Votes, stats.Vote{Judge: j, Score: *u})
}

// unit is a vote on [0,1]; nil where there is none, or its scale is beyond numbers.
func unit(v *outcome.Vote) *float64 {
	u := v.Unit()
	if u == nil || math.IsNaN(*u) || math.IsInf(*u, 0) {
		return nil
	}
	*u = min(1, max(0, *u))
	return u
}
