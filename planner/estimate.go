package planner

import (
	"context"
	"math"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// Estimate is what the missing evaluations would cost: from this recipe's own
// repeats, of the same cell or else of the same model; else from calibrations of
// the benchmark, a task of a slice standing for a task of the panel. Where there
// is neither, the evaluation counts as unknown, never as 0.
type Estimate struct {
	Evaluations int       `json:"evaluations"`
	CostUSD     *Interval `json:"cost_usd"`     // of the known ones; nil = nothing is known
	WallS       *Interval `json:"wall_s"`       // one after another, in seconds; nil = nothing is known
	UnknownCost int       `json:"unknown_cost"` // evaluations without a history of cost
	UnknownTime int       `json:"unknown_time"`
	Calibrated  int       `json:"from_calibration"` // evaluations whose cost or time is known from calibrations alone
}

// Interval is a mean with a rough 95 % range: two standard errors of the sum.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Wall is the time as a duration.
func (i Interval) Wall() (mean, low, high time.Duration) {
	sec := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return sec(i.Mean), sec(i.Low), sec(i.High)
}

// estimate looks for calibrations only where the recipe's own history does not do.
func (p *Plan) estimate(ctx context.Context, l *ledger.Ledger) error {
	own := evidence{valid: p.Valid, tasks: p.Doc.Panel.Tasks}
	p.Estimate = own.estimate(p.Missing())
	if p.Estimate.UnknownCost+p.Estimate.UnknownTime == 0 {
		return nil
	}
	var err error
	own.calibrated, err = l.Calibrated(ctx, p.Doc.Benchmark)
	p.Estimate = own.estimate(p.Missing())
	return err
}

// evidence is what an estimate rests on.
type evidence struct {
	valid      []ledger.Entry
	calibrated []ledger.Entry // of slices of the panel
	tasks      int            // of the panel
}

func (e evidence) estimate(missing []Slot) Estimate {
	out := Estimate{Evaluations: len(missing)}
	cost := e.total(missing, func(v ledger.Entry) *float64 { return v.CostUSD })
	wall := e.total(missing, func(v ledger.Entry) *float64 { return v.WallS })
	out.CostUSD, out.UnknownCost = cost.interval(), cost.unknown
	out.WallS, out.UnknownTime = wall.interval(), wall.unknown
	out.Calibrated = max(cost.calibrated, wall.calibrated)
	return out
}

// expected sums the expected values of evaluations.
type expected struct {
	mean, variance float64
	known, unknown int
	calibrated     int     // of the known ones
	common         float64 // standard error of the calibrated ones together
}

// values are what is known of evaluations that are like a missing one.
type values struct {
	x     []float64
	tasks int // least number of tasks behind one of them
}

func (e evidence) total(missing []Slot, value func(ledger.Entry) *float64) expected {
	cells, models := map[string]values{}, map[string]values{}
	add := func(v ledger.Entry, x float64, n int, cell, model string) {
		for _, at := range []struct {
			m   map[string]values
			key string
		}{{cells, cell}, {models, model}} {
			was := at.m[at.key]
			if was.x == nil || n < was.tasks {
				was.tasks = n
			}
			was.x = append(was.x, x)
			at.m[at.key] = was
		}
	}
	for _, v := range e.valid {
		if x := value(v); x != nil {
			add(v, *x, e.tasks, string(v.Identity.Cell), "own "+string(v.Identity.Model))
		}
	}
	for _, v := range e.calibrated {
		if x := value(v); x != nil && v.Tasks > 0 {
			add(v, *x*float64(e.tasks)/float64(v.Tasks), v.Tasks, sliceKey(v.Identity), string(v.Identity.Model))
		}
	}
	var out expected
	for _, s := range missing {
		id := s.Cell.Identity
		h := cells[string(id.Cell)]
		for _, next := range []values{models["own "+string(id.Model)], cells[sliceKey(id)], models[string(id.Model)]} {
			if h.x == nil {
				h = next
			}
		}
		out.add(h, e.tasks)
	}
	return out
}

// sliceKey is what a cell has in common with the cell of a slice.
func sliceKey(id batch.Identity) string {
	return string(id.Agent) + " " + string(id.Model) + " " + string(id.Brain)
}

// add expects one evaluation more. The tasks of a slice stand for all of them: their
// costs are taken to vary by as much as they are large, which is an error that all
// evaluations share.
func (x *expected) add(h values, tasks int) {
	if len(h.x) == 0 {
		x.unknown++
		return
	}
	m, v := meanVar(h.x)
	x.known++
	x.mean += m
	x.variance += v * (1 + 1/float64(len(h.x)))
	if h.tasks < tasks {
		x.calibrated++
		x.common += m * math.Sqrt(1/float64(h.tasks)-1/float64(tasks))
	}
}

func (x *expected) interval() *Interval {
	if x.known == 0 {
		return nil
	}
	d := 2 * math.Sqrt(x.variance+x.common*x.common)
	return &Interval{Mean: x.mean, Low: max(0, x.mean-d), High: x.mean + d}
}

func meanVar(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	if len(x) < 2 {
		return mean, mean * mean / 4 // one value says little: half of it as the spread
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x)-1)
}
