package calibration

import (
	"math"

	"github.com/benchbatch/benchbatch/export/stats"
)

// rest projects what the missing evaluations cost and how long they take.
func (c *Calibration) rest(from *Collector) {
	var costs [][]float64 // by variant with a known cost: weighted by its missing evaluations, by task
	mean, low, high := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, r := range c.planned.Variants {
		c.Rest.Evaluations += r.Missing
		s := from.spent[r.Variant]
		if r.Missing == 0 {
			continue
		}
		if x := s.costs(float64(r.Missing)); x != nil {
			costs = append(costs, x)
		} else {
			c.Rest.UnknownCost += r.Missing
			if s != nil {
				c.Rest.untold += r.Missing
			}
		}
		if m, off, ok := s.duration(len(from.f.Tasks), c.planned.Tasks); ok {
			mean[r.Variant], low[r.Variant], high[r.Variant] = m, m*max(0, 1-off), m*(1+off)
		} else {
			c.Rest.UnknownTime += r.Missing
		}
	}
	c.Rest.CostUSD = projected(costs, c.planned.Tasks)
	if len(mean) == 0 || c.planned.Forecast == nil {
		return
	}
	if v := c.planned.Forecast(mean); v != nil {
		c.Rest.WallS = &Interval{Value: *v, Low: c.planned.Forecast(low), High: c.planned.Forecast(high)}
	}
}

// costs is the mean cost of a task run by task of the slice, USD, times weight; NaN
// where it is unknown. Nil = nothing is known.
func (s *spending) costs(weight float64) []float64 {
	if s == nil {
		return nil
	}
	out, known := make([]float64, len(s.tasks)), false
	for t := range s.tasks {
		out[t] = math.NaN()
		if m := s.tasks[t].Mean(); m != nil {
			out[t], known = weight**m, true
		}
	}
	if !known {
		return nil
	}
	return out
}

// projected is F21 for the whole panel, the tasks of the slice being the pilots:
// what a task costs in all missing evaluations together. So the variants' common
// dear and cheap tasks are seen. Where no task has a cost for every variant, each
// variant is projected by its own tasks, and the half-widths are added.
func projected(costs [][]float64, tasks int) *Interval {
	if len(costs) == 0 {
		return nil
	}
	var common []float64
	for t := range costs[0] {
		sum := 0.0
		for _, x := range costs {
			sum += x[t]
		}
		if !math.IsNaN(sum) {
			common = append(common, sum)
		}
	}
	if len(common) > 0 {
		return project(common, tasks)
	}
	out := &Interval{Low: new(float64), High: new(float64)}
	for _, x := range costs {
		var own []float64
		for _, usd := range x {
			if !math.IsNaN(usd) {
				own = append(own, usd)
			}
		}
		p := project(own, tasks)
		out.Value += p.Value
		if p.Low == nil || out.Low == nil {
			out.Low, out.High = nil, nil
			continue
		}
		*out.Low += *p.Low
		*out.High += *p.High
	}
	return out
}

func project(pilot []float64, tasks int) *Interval {
	total, i, _ := stats.Projection(pilot, tasks)
	out := &Interval{Value: total}
	if i != nil {
		out.Low, out.High = &i.Low, &i.High
	}
	return out
}

// duration is how long an evaluation of the whole panel takes, in seconds, and by
// which share of it that can be off: starting and ending once, and the tasks in
// proportion. The share is that of the mean of the slice's evaluations (t), but at
// least 1/√n for the n tasks that stand for all.
func (s *spending) duration(slice, tasks int) (mean, off float64, ok bool) {
	if s == nil || len(s.walls) == 0 || slice == 0 {
		return 0, 0, false
	}
	var all []float64
	for _, w := range s.walls {
		all = append(all, w.overhead+w.work*float64(tasks)/float64(slice))
	}
	m, _ := stats.MeanOf(all, nil, 0, math.Inf(1))
	if m.Value <= 0 {
		return 0, 0, true
	}
	if slice < tasks {
		off = math.Sqrt(1/float64(slice) - 1/float64(tasks))
	}
	if m.Interval != nil {
		off = max(off, (m.Interval.High-m.Value)/m.Value)
	}
	return m.Value, off, true
}

// mean is the mean known cost of a task run, USD; nil = unknown.
func (s *spending) mean() *float64 {
	x := s.costs(1)
	sum, n := 0.0, 0
	for _, usd := range x {
		if !math.IsNaN(usd) {
			sum += usd
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
