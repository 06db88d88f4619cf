package stats

import (
	"fmt"
	"math"
	"slices"
)

// Property is something a recommendation may rest on. Nothing else is ever named.
type Property uint8

// What is measured for every variant.
const (
	ByScore       Property = iota // superior by F16
	ByCost                        // USD a task run
	ByTime                        // seconds a task run
	ByConsistency                 // rerun variance of a task
)

var propertyNames = [...]string{"score", "cost_usd", "wall_s", "consistency"}

// String is its name.
func (p Property) String() string { return propertyNames[p] }

// Advantage is what counts as material, frozen before the run: the share in (0,1)
// by which a candidate must undercut the reference. Nil = the property doesn't count.
type Advantage struct{ CostUSD, WallS, Consistency *float64 }

// Candidacy is one candidate for routing, against the reference.
type Candidacy struct {
	Candidate int
	Standing  Standing
	// Ratios candidate / reference with 95 % intervals; nil = unknown, or not asked for.
	Cost, Wall, Consistency *Ratio
	Advantages              []Property // shown: the whole interval lies beyond the frozen share
	Unknown                 []Property // asked for, but unknown for more than 1 in 20 scored task runs of a side: never an advantage
	Recommended             bool
	Why                     string // of a candidate that is not
}

// Recommend lists the candidates that may replace the reference: first capability
// (non-inferior within the frozen margin), then a material advantage. Several are
// listed, not ranked; a cheap variant that fails everything is never among them.
// Nil without a reference.
func Recommend(d *Data, rule Rule, v *Verdicts, a Advantage) ([]Candidacy, error) {
	for i, x := range []*float64{ByCost: a.CostUSD, ByTime: a.WallS, ByConsistency: a.Consistency} {
		if x != nil && !(*x > 0 && *x < 1) {
			return nil, fmt.Errorf("advantage %s %v: must be a share in (0, 1), such as 0.2 for 20 %%", Property(i), *x)
		}
	}
	reference, err := rule.check(d)
	if err != nil || reference < 0 {
		return nil, err
	}
	first := d.read(false)
	var out []Candidacy
	for _, n := range v.NonInferiority {
		c := Candidacy{Candidate: n.Candidate, Standing: n.Standing}
		if a.CostUSD != nil {
			c.Cost = d.geometric(n.Candidate, reference, costs)
		}
		if a.WallS != nil {
			c.Wall = d.geometric(n.Candidate, reference, walls)
		}
		if a.Consistency != nil {
			c.Consistency = consistency(&first.columns[n.Candidate], &first.columns[reference])
		}
		for _, x := range []struct {
			share  *float64
			what   Property
			values func(*variant) []float64
		}{{a.CostUSD, ByCost, costs}, {a.WallS, ByTime, walls}} {
			if x.share != nil && !(d.known(n.Candidate, x.values) && d.known(reference, x.values)) {
				c.Unknown = append(c.Unknown, x.what)
			}
		}
		c.choose(&n, a)
		out = append(out, c)
	}
	return out, nil
}

func (c *Candidacy) choose(n *NonInferiority, a Advantage) {
	if n.Standing == Superior {
		c.Advantages = append(c.Advantages, ByScore)
	}
	for _, x := range []struct {
		ratio *Ratio
		share *float64
		what  Property
	}{{c.Cost, a.CostUSD, ByCost}, {c.Wall, a.WallS, ByTime}, {c.Consistency, a.Consistency, ByConsistency}} {
		if x.share != nil && !slices.Contains(c.Unknown, x.what) && x.ratio != nil && x.ratio.Interval != nil && x.ratio.Interval.High <= 1-*x.share-guard {
			c.Advantages = append(c.Advantages, x.what)
		}
	}
	switch {
	case n.Standing < NonInferior:
		c.Why = "not shown to be non-inferior: " + n.Standing.String()
		if n.Codes != 0 {
			c.Why += ", " + n.Codes.Words()
		}
	case len(c.Advantages) == 0:
		c.Why = "non-inferior, but no material advantage is shown"
		for _, x := range c.Unknown {
			c.Why += ", " + x.String() + " is unknown for more than 5 % of the task runs of a side"
		}
	default:
		c.Recommended = true
	}
}

func costs(v *variant) []float64 { return v.cost }

func walls(v *variant) []float64 { return v.wall }

// mostUnknown is the share of scored task runs whose cost or time may be unknown
// where an advantage rests on it: what is left out need not be like the rest.
const mostUnknown = 0.05

// known says whether a value is known for enough of a variant's scored task runs.
func (d *Data) known(v int, values func(*variant) []float64) bool {
	n, all, x := 0, 0, values(&d.variants[v])
	d.eachScored(v, func(_, cell int) {
		all++
		n += int(1 - indicator(math.IsNaN(x[cell])))
	})
	return all > 0 && float64(all-n) <= mostUnknown*float64(all)+guard
}

// geometric compares the mean values of a task run on the tasks where both are known.
func (d *Data) geometric(a, b int, values func(*variant) []float64) *Ratio {
	var x, y []float64
	ma, mb := d.taskMeans(a, values), d.taskMeans(b, values)
	for t := range ma {
		if !math.IsNaN(ma[t]) && !math.IsNaN(mb[t]) {
			x, y = append(x, ma[t]), append(y, mb[t])
		}
	}
	if r, ok := GeometricRatio(x, y); ok {
		return &r
	}
	return nil
}

// taskMeans is by task the mean of the known values of scored cells; NaN = none.
func (d *Data) taskMeans(v int, values func(*variant) []float64) []float64 {
	sum, n := make([]float64, len(d.tasks)), make([]int, len(d.tasks))
	x := values(&d.variants[v])
	d.eachScored(v, func(t, cell int) {
		if !math.IsNaN(x[cell]) {
			sum[t] += x[cell]
			n[t]++
		}
	})
	for t := range sum {
		if sum[t] /= float64(n[t]); n[t] == 0 {
			sum[t] = math.NaN()
		}
	}
	return sum
}

// consistency is the ratio of the rerun variances, as a ratio of sums over the
// common tasks with two runs or more, by Fieller's method.
func consistency(a, b *column) *Ratio {
	var x, y []float64
	for t := range a.valid {
		if a.valid[t] > 1 && b.valid[t] > 1 {
			x, y = append(x, a.s2[t]), append(y, b.s2[t])
		}
	}
	if r, ok := PassPerDollar(x, y); ok {
		return &r
	}
	return nil
}
