package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/export/tables"
)

// shuffle lets a folder's frozen rule judge its batch with shuffled labels.
func (a *App) shuffle(ctx context.Context, dir string, seed uint64, replicates int) (row selftestRow, err error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	if _, err := os.Stat(dir); err != nil {
		return row, usageError{fmt.Errorf("FOLDER: %w", err)}
	}
	f, err := export.OpenFolder(ctx, dir, tables.Output{})
	if err != nil {
		return row, err
	}
	d, rule, err := f.Data(ctx)
	if err != nil {
		return row, fmt.Errorf("%s: %w", filepath.Base(dir), err)
	}
	repeats := slices.DeleteFunc(d.Repeats(), func(k int) bool { return k == 0 })
	if len(repeats) < 2 {
		return row, fmt.Errorf("%s: %s measured: labels can be shuffled among two or more", filepath.Base(dir), plural(len(repeats), "variant"))
	}
	if slices.Max(repeats) < stats.MinRepeats {
		a.say("note: %s has fewer than %d repeats: the rule claims nothing there", cleanLine(filepath.Base(dir)), stats.MinRepeats)
	}
	least := leastReplicates(2 * rule.AlphaAtLook())
	switch {
	case replicates == 0:
		replicates = max(least, affordable(len(repeats), d.Tasks(), slices.Max(repeats)))
	case replicates < least:
		return row, usageError{fmt.Errorf("--replicates %d: %s states a rate of %s, and fewer than %d batches would pass any rule: ask for more, or 0 for what takes seconds",
			replicates, filepath.Base(dir), percent(2*rule.AlphaAtLook()), least)}
	}
	r, err := stats.Shuffle(d, rule, selftestKey(seed, string(f.Frozen.ResultDigest)), replicates)
	if err != nil {
		return row, err
	}
	row = newSelftestRow(r, rule)
	row.Size, row.Folder = sizeText(len(repeats), d.Tasks(), repeats), filepath.Base(dir)
	return row, nil
}

// affordable is how many batches of a size are judged in about 10 seconds on two
// cores, at most selftestReplicates.
func affordable(variants, tasks, repeats int) int {
	const work = 200_000_000 // differences of pairs and outcomes
	each := variants*(variants-1)/2*tasks + variants*tasks*repeats
	return max(25, min(selftestReplicates, work/max(1, each)))
}
