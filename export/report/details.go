package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// withdrawn shows the means with and without tasks that were found wrong.
func (p *page) withdrawn() {
	var tasks []export.Task
	for _, t := range p.f.Tasks {
		if t.Withdrawn != nil {
			tasks = append(tasks, t)
		}
	}
	if len(tasks) == 0 {
		return
	}
	p.line("## Withdrawn tasks")
	p.line("")
	for _, t := range tasks {
		p.line("- %s, withdrawn %s: %s", escape.Markdown(t.ID), escape.Markdown(t.Withdrawn.Date), escape.Markdown(t.Withdrawn.Why))
	}
	p.line("")
	p.head(1, "variant", "mean with them", "mean without them")
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		p.row(escape.Markdown(v.Cell.Variant.String()), maybe(v.Mean), maybe(v.Kept))
	}
	p.line("")
}

// missing counts the outcomes of counted repeats by state.
func (p *page) missing() {
	p.line("## Outcomes of counted repeats by state")
	p.line("")
	head := []string{"variant", "planned"}
	for _, s := range outcome.States {
		head = append(head, escape.Markdown(string(s)))
	}
	p.head(1, append(head, "no line", "coverage", "pass fraction")...)
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		cells := []string{escape.Markdown(v.Cell.Variant.String()), strconv.Itoa((v.Slots.Done + v.Slots.Reused) * len(p.f.Tasks))}
		for _, s := range outcome.States {
			cells = append(cells, strconv.Itoa(v.States[s]))
		}
		p.row(append(cells, strconv.Itoa(v.Absent), maybe(v.Cover), maybe(v.Passed))...)
	}
	p.line("")
	p.line("scored and agent (the agent failed: 0) are measurements, timeout is by its policy; all others are missing and never count as 0.")
	p.line("")
}

// notCounted lists the evaluations that are known but do not count.
func (p *page) notCounted() {
	seen := false
	for i := range p.s.Evaluations {
		e := &p.s.Evaluations[i]
		if e.Counted && len(e.Missing) == 0 && e.Unreadable == "" {
			continue
		}
		if !seen {
			p.line("## Evaluations that do not count, or lack evidence")
			p.line("")
			p.head(5, "run", "variant", "repeat", "state", "why")
			seen = true
		}
		why := []string{e.Reason, e.Unreadable}
		for _, m := range e.Missing {
			why = append(why, m.String())
		}
		why = slices.DeleteFunc(why, func(s string) bool { return s == "" })
		p.row(escape.Markdown(e.RunID), escape.Markdown(e.Variant.String()), strconv.Itoa(e.Slot), escape.Markdown(string(e.State)), escape.Markdown(strings.Join(why, "; ")))
	}
	if seen {
		p.line("")
	}
	if n := len(p.f.Result.Ignored); n > 0 {
		p.line("%s of this recipe looked at that do not count: result.json names each with its reason.", many(n, "further run"))
		p.line("")
	}
}

// reused says how old the reused repeats are.
func (p *page) reused() {
	seen := false
	for i := range p.s.Variants {
		v := &p.s.Variants[i]
		n, oldest, newest := 0, time.Duration(0), time.Duration(0)
		for j := range p.s.Evaluations {
			e := &p.s.Evaluations[j]
			if !e.Counted || !e.Reused || e.Cell != v.Cell.Identity.Cell {
				continue
			}
			age := p.f.Result.Started.Sub(e.Started)
			if n == 0 || age > oldest {
				oldest = age
			}
			if n == 0 || age < newest {
				newest = age
			}
			n++
		}
		if n == 0 {
			continue
		}
		if !seen {
			p.line("## Reused repeats")
			p.line("")
			p.head(1, "variant", "reused", "newest before this batch", "oldest before this batch")
			seen = true
		}
		p.row(escape.Markdown(v.Cell.Variant.String()), strconv.Itoa(n), days(newest), days(oldest))
	}
	if seen {
		p.line("")
	}
}

func days(d time.Duration) string {
	return strconv.FormatFloat(d.Hours()/24, 'f', 1, 64) + " days"
}

// cost says what was paid, and how much of it is unknown.
func (p *page) cost() {
	var here, before, judges, repriced export.Sum
	for i := range p.s.Evaluations {
		e := &p.s.Evaluations[i]
		if e.Reused {
			before.Merge(e.Reported)
			continue
		}
		here.Merge(e.Reported)
		repriced.Merge(e.Repriced)
		judges.Merge(e.Spent.Judges)
	}
	p.line("## Cost")
	p.line("")
	p.line("- Spent in this batch, as reported: %s", atLeast(here))
	p.line("- The same repriced with the frozen prices: %s", atLeast(repriced))
	if judges.Known+judges.Unknown > 0 {
		p.line("- Spent on judges, as they reported: %s", atLeast(judges))
	}
	if before.Known+before.Unknown > 0 {
		p.line("- Reused repeats, when they were measured: %s", atLeast(before))
	}
	p.line("")
}

func atLeast(s export.Sum) string {
	switch {
	case s.Known == 0 && s.Unknown == 0:
		return "nothing was tried"
	case s.Known == 0:
		return fmt.Sprintf("unknown (%s, none of known cost)", many(s.Unknown, "attempt"))
	case s.Unknown == 0:
		return fmt.Sprintf("%.4f USD (%s)", s.Total, many(s.Known, "attempt"))
	}
	return fmt.Sprintf("at least %.4f USD (%s), and %d of unknown cost", s.Total, many(s.Known, "attempt"), s.Unknown)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
