package compare

import (
	"time"

	"github.com/benchbatch/benchbatch/export/stats"
)

// column is the values of one half by task, from counted runs.
type column struct {
	runs   int // counted
	values [][]float64
	second [][]float64 // with failures scored 0 (F22)
	starts []time.Time // of the counted runs
	cost   float64
	costs  int
}

// add takes one run: a counted one, or one that joins the second reading alone.
func (c *column) add(cells []stats.Cell, place stats.Place, metric string) {
	valid, failed := false, false
	for t := range cells {
		failed = failed || cells[t].State == stats.Failed
		valid = valid || cells[t].State == stats.Scored
	}
	if place == stats.Replaced || place == stats.Unfilled && !failed {
		return
	}
	for t := range cells {
		cell := &cells[t]
		switch cell.State {
		case stats.Failed:
			c.second[t] = append(c.second[t], 0)
		case stats.Scored:
			c.second[t] = append(c.second[t], worth(cell, metric))
		}
		if place != stats.Counted || cell.State != stats.Scored {
			continue
		}
		c.values[t] = append(c.values[t], worth(cell, metric))
		if cell.CostUSD != nil {
			c.cost += *cell.CostUSD
			c.costs++
		}
	}
	if place == stats.Counted && valid {
		c.runs++
	}
}

// worth is the metric's value of a scored cell.
func worth(c *stats.Cell, metric string) float64 {
	switch {
	case metric != "passed":
		return c.Score
	case c.Passed:
		return 1
	}
	return 0
}

// mean is the mean of one task; nil = no valid outcome.
func (c *column) mean(task int) *float64 {
	if len(c.values[task]) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range c.values[task] {
		sum += v
	}
	m := sum / float64(len(c.values[task]))
	return &m
}
