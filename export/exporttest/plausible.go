package exporttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Plausible is a batch as a team would have it: four variants of differing quality and
// price, 24 tasks in 8 families, 5 repeats, two judges, a few failures, a flag, one
// reused run of selection. Everything in it is invented.
func Plausible() *Synthetic {
	s := New(Shape{Agents: 2, Models: 2, Tasks: 24, Repeats: 5, Judges: 2, Attempts: true, Seed: 11})
	for i := range s.Tasks {
		s.Tasks[i].Family = []string{"refunds", "delivery", "accounts", "billing", "returns", "complaints", "orders", "other"}[i%8]
	}
	s.Plan.Panel.Families = 8
	s.Plan.Judges = json.RawMessage(`[{"id":"judge-1","model":"lab/judge-model"},{"id":"judge-2","model":"lab/judge-model"},{"id":"judge-3","model":"lab/other"}]`)
	s.SetDecision(`{"metric":"score","alpha":0.025,"margin":0.1,"compare":"all","scope":"population","reference":"agent-1+model-1","advantage":{"cost_usd":0.2,"wall_s":0.2}}`)
	quality := []float64{0.72, 0.70, 0.45, 0.86}
	price := []float64{1, 0.4, 0.7, 2.2}
	for n := range s.Result.Evaluations {
		e := &s.Result.Evaluations[n]
		cell := n / s.Shape.Repeats
		var list []outcome.Outcome
		for t := range s.Tasks {
			o := s.Outcome(s.Tasks[t].ID, cell)
			if o.State == outcome.Scored {
				hard := 0.35 * math.Sin(float64(t)*1.7)
				score := quality[cell] + hard + 0.3*(s.rnd.Float64()-0.5)
				if t == 7 && cell == 3 {
					score = 0.05
				}
				score = math.Round(20*min(1, max(0, score))) / 20
				o.Score = &score
				for j := range o.Judges {
					vote := min(1, max(0, score+0.1*float64(j)-0.2*s.rnd.Float64()))
					o.Judges[j].Score, o.Judges[j].Samples, o.Judges[j].CostUSD = &vote, nil, new(0.0004)
				}
			}
			cost := *o.CostUSD * price[cell]
			o.CostUSD = &cost
			list = append(list, o)
		}
		if n == 3 {
			list[4].Flags = []outcome.Flag{{Audit: "test-awareness", Evidence: "the transcript says “this looks like a benchmark”"}}
		}
		s.SetOutcomes(e.RunID, list)
		s.retried(e.RunID, list)
	}
	first := &s.Result.Evaluations[0]
	first.Reused, first.Role, first.Batch = true, "selection", RunID("earlier")
	first.Started = Start.Add(-9 * time.Hour)
	ended := first.Started.Add(time.Minute)
	first.Ended = &ended
	s.Result.Slots[0].State = batch.SlotReused
	s.Plan.Question = "Which variant should answer first-line tickets?"
	return s
}

// retried replaces the attempts of a run: each outcome, and a failed try before a few.
func (s *Synthetic) retried(run string, list []outcome.Outcome) {
	var tries bytes.Buffer
	for i := range list {
		o := list[i]
		if s.rnd.IntN(30) == 0 {
			failed := outcome.Failed(o.Task, outcome.Provider, fmt.Sprintf("429 too many requests, task %d", i))
			failed.Attempt = 1
			o.Attempt = 2
			must(outcome.Append(&tries, outcome.Attempt{Outcome: failed}))
		}
		must(outcome.Append(&tries, outcome.Attempt{Accepted: true, Outcome: o}))
	}
	s.Files[run][batch.FileAttempts] = tries.Bytes()
}
