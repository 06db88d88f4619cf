package export

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// ByFamily is the value of decision.by that asks for a verdict on every family.
const ByFamily = "family"

// FamilyVerdict is the verdict on the tasks of one family: a row of the routing
// table. Tasks without a family are in none.
type FamilyVerdict struct {
	stats.FamilyVerdicts
	// Candidates for the reference's place on this family; nil as Verdict.Candidates.
	Candidates []stats.Candidacy
}

// families decides by family, where the rule asks for it.
func (x *deciding) families(data *stats.Data) error {
	if x.d.By != ByFamily {
		return nil
	}
	if p, f := len(x.v.Pairs), len(x.v.Description.Families); p*f > batch.MostFamilyVerdicts {
		x.v.FamiliesRefused = fmt.Sprintf("%d pairs on %d families are more than %d verdicts", p, f, batch.MostFamilyVerdicts)
		return nil
	}
	all, err := stats.DecideByFamily(data, x.v.Rule)
	if err != nil {
		return err
	}
	for i := range all {
		f := FamilyVerdict{FamilyVerdicts: all[i]}
		if x.routes() {
			if f.Candidates, err = all[i].Recommend(x.v.Rule, x.advantage()); err != nil {
				return err
			}
		}
		x.v.Families = append(x.v.Families, f)
	}
	return nil
}
