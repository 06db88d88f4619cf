package stats

import "math"

// guard keeps a verdict from hanging on the last digits: a value within it of a
// threshold counts as not significant.
const guard = 1e-9

// nought is the size below which a difference of means is rounding, not data.
const nought = 1e-12

// average is the mean of x; 0 for none.
func average(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return total(x) / float64(len(x))
}

func total(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}

// variance is the sample variance of x; 0 below two values and where all are equal.
func variance(x []float64) float64 {
	if len(x) < 2 || equal(x) {
		return 0
	}
	m, sum := average(x), 0.0
	for _, v := range x {
		e := v - m
		sum += float64(e * e)
	}
	return sum / float64(len(x)-1)
}

// covariance is the sample covariance of x and y, which are equally long.
func covariance(x, y []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	mx, my, sum := average(x), average(y), 0.0
	for i := range x {
		sum += float64((x[i] - mx) * (y[i] - my))
	}
	return sum / float64(len(x)-1)
}

func equal(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

func ptr(v float64) *float64 { return &v }

// Interval is a closed interval.
type Interval struct{ Low, High float64 }

func around(centre, half float64) Interval { return Interval{centre - half, centre + half} }

func (i Interval) clip(low, high float64) Interval {
	return Interval{math.Max(low, math.Min(high, i.Low)), math.Min(high, math.Max(low, i.High))}
}
