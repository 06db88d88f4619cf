package compare

import (
	"math"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/export/tables"
)

// Schema is the version of the tables of a comparison. A change of any column is a
// new version.
const Schema = 1

// Both stands in front of every table. Null is unknown or not asked, never 0.
type Both struct {
	A string `parquet:"batch_a,dict"` // run id of the parent
	B string `parquet:"batch_b,dict"`
}

// PairRow is one variant of both batches. Differences are b - a.
type PairRow struct {
	Both
	Agent      string   `parquet:"agent,dict"`
	Model      string   `parquet:"model,dict"`
	Variant    string   `parquet:"variant,dict"`
	Mode       string   `parquet:"mode,dict"` // same recipe, or anchors
	SameCell   bool     `parquet:"same_cell"` // only the day differs
	Verdict    string   `parquet:"verdict,dict"`
	Why        *string  `parquet:"codes,dict"`
	Better     *string  `parquet:"better,dict"` // a or b, of a claim
	Difference *float64 `parquet:"difference"`  // beyond the drift, by anchors
	Low        *float64 `parquet:"ci_low"`      // 95 %, not adjusted
	High       *float64 `parquet:"ci_high"`
	SE         *float64 `parquet:"se"`
	DF         *float64 `parquet:"df"`
	P          *float64 `parquet:"p"`
	PAdjusted  *float64 `parquet:"p_adjusted"`
	PList      *float64 `parquet:"p_list"` // on exactly these tasks
	PEqual     *float64 `parquet:"p_equal_adjusted"`
	MDE        *float64 `parquet:"mde"`
	Tasks      *int64   `parquet:"tasks"` // that both have
	MeanA      *float64 `parquet:"mean_a"`
	MeanB      *float64 `parquet:"mean_b"`
	SEA        *float64 `parquet:"se_a"`
	SEB        *float64 `parquet:"se_b"`
	RepeatsA   int64    `parquet:"repeats_a"`
	RepeatsB   int64    `parquet:"repeats_b"`
	SharedA    int64    `parquet:"shared_a"` // counted runs of a that stand on the other side
	SharedB    int64    `parquet:"shared_b"`
	CostA      *float64 `parquet:"cost_per_task_a_usd"`
	CostB      *float64 `parquet:"cost_per_task_b_usd"`
	Link       *string  `parquet:"link,dict"` // by anchors
	Drift      *float64 `parquet:"drift"`     // of the reference, on this variant's anchors
	Raw        *float64 `parquet:"raw_difference"`
	Lost       *int64   `parquet:"anchors_left_out"`
	Repair     *string  `parquet:"repair,dict"` // the cheapest
	RepairUSD  *float64 `parquet:"repair_cost_usd"`
}

// OverallRow is the verdict over all variants that both measured: one row, or none.
type OverallRow struct {
	Both
	Verdict    string   `parquet:"verdict,dict"`
	Codes      *string  `parquet:"codes,dict"`
	Better     *string  `parquet:"better,dict"`
	Variants   int64    `parquet:"variants"`
	Tasks      int64    `parquet:"tasks"`
	Units      int64    `parquet:"units"`
	Difference *float64 `parquet:"difference"`
	Low        *float64 `parquet:"ci_low"`
	High       *float64 `parquet:"ci_high"`
	SE         *float64 `parquet:"se"`
	DF         *float64 `parquet:"df"`
	P          *float64 `parquet:"p"`
	PList      *float64 `parquet:"p_list"`
	Level      float64  `parquet:"level"` // two-sided
	Look       int64    `parquet:"look"`
}

// TaskRow is one compared task under one variant.
type TaskRow struct {
	Both
	Task       string   `parquet:"task,dict"`
	Family     *string  `parquet:"family,dict"`
	Withdrawn  bool     `parquet:"withdrawn"`
	Variant    string   `parquet:"variant,dict"`
	MeanA      *float64 `parquet:"mean_a"`
	MeanB      *float64 `parquet:"mean_b"`
	Difference *float64 `parquet:"difference"`
	DriftP     *float64 `parquet:"drift_p_adjusted"` // of the reference on this anchor
}

// ChangeRow is something that differs between the batches.
type ChangeRow struct {
	Both
	Part string  `parquet:"part,dict"`
	Item string  `parquet:"item,plain"`
	InA  *string `parquet:"in_a,plain"` // digest or JSON; null = absent
	InB  *string `parquet:"in_b,plain"`
}

// SharedRow is a run that both batches count.
type SharedRow struct {
	Both
	Variant    string `parquet:"variant,dict"`
	RunID      string `parquet:"run_id,plain"`
	Evaluation string `parquet:"evaluation,plain"`
	Side       string `parquet:"side,dict"` // a or b: where it stands
}

func (c *Comparison) both() Both { return Both{c.A.Run, c.B.Run} }

// writeTables writes all tables below dir, or digests them where dir is "".
func (c *Comparison) writeTables(dir string) ([]export.Content, error) {
	var out []export.Content
	var failed error
	keep := func(content export.Content, err error) {
		if failed == nil {
			failed = err
		}
		out = append(out, content)
	}
	keep(tables.Write(dir, "pairs", Schema, c.pairRows()))
	keep(tables.Write(dir, "overall", Schema, c.overallRows()))
	keep(tables.Write(dir, "tasks", Schema, c.taskRows()))
	keep(tables.Write(dir, "changes", Schema, c.changeRows()))
	keep(tables.Write(dir, "shared", Schema, c.sharedRows()))
	return out, failed
}

func (c *Comparison) pairRows() []PairRow {
	var rows []PairRow
	for i := range c.Variants {
		v := &c.Variants[i]
		verdict, _ := v.Verdict()
		r := PairRow{Both: c.both(), Agent: v.Agent, Model: v.Model, Variant: v.Variant.String(), Mode: string(c.Mode), SameCell: v.SameCell, Verdict: string(verdict), Why: text(v.codes()),
			RepeatsA: int64(v.A.Repeats), RepeatsB: int64(v.B.Repeats), SharedA: int64(v.A.Shared), SharedB: int64(v.B.Shared), CostA: tables.Finite(v.A.CostUSD), CostB: tables.Finite(v.B.CostUSD)}
		d, low, high := v.Difference()
		r.Difference, r.Low, r.High = tables.Finite(d), tables.Finite(low), tables.Finite(high)
		r.MeanA, r.SEA = meanOf(v.A.Mean)
		r.MeanB, r.SEB = meanOf(v.B.Mean)
		if v.Pair != nil {
			r.pair(v.Pair)
		}
		if v.Bridge != nil {
			r.bridge(v.Bridge)
		}
		rows = append(rows, r)
	}
	return rows
}

func (r *PairRow) pair(p *stats.Pair) {
	if p.Noise != nil {
		se := math.Sqrt(p.Noise.V)
		r.SE, r.DF = tables.Finite(&se), tables.Finite(&p.Noise.DF)
	}
	r.P, r.PAdjusted, r.PList, r.PEqual, r.MDE = tables.Finite(p.P), tables.Finite(p.PAdj), tables.Finite(p.PList), tables.Finite(p.PTostAdj), tables.Finite(p.MDE)
	r.Tasks = whole(p.Tasks)
	if p.Winner != stats.Nobody {
		r.Better = side(p.Winner == p.A)
	}
	if len(p.Repairs) > 0 {
		action := p.Repairs[0].Action.String()
		r.Repair, r.RepairUSD = &action, tables.Finite(p.Repairs[0].CostUSD)
	}
}

func (r *PairRow) bridge(b *Bridge) {
	link := b.Link.String()
	r.Link, r.Raw, r.Lost, r.P, r.PAdjusted = &link, tables.Finite(b.Raw), whole(b.Missing), tables.Finite(b.P), tables.Finite(b.PAdj)
	if b.Drift != nil {
		r.Drift = tables.Finite(&b.Drift.Value)
	}
	if m := b.Bridge.Difference; m != nil {
		r.Tasks, r.SE, r.DF = whole(m.Tasks), tables.Finite(m.SE), tables.Finite(&m.DF)
	}
	if b.Mark == stats.Beats {
		r.Better = side(b.Up)
	}
}

func (c *Comparison) overallRows() []OverallRow {
	o := c.Overall
	if o == nil {
		return nil
	}
	r := OverallRow{Both: c.both(), Verdict: o.Mark.String(), Codes: text(strings.Join(o.Codes.Strings(), ",")), Variants: int64(o.Pairs), Tasks: int64(o.Tasks), Units: int64(o.Units),
		Difference: tables.Finite(o.Difference), P: tables.Finite(o.P), PList: tables.Finite(o.PList), Level: c.Level, Look: int64(c.Rule.Look)}
	if o.Interval != nil {
		r.Low, r.High = tables.Finite(&o.Interval.Low), tables.Finite(&o.Interval.High)
	}
	if o.Noise != nil {
		se := math.Sqrt(o.Noise.V)
		r.SE, r.DF = tables.Finite(&se), tables.Finite(&o.Noise.DF)
	}
	if o.Mark == stats.Beats || o.Mark == stats.Ahead {
		r.Better = side(o.Up)
	}
	return []OverallRow{r}
}

func (c *Comparison) taskRows() []TaskRow {
	var rows []TaskRow
	for i := range c.Tasks {
		t := &c.Tasks[i]
		for v := range c.Variants {
			r := TaskRow{Both: c.both(), Task: t.ID, Family: text(t.Family), Withdrawn: t.Withdrawn, Variant: c.Variants[v].Variant.String(),
				MeanA: tables.Finite(t.A[v]), MeanB: tables.Finite(t.B[v]), DriftP: tables.Finite(t.Drift)}
			if t.A[v] != nil && t.B[v] != nil {
				d := *t.B[v] - *t.A[v]
				r.Difference = tables.Finite(&d)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func (c *Comparison) changeRows() []ChangeRow {
	var rows []ChangeRow
	for _, x := range c.Changes {
		rows = append(rows, ChangeRow{Both: c.both(), Part: string(x.Part), Item: x.Item, InA: text(x.Old), InB: text(x.New)})
	}
	return rows
}

func (c *Comparison) sharedRows() []SharedRow {
	var rows []SharedRow
	for _, s := range c.Shared {
		rows = append(rows, SharedRow{Both: c.both(), Variant: s.Variant.String(), RunID: s.RunID, Evaluation: s.Evaluation, Side: *side(!s.OnA)})
	}
	return rows
}

func side(b bool) *string {
	s := "a"
	if b {
		s = "b"
	}
	return &s
}

func meanOf(m *stats.Mean) (value, se *float64) {
	if m == nil {
		return nil, nil
	}
	return tables.Finite(&m.Value), tables.Finite(m.SE)
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func whole(n int) *int64 {
	v := int64(n)
	return &v
}
