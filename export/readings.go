package export

import (
	"slices"

	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// What a reading leaves out.
const (
	WithoutWithdrawn = "withdrawn" // tasks that were found wrong after they were measured
	WithoutSelection = "selection" // runs that served to choose the brain or a setting
	WithoutFlagged   = "flagged"   // outcomes that an audit flagged
)

// RoleSelection is the role of a run that served to choose the brain or a setting:
// it counts, and is marked.
const RoleSelection = "selection"

// Reading is the same rule without some outcomes. Where a pair's verdict differs in
// it, the claim does not stand alone.
type Reading struct {
	Name string // WithoutWithdrawn, WithoutSelection or WithoutFlagged
	Left int    // outcomes of counted evaluations that it leaves out
	*stats.Verdicts
	Turned []int // compared pairs, by index, whose mark or winner is another one
}

// Reading is the reading of that name; nil = it would leave nothing out.
func (v *Verdict) Reading(name string) *Reading {
	for i := range v.Readings {
		if v.Readings[i].Name == name {
			return &v.Readings[i]
		}
	}
	return nil
}

// readings applies the rule without withdrawn tasks, runs of selection and flagged outcomes.
func (x *deciding) readings(data *stats.Data) error {
	for _, r := range []struct {
		name string
		left int
		drop func(variant, run, task int) bool
	}{
		{WithoutWithdrawn, x.left[0], func(_, _, task int) bool { return x.f.Tasks[task].Withdrawn != nil }},
		{WithoutSelection, x.left[1], func(variant, run, _ int) bool { return x.selection[variant][run] }},
		{WithoutFlagged, x.left[2], func(variant, run, task int) bool { return x.flagged[variant].has(x.bit(variant, run, task)) }},
	} {
		if r.left == 0 {
			continue
		}
		verdicts, err := stats.Decide(data.Without(r.drop), x.v.Rule)
		if err != nil {
			return err
		}
		turned := slices.DeleteFunc(stats.Turned(x.v.Verdicts, verdicts), func(i int) bool { return !x.v.Pairs[i].Compared })
		if err := x.demote(r.name, data.Without(r.drop), verdicts); err != nil {
			return err
		}
		x.v.Readings = append(x.v.Readings, Reading{Name: r.name, Left: r.left, Verdicts: verdicts, Turned: turned})
	}
	return nil
}

// leaves says in words what a reading leaves out.
var leaves = map[string]string{WithoutWithdrawn: "the withdrawn tasks", WithoutSelection: "the runs of selection", WithoutFlagged: "the flagged outcomes"}

// demote takes a recommendation back that a reading does not make.
func (x *deciding) demote(reading string, data *stats.Data, verdicts *stats.Verdicts) error {
	if x.v.Candidates == nil {
		return nil
	}
	again, err := stats.Recommend(data, x.v.Rule, verdicts, x.advantage())
	if err != nil {
		return err
	}
	for i := range x.v.Candidates {
		c := &x.v.Candidates[i]
		stands := slices.ContainsFunc(again, func(o stats.Candidacy) bool { return o.Candidate == c.Candidate && o.Recommended })
		if c.Recommended && !stands {
			c.Recommended, c.Why = false, c.Standing.String()+", with a material advantage, but not without "+leaves[reading]
		}
	}
	return nil
}

// mark remembers what the readings leave out of one evaluation: position is that
// of a task with an outcome.
func (x *deciding) mark(e *Evidence, at [2]int, position int, flagged bool) {
	if flagged {
		x.flagged[at[0]].set(x.bit(at[0], at[1], position))
	}
	if !e.Counted {
		return
	}
	for i, out := range []bool{x.f.Tasks[position].Withdrawn != nil, x.selection[at[0]][at[1]], flagged} {
		if out {
			x.left[i]++
		}
	}
}

// bit is the place of a cell in flagged.
func (x *deciding) bit(variant, run, task int) int { return task*len(x.selection[variant]) + run }

// bits is a set of small numbers that takes room where it holds any.
type bits []uint64

func (b *bits) set(i int) {
	if need := i/64 + 1; need > len(*b) {
		*b = append(*b, make([]uint64, need-len(*b))...)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

// selects says whether an evaluation served to choose the brain or a setting.
func selects(e *batch.Evaluation) bool { return e.Role == RoleSelection }
