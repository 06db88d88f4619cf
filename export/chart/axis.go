package chart

import (
	"math"
	"strconv"
	"strings"
)

// largest is where figures are cut, so that sums of a few stay finite.
const largest = 1e300

// known is the figure behind p, or false where there is none to draw.
func known(p *float64) (float64, bool) {
	if p == nil || math.IsNaN(*p) || math.IsInf(*p, 0) {
		return 0, false
	}
	return min(max(*p, -largest), largest), true
}

// extent collects the range of what is drawn.
type extent struct {
	lo, hi float64
	any    bool
}

func (e *extent) add(figures ...*float64) {
	for _, p := range figures {
		v, ok := known(p)
		switch {
		case !ok:
		case !e.any:
			e.lo, e.hi, e.any = v, v, true
		default:
			e.lo, e.hi = min(e.lo, v), max(e.hi, v)
		}
	}
}

// axis maps figures to pixels, with ticks at round numbers.
type axis struct {
	lo, hi   float64 // figures at the ends
	from, to float64 // pixels at the ends
	ticks    []float64
	step     float64 // between ticks; 0 on a logarithmic axis
	fine     float64 // what single figures are rounded to
	log      bool
	spell    func(float64) string
}

// at is the pixel of v.
func (a axis) at(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	share := min(max((v-lo)/(hi-lo), 0), 1)
	return a.from + (a.to-a.from)*share
}

// linear makes an axis of about so many steps around e.
func linear(e extent, steps int) axis {
	lo, hi := e.lo, e.hi
	if size := max(math.Abs(lo), math.Abs(hi)); hi-lo <= 1e-9*size || hi-lo < 1e-12 {
		by := size * 0.1
		if size < 1e-9 {
			by = 0.5
		}
		lo, hi = lo-by, hi+by
	}
	a := axis{step: round((hi - lo) / float64(steps))}
	a.fine = round((hi - lo) / 100)
	first, last := math.Floor(lo/a.step+1e-9), math.Ceil(hi/a.step-1e-9)
	for k := first; k <= last; k++ {
		a.ticks = append(a.ticks, k*a.step)
	}
	a.lo, a.hi = first*a.step, last*a.step
	a.spell = func(v float64) string { return decimal(v, a.step, 0) }
	return a
}

// round is the next larger number that is 1, 2 or 5 times a power of ten.
func round(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic makes an axis around e, all of which is above 0.
func logarithmic(e extent) axis {
	a := axis{log: true, lo: e.lo, hi: e.hi}
	decades := math.Log10(e.hi / e.lo)
	every := max(1, math.Ceil(decades/6))
	first := math.Floor(math.Log10(e.lo))
	for k := first; k <= math.Ceil(math.Log10(e.hi)); k += every {
		a.ticks = append(a.ticks, math.Pow(10, k))
	}
	a.lo, a.hi = min(a.ticks[0], e.lo), max(a.ticks[len(a.ticks)-1], e.hi)
	a.spell = short
	return a
}

// decimal writes v with the decimals that steps of this size need, and more.
func decimal(v, step float64, more int) string {
	if v != 0 && (math.Abs(v) >= 1e7 || step < 1e-6) {
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	}
	places := max(0, int(-math.Floor(math.Log10(step)+1e-9))) + more
	return minus(zero(strconv.FormatFloat(v, 'f', places, 64)))
}

// short writes v with up to three significant digits.
func short(v float64) string {
	size := math.Abs(v)
	switch {
	case size >= 1e7, size > 0 && size < 1e-7:
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	case size >= 100:
		return minus(strconv.FormatFloat(v, 'f', 0, 64))
	case size == 0:
		return "0"
	}
	places := 2 - int(math.Floor(math.Log10(size)))
	s := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return minus(s)
}

// minus replaces the hyphen by the sign that is as wide as the plus.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }

// zero takes the sign from a number that rounds to nothing.
func zero(s string) string {
	if strings.HasPrefix(s, "-") && strings.Trim(s, "-0.") == "" {
		return s[1:]
	}
	return s
}

// signed puts a plus before what is above zero.
func signed(s string) string {
	if strings.HasPrefix(s, "−") || strings.Trim(s, "0.") == "" {
		return s
	}
	return "+" + s
}
