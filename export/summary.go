package export

import (
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Summary describes a whole batch: what was measured, how the runs scattered,
// what it cost, and what the frozen rule decides.
type Summary struct {
	Evaluations []Row           // in the result's order
	Variants    []VariantNumber // in the plan's order
	Pairs       []Pair          // every two variants, in the plan's order; those of Verdict.Pairs
	Tasks       []TaskNumbers   // panel order; over counted evaluations
	Flags       Flags           // findings of audits
	Paid        Paid            // over all evaluations
	Secrets     []SecretHit     // what looks like a secret in the folder's text
	Verdict     *Verdict        // nil where the evidence was not read
}

// Row is an evaluation without its outcomes.
type Row struct {
	batch.Evaluation
	Measures
	Artifacts   string // see Evidence.ArtifactState
	HasAttempts bool
	Unreadable  string
	Missing     []Finding
}

// VariantNumber describes one variant over its counted evaluations.
type VariantNumber struct {
	Cell   *batch.Cell
	Slots  batch.Counts
	Runs   []Run                 // that have at least one score, by start time
	Mean   *float64              // mean over tasks of the mean over runs; nil = no score
	Kept   *float64              // the same without withdrawn tasks
	Passed *float64              // mean over tasks of the share of passes
	Tasks  int                   // that have at least one score
	Cover  *float64              // share of counted repeats × tasks that have a score; nil = nothing counted
	States map[outcome.State]int // outcomes of counted evaluations
	Absent int                   // tasks of counted evaluations without any outcome
	Spent  Spent                 // of counted evaluations, reused ones included
	Wall   Sum                   // seconds from start to end of the counted evaluations
	Wait   Sum                   // seconds of waiting, a task
	Took   Sum                   // seconds, a task

	Paid        Paid       // over all its evaluations, counted or not
	Tries       []Tries    // by state, in the order of outcome.States
	First, Last *time.Time // starts of the counted evaluations; nil = none is believable
	Selection   int        // counted evaluations that served to choose the brain or a setting

	tasks []taskSum
}

// Run is one counted evaluation's mean.
type Run struct {
	RunID string
	Slot  int
	Mean  float64
	Kept  *float64 // without withdrawn tasks
}

// Range is the lowest and highest run mean; nil without runs.
func (v *VariantNumber) Range() (worst, best *float64) {
	for i := range v.Runs {
		m := &v.Runs[i].Mean
		if worst == nil || *m < *worst {
			worst = m
		}
		if best == nil || *m > *best {
			best = m
		}
	}
	return worst, best
}

// Pair is the descriptive difference of two variants.
type Pair struct {
	A, B         *VariantNumber
	Common       int      // tasks with a score on both sides
	MeanA, MeanB *float64 // over the common tasks; nil = none
	Difference   *float64 // MeanA - MeanB
	RangeTie     *bool    // the ranges of run means overlap; nil = fewer than 2 runs on a side
}

// TaskNumbers counts a task's outcomes over the counted evaluations.
type TaskNumbers struct {
	Scores  Sum // Mean: over all variants and runs
	Missing int // counted evaluations in which it has no score
}

type taskSum struct{ score, pass Sum }

type summarizer struct {
	f       *Frozen
	sum     Summary
	variant map[batch.Digest]*VariantNumber
	verdict *deciding // nil = not wanted
}

func newSummarizer(f *Frozen) *summarizer {
	s := &summarizer{f: f, variant: map[batch.Digest]*VariantNumber{}}
	s.sum.Secrets = slices.Clone(f.secrets)
	s.sum.Tasks = make([]TaskNumbers, len(f.Tasks))
	s.sum.Variants = make([]VariantNumber, len(f.Plan.Cells))
	for i := range f.Plan.Cells {
		c := &f.Plan.Cells[i]
		v := &s.sum.Variants[i]
		*v = VariantNumber{Cell: c, States: map[outcome.State]int{}, Tries: newTries(), tasks: make([]taskSum, len(f.Tasks))}
		s.variant[c.Identity.Cell] = v
	}
	for _, slot := range f.Result.Slots {
		s.variant[slot.Cell].Slots.Count(slot.State)
	}
	return s
}

// add takes one evaluation, in the result's order.
func (s *summarizer) add(e *Evidence) {
	s.sum.Evaluations = append(s.sum.Evaluations, Row{Evaluation: e.Evaluation, Measures: e.Measures, Artifacts: e.ArtifactState(),
		HasAttempts: e.Attempts != nil, Unreadable: e.Unreadable, Missing: e.Missing})
	s.sum.Secrets = append(s.sum.Secrets, e.Secrets...)
	if s.verdict != nil {
		s.verdict.add(e)
	}
	s.sum.Flags.add(s.f, e)
	v := s.variant[e.Cell]
	v.Paid.add(e)
	v.tried(s.f, e)
	if !e.Counted {
		return
	}
	v.measured(&e.Evaluation)
	if m := e.Measures.Score.Mean(); m != nil {
		v.Runs = append(v.Runs, Run{e.RunID, e.Slot, *m, e.Measures.Kept.Mean()})
	}
	for _, st := range outcome.States {
		v.States[st] += e.Measures.States[st]
	}
	v.Absent += e.Measures.Absent
	v.Spent.merge(&e.Measures.Spent)
	v.Wall.Add(WallSeconds(&e.Evaluation))
	v.Wait.Merge(e.Measures.Wait)
	v.Took.Merge(e.Measures.Duration)
	s.addTasks(v, e)
}

func (s *summarizer) addTasks(v *VariantNumber, e *Evidence) {
	for i := range s.sum.Tasks {
		s.sum.Tasks[i].Missing++
	}
	for i := range e.Outcomes {
		o, p := &e.Outcomes[i], e.Derived[i].Position
		if p < 0 || o.Score == nil {
			continue
		}
		s.sum.Tasks[p].Missing--
		s.sum.Tasks[p].Scores.Add(o.Score)
		v.tasks[p].score.Add(o.Score)
		v.tasks[p].pass.addPass(e.Derived[i].Passed)
	}
}

func (s *summarizer) finish() *Summary {
	for i := range s.sum.Variants {
		s.finishVariant(&s.sum.Variants[i])
		s.sum.Paid.merge(&s.sum.Variants[i].Paid)
	}
	if s.verdict != nil {
		s.sum.Verdict = s.verdict.finish()
	}
	for i := range s.sum.Variants {
		for j := i + 1; j < len(s.sum.Variants); j++ {
			a, b := s.sum.Verdict.order(len(s.sum.Pairs), i, j)
			s.sum.Pairs = append(s.sum.Pairs, pair(&s.sum.Variants[a], &s.sum.Variants[b]))
		}
	}
	return &s.sum
}

func (s *summarizer) finishVariant(v *VariantNumber) {
	var all, kept, pass Sum
	scored := 0
	for p, t := range v.tasks {
		m := t.score.Mean()
		if m == nil {
			continue
		}
		scored += t.score.Known
		all.Add(m)
		if s.f.Tasks[p].Withdrawn == nil {
			kept.Add(m)
		}
		if m := t.pass.Mean(); m != nil {
			pass.Add(m)
		}
	}
	v.Mean, v.Kept, v.Passed, v.Tasks = all.Mean(), kept.Mean(), pass.Mean(), all.Known
	if n := (v.Slots.Done + v.Slots.Reused) * len(s.f.Tasks); n > 0 {
		c := float64(scored) / float64(n)
		v.Cover = &c
	}
}

func pair(a, b *VariantNumber) Pair {
	p := Pair{A: a, B: b}
	var sa, sb Sum
	for t := range a.tasks {
		ma, mb := a.tasks[t].score.Mean(), b.tasks[t].score.Mean()
		if ma != nil && mb != nil {
			sa.Add(ma)
			sb.Add(mb)
		}
	}
	p.Common, p.MeanA, p.MeanB = sa.Known, sa.Mean(), sb.Mean()
	if p.Common > 0 {
		d := *p.MeanA - *p.MeanB
		p.Difference = &d
	}
	if len(a.Runs) >= 2 && len(b.Runs) >= 2 {
		worstA, bestA := a.Range()
		worstB, bestB := b.Range()
		tie := *worstA <= *bestB && *worstB <= *bestA
		p.RangeTie = &tie
	}
	return p
}

// Believable says whether t can be when a run started or ended. Times before
// 2000 are seconds that someone took for milliseconds, or nothing at all.
func Believable(t *time.Time) bool { return t != nil && t.Year() >= 2000 }

// WallSeconds is the time from start to end of an evaluation; nil where one of
// them is not believable or the end lies before the start.
func WallSeconds(e *batch.Evaluation) *float64 {
	if !Believable(&e.Started) || !Believable(e.Ended) || e.Ended.Before(e.Started) {
		return nil
	}
	s := float64(e.Ended.Sub(e.Started).Milliseconds()) / 1000
	return &s
}
