package stats

// FamilyVerdicts is the decision on the tasks of one family alone.
type FamilyVerdicts struct {
	Family string
	Tasks  []int
	*Verdicts
	data *Data
}

// Recommend is Recommend on the tasks of the family.
func (f *FamilyVerdicts) Recommend(rule Rule, a Advantage) ([]Candidacy, error) {
	return Recommend(f.data, rule, f.Verdicts, a)
}

// DecideByFamily applies the rule to every family of the panel by itself; all
// families share one level (Holm over all their pairs, F16 over all their
// candidates). Tasks without a family are left out. A frozen choice: without it,
// results by family are exploratory.
func DecideByFamily(d *Data, rule Rule) ([]FamilyVerdicts, error) {
	var out []FamilyVerdicts
	var parts []*Data
	for _, f := range d.familyTasks() {
		out = append(out, FamilyVerdicts{Family: f.Family, Tasks: f.Tasks})
		parts = append(parts, d.only(f.Tasks))
	}
	if len(parts) == 0 {
		_, err := rule.check(d)
		return nil, err
	}
	verdicts, err := decide(rule, parts...)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Verdicts, out[i].data = verdicts[i], parts[i]
	}
	return out, nil
}
