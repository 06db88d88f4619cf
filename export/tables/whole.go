package tables

import (
	"github.com/benchbatch/benchbatch/export"
)

func (b *builder) addCells(*export.Summary) error {
	for i := range b.f.Result.Slots {
		s := &b.f.Result.Slots[i]
		r, err := b.cells.next()
		if err != nil {
			return err
		}
		c := b.f.Cell(s.Cell)
		r.Batch, r.Variant = b.batch(), variantOf(c)
		r.Slot, r.State, r.Reason, r.RunID = int64(s.Slot), string(s.State), text(&s.Reason), text(&s.RunID)
		r.AgentVersion, r.Route = text(&c.AgentVersion), c.Route
		id := c.Identity
		r.CellSHA256, r.AgentSHA256, r.ModelSHA256, r.BrainSHA256 = string(id.Cell), string(id.Agent), string(id.Model), string(id.Brain)
		r.ExecutionSHA256, r.ScoringSHA256, r.RecipeSHA256 = string(id.Execution), string(id.Scoring), string(id.Recipe)
	}
	return nil
}

func (b *builder) addTasks(s *export.Summary) error {
	n := namesOf(s)
	for i := range b.f.Tasks {
		t := &b.f.Tasks[i]
		r, err := b.tasks.next()
		if err != nil {
			return err
		}
		r.Batch = b.batch()
		r.Task, r.Family, r.Anchor = t.ID, text(&t.Family), t.Anchor
		if w := t.Withdrawn; w != nil {
			r.Withdrawn, r.WithdrawnWhy, r.WithdrawnDate = true, text(&w.Why), text(&w.Date)
		}
		expected := string(t.ExpectedDigest)
		r.InputSHA256, r.ExpectedSHA256 = string(t.InputDigest), text(&expected)
		if !b.f.Withholds(export.WithholdInputs) {
			input, answer := string(t.Input), string(t.Expected)
			r.Input, r.Expected = text(&input), text(&answer)
		}
		sum := &s.Tasks[i]
		r.OutcomesScored, r.OutcomesMissing, r.Score = int64(sum.Scores.Known), int64(sum.Missing), finite(sum.Scores.Mean())
		if s.Verdict.Decided() {
			describeTask(r, n, &s.Verdict.Description.Tasks[i])
		}
	}
	return nil
}

func (b *builder) addVariants(s *export.Summary) error {
	for i := range s.Variants {
		v := &s.Variants[i]
		r, err := b.variants.next()
		if err != nil {
			return err
		}
		r.Batch, r.Variant = b.batch(), variantOf(v.Cell)
		r.AgentVersion, r.Route = text(&v.Cell.AgentVersion), v.Cell.Route
		n := v.Slots
		r.Planned, r.Reused, r.Done = int64(n.Planned), int64(n.Reused), int64(n.Done)
		r.Failed, r.Skipped, r.NotStarted = int64(n.Failed), int64(n.Skipped), int64(n.NotStarted)
		r.Runs, r.Tasks = int64(len(v.Runs)), int64(v.Tasks)
		worst, best := v.Range()
		r.Score, r.ScoreKept, r.WorstRun, r.BestRun = finite(v.Mean), finite(v.Kept), finite(worst), finite(best)
		r.PassFraction, r.Coverage = finite(v.Passed), finite(v.Cover)
		states(v.States, []*int64{&r.Scored, &r.Agents, &r.Timeouts, &r.Providers, &r.Tools, &r.Harnesses, &r.JudgeFails, &r.Budgets, &r.NotRun})
		r.Absent = int64(v.Absent)
		spend := &v.Spent
		r.CostUSD, r.CostUnknown = finite(spend.Reported.Value()), int64(spend.Reported.Unknown)
		r.Repriced, r.RepricedUnk = finite(spend.Repriced.Value()), int64(spend.Repriced.Unknown)
		r.JudgeCostUSD = finite(spend.Judges.Value())
		r.TokensInput, r.TokensRead = finite(spend.Input.Value()), finite(spend.CacheRead.Value())
		r.TokensWrite, r.TokensOutput = finite(spend.CacheFill.Value()), finite(spend.Output.Value())
		r.InputUnknown, r.ReadUnknown = int64(spend.Input.Unknown), int64(spend.CacheRead.Unknown)
		r.WriteUnknown, r.OutputUnknown = int64(spend.CacheFill.Unknown), int64(spend.Output.Unknown)
		r.WallS, r.DurationS, r.WaitS = finite(v.Wall.Mean()), finite(v.Took.Mean()), finite(v.Wait.Mean())
		r.First, r.Last, r.Selection = millis(v.First), millis(v.Last), int64(v.Selection)
		r.Charges = chargesOf(&v.Paid)
		tries, usd, repriced := v.Wasted(b.f.Plan.TimeoutPolicy)
		r.FailedTries, r.FailedUSD, r.FailedUnknown, r.FailedRepriced = int64(tries), finite(usd.Value()), int64(usd.Unknown), finite(repriced.Value())
		r.Decision = decisionOf(s.Verdict)
		if s.Verdict.Decided() {
			describeVariant(r, s.Verdict, i)
		}
	}
	return nil
}

func (b *builder) addPairs(s *export.Summary) error {
	n := namesOf(s)
	for i := range s.Pairs {
		p := &s.Pairs[i]
		r, err := b.pairs.next()
		if err != nil {
			return err
		}
		r.Batch = b.batch()
		r.A, r.B = p.A.Cell.Variant.String(), p.B.Cell.Variant.String()
		r.CellA, r.CellB = p.A.Cell.Identity.Cell.Short(), p.B.Cell.Identity.Cell.Short()
		r.RunsA, r.RunsB, r.Common = int64(len(p.A.Runs)), int64(len(p.B.Runs)), int64(p.Common)
		r.ScoreA, r.ScoreB, r.Difference, r.RangeTie = finite(p.MeanA), finite(p.MeanB), finite(p.Difference), p.RangeTie
		r.Decision = decisionOf(s.Verdict)
		if s.Verdict.Decided() {
			decidePair(r, n, s.Verdict, i)
		}
	}
	return nil
}
