package cli

import (
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export/escape"
)

// showSelftest prints the rows as tables: without and with a true difference, and of folders.
func (a *App) showSelftest(s *selftested, markdown bool) {
	equal, different := selftestTables(s)
	write := func(title string, rows [][]string) {
		if len(rows) < 2 {
			return
		}
		a.print("%s\n", title)
		if markdown {
			a.print("%s", markdownTable(rows))
			return
		}
		var t table
		for _, r := range rows {
			t.add(r...)
		}
		t.write(a.Stdout)
		a.print("")
	}
	a.print("%s\n", s.origin())
	write("Equal variants: batches with a false separation (stated: at most 5 %)", equal)
	write("Different variants: pairs separated, the right way round", different)
	write("Labels shuffled within each task: batches with a false separation", s.shuffledTable(markdown))
}

// origin says how to get the same numbers again.
func (s *selftested) origin() string {
	command := fmt.Sprintf("benchbatch selftest --seed %d", s.Seed)
	if s.Rows[0].Folder != "" {
		return fmt.Sprintf("`%s FOLDER`: variants × tasks × repeats", command)
	}
	if s.Replicates != selftestReplicates {
		command += fmt.Sprintf(" --replicates %d", s.Replicates)
	}
	return fmt.Sprintf("`%s`: a row is %d batches of variants × tasks × repeats", command, s.Replicates)
}

// shuffledTable is the cells of the folders' table, the heading first.
func (s *selftested) shuffledTable(markdown bool) [][]string {
	rows := [][]string{{"batch", "drawn", "rule (95 %)", "stated", "range", "paired t", "folder"}}
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Folder != "" {
			name := r.Folder
			if markdown {
				name = escape.Markdown(name)
			}
			rows = append(rows, []string{r.Size, fmt.Sprint(r.Replicates), r.Rule.interval(), percent(r.Stated), percent(r.Range.False),
				percent(r.PairedT.False), name})
		}
	}
	return rows
}

// selftestTables are the cells of the simulated worlds' tables, the heading first.
func selftestTables(s *selftested) (equal, different [][]string) {
	equal = [][]string{{"batch", "world", "rule (95 %)", "on list", "range", "paired t"}}
	different = [][]string{{"batch", "world", "rule", "range", "paired t"}}
	for i := range s.Rows {
		r := &s.Rows[i]
		switch {
		case r.Folder != "":
			continue
		case r.Different > 0:
			different = append(different, []string{r.Size, r.World, percent(*r.Rule.Power), percent(*r.Range.Power), percent(*r.PairedT.Power)})
			continue
		}
		list := "–"
		if r.OnList != nil {
			list = percent(r.OnList.False)
		}
		equal = append(equal, []string{r.Size, r.World, r.Rule.interval(), list, percent(r.Range.False), percent(r.PairedT.False)})
	}
	return equal, different
}

// interval is the share of batches with a false separation, and how well it is known.
func (r rates) interval() string {
	return fmt.Sprintf("%s (%.1f–%.1f)", percent(r.False), 100*r.Low, 100*r.High)
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(r)) + "|\n")
		}
	}
	return b.String()
}
