package stats

import (
	"cmp"
	"math"
	"slices"
)

// Repair is something that could turn a "?" into a verdict, with its price.
type Repair struct {
	For     Code
	Action  Action
	Tasks   int      // more tasks
	Repeats int      // more repeats of the pair, both sides together
	Cells   int      // task runs to pay for
	CostUSD *float64 // at this batch's mean cost of a task run; nil = unknown, or nothing to pay
}

// Action is what a repair does.
type Action uint8

// What can be done.
const (
	AddRepeats    Action = iota // run both variants more often on this panel
	AddTasks                    // widen the panel
	RerunTogether               // run both sides within the same day
	RerunFailures               // run again what failed for reasons that are not the agent's
	AddJudge                    // add a judge of another family, or leave that one out
	DeclareMargin               // freeze a margin before the next batch
	OtherDays                   // spread runs over days: no number of tasks helps
	AddFamilies                 // only more independent units help
)

var actionNames = [...]string{"add repeats", "add tasks", "run both sides on the same day", "run failures again",
	"add a judge of another family", "declare a margin", "spread runs over other days", "add families"}

// String is the action's name.
func (a Action) String() string { return actionNames[a] }

// repairs lists what would help a pair that cannot tell, cheapest first; unknown
// prices stand last. Powerless pairs are priced by F18 at the level of the next
// look, for the margin, or for the observed difference where none is declared.
func (d *Data) repairs(p *Pair, c *contest, r *reading, rule Rule, places int) []Repair {
	if p.Mark != CannotTell || !p.Compared {
		return nil
	}
	a, b := d.cellCost(p.A), d.cellCost(p.B)
	price := func(x Repair, cellsA, cellsB int) Repair {
		x.Cells = cellsA + cellsB
		if a != nil && b != nil && x.Cells > 0 {
			x.CostUSD = ptr(float64(cellsA)**a + float64(cellsB)**b)
		}
		return x
	}
	var out []Repair
	if p.Codes.Has(NoRepeats) {
		ra, rb := max(0, MinRepeats-c.kA), max(0, MinRepeats-c.kB)
		out = append(out, price(Repair{For: NoRepeats, Action: AddRepeats, Repeats: ra + rb}, ra*len(d.tasks), rb*len(d.tasks)))
	}
	if p.Codes.Has(TooFewTasks) {
		n := MinTasks - p.Tasks
		out = append(out, price(Repair{For: TooFewTasks, Action: AddTasks, Tasks: n}, n*max(MinRepeats, c.kA), n*max(MinRepeats, c.kB)))
	}
	if p.Codes.Has(MeasuredApart) {
		out = append(out, d.together(p, c, r, rule, price))
	}
	if p.Codes.Has(ProviderFailuresDecide) {
		out = append(out, price(Repair{For: ProviderFailuresDecide, Action: RerunFailures}, d.failures(p.A), d.failures(p.B)))
	}
	if p.Codes.Has(JudgeDependent) {
		out = append(out, Repair{For: JudgeDependent, Action: AddJudge})
	}
	if p.Codes.Has(MarginUndeclared) {
		out = append(out, Repair{For: MarginUndeclared, Action: DeclareMargin})
	}
	if c.ok && c.refused == 0 && p.First.Mark == CannotTell {
		out = append(out, c.enlarge(r, rule, places, price)...)
	}
	slices.SortStableFunc(out, func(x, y Repair) int {
		return cmp.Or(cmp.Compare(worth(x), worth(y)), cmp.Compare(x.Cells, y.Cells))
	})
	return out
}

// worth orders repairs: what costs nothing to run, then by price, then unknown prices.
func worth(r Repair) float64 {
	switch {
	case r.CostUSD != nil:
		return *r.CostUSD
	case r.Cells == 0:
		return 0
	}
	return math.MaxFloat64
}

// together is the price of running again the side with the lonely runs (the
// reference, where there is one).
func (d *Data) together(p *Pair, c *contest, r *reading, rule Rule, price func(Repair, int, int) Repair) Repair {
	x, n := Repair{For: MeasuredApart, Action: RerunTogether}, len(d.tasks)
	again := p.A
	if r.columns[p.A].id != rule.Reference &&
		(r.columns[p.B].id == rule.Reference || lonely(r.columns[p.B].started, r.columns[p.A].started) > lonely(r.columns[p.A].started, r.columns[p.B].started)) {
		again = p.B
	}
	if again == p.A {
		x.Repeats = c.kA
		return price(x, c.kA*n, 0)
	}
	x.Repeats = c.kB
	return price(x, 0, c.kB*n)
}

// enlarge is F18 for a powerless pair: N* and k*.
func (c *contest) enlarge(r *reading, rule Rule, places int, price func(Repair, int, int) Repair) []Repair {
	difference := math.Abs(c.mean)
	if rule.Margin != nil {
		difference = *rule.Margin
	}
	if difference == 0 {
		return nil
	}
	alpha := rule.nextLevel(places)
	design := c.design(&r.shock, c.excess, rule.Scope, alpha)
	var out []Repair
	n, tasksHelp := design.TasksFor(difference, c.kA, c.kB)
	if c.nonzero < fewUnits {
		z := normalUpper(alpha / 2)
		n = max(n, int(math.Ceil(z*z*(1-difference)/difference)))
	}
	if more := n - c.tasks; tasksHelp && more > 0 && rule.Scope == Population {
		out = append(out, price(Repair{For: Powerless, Action: AddTasks, Tasks: more}, more*c.kA, more*c.kB))
	}
	if !tasksHelp {
		out = append(out, Repair{For: Powerless, Action: OtherDays})
	}
	if k, ok := design.RepeatsFor(difference, c.tasks); ok && (c.nonzero >= fewUnits || fewHalfWidth(alpha/2, c.units) <= difference) {
		a, b := max(0, k-c.kA), max(0, k-c.kB)
		if a+b > 0 {
			out = append(out, price(Repair{For: Powerless, Action: AddRepeats, Repeats: a + b}, a*c.tasks, b*c.tasks))
		}
	}
	if c.clustered && math.Ldexp(float64(places), 1-c.units) > rule.level() {
		out = append(out, Repair{For: Powerless, Action: AddFamilies})
	}
	return out
}

// cellCost is the mean known cost of a task run of the variant, USD; nil = none known.
func (d *Data) cellCost(v int) *float64 {
	sum, n := 0.0, 0
	for _, c := range d.variants[v].cost {
		if !math.IsNaN(c) {
			sum += c
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return ptr(sum / float64(n))
}

// failures counts the variant's failures in the runs of the second reading.
func (d *Data) failures(v int) int {
	if b := d.variants[v].band(len(d.tasks)); b != nil {
		return b.Failures
	}
	return 0
}
