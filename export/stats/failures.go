package stats

import "math"

// failuresDecide is F22: where scoring failures 0 changes the mark or the side of
// a claim, nothing can be told. Where both readings can't tell, a difference that
// changes its sign adds the code.
func (p *Pair) failuresDecide(second *contest) {
	r := second.reading()
	p.Second = &r
	switch {
	case p.First.Mark != r.Mark || p.First.Winner != r.Winner:
		p.flip(ProviderFailuresDecide)
	case r.Mark == CannotTell && p.Difference != nil && r.Difference != nil && *p.Difference**r.Difference < 0:
		p.Codes = p.Codes.With(ProviderFailuresDecide)
	}
}

// Band is F22's Manski band of one variant: its score if every failure had been a
// 0, and if every failure had been a 1. Outcomes weigh alike, whatever their task.
type Band struct {
	Interval
	Valid    int
	Failures int
}

// FailureBand is F22 for sum of n valid scores and the failures beside them; ok is
// false where there are neither.
func FailureBand(sum float64, valid, failures int) (b Band, ok bool) {
	if valid+failures <= 0 {
		return Band{}, false
	}
	n := float64(valid + failures)
	return Band{Interval{sum / n, (sum + float64(failures)) / n}, valid, failures}, true
}

// Dominates says whether failures alone could move the variant by more than the
// difference at hand, or by more than the margin. Nil leaves that comparison out.
func (b Band) Dominates(difference, margin *float64) bool {
	width := b.High - b.Low
	return difference != nil && width > math.Abs(*difference)+guard || margin != nil && width > *margin+guard
}

// band is the variant's band over the runs of the second reading.
func (v *variant) band(tasks int) *Band {
	sum, valid, failures := 0.0, 0, 0
	k := len(v.runs)
	for r, run := range v.runs {
		if run.place == Replaced || run.place == Unfilled && run.failed == 0 {
			continue
		}
		for t := range tasks {
			switch v.state[t*k+r] {
			case Scored:
				sum += v.y[t*k+r]
				valid++
			case Failed:
				failures++
			case NotRun:
			}
		}
	}
	if b, ok := FailureBand(sum, valid, failures); ok {
		return &b
	}
	return nil
}
