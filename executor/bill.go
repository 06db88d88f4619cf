package executor

import (
	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// bill is what an evaluation cost, in USD: the runner and the judges, over every
// attempt, accepted or not.
type bill struct {
	known   *float64 // the sum of the known parts; nil = nothing is known
	unknown int      // attempts and model votes that ran at a cost that nobody told
	worst   *float64 // known, with the dearest known part for each unknown one; nil = nothing is known
}

// billOf adds up an evaluation's attempts. What never ran cost nothing; a code or
// human vote without a cost costs nothing; all else without a cost is unknown, not 0.
func billOf(m evaluation.Measured) bill {
	var b bill
	var sum, dearest float64
	parts := 0
	part := func(usd *float64) {
		if usd == nil {
			b.unknown++
			return
		}
		parts++
		sum += *usd
		dearest = max(dearest, *usd)
	}
	for _, a := range m.Attempts {
		if a.State != outcome.NotRun {
			part(a.CostUSD)
		}
		for _, v := range a.Judges {
			if v.CostUSD != nil || v.Kind == "model" {
				part(v.CostUSD)
			}
		}
	}
	if parts > 0 && (sum > 0 || b.unknown == 0) { // zeros beside unknown costs tell nothing
		worst := sum + float64(b.unknown)*dearest
		b.known, b.worst = &sum, &worst
	}
	return b
}
