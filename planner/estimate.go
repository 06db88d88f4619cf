package planner

import (
	"math"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// Estimate is what the missing evaluations would cost, from this recipe's own
// repeats: of the same cell, else of the same model. Where there is no history
// the evaluation counts as unknown, never as 0.
type Estimate struct {
	Evaluations int       `json:"evaluations"`
	CostUSD     *Interval `json:"cost_usd"`     // of the known ones; nil = nothing is known
	WallS       *Interval `json:"wall_s"`       // one after another, in seconds; nil = nothing is known
	UnknownCost int       `json:"unknown_cost"` // evaluations without a history of cost
	UnknownTime int       `json:"unknown_time"`
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

func estimate(missing []Slot, valid []ledger.Entry) Estimate {
	e := Estimate{Evaluations: len(missing)}
	e.CostUSD, e.UnknownCost = total(missing, valid, func(v ledger.Entry) *float64 { return v.CostUSD })
	e.WallS, e.UnknownTime = total(missing, valid, func(v ledger.Entry) *float64 { return v.WallS })
	return e
}

// total sums the expected value of every missing evaluation.
func total(missing []Slot, valid []ledger.Entry, value func(ledger.Entry) *float64) (*Interval, int) {
	byCell, byModel := map[batch.Digest][]float64{}, map[batch.Digest][]float64{}
	for _, v := range valid {
		if x := value(v); x != nil {
			byCell[v.Identity.Cell] = append(byCell[v.Identity.Cell], *x)
			byModel[v.Identity.Model] = append(byModel[v.Identity.Model], *x)
		}
	}
	var mean, variance float64
	unknown := 0
	for _, s := range missing {
		history := byCell[s.Cell.Identity.Cell]
		if len(history) == 0 {
			history = byModel[s.Cell.Identity.Model]
		}
		if len(history) == 0 {
			unknown++
			continue
		}
		m, v := meanVar(history)
		mean += m
		variance += v * (1 + 1/float64(len(history)))
	}
	if unknown == len(missing) {
		return nil, unknown
	}
	d := 2 * math.Sqrt(variance)
	return &Interval{Mean: mean, Low: max(0, mean-d), High: mean + d}, unknown
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
