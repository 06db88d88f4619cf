package calibration

import (
	"context"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Collector gathers what the counted evaluations of a slice cost and how long they
// took. It is an export.Output that makes no file; it serves one folder.
type Collector struct {
	f       *export.Frozen
	sum     *export.Summary
	spent   map[string]*spending // by variant
	current []export.Sum         // of one evaluation, by task
}

// spending is one variant's.
type spending struct {
	tasks []export.Sum // USD of a task run by task of the slice
	walls []wall
}

// wall is how long one evaluation took, in seconds.
type wall struct{ overhead, work float64 }

// Format names the output; it stands in no manifest.
func (c *Collector) Format() (string, int) { return "calibration", 1 }

// Start begins a folder.
func (c *Collector) Start(f *export.Frozen, _ string) (export.Making, error) {
	*c = Collector{f: f, spent: map[string]*spending{}, current: make([]export.Sum, len(f.Tasks))}
	return c, nil
}

// Read finds nothing: there are no files.
func (c *Collector) Read(context.Context, string, []export.Content) ([]export.Content, []export.Finding) {
	return nil, nil
}

// Add takes one evaluation.
func (c *Collector) Add(e *export.Evidence) error {
	if !e.Counted {
		return nil
	}
	s := c.spent[e.Variant.String()]
	if s == nil {
		s = &spending{tasks: make([]export.Sum, len(c.f.Tasks))}
		c.spent[e.Variant.String()] = s
	}
	took := c.tries(e)
	c.shareJudges(e)
	for p := range c.current {
		switch x := c.current[p]; {
		case x.Unknown > 0:
			s.tasks[p].Add(nil)
		case x.Known > 0:
			s.tasks[p].Add(&x.Total)
		}
	}
	if all := export.WallSeconds(&e.Evaluation); all != nil {
		work := *all // where a task's time is unknown, all of it is the tasks'
		if took.Unknown == 0 && took.Known > 0 {
			work = min(work, took.Total)
		}
		s.walls = append(s.walls, wall{*all - work, work})
	}
	return nil
}

// tries sums up the evaluation's tries: their cost by task in c.current, as reported
// or else repriced, and their time.
func (c *Collector) tries(e *export.Evidence) (took export.Sum) {
	clear(c.current)
	try := func(o *outcome.Outcome) {
		p := c.f.Position(o.Task)
		if p < 0 || o.State == outcome.NotRun {
			return
		}
		usd := o.CostUSD
		if usd == nil {
			usd, _ = c.f.Reprice(e.Model, o.Tokens)
		}
		c.current[p].Add(usd)
		took.Add(o.DurationS)
	}
	if e.Attempts == nil {
		for i := range e.Outcomes {
			try(&e.Outcomes[i])
		}
	}
	for i := range e.Attempts {
		try(&e.Attempts[i].Outcome)
	}
	return took
}

// shareJudges adds what the evaluation's judges cost, shared out evenly.
func (c *Collector) shareJudges(e *export.Evidence) {
	judges, tried := e.Measures.Spent.Judges, 0
	for p := range c.current {
		if c.current[p].Known+c.current[p].Unknown > 0 {
			tried++
		}
	}
	if judges.Known+judges.Unknown == 0 || tried == 0 {
		return
	}
	for p := range c.current {
		switch x := &c.current[p]; {
		case x.Known+x.Unknown == 0:
		case judges.Unknown > 0:
			x.Add(nil)
		default:
			x.Total += judges.Total / float64(tried)
		}
	}
}

// Finish keeps the summary.
func (c *Collector) Finish(s *export.Summary) ([]export.Content, error) {
	c.sum = s
	return nil, nil
}

// Abandon has nothing to close.
func (c *Collector) Abandon() {}
