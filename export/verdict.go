package export

import (
	"fmt"
	"slices"

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
	By      string // family, or "" where no verdict by family was asked for
	Slice   bool   // the batch is a calibration: no claim about its variants stands
	Rule    stats.Rule

	*stats.Verdicts
	Description *stats.Description
	// Readings are the same rule without some outcomes: only those that leave any out,
	// in the order withdrawn, selection, flagged.
	Readings []Reading
	// Families are the verdicts on each family of tasks by itself, at one level shared
	// by all (Holm); nil unless the rule decides by family. Means by family are in
	// Description.Families in any case, and exploratory where Families is nil.
	Families []FamilyVerdict
	// FamiliesRefused says why there are none although the rule decides by family.
	FamiliesRefused string
	// JudgeNames are the judges of Verdicts.Judges and Description.Judging, by index.
	JudgeNames []string
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

// Stands says whether the claim on a pair is the same in every reading.
func (v *Verdict) Stands(pair int) bool {
	for i := range v.Readings {
		if slices.Contains(v.Readings[i].Turned, pair) {
			return false
		}
	}
	return true
}

// Chosen is the variant that may be called best in every reading; stats.Nobody
// where there is none.
func (v *Verdict) Chosen() int {
	for i := range v.Readings {
		if v.Readings[i].Best != v.Best {
			return stats.Nobody
		}
	}
	return v.Best
}

// Open says why the batch answers its question not, or not in every reading; "" = it
// does: a variant may be called best, or every compared pair has a verdict.
func (v *Verdict) Open() string {
	switch {
	case !v.Decided():
		return "nothing is decided"
	case v.Slice:
		return "a calibration claims nothing"
	case v.Chosen() != stats.Nobody:
		return ""
	}
	compared, open, turned := 0, 0, 0
	for i := range v.Pairs {
		if !v.Pairs[i].Compared {
			continue
		}
		compared++
		switch {
		case v.Pairs[i].Mark == stats.CannotTell:
			open++
		case !v.Stands(i):
			turned++
		}
	}
	switch {
	case compared == 0:
		return "no pair was compared"
	case open+turned > 0:
		return fmt.Sprintf("%d pairs compared, %d cannot be told, %d do not hold in every reading", compared, open, turned)
	}
	return ""
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
	for _, j := range x.judges {
		v.JudgeNames = append(v.JudgeNames, j.ID)
	}
	if x.routes() {
		if v.Candidates, err = stats.Recommend(data, v.Rule, v.Verdicts, x.advantage()); err != nil {
			return err
		}
	}
	if err := x.readings(data); err != nil {
		return err
	}
	return x.families(data)
}

// routes says whether the rule asks for a recommendation.
func (x *deciding) routes() bool {
	return x.advantage() != (stats.Advantage{}) && x.v.Rule.Margin != nil && x.v.Rule.Reference != ""
}

func known(reference string, variants []string) bool {
	for _, v := range variants {
		if v == reference {
			return true
		}
	}
	return reference == ""
}

func (x *deciding) advantage() (a stats.Advantage) {
	for name, share := range map[string]**float64{"cost_usd": &a.CostUSD, "wall_s": &a.WallS, "consistency": &a.Consistency} {
		if s, ok := x.d.Advantage[name]; ok {
			*share = &s
		}
	}
	return a
}
