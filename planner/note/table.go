package note

import (
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export/escape"
)

// pad keeps columns apart: MLflow gives cells no padding.
const pad = "&nbsp;&nbsp;"

// column is a column of the leaderboard.
type column struct {
	name string
	cell func(*Cell) string
}

func (b Batch) table(w *strings.Builder, d detail, rows int) {
	if rows == 0 {
		return
	}
	if b.Ranked {
		w.WriteString("By rank, which the report explains:\n\n")
	}
	columns := b.columns(d)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	row(w, line)
	w.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for i := range b.Cells[:rows] {
		for k, c := range columns {
			line[k] = c.cell(&b.Cells[i])
		}
		row(w, line)
	}
	w.WriteString("\n")
}

func row(w *strings.Builder, cells []string) {
	w.WriteString("| " + strings.Join(cells, pad+"| ") + pad + "|\n")
}

func (b Batch) columns(d detail) []column {
	out := []column{
		{"agent", func(c *Cell) string { return escape.Markdown(c.Agent) }},
		{"model", func(c *Cell) string { return escape.Markdown(c.Model) }},
		{"repeats", repeats},
		{"score", func(c *Cell) string { return strong(number(c.Score)) }},
		{"lowest–highest", func(c *Cell) string { return between(c.Low, c.High) }},
	}
	if b.any(func(c *Cell) bool { return c.Pass != nil }) {
		out = append(out, column{"passes", func(c *Cell) string { return percent(c.Pass) }})
	}
	if b.any(func(c *Cell) bool { return c.USD != nil }) {
		out = append(out, column{"cost of a repeat", cost})
	}
	if d.runs > 0 && b.any(func(c *Cell) bool { return len(c.Repeats) > 0 }) {
		out = append(out, column{"runs", func(c *Cell) string { return runs(c, d.runs) }})
	}
	if d.raw && b.any(hasRaw) {
		out = append(out, column{"raw bundles", rawBundles})
	}
	return out
}

func (b Batch) any(has func(*Cell) bool) bool {
	for i := range b.Cells {
		if has(&b.Cells[i]) {
			return true
		}
	}
	return false
}

// repeats counts those that are there, of those planned where some are not.
func repeats(c *Cell) string {
	text := fmt.Sprint(len(c.Repeats))
	if len(c.Repeats) < c.Planned {
		text += fmt.Sprintf(" of %d", c.Planned)
	}
	reused := 0
	for _, r := range c.Repeats {
		if r.Reused {
			reused++
		}
	}
	if reused > 0 {
		text += fmt.Sprintf(" (%d reused)", reused)
	}
	return text
}

func cost(c *Cell) string {
	if c.USD == nil {
		return "–"
	}
	if c.AtLeast {
		return "≥ " + usd(*c.USD)
	}
	return usd(*c.USD)
}

// runs are links to the repeats, by their number; a reused one is marked.
func runs(c *Cell, most int) string {
	var parts []string
	for i, r := range c.Repeats {
		if i == most {
			parts = append(parts, "…")
			break
		}
		label := fmt.Sprint(r.Slot)
		if r.Reused {
			label += "&nbsp;reused"
		}
		parts = append(parts, link(label, r.Run))
	}
	return strings.Join(parts, " ")
}

func hasRaw(c *Cell) bool {
	for _, r := range c.Repeats {
		if r.Raw != "" {
			return true
		}
	}
	return false
}

func rawBundles(c *Cell) string {
	var parts []string
	for _, r := range c.Repeats {
		if r.Raw != "" {
			parts = append(parts, link(fmt.Sprint(r.Slot), r.Raw))
		}
	}
	return strings.Join(parts, " ")
}

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *v)
}

func strong(text string) string {
	if text == "" {
		return "–"
	}
	return "**" + text + "**"
}

func between(low, high *float64) string {
	if low == nil || high == nil {
		return "–"
	}
	return number(low) + "–" + number(high)
}

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", *v*100)
}
