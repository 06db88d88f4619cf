package stats

import (
	"math"
	"math/rand/v2"
)

// exactSigns is the largest number of non-zero differences whose signs are all tried.
const exactSigns = 40

type signScratch struct{ left, right, merged []float64 }

// SignFlip is F13: the share of all sign patterns of the differences whose sum is
// at least as far from 0 as the observed one. With one unit a family, pass the
// families' sums. It is exact up to 40 non-zero differences, and where all have
// one sign; beyond that ok is false (see SignFlipDrawn). No differences: 1.
func SignFlip(d []float64) (p float64, ok bool) { return signFlip(d, new(signScratch)) }

func signFlip(d []float64, s *signScratch) (float64, bool) {
	m, sum, positive := 0, 0.0, 0
	for _, v := range d {
		if math.Abs(v) < nought {
			continue
		}
		m++
		sum += v
		if v > 0 {
			positive++
		}
	}
	switch {
	case m == 0 || math.Abs(sum) <= nought:
		return 1, true
	case positive == 0 || positive == m:
		return math.Ldexp(1, 1-m), true
	case m > exactSigns:
		return 0, false
	}
	s.left, s.right = append(s.left[:0], 0), append(s.right[:0], 0)
	half := 0
	for _, v := range d {
		if math.Abs(v) < nought {
			continue
		}
		if half < m/2 {
			s.left = s.both(s.left, math.Abs(v))
		} else {
			s.right = s.both(s.right, math.Abs(v))
		}
		half++
	}
	return math.Ldexp(float64(2*tailPairs(s.left, s.right, math.Abs(sum)-nought)), -m), true
}

// both is the sorted list of x-v and x+v over the sorted list of x.
func (s *signScratch) both(x []float64, v float64) []float64 {
	out := s.merged[:0]
	i, j := 0, 0
	for i < len(x) {
		if x[i]-v <= x[j]+v {
			out = append(out, x[i]-v)
			i++
		} else {
			out = append(out, x[j]+v)
			j++
		}
	}
	for ; j < len(x); j++ {
		out = append(out, x[j]+v)
	}
	s.merged = x
	return out
}

// tailPairs counts the pairs of two sorted lists whose sum reaches least.
func tailPairs(left, right []float64, least float64) int64 {
	count, j := int64(0), len(right)
	for _, l := range left {
		for j > 0 && l+right[j-1] >= least {
			j--
		}
		count += int64(len(right) - j)
	}
	return count
}

// SignFlipDrawn is F13 by drawing: (b+1)/(draws+1), where b is how many drawn sign
// patterns reach the observed sum. For more differences than SignFlip can try.
func SignFlipDrawn(d []float64, draws int, key Key) float64 {
	sum := 0.0
	for _, v := range d {
		sum += v
	}
	least, reached := math.Abs(sum)-nought, 0
	for block := 0; block*drawBlock < draws; block++ {
		source := key.stream(block)
		for range min(drawBlock, draws-block*drawBlock) {
			if math.Abs(signedSum(d, source)) >= least {
				reached++
			}
		}
	}
	return float64(reached+1) / float64(draws+1)
}

func signedSum(d []float64, source *rand.ChaCha8) float64 {
	sum, bits := 0.0, uint64(0)
	for i, v := range d {
		if i%64 == 0 {
			bits = source.Uint64()
		}
		if bits&1 == 1 {
			v = -v
		}
		bits >>= 1
		sum += v
	}
	return sum
}
