package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Resample is F15: it resamples families, then tasks within them, and keeps each
// task's runs intact (resampling them again would count rerun noise twice). All
// columns share each draw's tasks, so pairing comes for free.
type Resample struct {
	families [][]int32 // tasks of each family; nil = tasks are the units
	tasks    int
	draws    int
	key      Key
}

// NewResample prepares draws over n tasks. families numbers the family of each task,
// nil = none; they are the units where 1 < G < n.
func NewResample(n int, families []int, draws int, key Key) Resample {
	r := Resample{tasks: n, draws: draws, key: key}
	place := map[int]int{}
	for t, f := range families {
		p, known := place[f]
		if !known {
			p = len(r.families)
			place[f] = p
			r.families = append(r.families, nil)
		}
		r.families[p] = append(r.families[p], int32(t))
	}
	if len(r.families) < 2 || len(r.families) == n {
		r.families = nil
	}
	return r
}

// Sums draws the columns' sums: one row a draw, one value a column. Columns are as
// long as there are tasks. The same for any number of cores.
func (r Resample) Sums(columns ...[]float64) [][]float64 {
	flat, out := make([]float64, r.draws*len(columns)), make([][]float64, r.draws)
	for b := range out {
		out[b] = flat[b*len(columns) : (b+1)*len(columns)]
	}
	r.each(func(b int, counts []float64) {
		for c, x := range columns {
			out[b][c] = dot(counts, x)
		}
	})
	return out
}

// Quantiles draws the q-quantile of x (inverse of the distribution function).
func (r Resample) Quantiles(x []float64, q float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, r.draws)
	r.each(func(b int, counts []float64) {
		total := 0.0
		for _, c := range counts {
			total += c
		}
		reached := 0.0
		for _, t := range order {
			if reached += counts[t]; reached >= float64(q*total)-guard && counts[t] > 0 {
				out[b] = x[t]
				return
			}
		}
	})
	return out
}

// each calls f for every draw with how often each task was drawn. Blocks of draws
// run in parallel; f must write to its own draw only.
func (r Resample) each(f func(draw int, counts []float64)) {
	if r.tasks == 0 {
		return
	}
	blocks := (r.draws + drawBlock - 1) / drawBlock
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(blocks, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			counts := make([]float64, r.tasks)
			for {
				block := int(next.Add(1)) - 1
				if block >= blocks {
					return
				}
				source := index{chacha: r.key.stream(block)}
				for b := block * drawBlock; b < min(r.draws, (block+1)*drawBlock); b++ {
					clear(counts)
					r.draw(&source, counts)
					f(b, counts)
				}
			}
		})
	}
	wg.Wait()
}

func (r Resample) draw(source *index, counts []float64) {
	if r.families == nil {
		for range r.tasks {
			counts[source.below(r.tasks)]++
		}
		return
	}
	for range r.families {
		family := r.families[source.below(len(r.families))]
		for range family {
			counts[family[source.below(len(family))]]++
		}
	}
}

// index draws whole numbers, two from each 64 bits. The bias is below n/2³².
type index struct {
	chacha *rand.ChaCha8
	spare  uint64
	full   bool
}

func (s *index) below(n int) int {
	if s.full = !s.full; s.full {
		s.spare = s.chacha.Uint64()
		return int((s.spare & math.MaxUint32) * uint64(n) >> 32)
	}
	return int((s.spare >> 32) * uint64(n) >> 32)
}

// dot is the sum of x·y in four fixed lanes.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += float64(x[i] * y[i])
		b += float64(x[i+1] * y[i+1])
		c += float64(x[i+2] * y[i+2])
		d += float64(x[i+3] * y[i+3])
	}
	for ; i < len(x); i++ {
		a += float64(x[i] * y[i])
	}
	return (a + b) + (c + d)
}

// Percentile is F15's 95 % percentile interval: order statistics 250 and 9,750 of
// 9,999 draws, no interpolation. It sorts the draws. ok is false without draws.
func Percentile(draws []float64) (i Interval, ok bool) {
	if len(draws) == 0 {
		return i, false
	}
	slices.Sort(draws)
	return Interval{orderStatistic(draws, 0.025), orderStatistic(draws, 0.975)}, true
}

// orderStatistic is the inverse of the empirical distribution function at a.
func orderStatistic(sorted []float64, a float64) float64 {
	i := int(math.Ceil(a*float64(len(sorted)) - guard))
	return sorted[min(max(i, 1), len(sorted))-1]
}

// BCa is F15's corrected interval.
type BCa struct {
	Interval
	Bias         float64 // z0
	Acceleration float64 // a
	Low, High    float64 // the levels at which the draws are read
}

// BCaOf corrects a percentile interval for bias and skewness: theta is the value on
// the data, without the values with one task left out. It sorts the draws. ok is
// false where the draws or the left-out values show no spread.
func BCaOf(draws []float64, theta float64, without []float64) (c BCa, ok bool) {
	below, same := 0, 0
	for _, d := range draws {
		switch {
		case math.Abs(d-theta) <= nought:
			same++
		case d < theta:
			below++
		}
	}
	share := (float64(below) + 0.5*float64(same)) / float64(max(1, len(draws)))
	if share <= 0 || share >= 1 {
		return c, false
	}
	c.Bias = normalUpper(1 - share)
	m, cubes, squares := average(without), 0.0, 0.0
	for _, j := range without {
		e := m - j
		squares += float64(e * e)
		cubes += float64(e * e * e)
	}
	if squares <= nought*nought {
		return c, false
	}
	c.Acceleration = cubes / (6 * math.Pow(squares, 1.5))
	slices.Sort(draws)
	c.Low, c.High = c.level(0.025), c.level(0.975)
	c.Interval = Interval{orderStatistic(draws, c.Low), orderStatistic(draws, c.High)}
	return c, true
}

func (c BCa) level(a float64) float64 {
	z := c.Bias + normalUpper(1-a)
	return normalTail(-(c.Bias + z/(1-float64(c.Acceleration*z))))
}
