package cli

import (
	"fmt"
	"strings"
)

// showSelftest prints the rows as two tables: without and with a true difference.
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
}

// origin says how to get the same numbers again.
func (s *selftested) origin() string {
	command := fmt.Sprintf("benchbatch selftest --seed %d", s.Seed)
	if s.Replicates != selftestReplicates {
		command += fmt.Sprintf(" --replicates %d", s.Replicates)
	}
	return fmt.Sprintf("`%s`: a row is %d batches of variants × tasks × repeats", command, s.Replicates)
}

// selftestTables are the cells of both tables, the heading first.
func selftestTables(s *selftested) (equal, different [][]string) {
	equal = [][]string{{"batch", "world", "rule (95 %)", "on list", "range", "paired t"}}
	different = [][]string{{"batch", "world", "rule", "range", "paired t"}}
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Different > 0 {
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
