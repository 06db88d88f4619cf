package stats

import "math"

// panelTotals is each variant's sum over its tasks, and their number.
type panelTotals struct {
	sum []float64
	n   []int
}

func totals(means [][]float64, has [][]bool) panelTotals {
	p := panelTotals{make([]float64, len(means)), make([]int, len(means))}
	for v := range means {
		for t, m := range means[v] {
			if has[v][t] {
				p.sum[v] += m
				p.n[v]++
			}
		}
	}
	return p
}

// itemRest is F24 for one task: over variants, the correlation of their mean on the
// task with their mean on the other tasks. means is by variant and task; a variant
// without the task is left out. ok is false below 3 variants, or where either side
// is constant. With M variants its SE is about 1/sqrt(M-1): show, never gate.
func (p panelTotals) itemRest(means [][]float64, has [][]bool, task int) (r float64, ok bool) {
	var x, rest []float64
	for v := range means {
		if has[v][task] && p.n[v] > 1 {
			x = append(x, means[v][task])
			rest = append(rest, (p.sum[v]-means[v][task])/float64(p.n[v]-1))
		}
	}
	return correlation(x, rest)
}

func correlation(x, y []float64) (r float64, ok bool) {
	if len(x) < 3 {
		return 0, false
	}
	vx, vy := variance(x), variance(y)
	if vx <= nought || vy <= nought {
		return 0, false
	}
	return max(-1, min(1, covariance(x, y)/math.Sqrt(vx*vy))), true
}

// FamilyLevel is the level at which a family tells variants apart (F24).
const FamilyLevel = 0.05

// exactPermutations is up to how many label permutations are all tried.
const exactPermutations = 20000

// FamilyP is F24's p for one family.
type FamilyP struct {
	P     float64
	Draws int // permutations drawn; 0 = all were tried, P is exact
}

// FamilyTest is F24 for one family: rows are its tasks, with one mean a variant.
// S = sum over variants of (sum over tasks)²; p is the share of permutations of the
// variants' labels within each task whose S is at least as large. All are tried up
// to 20,000 of them; beyond, up to 9,999 are drawn, fewer where it is clear on which
// side of .05 p lies. ok is false below 2 variants or without tasks.
func FamilyTest(rows [][]float64, key Key) (p FamilyP, ok bool) {
	if len(rows) == 0 || len(rows[0]) < 2 {
		return p, false
	}
	m := len(rows[0])
	sums, base, least := make([]float64, m), 0.0, 0.0
	var telling [][]float64 // a row of equal means looks the same under every permutation
	for _, row := range rows {
		if equal(row) {
			base += row[0]
		} else {
			telling = append(telling, row)
		}
		for v, x := range row {
			sums[v] += x
		}
	}
	for _, s := range sums {
		least += float64(s * s)
	}
	least -= nought * math.Max(1, least)
	patterns := math.Pow(math.Exp(logGamma(float64(m+1))), float64(len(telling)))
	if patterns <= exactPermutations {
		for v := range sums {
			sums[v] = base
		}
		reached, all := everyLabel(telling, sums, least)
		return FamilyP{P: float64(reached) / float64(all)}, true
	}
	return drawnLabels(telling, base, least, key), true
}

// everyLabel tries all permutations of every row on top of sums.
func everyLabel(rows [][]float64, sums []float64, least float64) (reached, all int) {
	if len(rows) == 0 {
		s := 0.0
		for _, x := range sums {
			s += float64(x * x)
		}
		if s >= least {
			return 1, 1
		}
		return 0, 1
	}
	row := append([]float64(nil), rows[0]...)
	permute(row, len(row), func() {
		with := make([]float64, len(sums))
		for v := range sums {
			with[v] = sums[v] + row[v]
		}
		r, a := everyLabel(rows[1:], with, least)
		reached, all = reached+r, all+a
	})
	return reached, all
}

// permute calls f with every arrangement of the first n of x (Heap's method).
func permute(x []float64, n int, f func()) {
	if n <= 1 {
		f()
		return
	}
	for i := range n {
		permute(x, n-1, f)
		if i < n-1 {
			j := 0
			if n%2 == 0 {
				j = i
			}
			x[j], x[n-1] = x[n-1], x[j]
		}
	}
}

// drawnLabels is (b+1)/(draws+1) over drawn permutations, in blocks with streams of
// their own. Every hundredth draw it stops if p is 3.5 standard errors away from .05.
func drawnLabels(rows [][]float64, base, least float64, key Key) FamilyP {
	sums, row := make([]float64, len(rows[0])), make([]float64, len(rows[0]))
	reached, drawn := 0, 0
	var source index
	for drawn < Draws {
		if drawn%drawBlock == 0 {
			source = index{chacha: key.stream(drawn / drawBlock)}
		}
		if shuffledSquares(rows, base, sums, row, &source) >= least {
			reached++
		}
		drawn++
		if drawn%100 == 0 {
			n := float64(drawn)
			if math.Abs(float64(reached)/n-FamilyLevel) > 3.5*math.Sqrt(FamilyLevel*(1-FamilyLevel)/n) {
				break
			}
		}
	}
	return FamilyP{P: float64(reached+1) / float64(drawn+1), Draws: drawn}
}

func shuffledSquares(rows [][]float64, base float64, sums, row []float64, source *index) (s float64) {
	for v := range sums {
		sums[v] = base
	}
	for _, r := range rows {
		copy(row, r)
		for i := len(row) - 1; i > 0; i-- {
			j := source.below(i + 1)
			row[i], row[j] = row[j], row[i]
			sums[i] += row[i]
		}
		sums[0] += row[0]
	}
	for _, x := range sums {
		s += float64(x * x)
	}
	return s
}

// Discrimination is what a family tells about the variants (F24).
type Discrimination uint8

// NotShown and NoPower must not be merged: the first is inconclusive, the second is shown.
const (
	NotShown Discrimination = iota
	Discriminates
	NoPower // p > .05, and every pair's interval on the family lies inside the margin
)

var discriminationNames = [...]string{"not shown", "discriminates", "no discriminating power"}

// String is its name.
func (d Discrimination) String() string { return discriminationNames[d] }

// DiscriminationOf is F24's verdict on a family from its p. within says whether
// every pair's 95 % interval on the family lies inside the margin; it is asked last.
func DiscriminationOf(p float64, within func() bool) Discrimination {
	switch {
	case Significant(p, FamilyLevel):
		return Discriminates
	case within():
		return NoPower
	}
	return NotShown
}
