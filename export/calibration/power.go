package calibration

import (
	"math"
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

// fewUnits is below how many differing units F14 sets a least width.
const fewUnits = 5

// never is a need that no number meets.
const never = math.MaxInt

// power is F18 for the planned batch, from what the pairs of the slice tell; nil
// where no pair does.
func (p *Planned) power(v *export.Verdict) *Power {
	m := len(p.Variants)
	out := &Power{Margin: v.Rule.Margin, Pairs: m * (m - 1) / 2}
	if v.Rule.Compare == stats.WithReference {
		out.Pairs = m - 1
	}
	level := 2 * v.Rule.AlphaAtLook()
	if v.Rule.Scope == stats.Population && p.Units < 30 {
		out.Units, _ = stats.UnitsFor(out.Pairs, level)
	}
	var mde, noise, df []float64
	var repeats, tasks []int
	var pairs []known
	for i := range v.Pairs {
		pair := &v.Pairs[i]
		if !pair.Compared || pair.Design == nil {
			continue
		}
		d := *pair.Design
		d.Alpha = level / float64(max(1, out.Pairs))
		pairs = append(pairs, known{d, pair})
		seen, least := p.detectable(d, pair, p.Repeats)
		x := max(seen, least)
		mde, noise, df = append(mde, x), append(noise, seen), append(df, float64(pair.Tasks-1))
		if delta := v.Rule.Margin; delta != nil {
			k, n := p.needs(d, *delta, least)
			repeats, tasks = append(repeats, k), append(tasks, n)
			if x <= *delta {
				out.Seen++
			}
		}
	}
	if out.Known = len(mde); out.Known == 0 {
		return nil
	}
	out.MDE.Value, out.noise = median(mde), median(noise)
	low, high, ok := stats.SpreadLimits(median(df))
	interval := func(mde float64) Interval {
		i := Interval{Value: mde}
		if ok {
			l, h := mde*low, min(1, mde*high)
			i.Low, i.High = &l, &h
		}
		return i
	}
	out.MDE = interval(out.MDE.Value)
	out.Repeats, out.Tasks = need(repeats), need(tasks)
	out.ByRepeats = p.byRepeats(pairs, out.Repeats, interval)
	return out
}

// known is a pair that the slice tells about, with its share of the level.
type known struct {
	design stats.Design
	pair   *stats.Pair
}

// detectable is the pair's MDE in the planned batch, with so many repeats, by its
// noise, and the least one that F14 sets where fewer than 5 units can be expected to
// differ, else 0.
func (p *Planned) detectable(d stats.Design, pair *stats.Pair, repeats int) (noise, least float64) {
	noise, _ = d.MDE(p.Tasks, repeats, repeats)
	if pair.Units > 0 && float64(pair.Different)/float64(pair.Units)*float64(p.Units) < fewUnits {
		least, _ = stats.FewHalfWidth(d.Alpha/2, p.Units)
	}
	return noise, least
}

// needs is k* and N* for the margin.
func (p *Planned) needs(d stats.Design, margin, least float64) (repeats, tasks int) {
	repeats, tasks = never, never
	if k, ok := d.RepeatsFor(margin, p.Tasks); ok && least <= margin {
		repeats = k
	}
	if n, ok := d.TasksFor(margin, p.Repeats, p.Repeats); ok {
		if least > 0 { // as many units as F14 asks for
			h, _ := stats.FewHalfWidth(d.Alpha/2, 1) // z²/(1+z²)
			n = max(n, int(math.Ceil(h/(1-h)*(1-margin)/margin)))
		}
		tasks = n
	}
	return repeats, tasks
}

// need is the median of what pairs need; nil = no number helps half of them.
func need(n []int) *int {
	if len(n) == 0 {
		return nil
	}
	slices.Sort(n)
	if m := n[len(n)/2]; m != never {
		return &m
	}
	return nil
}

// median is the middle value; of an even number the mean of the middle two.
func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
