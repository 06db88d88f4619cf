package tables

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

// addFamilies writes every variant on every family, and its place there where the
// rule decides by family.
func (b *builder) addFamilies(s *export.Summary) error {
	v := s.Verdict
	if !v.Decided() {
		return nil
	}
	for n := range v.Description.Families {
		f := &v.Description.Families[n]
		for i := range s.Variants {
			r, err := b.families.next()
			if err != nil {
				return err
			}
			r.Batch, r.Variant = b.batch(), variantOf(s.Variants[i].Cell)
			r.Family, r.FamilyTasks, r.Exploratory, r.Decision = f.Family, int64(len(f.Tasks)), v.Families == nil, decisionOf(v)
			r.describe(&f.Variants[i], v.Passes(i))
			if f.P != nil {
				name := f.Verdict.String()
				r.P, r.Draws, r.Discrimination = finite(&f.P.P), whole(f.P.Draws), &name
			}
			if v.Families != nil {
				r.place(&v.Families[n], i)
			}
		}
	}
	return nil
}

func (r *FamilyRow) describe(d *stats.FamilyVariant, passes bool) {
	r.Runs = int64(d.Runs)
	if m := d.Mean; m != nil {
		r.Mean, r.MeanTasks, r.StandardError = finite(&m.Value), whole(m.Tasks), finite(m.SE)
		if m.SE != nil {
			r.Freedom = finite(&m.DF)
		}
		r.Low, r.High = limits(m.Interval)
	}
	if !passes {
		return
	}
	r.K, r.PassExcluded, r.PassTasks = count(d.PassAt.K), whole(d.PassAt.Excluded), whole(0)
	if at, hat := d.PassAt.Mean, d.PassHat.Mean; at != nil && hat != nil {
		r.PassTasks, r.PassAt, r.PassHat = whole(at.Tasks), finite(&at.Value), finite(&hat.Value)
	}
}

// place is where a variant stands on the family.
func (r *FamilyRow) place(f *export.FamilyVerdict, i int) {
	r.RankLow, r.RankHigh = rank(f.Verdicts, i)
	if f.Letters != nil {
		r.Letters = text(&f.Letters[i])
	}
	if f.Ranks != nil {
		best := f.Best == i
		r.Best = &best
	}
	against(&r.Routing, f.NonInferiority, f.Candidates, i)
}

// addFamilyPairs writes the verdicts by family.
func (b *builder) addFamilyPairs(s *export.Summary) error {
	if !s.Verdict.Decided() {
		return nil
	}
	n := namesOf(s)
	for i := range s.Verdict.Families {
		f := &s.Verdict.Families[i]
		for j := range f.Pairs {
			r, err := b.familyPairs.next()
			if err != nil {
				return err
			}
			p := &f.Pairs[j]
			r.Batch, r.Family, r.A, r.B = b.batch(), f.Family, n[p.A], n[p.B]
			r.Decision = decisionOf(s.Verdict)
			if reason := r.Ruling.fill(n, f.Verdicts, p); reason != "" {
				r.Reason = &reason
			}
		}
	}
	return nil
}
