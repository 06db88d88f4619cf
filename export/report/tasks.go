package report

import (
	"cmp"
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// tasks shows which tasks tell variants apart, and where to look.
func (p *page) tasks() {
	if !p.v.Decided() || len(p.f.Tasks) == 0 {
		return
	}
	d := p.v.Description
	p.section("tasks", "Tasks")
	p.say("%d of %s tell anything apart: not every run of every variant has the same score on them. The others say nothing of differences.", d.Informative, many(len(d.Tasks), "task"))
	order := p.telling()
	left := len(order) - mostTasks
	order = order[:min(len(order), mostTasks)]
	across := p.order[:min(len(p.order), mostAcross)]
	p.taskChart(order, across)
	t := &document.Table{Caption: say("How each task is handled in general, and the one variant that stands out in either direction; tasks that tell most stand first"),
		Columns: columns("task", "family", "informative", "in general", "#mean", "#lowest – highest variant", "stands out above", "stands out below")}
	for _, i := range order {
		t.Rows = append(t.Rows, p.taskRow(i))
	}
	t.Notes = append(more(left, "task", "tables/tasks.parquet"),
		say("A variant stands out where it alone is highest or lowest and differs from the mean of the others by at least %s; the link leads to the run to look at.", number(outlying)))
	p.folded(t, 20, "task")
	p.heatTable(order, across)
}

// outlying is from which distance to the mean of the others on a variant stands out.
const outlying = 0.25

// telling lists the tasks by the distance between the lowest and the highest variant.
func (p *page) telling() []int {
	d := p.v.Description
	spread := make([]float64, len(d.Tasks))
	order := make([]int, len(d.Tasks))
	for t := range d.Tasks {
		order[t], spread[t] = t, -1
		if low, high := lowHigh(d.Tasks[t].Means); low != nil {
			spread[t] = *high - *low
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(spread[b], spread[a]), truth(d.Tasks[b].Informative)-truth(d.Tasks[a].Informative))
	})
	return order
}

func lowHigh(means []*float64) (low, high *float64) {
	for _, m := range means {
		if m == nil {
			continue
		}
		if low == nil || *m < *low {
			low = m
		}
		if high == nil || *m > *high {
			high = m
		}
	}
	return low, high
}

func (p *page) taskRow(t int) document.Row {
	d, task := &p.v.Description.Tasks[t], &p.f.Tasks[t]
	name := say("%s", task.ID)
	if task.Withdrawn != nil {
		name = say("%s (withdrawn)", task.ID)
	}
	low, high := lowHigh(d.Means)
	between := own("–")
	if low != nil {
		between = number(*low) + "–" + number(*high)
	}
	above, below := p.outliers(t)
	return document.Row{name, dash(document.Foreign(task.Family)), say("%s", yes(d.Informative)), say("%s", handled(d)), say("%s", maybe(average(d.Means))), say("%s", between), above, below}
}

func yes(b bool) own {
	if b {
		return "yes"
	}
	return "no"
}

// handled says how the variants do on a task in general.
func handled(d *stats.TaskSummary) own {
	m := average(d.Means)
	if m == nil {
		return "no score"
	}
	low, high := lowHigh(d.Means)
	switch {
	case !d.Informative && *m == 1:
		return "solved in every run"
	case !d.Informative && *m == 0:
		return "failed in every run"
	case !d.Informative:
		return "the same score in every run"
	case *high-*low >= 0.5:
		return "divides the variants"
	case *m >= 0.8:
		return "mostly solved"
	case *m <= 0.2:
		return "mostly failed"
	}
	return "mixed in all variants"
}

func average(means []*float64) *float64 {
	sum := export.Sum{}
	for _, m := range means {
		if m != nil {
			sum.Add(m)
		}
	}
	return sum.Mean()
}

// outliers are the variants that stand out on a task, with the run to look at.
func (p *page) outliers(t int) (above, below document.Text) {
	means := p.v.Description.Tasks[t].Means
	above, below = say("–"), say("–")
	low, high := lowHigh(means)
	if low == nil || *low == *high {
		return above, below
	}
	if v, others := alone(means, *high); v != stats.Nobody && *high-others >= outlying {
		above = p.standsOut(v, *high, others, p.seen.highest(v, t))
	}
	if v, others := alone(means, *low); v != stats.Nobody && others-*low >= outlying {
		below = p.standsOut(v, *low, others, p.seen.lowest(v, t))
	}
	return above, below
}

// alone is the only variant with this mean, and the mean of the others.
func alone(means []*float64, mean float64) (variant int, others float64) {
	variant = stats.Nobody
	var sum export.Sum
	for v, m := range means {
		switch {
		case m == nil:
		case *m != mean:
			sum.Add(m)
		case variant != stats.Nobody:
			return stats.Nobody, 0
		default:
			variant = v
		}
	}
	if sum.Known == 0 {
		return stats.Nobody, 0
	}
	return variant, *sum.Mean()
}

func (p *page) standsOut(variant int, mean, others float64, evaluation int) document.Text {
	text := say("%s", p.name(variant))
	if evaluation >= 0 && evaluation < len(p.s.Evaluations) {
		text = p.link(text, &p.s.Evaluations[evaluation])
	}
	return say("%s %s (others %s)", text, number(mean), number(others))
}

// heatTable holds the figures of the task chart.
func (p *page) heatTable(tasks, across []int) {
	t := &document.Table{Caption: say("Mean by task and variant"), Columns: columns("task")}
	for _, i := range across {
		t.Columns = append(t.Columns, document.Column{Text: document.Foreign(p.name(i)), Numeric: true})
	}
	for _, n := range tasks {
		row := document.Row{say("%s", p.f.Tasks[n].ID)}
		for _, i := range across {
			row = append(row, say("%s", maybe(p.v.Description.Tasks[n].Means[i])))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = more(len(p.order)-mostAcross, "variant", "tables/task_variants.parquet")
	if len(t.Rows) > 0 {
		p.add(&document.Details{Summary: say("Mean by task and variant, in figures"), Blocks: []document.Block{t}})
	}
}
