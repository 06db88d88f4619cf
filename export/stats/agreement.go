package stats

import (
	"slices"
)

// Agreement is F19: a chance-corrected coefficient, always beside the raw figures.
type Agreement struct {
	Value      *float64 // nil = undefined: all votes are alike, so chance can't be told from agreement
	Raw        float64  // share of agreeing pairs of votes
	Prevalence float64  // share of passing votes (Cohen, Fleiss), or mean vote (Krippendorff)
	Units      int      // judged by two judges or more
}

// Cohen is F19's kappa of two judges: both pass, only the first, only the second, neither.
func Cohen(both, first, second, neither int) (a Agreement, ok bool) {
	n := float64(both + first + second + neither)
	if n <= 0 {
		return a, false
	}
	p1, p2 := float64(both+first)/n, float64(both+second)/n
	chance := p1*p2 + (1-p1)*(1-p2)
	a = Agreement{Raw: float64(both+neither) / n, Prevalence: (p1 + p2) / 2, Units: int(n)}
	a.Value = corrected(a.Raw, chance)
	return a, true
}

// Fleiss is F19's kappa of the same number of judges on each unit; each unit gives
// its passes and failures. ok is false without units or with fewer than 2 judges.
func Fleiss(units [][2]int) (a Agreement, ok bool) {
	if len(units) == 0 {
		return a, false
	}
	judges, passes := units[0][0]+units[0][1], 0
	for _, u := range units {
		if n := u[0] + u[1]; n != judges || n < 2 {
			return Agreement{}, false
		}
		passes += u[0]
		a.Raw += float64(u[0]*(u[0]-1)+u[1]*(u[1]-1)) / float64(judges*(judges-1))
	}
	a.Raw /= float64(len(units))
	a.Units, a.Prevalence = len(units), float64(passes)/float64(judges*len(units))
	a.Value = corrected(a.Raw, a.Prevalence*a.Prevalence+(1-a.Prevalence)*(1-a.Prevalence))
	return a, true
}

func corrected(raw, chance float64) *float64 {
	if 1-chance < nought {
		return nil
	}
	return ptr((raw - chance) / (1 - chance))
}

// Level is the kind of scale of votes.
type Level uint8

// Nominal votes agree or not; interval votes are nearer or farther apart.
const (
	Nominal Level = iota
	IntervalScale
)

// Krippendorff is F19's alpha, 1 - Do/De, with missing votes allowed: each unit
// gives the votes it has, and units with fewer than 2 are skipped. ok is false
// where no unit has 2. Customary bars: .80 firm, .667 tentative.
func Krippendorff(units [][]float64, level Level) (a Agreement, ok bool) {
	var all []float64
	apart, agree, pairs := 0.0, 0.0, 0.0
	for _, votes := range units {
		if len(votes) < 2 {
			continue
		}
		a.Units++
		all = append(all, votes...)
		d, same := within(votes, level)
		apart += d / float64(len(votes)-1)
		agree += same
		pairs += float64(len(votes) * (len(votes) - 1))
	}
	if a.Units == 0 {
		return a, false
	}
	n := float64(len(all))
	a.Raw, a.Prevalence = agree/pairs, average(all)
	expected := 0.0
	if level == Nominal {
		expected = differentPairs(all) / (n * (n - 1))
	} else {
		expected = 2 * variance(all)
	}
	if expected > nought {
		a.Value = ptr(1 - apart/n/expected)
	}
	return a, true
}

// within sums the distances of all ordered pairs of a unit's votes, and counts the equal ones.
func within(votes []float64, level Level) (distance, same float64) {
	for i, x := range votes {
		for j, y := range votes {
			switch {
			case i == j:
			case x == y:
				same++
			case level == Nominal:
				distance++
			default:
				distance += float64((x - y) * (x - y))
			}
		}
	}
	return distance, same
}

// differentPairs counts the ordered pairs of different values.
func differentPairs(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	n, equal, run := float64(len(sorted)), 0.0, 0.0
	for i, v := range sorted {
		if i > 0 && v == sorted[i-1] {
			run++
		} else {
			run = 1
		}
		equal += 2*run - 1 // adds up to run² for each value
	}
	return n*n - equal
}
