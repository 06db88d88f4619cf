package tables

import (
	"cmp"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

func chargesOf(p *export.Paid) Charges {
	return Charges{Ran: int64(p.Ran), ReusedRuns: int64(p.Reused),
		PaidUSD: finite(p.Today.Reported.Value()), PaidUnknown: int64(p.Today.Reported.Unknown),
		PaidRepriced: finite(p.Today.Repriced.Value()), PaidJudges: finite(p.Today.Judges.Value()),
		ReusedUSD: finite(p.Value.Reported.Value()), ReusedUnknown: int64(p.Value.Reported.Unknown),
		ReusedRepriced: finite(p.Value.Repriced.Value()), ReusedJudges: finite(p.Value.Judges.Value())}
}

// addBatch writes the one row of the batch.
func (b *builder) addBatch(s *export.Summary) error {
	r, err := b.whole.next()
	if err != nil {
		return err
	}
	p, result := &b.f.Plan, &b.f.Result
	r.Batch, r.Name, r.Started, r.Frozen = b.batch(), result.Name, millis(&result.Started), millis(&result.Frozen)
	n := result.Counts
	r.Planned, r.Reused, r.Done = int64(n.Planned), int64(n.Reused), int64(n.Done)
	r.Failed, r.Skipped, r.NotStarted = int64(n.Failed), int64(n.Skipped), int64(n.NotStarted)
	r.Tasks, r.Repeats, r.Charges = int64(len(b.f.Tasks)), int64(p.Repeats), chargesOf(&s.Paid)
	r.DecisionSHA256, r.Decision = string(p.DecisionDigest), decisionOf(s.Verdict)
	earlier := strings.Join(p.Earlier, ",")
	r.Earlier = text(&earlier)
	r.Findings, r.Flagged = int64(s.Flags.Findings), int64(s.Flags.Outcomes)
	if s.Verdict.Decided() {
		r.decide(s)
	}
	return nil
}

var (
	compares = map[stats.Compare]string{stats.AllPairs: "all", stats.WithReference: "reference"}
	scopes   = map[stats.Scope]string{stats.Population: "population", stats.List: "list"}
)

func (r *BatchRow) decide(s *export.Summary) {
	v := s.Verdict
	compare, scope := compares[v.Rule.Compare], scopes[v.Rule.Scope]
	reference := cmp.Or(v.Rule.Reference, v.Dropped)
	r.Compare, r.Scope, r.By, r.ByReason, r.Reference = &compare, &scope, text(&v.By), text(&v.FamiliesRefused), text(&reference)
	r.Level, r.Compared, r.Best, r.Untimed = finite(&v.Level), whole(v.Compared), namesOf(s).of(v.Chosen()), whole(v.Untimed)
	r.MedianMDE = finite(v.MedianMDE)
	r.ShockVar, r.ShockNoise, r.ShockPhi, r.ShockDF = finite(&v.Shock.Excess), finite(&v.Shock.Expected), finite(&v.Shock.Phi), finite(&v.Shock.PhiDF)
	r.ShockP, r.Unstable = finite(v.Shock.P), &v.Shock.Unstable
	d := v.Description
	spread := d.Spread.String()
	r.Spread, r.Informative, r.Saturated = &spread, whole(d.Informative), &d.Saturated
	if g := d.Panel; g != nil {
		r.VarVariant, r.VarTask, r.VarBoth = finite(&g.VarianceVariants), finite(&g.VarianceTasks), finite(&g.VarianceInteraction)
		r.VarRerun, r.Reliability = finite(&g.Error), finite(g.Rho2)
	}
	if j := d.Judging; j != nil && j.Alpha.Units > 0 {
		a := &j.Alpha
		r.Agreement, r.AgreementRaw, r.AgreementVotes, r.AgreementUnits = finite(a.Value), finite(&a.Raw), finite(&a.Prevalence), whole(a.Units)
		r.AgreementLow, r.AgreementHigh = limits(j.Interval)
	}
	for _, o := range []struct {
		name         string
		left, turned **int64
	}{{export.WithoutWithdrawn, &r.KeptLeft, &r.KeptTurned}, {export.WithoutSelection, &r.SelectionLeft, &r.SelectionTurned},
		{export.WithoutFlagged, &r.FlaggedLeft, &r.FlaggedTurned}} {
		if reading := v.Reading(o.name); reading != nil {
			*o.left, *o.turned = whole(reading.Left), whole(len(reading.Turned))
		}
	}
}
