package report

import (
	"cmp"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// limits says what the claims do not cover.
func (p *page) limits() {
	p.section("limits", "What this does not say")
	items := []document.Text{
		say("Nothing on other versions of these agents and models, on another brain or recipe: each of them is another measurement."),
		say("Nothing on other days: providers change what they serve."),
	}
	if p.v.Decided() {
		items = append(items, p.claimLimits()...)
	}
	items = append(items, say("Nothing on what no task or judge here measures."),
		say("What agents or models contribute by themselves is not tested: a variant is one agent on one model."))
	if p.f.Plan.Home == "user" {
		items = append(items, say("The runner saw the user's home directory: what lies there may have played a part."))
	}
	for i := range p.s.Variants {
		if v := &p.s.Variants[i]; v.Slots.Planned > v.Slots.Done+v.Slots.Reused {
			items = append(items, say("Not everything that was planned was measured: %s count.", fraction(p.f.Result.Counts)))
			break
		}
	}
	p.add(&document.List{Items: items})
}

func fraction(n batch.Counts) document.Text {
	return say("%d of %d repeats", n.Done+n.Reused, n.Planned)
}

// claimLimits are those that follow from the rule.
func (p *page) claimLimits() []document.Text {
	v := p.v
	out := []document.Text{say("Only %s decides; every other figure here is a description, not adjusted for how many are shown.", cmp.Or(v.Metric, "score"))}
	if v.Rule.Scope == stats.List {
		out = append(out, say("The verdict is about exactly these tasks, not about others like them."))
	} else {
		out = append(out, say("The verdict is about tasks like these: what this panel leaves out, it leaves open."))
	}
	few := 0
	for i := range v.Pairs {
		few += truth(v.Pairs[i].Compared && v.Pairs[i].Extent() != "")
	}
	if few > 0 {
		out = append(out, say("On %s the panel holds fewer than five independent families: what is said holds for these families only.", many(few, "pair")))
	}
	if v.Rule.Margin == nil {
		out = append(out, say("No margin was declared, so nothing can be called equal, and no difference too small to matter."))
	}
	if v.Rule.Compare == stats.WithReference {
		out = append(out, say("Only pairs with the reference were asked for: the others have figures, but no verdict."))
	}
	return out
}

// basis is what the batch was.
func (p *page) basis() {
	plan, r := &p.f.Plan, &p.f.Result
	p.section("basis", "What was measured")
	items := []document.Text{
		say("Batch %s (run %s), begun %s, frozen %s", r.Name, r.Batch, stamp(r.Started), stamp(r.Frozen)),
		say("Panel of %s (families: %d, anchors: %d), %s, %s planned of each", many(len(p.f.Tasks), "task"), plan.Panel.Families, plan.Panel.Anchors,
			many(len(plan.Cells), "variant"), many(plan.Repeats, "repeat")),
		say("An outcome passes with a score of at least %s; time running out is %s", number(plan.PassThreshold), timeouts(plan)),
	}
	if plan.PassReported {
		items = append(items, say("Whether an outcome passes is what the runner or judge reported, not the threshold"))
	}
	if plan.Home == "user" {
		items = append(items, say("The runner saw the user's home directory"))
	}
	items = append(items, say("Decision %s", plan.DecisionDigest.Short()))
	if p.f.PostHoc != nil {
		items = append(items, say("The decision that was frozen before the run is %s", p.f.PostHoc.Frozen.Short()))
	}
	p.add(&document.List{Items: items})
}

func timeouts(plan *batch.Plan) own {
	if plan.TimeoutPolicy == string(outcome.TimeoutMissing) {
		return "missing, not a score"
	}
	return "a score of 0"
}

// howTo says how to check and query what stands here.
func (p *page) howTo() {
	p.section("verify", "Check it, query it")
	p.say("Every figure here follows from the folder that this report stands in, and is in its tables at full precision:")
	p.add(&document.Code{Lines: []document.Own{
		"sha256sum -c --quiet SHA256SUMS      # every byte",
		"benchbatch verify .                  # and that every number follows from raw/",
		"duckdb -f queries/01-grid.sql        # ready questions; the tables are plain Parquet",
	}})
	if p.f.Withholds(export.WithholdRaw) {
		p.say("The raw evidence is withheld from this folder: what rests on it can be recomputed by who has it.")
	}
	p.say("What ties the folder to MLflow is result.json, whose SHA-256 is %s: the tag benchbatch.result of the run %s holds the same.",
		document.Literal(say("%s", own(p.f.ResultDigest))), p.f.Result.Batch)
}
