package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
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

// lanes is how many columns are summed at a time, so that their sums don't wait for each other.
const lanes = 8

// Sums draws the columns' sums: one row a draw, one value a column. Columns are as
// long as there are tasks. The same for any number of cores.
func (r Resample) Sums(columns ...[]float64) [][]float64 {
	groups := (len(columns) + lanes - 1) / lanes
	rows := make([][][lanes]float64, groups) // by group and task
	for g := range rows {
		rows[g] = make([][lanes]float64, r.tasks)
		for c, x := range columns[g*lanes : min(len(columns), (g+1)*lanes)] {
			for t, v := range x {
				rows[g][t][c] = v
			}
		}
	}
	flat, out := make([]float64, r.draws*groups*lanes), make([][]float64, r.draws)
	r.each(func(b int, tasks []int32) {
		out[b] = flat[b*groups*lanes : (b+1)*groups*lanes]
		for g := range rows {
			sums := sumRows(rows[g], tasks)
			copy(out[b][g*lanes:], sums[:])
		}
		out[b] = out[b][:len(columns):len(columns)]
	})
	return out
}

func sumRows(rows [][lanes]float64, tasks []int32) [lanes]float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for _, t := range tasks {
		x := &rows[t]
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
		s4 += x[4]
		s5 += x[5]
		s6 += x[6]
		s7 += x[7]
	}
	return [lanes]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

// each calls f for every draw with the drawn tasks. Blocks of draws run in parallel;
// f must write to its own draw only, and not keep the tasks.
func (r Resample) each(f func(draw int, tasks []int32)) {
	if r.tasks == 0 {
		return
	}
	parallel((r.draws+drawBlock-1)/drawBlock, func(block int) {
		tasks := make([]int32, 0, 2*r.tasks)
		source := index{chacha: r.key.stream(block)}
		for b := block * drawBlock; b < min(r.draws, (block+1)*drawBlock); b++ {
			tasks = r.draw(&source, tasks[:0])
			f(b, tasks)
		}
	})
}

func (r Resample) draw(source *index, tasks []int32) []int32 {
	if r.families == nil {
		tasks = tasks[:r.tasks]
		source.fill(tasks, r.tasks)
		return tasks
	}
	chosen := make([]int32, len(r.families))
	source.fill(chosen, len(r.families))
	for _, f := range chosen {
		family, at := r.families[f], len(tasks)
		tasks = slices.Grow(tasks, len(family))[:at+len(family)]
		source.fill(tasks[at:], len(family))
		for i, t := range tasks[at:] {
			tasks[at+i] = family[t]
		}
	}
	return tasks
}

// index draws whole numbers, several from each 64 bits: the bits are read as a
// fraction in mixed radix. The bias of a draw below n is under n/2³².
type index struct {
	chacha *rand.ChaCha8
	x      uint64
	bits   int // still unused
}

func (s *index) below(n int) int {
	s.bits -= bits.Len(uint(n))
	if s.bits < 32 {
		s.refill(n)
	}
	hi, lo := bits.Mul64(s.x, uint64(n))
	s.x = lo
	return int(hi)
}

func (s *index) refill(n int) { s.x, s.bits = s.chacha.Uint64(), 64-bits.Len(uint(n)) }

// fill draws len(out) numbers below n.
func (s *index) fill(out []int32, n int) {
	each := max(1, 32/bits.Len(uint(n))) // numbers from one word
	for len(out) > 0 {
		x, k := s.chacha.Uint64(), min(each, len(out))
		for i := range out[:k] {
			hi, lo := bits.Mul64(x, uint64(n))
			out[i], x = int32(hi), lo
		}
		out = out[k:]
	}
}

// Percentile is F15's 95 % percentile interval: order statistics 250 and 9,750 of
// 9,999 draws, no interpolation. It reorders the draws. ok is false without draws.
func Percentile(draws []float64) (i Interval, ok bool) {
	if len(draws) == 0 {
		return i, false
	}
	return Interval{orderStatistic(draws, 0.025), orderStatistic(draws, 0.975)}, true
}

// orderStatistic is the inverse of the empirical distribution function at a. It
// reorders x.
func orderStatistic(x []float64, a float64) float64 {
	i := int(math.Ceil(a*float64(len(x)) - guard))
	return nth(x, min(max(i, 1), len(x))-1)
}

// nth is the value that would stand at place k if x were sorted (Hoare's selection).
func nth(x []float64, k int) float64 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot, i, j := x[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for pivot < x[j] {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}

// BCa is F15's corrected interval.
type BCa struct {
	Interval
	Bias         float64 // z0
	Acceleration float64 // a
	Low, High    float64 // the levels at which the draws are read
}

// BCaOf corrects a percentile interval for bias and skewness: theta is the value on
// the data, without the values with one task left out. It reorders the draws. ok is
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
	c.Low, c.High = c.level(0.025), c.level(0.975)
	c.Interval = Interval{orderStatistic(draws, c.Low), orderStatistic(draws, c.High)}
	return c, true
}

func (c BCa) level(a float64) float64 {
	z := c.Bias + normalUpper(1-a)
	return normalTail(-(c.Bias + z/(1-float64(c.Acceleration*z))))
}
