package tables

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// describeTask fills in what a task tells of the variants.
func describeTask(r *TaskRow, n names, t *stats.TaskSummary) {
	r.Mean, r.Informative, r.ItemRest = finite(t.Mean), &t.Informative, finite(t.ItemRest)
	if o := t.Above; o != nil {
		r.Above, r.AboveBy = n.of(o.Variant), finite(&o.By)
	}
	if o := t.Below; o != nil {
		r.Below, r.BelowBy = n.of(o.Variant), finite(&o.By)
	}
}

// addTaskVariants writes every task's mean of every variant, task by task.
func (b *builder) addTaskVariants(s *export.Summary) error {
	if !s.Verdict.Decided() {
		return nil
	}
	for t := range b.f.Tasks {
		task, d := &b.f.Tasks[t], &s.Verdict.Description.Tasks[t]
		for v := range s.Variants {
			r, err := b.taskVariants.next()
			if err != nil {
				return err
			}
			r.Batch, r.Variant = b.batch(), variantOf(s.Variants[v].Cell)
			r.Task, r.Family, r.Withdrawn = task.ID, text(&task.Family), task.Withdrawn != nil
			r.Runs, r.Mean = int64(d.Runs[v]), finite(d.Means[v])
		}
	}
	return nil
}

// addFlags writes the findings of audits in one evaluation.
func (b *builder) addFlags(k keys, e *export.Evidence) error {
	return b.f.FlagsOf(e, func(f export.Flag, o *outcome.Outcome) error {
		r, err := b.flags.next()
		if err != nil {
			return err
		}
		r.Batch, r.Variant, r.Run = k.Batch, k.Variant, k.Run
		r.Task, r.Family = f.Task, text(&b.f.Tasks[f.Position].Family)
		r.Audit, r.Evidence, r.Transcript = f.Audit, text(&f.Evidence), text(&f.Transcript)
		r.State, r.Score = string(o.State), finite(o.Score)
		return nil
	})
}

// addReliability writes every state of every variant, those without a try too.
func (b *builder) addReliability(s *export.Summary) error {
	for i := range s.Variants {
		for j := range s.Variants[i].Tries {
			t := &s.Variants[i].Tries[j]
			r, err := b.reliability.next()
			if err != nil {
				return err
			}
			r.Batch, r.Variant = b.batch(), variantOf(s.Variants[i].Cell)
			r.State, r.Failure, r.Attempts, r.Accepted = string(t.State), t.Failed(b.f.Plan.TimeoutPolicy), int64(t.Count), int64(t.Accepted)
			r.CostUSD, r.CostUnknown = finite(t.Reported.Value()), int64(t.Reported.Unknown)
			r.Repriced, r.RepricedUnknown = finite(t.Repriced.Value()), int64(t.Repriced.Unknown)
		}
	}
	return nil
}

// addPasses writes pass@k and pass^k for every k that all measured variants have.
func (b *builder) addPasses(s *export.Summary) error {
	if !s.Verdict.Decided() {
		return nil
	}
	for i := range s.Variants {
		if !s.Verdict.Passes(i) {
			continue
		}
		d := &s.Verdict.Description.Variants[i]
		for k := range d.PassAt {
			at, hat := &d.PassAt[k], &d.PassHat[k]
			r, err := b.passes.next()
			if err != nil {
				return err
			}
			r.Batch, r.Variant = b.batch(), variantOf(s.Variants[i].Cell)
			r.K, r.Excluded = int64(at.K), int64(at.Excluded)
			if at.Mean == nil || hat.Mean == nil {
				continue
			}
			r.Tasks, r.PassAt, r.PassHat = int64(at.Mean.Tasks), finite(&at.Mean.Value), finite(&hat.Mean.Value)
			r.PassAtLow, r.PassAtHigh = limits(at.Mean.Interval)
			r.PassHatLow, r.PassHatHigh = limits(hat.Mean.Interval)
		}
	}
	return nil
}

// addJudging writes every judge's votes for every variant, and what is known of a
// judge of the variant's own family.
func (b *builder) addJudging(s *export.Summary) error {
	v := s.Verdict
	if !v.Decided() || v.Description.Judging == nil {
		return nil
	}
	j := v.Description.Judging
	for n := range j.Judges {
		judge := &j.Judges[n]
		for i := range s.Variants {
			r, err := b.judging.next()
			if err != nil {
				return err
			}
			r.Batch, r.Variant, r.Judge = b.batch(), variantOf(s.Variants[i].Cell), v.JudgeNames[judge.Judge]
			r.Votes, r.Mean, r.Gap = int64(judge.Votes), finite(judge.Means[i]), finite(judge.Gaps[i])
			r.GivesLeast, r.LostMost = judge.Worst == i, j.Lost[i] == n
			r.own(v.Verdicts, judge.Judge, i)
		}
	}
	for n := range j.Pairs {
		p := &j.Pairs[n]
		r, err := b.judgePairs.next()
		if err != nil {
			return err
		}
		r.Batch, r.JudgeA, r.JudgeB, r.Outcomes, r.Gap = b.batch(), v.JudgeNames[p.A], v.JudgeNames[p.B], int64(p.Units), p.Gap
		if k := p.Kappa; k != nil {
			r.Kappa, r.Raw, r.Prevalence = finite(k.Value), finite(&k.Raw), finite(&k.Prevalence)
		}
	}
	return nil
}

// own fills in F20 of a judge that shares a family with a variant.
func (r *JudgingRow) own(v *stats.Verdicts, judge, variant int) {
	for n := range v.Judges {
		o := &v.Judges[n]
		if o.Judge != judge {
			continue
		}
		for _, i := range o.Variants {
			r.Own = r.Own || i == variant
		}
		r.Recount, r.Turned, r.Reason = &o.Recount, whole(o.Turned), text(&o.Why)
		if o.Bias != nil {
			r.Bias, r.BiasP = finite(&o.Bias.Value), finite(o.PFlip)
			r.BiasLow, r.BiasHigh = limits(o.Bias.Interval)
		}
	}
}
