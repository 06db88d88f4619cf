package export

import (
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Sum adds up what is known and counts what is not: an unknown cost is never 0.
type Sum struct {
	Total   float64
	Known   int
	Unknown int
}

// Add adds one value; nil counts as unknown.
func (s *Sum) Add(v *float64) {
	if v == nil {
		s.Unknown++
		return
	}
	s.add(*v)
}

func (s *Sum) add(v float64) {
	s.Total += v
	s.Known++
}

func (s *Sum) addPass(p *bool) {
	switch {
	case p == nil:
	case *p:
		s.add(1)
	default:
		s.add(0)
	}
}

func (s *Sum) addInt(v *int64) {
	if v == nil {
		s.Unknown++
		return
	}
	s.add(float64(*v))
}

// Merge adds another sum.
func (s *Sum) Merge(o Sum) {
	s.Total += o.Total
	s.Known += o.Known
	s.Unknown += o.Unknown
}

// Value is the total; nil where nothing is known.
func (s Sum) Value() *float64 {
	if s.Known == 0 {
		return nil
	}
	return &s.Total
}

// Mean is the mean of what is known; nil where nothing is.
func (s Sum) Mean() *float64 {
	if s.Known == 0 {
		return nil
	}
	m := s.Total / float64(s.Known)
	return &m
}

// Spent is what trying cost: every attempt where attempts were kept, else every outcome.
type Spent struct {
	Reported  Sum // USD, as the runner reported
	Repriced  Sum // USD, from tokens and the frozen prices
	Judges    Sum // USD, of judges, as reported
	Input     Sum // tokens, cached ones excluded
	CacheRead Sum // tokens
	CacheFill Sum // tokens written to a cache
	Output    Sum // tokens
}

func (s *Spent) merge(o *Spent) {
	for _, p := range [][2]*Sum{{&s.Reported, &o.Reported}, {&s.Repriced, &o.Repriced}, {&s.Judges, &o.Judges},
		{&s.Input, &o.Input}, {&s.CacheRead, &o.CacheRead}, {&s.CacheFill, &o.CacheFill}, {&s.Output, &o.Output}} {
		p[0].Merge(*p[1])
	}
}

// Measures are the figures of one evaluation, over the tasks of the panel.
type Measures struct {
	Tasks  int                   // of the panel
	States map[outcome.State]int // outcomes by state
	Absent int                   // tasks of the panel without any outcome
	Score  Sum                   // Mean: of the tasks that have a score
	Kept   Sum                   // the same without withdrawn tasks
	Passed Sum                   // Mean: share of passes among the outcomes that have one
	Spent
	Duration   Sum // seconds, of the accepted outcomes
	Wait       Sum // seconds of it
	ToolCalls  Sum
	ToolErrors Sum
	Judges     []JudgeMean // by name
}

// JudgeMean is the mean vote of one judge in one evaluation, on [0,1].
type JudgeMean struct {
	Name  string
	Votes Sum
}

// Coverage is the share of the panel that has a score, in [0,1]; nil for an empty panel.
func (m *Measures) Coverage() *float64 {
	if m.Tasks == 0 {
		return nil
	}
	c := float64(m.Score.Known) / float64(m.Tasks)
	return &c
}

// Missing is how many tasks of the panel have no score.
func (m *Measures) Missing() int { return m.Tasks - m.Score.Known }

func measure(f *Frozen, e *Evidence) Measures {
	m := Measures{Tasks: len(f.Tasks), Absent: len(f.Tasks), States: map[outcome.State]int{}}
	for i := range e.Outcomes {
		o, p := &e.Outcomes[i], e.Derived[i].Position
		if p < 0 {
			continue
		}
		m.Absent--
		m.States[o.State]++
		if o.Score != nil {
			m.Score.Add(o.Score)
			if f.Tasks[p].Withdrawn == nil {
				m.Kept.Add(o.Score)
			}
		}
		m.Passed.addPass(e.Derived[i].Passed)
		if o.State != outcome.NotRun {
			m.Duration.Add(o.DurationS)
			m.Wait.Add(o.WaitS)
			m.ToolCalls.addInt(o.ToolCalls)
			m.ToolErrors.addInt(o.ToolErrors)
		}
		m.vote(o.Judges)
	}
	slices.SortFunc(m.Judges, func(a, b JudgeMean) int { return strings.Compare(a.Name, b.Name) })
	m.Spent = spent(f, e)
	return m
}

func (m *Measures) vote(votes []outcome.Vote) {
	for i := range votes {
		j := slices.IndexFunc(m.Judges, func(j JudgeMean) bool { return j.Name == votes[i].Name })
		if j < 0 {
			j = len(m.Judges)
			m.Judges = append(m.Judges, JudgeMean{Name: votes[i].Name})
		}
		m.Judges[j].Votes.Add(votes[i].Unit())
	}
}

func spent(f *Frozen, e *Evidence) Spent {
	var s Spent
	if e.Unbilled { // as if it were one try
		s.Reported.Add(nil)
		s.Repriced.Add(nil)
	}
	if e.Attempts == nil {
		for i := range e.Outcomes {
			s.add(&e.Outcomes[i], e.Derived[i].Repriced)
		}
	}
	for i := range e.Attempts {
		usd, _ := f.Reprice(e.Model, e.Attempts[i].Tokens)
		s.add(&e.Attempts[i].Outcome, usd)
	}
	return s
}

func (s *Spent) add(o *outcome.Outcome, repriced *float64) {
	if o.State == outcome.NotRun {
		return
	}
	s.Reported.Add(o.CostUSD)
	s.Repriced.Add(repriced)
	t := o.Tokens
	if t == nil {
		t = &outcome.Tokens{}
	}
	s.Input.addInt(t.Input)
	s.CacheRead.addInt(t.CacheRead)
	s.CacheFill.addInt(t.CacheWrite)
	s.Output.addInt(t.Output)
	for i := range o.Judges {
		if o.Judges[i].CostUSD != nil || o.Judges[i].Kind == "model" {
			s.Judges.Add(o.Judges[i].CostUSD)
		}
	}
}

// Pass says whether an outcome passes under the batch's decision; nil = missing.
func (f *Frozen) Pass(o *outcome.Outcome) *bool {
	return o.Pass(f.Plan.PassThreshold, f.Plan.PassReported)
}
