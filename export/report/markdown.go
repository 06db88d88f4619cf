package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Markdown is the report of a batch.
func Markdown(f *export.Frozen, s *export.Summary) string {
	p := &page{f: f, s: s}
	p.header()
	p.differences()
	p.standings()
	p.grid()
	p.counts()
	p.withdrawn()
	p.missing()
	p.notCounted()
	p.reused()
	p.cost()
	return p.String()
}

type page struct {
	strings.Builder
	f *export.Frozen
	s *export.Summary
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// row writes a table row of cells that are Markdown already.
func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

// head writes the header of a table; columns after the first left are numbers.
func (p *page) head(left int, cells ...string) {
	p.row(cells...)
	rule := make([]string, len(cells))
	for i := range rule {
		rule[i] = "---:"
		if i < left {
			rule[i] = "---"
		}
	}
	p.row(rule...)
}

func (p *page) header() {
	plan, r := &p.f.Plan, &p.f.Result
	p.line("# %s %s, %s", escape.Markdown(plan.Benchmark), escape.Markdown(plan.Version), r.Started.UTC().Format("2006-01-02"))
	p.line("")
	marks(p)
	if plan.Question != "" {
		p.line("**%s**", escape.Markdown(plan.Question))
		p.line("")
	}
	p.verdict()
	p.line("- Batch %s (run %s), begun %s, frozen %s", escape.Markdown(r.Name), escape.Markdown(r.Batch), stamp(r.Started), stamp(r.Frozen))
	p.line("- Panel of %s (families: %d, anchors: %d), %s, %s planned of each",
		many(len(p.f.Tasks), "task"), plan.Panel.Families, plan.Panel.Anchors, many(len(plan.Cells), "variant"), many(plan.Repeats, "repeat"))
	p.line("- An outcome passes with a score of at least %s; time running out is %s", number(plan.PassThreshold), timeouts(plan))
	if plan.PassReported {
		p.line("- Whether an outcome passes is what the runner or judge reported, not the threshold")
	}
	if plan.Home == "user" {
		p.line("- The runner saw the user's home directory")
	}
	p.line("- Decision %s", plan.DecisionDigest.Short())
	p.line("")
}

// marks says on top what a reader must not miss.
func marks(p *page) {
	if p.f.Plan.Draft {
		p.line("**DRAFT: this version may still change.**\n")
	}
	if p.f.Provisional {
		p.line("**PROVISIONAL: the batch was not frozen.**\n")
	}
	if p.f.Supersedes != "" {
		p.line("This folder supersedes %s.\n", escape.Markdown(p.f.Supersedes))
	}
	if len(p.f.Withheld) > 0 {
		p.line("Withheld from this folder: %s. The digests are in manifest.json.\n", strings.Join(p.f.Withheld, ", "))
	}
}

func timeouts(plan *batch.Plan) string {
	if plan.TimeoutPolicy == string(outcome.TimeoutMissing) {
		return "missing, not a score"
	}
	return "a score of 0"
}

func (p *page) counts() {
	n := p.f.Result.Counts
	p.line("## Planned repeats")
	p.line("")
	p.line("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)
	p.line("")
	seen := false
	for _, s := range p.f.Result.Slots {
		if s.State == batch.SlotDone || s.State == batch.SlotReused {
			continue
		}
		if !seen {
			p.head(4, "agent", "model", "repeat", "state and reason")
			seen = true
		}
		p.row(escape.Markdown(s.Agent), escape.Markdown(s.Model), strconv.Itoa(s.Slot), joined(strings.ReplaceAll(string(s.State), "_", " "), s.Reason))
	}
	if seen {
		p.line("")
	}
	for _, x := range p.f.Plan.Exclude {
		p.line("- %s is excluded by the benchmark: %s", escape.Markdown(x.Variant.String()), escape.Markdown(x.Why))
	}
	if len(p.f.Plan.Exclude) > 0 {
		p.line("")
	}
}

func joined(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + escape.Markdown(why)
}

// grid shows agents × models: the mean, the worst and best run, the repeats.
func (p *page) grid() {
	agents, models := p.axes()
	p.line("## Mean score [worst run–best run], counted repeats")
	p.line("")
	if len(p.s.Variants) == 0 {
		p.line("No variant is planned.\n")
		return
	}
	head := []string{"agent"}
	for _, m := range models {
		head = append(head, escape.Markdown(m))
	}
	p.head(1, head...)
	for _, a := range agents {
		cells := []string{escape.Markdown(a)}
		for _, m := range models {
			cells = append(cells, p.cell(batch.Variant{Agent: a, Model: m}))
		}
		p.row(cells...)
	}
	p.line("")
	p.line("A mean is over tasks of the mean over repeats; each task weighs the same. Ranges that overlap do not separate two variants, and ranges that don't overlap prove no difference.")
	p.line("")
}

// axes are agents and models in the order of the plan.
func (p *page) axes() (agents, models []string) {
	seen := map[string]bool{}
	for i := range p.s.Variants {
		c := p.s.Variants[i].Cell
		if !seen["a"+c.Agent] {
			agents = append(agents, c.Agent)
		}
		if !seen["m"+c.Model] {
			models = append(models, c.Model)
		}
		seen["a"+c.Agent], seen["m"+c.Model] = true, true
	}
	return agents, models
}

func (p *page) cell(which batch.Variant) string {
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		if v.Cell.Variant != which {
			continue
		}
		if v.Mean == nil {
			return "no data"
		}
		worst, best := v.Range()
		return fmt.Sprintf("%s [%s–%s] n=%d", number(*v.Mean), number(*worst), number(*best), len(v.Runs))
	}
	return "–"
}

// number prints a figure with three digits, the same everywhere.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func maybe(v *float64) string {
	if v == nil || math.IsInf(*v, 0) || math.IsNaN(*v) {
		return "no data"
	}
	return number(*v)
}

// many is "1 task" or "3 tasks".
func many(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
