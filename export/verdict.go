package export

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export/stats"
)

// Verdict is what the frozen decision rule says of the batch. Variants are those
// of Summary.Variants, by index. Everything shown rests on the first reading:
// withdrawn tasks included, failures left out.
type Verdict struct {
	// Refused says why the rule could not be applied at all; then there is nothing
	// beside it. It may quote foreign text.
	Refused string
	Metric  string // score, passed or judge/ID
	Rule    stats.Rule

	*stats.Verdicts
	Description *stats.Description
	// Kept is the same rule without withdrawn tasks; nil = none was withdrawn. Where
	// a pair differs in it, the claim does not stand alone: see Turned.
	Kept *stats.Verdicts
	// Candidates for the reference's place; nil without a reference, an advantage
	// that was frozen, or a margin.
	Candidates []stats.Candidacy

	Unpassed   []int  // by variant: scored outcomes of which nobody said whether they pass
	Untimed    int    // evaluations whose start is not believable: near no other
	MoreJudges bool   // more judges voted than take part in the statistics
	Dropped    string // reference that is not in the batch, and was left out of the rule; "" = none
}

// Decided says whether the rule was applied.
func (v *Verdict) Decided() bool { return v != nil && v.Refused == "" }

// order is the order in which a pair stands: candidate and reference where the
// rule compares with a reference alone.
func (v *Verdict) order(pair, i, j int) (a, b int) {
	if !v.Decided() {
		return i, j
	}
	return v.Pairs[pair].A, v.Pairs[pair].B
}

// Stands says whether the claim on a pair is the same without withdrawn tasks.
func (v *Verdict) Stands(pair int) bool {
	return v.Kept == nil || v.Kept.Pairs[pair].Mark == v.Pairs[pair].Mark && v.Kept.Pairs[pair].Winner == v.Pairs[pair].Winner
}

// Chosen is the variant that may be called best, with and without withdrawn tasks;
// stats.Nobody where there is none.
func (v *Verdict) Chosen() int {
	if v.Kept != nil && v.Kept.Best != v.Best {
		return stats.Nobody
	}
	return v.Best
}

// Passes says whether pass@k and what rests on passes can be told for a variant.
func (v *Verdict) Passes(variant int) bool { return v.Unpassed[variant] == 0 }

// finish applies the rule to what was gathered.
func (x *deciding) finish() *Verdict {
	v := &x.v
	if v.Refused == "" {
		if err := x.decide(); err != nil {
			v.Refused = err.Error()
		}
	}
	return v
}

func (x *deciding) decide() error {
	v := &x.v
	data := x.filling.Data()
	x.filling = nil
	if !known(v.Rule.Reference, data.Variants()) {
		if v.Rule.Compare == stats.WithReference {
			return fmt.Errorf("the reference %q is not a variant of this batch", v.Rule.Reference)
		}
		v.Dropped, v.Rule.Reference = v.Rule.Reference, ""
	}
	var err error
	if v.Verdicts, err = stats.Decide(data, v.Rule); err != nil {
		return err
	}
	v.Description = stats.Describe(data, v.Rule, v.Verdicts)
	if a := x.advantage(); a != (stats.Advantage{}) && v.Rule.Margin != nil {
		if v.Candidates, err = stats.Recommend(data, v.Rule, v.Verdicts, a); err != nil {
			return err
		}
	}
	if x.withdrawn() {
		kept := data.Without(func(_, _, task int) bool { return x.f.Tasks[task].Withdrawn != nil })
		if v.Kept, err = stats.Decide(kept, v.Rule); err != nil {
			return err
		}
	}
	return nil
}

func known(reference string, variants []string) bool {
	for _, v := range variants {
		if v == reference {
			return true
		}
	}
	return reference == ""
}

func (x *deciding) withdrawn() bool {
	for i := range x.f.Tasks {
		if x.f.Tasks[i].Withdrawn != nil {
			return true
		}
	}
	return false
}

func (x *deciding) advantage() (a stats.Advantage) {
	for name, share := range map[string]**float64{"cost_usd": &a.CostUSD, "wall_s": &a.WallS, "consistency": &a.Consistency} {
		if s, ok := x.d.Advantage[name]; ok {
			*share = &s
		}
	}
	return a
}
