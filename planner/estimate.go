package planner

import (
	"context"
	"math"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// Estimate is what the missing evaluations would cost by their History. Where there
// is none, the evaluation counts as unknown, never as 0.
type Estimate struct {
	Amount
	Models []ModelEstimate `json:"models"` // of those with something missing, in plan order
}

// ModelEstimate is the part of one model.
type ModelEstimate struct {
	Model string `json:"model"`
	Amount
}

// Amount is the expected cost and time of some evaluations.
type Amount struct {
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

// estimate looks for calibrations only where the recipe's own history does not do, and
// the search for earlier looks has not shown that there are none.
func (p *Plan) estimate(ctx context.Context, l *ledger.Ledger) error {
	p.History = NewHistory(p.Doc.Panel.Tasks, p.Valid, nil)
	p.Estimate = EstimateOf(p.Missing(), p.History)
	if p.uncalibrated || p.Estimate.UnknownCost+p.Estimate.UnknownTime == 0 {
		return nil
	}
	calibrated, err := l.Calibrated(ctx, p.Doc.Benchmark)
	p.History.calibrate(calibrated)
	p.Estimate = EstimateOf(p.Missing(), p.History)
	return err
}

// EstimateOf is what some slots would cost by a history.
func EstimateOf(missing []Slot, h *History) Estimate {
	e := Estimate{Amount: h.amount(missing), Models: []ModelEstimate{}}
	byModel := map[string][]Slot{}
	var models []string
	for _, s := range missing {
		if byModel[s.Cell.Model] == nil {
			models = append(models, s.Cell.Model)
		}
		byModel[s.Cell.Model] = append(byModel[s.Cell.Model], s)
	}
	for _, m := range models {
		e.Models = append(e.Models, ModelEstimate{m, h.amount(byModel[m])})
	}
	return e
}

func (h *History) amount(missing []Slot) Amount {
	out := Amount{Evaluations: len(missing)}
	cost, wall := h.total(missing, h.cost), h.total(missing, h.wall)
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

func (h *History) total(missing []Slot, q quantity) expected {
	n := map[batch.Digest]int{}
	var cells []batch.Identity
	for _, s := range missing {
		if n[s.Cell.Identity.Cell]++; n[s.Cell.Identity.Cell] == 1 {
			cells = append(cells, s.Cell.Identity)
		}
	}
	var out expected
	for _, id := range cells {
		out.add(q.like(id), n[id.Cell], h.tasks)
	}
	return out
}

// add expects k evaluations of a cell more. Their mean is one and the same guess, so
// its error adds up. The tasks of a slice stand for all of them: their costs are taken
// to vary by as much as they are large, which is an error that all evaluations share.
func (x *expected) add(m moments, k, tasks int) {
	if m.n == 0 {
		x.unknown += k
		return
	}
	x.known += k
	n := float64(k)
	x.mean += n * m.mean()
	x.variance += m.variance() * (n + n*n/m.n)
	if m.tasks < tasks {
		x.calibrated += k
		x.common += n * m.mean() * math.Sqrt(1/float64(m.tasks)-1/float64(tasks))
	}
}

func (x *expected) interval() *Interval {
	if x.known == 0 {
		return nil
	}
	d := 2 * math.Sqrt(x.variance+x.common*x.common)
	return &Interval{Mean: x.mean, Low: max(0, x.mean-d), High: x.mean + d}
}
