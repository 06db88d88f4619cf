package stats

import "slices"

// Spread says whether the panel leaves room for a visible difference (F23).
type Spread uint8

// Where all variants stand.
const (
	SpreadUnknown Spread = iota // fewer than 2 variants, or no MDE
	Room
	Ceiling // the worst is within the MDE of 1
	Floor   // the best is within the MDE of 0
)

var spreadNames = [...]string{"not computable", "room", "ceiling", "floor"}

// String is its name.
func (s Spread) String() string { return spreadNames[s] }

// SpreadOf is F23: where the variants' means stand against the median MDE of the pairs.
func SpreadOf(means []float64, mde *float64) Spread {
	switch {
	case len(means) < 2 || mde == nil:
		return SpreadUnknown
	case 1-slices.Min(means) <= *mde+nought:
		return Ceiling
	case slices.Max(means) <= *mde+nought:
		return Floor
	}
	return Room
}

// Saturated says whether less than a fifth of the tasks tell anything apart (F23).
func Saturated(informative, tasks int) bool { return 5*informative < tasks }

// medianMDE is the median of the compared pairs' MDE; of an even number the mean of the middle two.
func medianMDE(pairs []Pair) *float64 {
	var mde []float64
	for i := range pairs {
		if pairs[i].Compared && pairs[i].MDE != nil {
			mde = append(mde, *pairs[i].MDE)
		}
	}
	if len(mde) == 0 {
		return nil
	}
	slices.Sort(mde)
	return ptr((mde[(len(mde)-1)/2] + mde[len(mde)/2]) / 2)
}
