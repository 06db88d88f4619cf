// Package brief is a batch's verdict in brief: what a terminal shows of it, and
// the same as data. Everything in it is also in the report of the folder.
//
// Order of use: Of takes what outputs are made from and the sentence of the
// verdict; Lines lays it out for a terminal. Nothing here returns an error.
package brief

import (
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Brief is a batch in brief. Texts in it may be foreign, but for Verdict.
type Brief struct {
	Batch       string       `json:"batch"` // run id of the parent
	Name        string       `json:"name"`
	Benchmark   string       `json:"benchmark"`
	Version     string       `json:"version"`
	Question    string       `json:"question,omitempty"`
	Draft       bool         `json:"draft"`
	Provisional bool         `json:"provisional"`
	Decision    batch.Digest `json:"decision_sha256"`
	// PostHoc says that Decision is not the rule that was frozen before the run.
	PostHoc bool   `json:"post_hoc"`
	Verdict string `json:"verdict"` // one sentence, harmless in a terminal

	Rests    Rests        `json:"rests_on"`
	Variants []Variant    `json:"variants"` // best first where there are means
	Apart    []Claim      `json:"separated"`
	Marks    []Tally      `json:"pairs"` // compared pairs by mark
	Counts   batch.Counts `json:"counts"`
	Spend    Spend        `json:"spend"`
	Flagged  int          `json:"flagged"` // outcomes with a finding of an audit
	Folder   string       `json:"folder,omitempty"`
	Files    []string     `json:"files,omitempty"` // to look at, in the folder
}

// Rests is what a verdict rests on.
type Rests struct {
	Tasks    int        `json:"tasks"`
	Repeats  int        `json:"repeats"` // planned of each variant
	Variants int        `json:"variants"`
	Coverage *float64   `json:"coverage"` // share of counted repeats × tasks with a score; nil = nothing counted
	First    *time.Time `json:"first_measured"`
	Last     *time.Time `json:"last_measured"`
	Frozen   time.Time  `json:"frozen"`
	Metric   string     `json:"metric"`
	Margin   *float64   `json:"margin"` // nil = none was frozen
	Alpha    float64    `json:"alpha"`  // one-sided, at this look; 0 = nothing was decided
	Look     int        `json:"look"`   // 1 = the first at this question
}

// Variant is a row of the leaderboard.
type Variant struct {
	batch.Variant
	Repeats  int      `json:"repeats"` // counted, with a valid outcome
	Mean     *float64 `json:"mean"`    // of the metric; nil = no valid outcome
	Low      *float64 `json:"ci_low"`  // 95 %
	High     *float64 `json:"ci_high"`
	RankLow  int      `json:"rank_low"` // 0 = not ranked
	RankHigh int      `json:"rank_high"`
	Letters  string   `json:"letters"`
	Best     bool     `json:"best"`
	// CostUSD is what all evaluations of it cost, reused ones included; nil = unknown.
	CostUSD     *float64 `json:"cost_usd"`
	CostUnknown int      `json:"cost_unknown"` // attempts of unknown cost: CostUSD is then "at least"
}

// Claim is a pair that is separated.
type Claim struct {
	Winner     string   `json:"winner"`
	Loser      string   `json:"loser"`
	Mark       string   `json:"mark"` // beats, or ahead on this list
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"ci_low"` // 95 %, not adjusted
	High       *float64 `json:"ci_high"`
	Extent     string   `json:"extent,omitempty"`
	Stands     bool     `json:"stands"` // in every reading, such as without withdrawn tasks
}

// Tally counts the pairs of one mark.
type Tally struct {
	Mark  string `json:"mark"`
	Pairs int    `json:"pairs"`
}

// Spend is what was paid, as reported.
type Spend struct {
	Ran    int `json:"ran"`    // evaluations that this batch started
	Reused int `json:"reused"` // that it did not pay for
	Today  USD `json:"today"`
	Value  USD `json:"value_of_reused"` // when they were measured
	Judges USD `json:"judges"`          // of today
}

// USD is a sum of costs; Known nil = none is known.
type USD struct {
	Known   *float64 `json:"usd"`
	Unknown int      `json:"unknown"` // costs that nobody knows: the sum is then "at least"
}

func usd(s export.Sum) USD { return USD{s.Value(), s.Unknown} }

// Of is a batch in brief. sentence is its verdict, harmless in a terminal.
func Of(f *export.Frozen, s *export.Summary, sentence string) *Brief {
	p, r := &f.Plan, &f.Result
	b := &Brief{Batch: r.Batch, Name: r.Name, Benchmark: p.Benchmark, Version: p.Version, Question: p.Question, Draft: p.Draft,
		Provisional: f.Provisional, Decision: p.DecisionDigest, PostHoc: f.PostHoc != nil, Verdict: sentence, Counts: r.Counts, Flagged: s.Flags.Outcomes}
	b.Rests = Rests{Tasks: len(f.Tasks), Repeats: p.Repeats, Variants: len(p.Cells), Frozen: r.Frozen.UTC()}
	b.Spend = Spend{Ran: s.Paid.Ran, Reused: s.Paid.Reused, Today: usd(s.Paid.Today.Reported), Value: usd(s.Paid.Value.Reported), Judges: usd(s.Paid.Today.Judges)}
	scored, planned := 0, 0
	for i := range s.Variants {
		v := &s.Variants[i]
		n := (v.Slots.Done + v.Slots.Reused) * len(f.Tasks)
		planned += n
		if v.Cover != nil {
			scored += int(*v.Cover*float64(n) + 0.5)
		}
		b.Rests.span(v)
		b.Variants = append(b.Variants, variant(s, i))
	}
	if planned > 0 {
		c := float64(scored) / float64(planned)
		b.Rests.Coverage = &c
	}
	if s.Verdict.Decided() {
		b.decided(s)
	}
	b.sort()
	return b
}

func (r *Rests) span(v *export.VariantNumber) {
	if v.First != nil && (r.First == nil || v.First.Before(*r.First)) {
		at := v.First.UTC()
		r.First = &at
	}
	if v.Last != nil && (r.Last == nil || v.Last.After(*r.Last)) {
		at := v.Last.UTC()
		r.Last = &at
	}
}

func variant(s *export.Summary, i int) Variant {
	n, v := &s.Variants[i], s.Verdict
	row := Variant{Variant: n.Cell.Variant, Repeats: len(n.Runs), Mean: n.Mean,
		CostUSD: n.Spent.Reported.Value(), CostUnknown: n.Spent.Reported.Unknown}
	if !v.Decided() {
		return row
	}
	d := &v.Description.Variants[i]
	row.Repeats, row.Mean = d.Repeats, nil
	if d.Mean != nil {
		row.Mean = &d.Mean.Value
	}
	if shown, _ := d.Preferred(); shown != nil {
		row.Low, row.High = &shown.Low, &shown.High
	}
	if v.Ranks != nil && v.Ranks[i] != nil {
		row.RankLow, row.RankHigh = v.Ranks[i].Low, v.Ranks[i].High
	}
	if v.Letters != nil {
		row.Letters = v.Letters[i]
	}
	row.Best = v.Chosen() == i
	return row
}

// decided fills in what the rule says.
func (b *Brief) decided(s *export.Summary) {
	v := s.Verdict
	b.Rests.Metric, b.Rests.Margin, b.Rests.Alpha, b.Rests.Look = v.Metric, v.Rule.Margin, v.Alpha, v.Look
	tally := map[stats.Mark]int{}
	for i := range v.Pairs {
		p := &v.Pairs[i]
		if !p.Compared {
			continue
		}
		tally[p.Mark]++
		if p.Winner != stats.Nobody {
			b.Apart = append(b.Apart, claim(s, p, v.Stands(i)))
		}
	}
	for _, m := range []stats.Mark{stats.Beats, stats.Ahead, stats.Equal, stats.Tied, stats.CannotTell} {
		if tally[m] > 0 {
			b.Marks = append(b.Marks, Tally{m.String(), tally[m]})
		}
	}
}

func claim(s *export.Summary, p *stats.Pair, stands bool) Claim {
	name := func(i int) string { return s.Variants[i].Cell.Variant.String() }
	c := Claim{Winner: name(p.Winner), Loser: name(p.A + p.B - p.Winner), Mark: p.Mark.String(), Extent: p.Extent(), Stands: stands}
	turn := 1.0
	if p.Winner == p.B {
		turn = -1
	}
	if p.Difference != nil {
		d := turn * *p.Difference
		c.Difference = &d
	}
	if p.Interval != nil {
		low, high := p.Interval.Low, p.Interval.High
		if turn < 0 {
			low, high = -high, -low
		}
		c.Low, c.High = &low, &high
	}
	return c
}
