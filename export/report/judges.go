package report

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// judges says how judges voted, agreed, and on which each variant loses most.
func (p *page) judges() {
	if !p.v.Decided() || len(p.v.JudgeNames) == 0 {
		return
	}
	p.section("judges", "Judges")
	j := p.v.Description.Judging
	if j == nil {
		p.say("No judge gave a vote that could be read: nothing is known of %s.", many(len(p.v.JudgeNames), "judge"))
		return
	}
	p.agreement(j)
	p.lost(j)
	p.kappas(j)
	p.ownFamily()
}

func (p *page) agreement(j *stats.Judging) {
	if j.Alpha.Units == 0 {
		p.say("No outcome has two votes: agreement can't be computed.")
		return
	}
	alpha := own("undefined: all votes are alike")
	if j.Alpha.Value != nil {
		alpha = between(*j.Alpha.Value, j.Interval)
	}
	p.say("Agreement of all judges (Krippendorff's alpha, interval scale): %s, over %s with two votes or more; mean vote %s. By custom .800 and more is firm, below .667 too little to rest on.",
		document.Strong(say("%s", alpha)), many(j.Alpha.Units, "outcome"), number(j.Alpha.Prevalence))
}

// lost is the mean vote of each judge by variant.
func (p *page) lost(j *stats.Judging) {
	t := &document.Table{Caption: say("Mean vote on [0, 1] by variant and judge, and the judge on which each variant loses most"), Columns: columns("variant", "loses most on")}
	for n := range j.Judges {
		t.Columns = append(t.Columns, document.Column{Text: document.Foreign(p.judge(j.Judges[n].Judge)), Numeric: true})
	}
	for _, i := range p.order {
		row := document.Row{say("%s", p.name(i)), say("–")}
		if l := j.Lost[i]; l != stats.Nobody {
			row[1] = document.Foreign(p.judge(j.Judges[l].Judge))
		}
		for n := range j.Judges {
			row = append(row, say("%s", maybe(j.Judges[n].Means[i])))
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	for n := range j.Judges {
		if x := &j.Judges[n]; x.Votes == 0 {
			p.say("%s gave no vote that could be read.", p.judge(x.Judge))
		}
	}
}

func (p *page) judge(i int) string {
	if i < len(p.v.JudgeNames) {
		return p.v.JudgeNames[i]
	}
	return "judge " + string(whole(i+1))
}

// kappas is what two judges each say of the same outcomes.
func (p *page) kappas(j *stats.Judging) {
	t := &document.Table{Caption: say("Two judges on the same outcomes"),
		Columns: columns("judges", "#outcomes", "#first less second, mean", "#kappa of passing", "#raw agreement", "#share of passing votes")}
	for n := range j.Pairs {
		x := &j.Pairs[n]
		row := document.Row{say("%s and %s", p.judge(x.A), p.judge(x.B)), say("%d", x.Units), say("%s", signed(x.Gap)), say("–"), say("–"), say("–")}
		if k := x.Kappa; k != nil {
			row[3], row[4], row[5] = say("undefined"), say("%s", number(k.Raw)), say("%s", number(k.Prevalence))
			if k.Value != nil {
				row[3] = say("%s", number(*k.Value))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
	if f := j.Fleiss; f != nil {
		kappa := own("undefined: all votes are alike")
		if f.Value != nil {
			kappa = number(*f.Value)
		}
		p.say("All %d judges on the same %s: Fleiss' kappa of passing %s, raw agreement %s, share of passing votes %s.",
			len(j.Judges), many(f.Units, "outcome"), kappa, number(f.Raw), number(f.Prevalence))
	}
}

// ownFamily is F20: what judges give variants that run on their own model.
func (p *page) ownFamily() {
	t := &document.Table{Caption: say("Judges whose model is that of a variant: how much more they give it than outside judges do, against what they give others"),
		Columns: columns("judge", "#excess [95 %]", "#pairs that would turn without it", "why not computable")}
	for n := range p.v.Judges {
		b := &p.v.Judges[n]
		row := document.Row{say("%s", p.judge(b.Judge)), say("–"), say("–"), dash(document.Foreign(b.Why))}
		if b.Bias != nil {
			row[1] = say("%s", between(b.Bias.Value, b.Bias.Interval))
		}
		if b.Recount {
			row[2] = say("%d", b.Turned)
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
}

// flags lists what audits found.
func (p *page) flags() {
	fl := &p.s.Flags
	if fl.Findings == 0 {
		return
	}
	p.section("flags", "Flags of audits")
	p.say("%s in %s of counted runs. A flag alters no score; %s says what the verdict would be without flagged outcomes.",
		many(fl.Findings, "finding"), many(fl.Outcomes, "outcome"), document.Link(say("Does the verdict hold?"), "#holds"))
	rows := p.rows()
	t := &document.Table{Caption: say("Findings with their evidence"), Columns: columns("run", "variant", "task", "audit", "evidence")}
	for i := range fl.List[:min(len(fl.List), mostFlags)] {
		x := &fl.List[i]
		run := p.link(say("%s", x.RunID), rows[x.RunID])
		if !x.Counted {
			run = say("%s (does not count)", run)
		}
		evidence := document.Foreign(clip(x.Evidence))
		switch {
		case p.f.Withholds(export.WithholdRaw):
			evidence = say("withheld")
		case x.Transcript != "":
			evidence = say("%s; transcript %s in the run's bundle", dash(evidence), x.Transcript)
		}
		t.Rows = append(t.Rows, document.Row{run, say("%s", x.Variant.String()), say("%s", x.Task), say("%s", x.Audit), dash(evidence)})
	}
	t.Notes = more(fl.Findings-len(t.Rows), "finding", "tables/flags.parquet")
	p.table(t)
}

// mostEvidence is how many characters of an evidence the report quotes.
const mostEvidence = 300

// clip shortens long foreign text; the record has all of it.
func clip(s string) string {
	n := 0
	for i := range s {
		if n == mostEvidence {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
