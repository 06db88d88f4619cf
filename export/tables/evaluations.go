package tables

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

func (b *builder) addEvaluation(k keys, e *export.Evidence) error {
	r, err := b.evaluations.next()
	if err != nil {
		return err
	}
	m := &e.Measures
	named := e.Evaluation // a copy: rows wait for their chunk, and must not keep the outcomes that long
	r.Batch, r.Variant, r.Run = k.Batch, k.Variant, k.Run
	r.Evaluation = e.Evaluation.Evaluation
	r.RunName, r.ParentRunID, r.Role, r.User = text(&named.RunName), text(&named.Batch), text(&named.Role), text(&named.User)
	r.State, r.Reason, r.Foreign = string(e.State), text(&named.Reason), e.Foreign
	b.times(r, &e.Evaluation)
	r.Tasks = int64(m.Tasks)
	r.Score, r.ScoreKept, r.PassFraction, r.Coverage = finite(m.Score.Mean()), finite(m.Kept.Mean()), finite(m.Passed.Mean()), m.Coverage()
	states(m.States, []*int64{&r.Scored, &r.Agents, &r.Timeouts, &r.Providers, &r.Tools, &r.Harnesses, &r.JudgeFails, &r.Budgets, &r.NotRun})
	r.Absent = int64(m.Absent)
	r.CostUSD, r.CostUnknown = finite(m.Reported.Value()), int64(m.Reported.Unknown)
	r.Repriced, r.RepricedUnk = finite(m.Repriced.Value()), int64(m.Repriced.Unknown)
	r.JudgeCostUSD = finite(m.Spent.Judges.Value())
	r.JudgeKnown, r.JudgeUnknown = int64(m.Spent.Judges.Known), int64(m.Spent.Judges.Unknown)
	r.Artifacts, r.HasAttempts = e.ArtifactState(), e.Attempts != nil
	unreadable := e.Unreadable
	r.Unreadable = text(&unreadable)
	r.Outcomes, r.Attempts, r.Bundle = digestOf(e, batch.FileOutcomes), digestOf(e, batch.FileAttempts), digestOf(e, batch.FileBundle)
	if a := e.Artifact(batch.FileBundle); a != nil {
		r.BundleBytes = &a.Size
	}
	return nil
}

// times fills the columns of time. A time that can't be is null, with a note.
func (b *builder) times(r *EvaluationRow, e *batch.Evaluation) {
	r.Started, r.Ended = millis(&e.Started), millis(e.Ended)
	r.WallS = export.WallSeconds(e)
	note := ""
	switch {
	case r.Started == nil:
		note = "no believable start"
	case e.Ended == nil:
		note = "no end"
	case r.Ended == nil:
		note = "no believable end"
	case r.WallS == nil:
		note = "end before start"
	}
	r.TimeNote = text(&note)
	if e.Reused && r.Started != nil {
		age := float64(b.f.Result.Started.UnixMilli()-*r.Started) / 1000
		r.AgeS = finite(&age)
	}
}

func states(tally map[outcome.State]int, into []*int64) {
	for i, s := range outcome.States {
		*into[i] = int64(tally[s])
	}
}

func digestOf(e *export.Evidence, name string) *string {
	a := e.Artifact(name)
	if a == nil {
		return nil
	}
	s := string(a.Digest)
	return &s
}

// addMetrics writes the figures of an evaluation as rows, always in the same
// order. A figure without a value says why.
func (b *builder) addMetrics(k keys, e *export.Evidence) error {
	m := &e.Measures
	for _, f := range []struct {
		name   string
		value  *float64
		reason string
	}{
		{"score", m.Score.Mean(), "no task has a score"},
		{"score_kept", m.Kept.Mean(), "no task that is not withdrawn has a score"},
		{"pass_fraction", m.Passed.Mean(), "no outcome passes or fails"},
		{"coverage", m.Coverage(), "the panel is empty"},
		{"cost_usd", m.Reported.Value(), "no cost was reported"},
		{"cost_unknown", of(m.Reported.Unknown), ""},
		{"cost_repriced_usd", m.Repriced.Value(), "no price or no tokens"},
		{"cost_repriced_unknown", of(m.Repriced.Unknown), ""},
		{"judge_cost_usd", m.Spent.Judges.Value(), "no judge reported a cost"},
		{"tokens/input", m.Input.Value(), "not reported"},
		{"tokens/cache_read", m.CacheRead.Value(), "not reported"},
		{"tokens/cache_write", m.CacheFill.Value(), "not reported"},
		{"tokens/output", m.Output.Value(), "not reported"},
		{"wall_s", export.WallSeconds(&e.Evaluation), "start or end is unknown"},
		{"duration_s", m.Duration.Value(), "not reported"},
		{"wait_s", m.Wait.Value(), "not reported"},
		{"tool_calls", m.ToolCalls.Value(), "not reported"},
		{"tool_errors", m.ToolErrors.Value(), "not reported"},
	} {
		if err := b.addMetric(k, f.name, f.value, f.reason); err != nil {
			return err
		}
	}
	for _, s := range outcome.States {
		if err := b.addMetric(k, "count/"+string(s), of(m.States[s]), ""); err != nil {
			return err
		}
	}
	for _, j := range m.Judges {
		if err := b.addMetric(k, "judge/"+j.Name, j.Votes.Mean(), "the judge gave no score"); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addMetric(k keys, name string, value *float64, reason string) error {
	r, err := b.metrics.next()
	if err != nil {
		return err
	}
	r.Batch, r.Variant, r.Run = k.Batch, k.Variant, k.Run
	r.Name, r.Value = name, finite(value)
	if r.Value == nil {
		r.Reason = &reason
	}
	return nil
}

func of(n int) *float64 {
	v := float64(n)
	return &v
}
