package stats

// Description is what a batch shows beside its verdicts. Indices are those of Data.
type Description struct {
	Repeats     int // smallest number of counted runs of a measured variant: the k of PassAt and PassHat
	Variants    []VariantSummary
	Tasks       []TaskSummary
	Families    []FamilySummary
	Spread      Spread // F23
	Informative int    // tasks on which not every score is equal
	Saturated   bool   // they are less than a fifth
	Panel       *Generalisability
	Judging     *Judging // nil = there is no vote
}

// Describe computes what the report shows beside the verdicts of the same data and rule.
func Describe(d *Data, rule Rule, v *Verdicts) *Description {
	first := d.read(false)
	out := &Description{}
	var w drawing
	for i := range first.columns {
		if k := first.columns[i].k; k > 0 && (out.Repeats == 0 || k < out.Repeats) {
			out.Repeats = k
		}
	}
	var means []float64
	for i := range first.columns {
		s := d.summary(i, &first.columns[i], rule, v, out.Repeats)
		w.ratio(&s.Cost)
		w.ratio(&s.Repriced)
		if s.Mean != nil {
			means = append(means, s.Mean.Value)
		}
		out.Variants = append(out.Variants, *s)
	}
	out.Spread = SpreadOf(means, v.MedianMDE)
	d.describeTasks(first, out)
	out.Saturated = len(d.tasks) > 0 && Saturated(out.Informative, len(d.tasks))
	out.Families = d.families(first, rule, out.Repeats)
	out.Panel = first.generalisability()
	out.Judging = d.judging(&w)
	w.run(d)
	for i := range out.Variants {
		out.Variants[i].Cost.invert()
		out.Variants[i].Repriced.invert()
	}
	return out
}

// generalisability is F17's panel form over the measured variants; nil unless it is balanced.
func (r *reading) generalisability() *Generalisability {
	var mean, s2 [][]float64
	k := 0
	for v := range r.columns {
		c := &r.columns[v]
		if c.k == 0 {
			continue
		}
		if k == 0 {
			k = c.k
		}
		for _, n := range c.valid {
			if n != k {
				return nil
			}
		}
		mean, s2 = append(mean, c.mean), append(s2, c.s2)
	}
	if g, ok := GeneralisabilityOf(mean, s2, k); ok {
		return &g
	}
	return nil
}
