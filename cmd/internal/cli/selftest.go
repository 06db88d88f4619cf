package cli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export/stats"
)

// selftestReplicates are drawn for each row unless --replicates says otherwise.
const selftestReplicates = 1000

// selftestLeast refute a rule that is wrong in three of ten batches where 5 % is stated.
const selftestLeast = 20

// selftestDoubt is the chance below which an observed rate is not put down to the
// simulation's own error: a self-test of a rule that holds its level hardly ever fails.
const selftestDoubt = 0.001

// selftested is what `selftest --json` prints.
type selftested struct {
	Seed       uint64        `json:"seed"`
	Replicates int           `json:"replicates"` // of a row, unless the row says fewer
	Passed     bool          `json:"passed"`     // no row's rate lies beyond the stated one
	Rows       []selftestRow `json:"rows"`
}

// selftestRow is one world or folder with what every rule did in it.
type selftestRow struct {
	Size       string  `json:"size"`             // variants × tasks × repeats
	World      string  `json:"world"`            // what is true there
	Folder     string  `json:"folder,omitempty"` // its name; "" = simulated
	Replicates int     `json:"replicates"`
	Equal      int     `json:"equal_pairs"`
	Different  int     `json:"different_pairs"`
	Stated     float64 `json:"stated_rate"` // most batches in 1 that may show a false separation
	Rule       rates   `json:"rule"`
	OnList     *rates  `json:"rule_with_list"` // "ahead on this list" counted too; null where the tasks of a list do differ
	Range      rates   `json:"range_tie"`
	PairedT    rates   `json:"paired_t"`
	Refuted    bool    `json:"refuted"` // the rule's rate lies beyond the stated one
}

// rates of one rule.
type rates struct {
	False     float64  `json:"false_batches"` // share of batches with a false separation
	Low       float64  `json:"false_low"`     // 95 % interval of the simulation
	High      float64  `json:"false_high"`
	FalsePair *float64 `json:"false_pairs"` // share of equal pairs separated; null = there are none
	Power     *float64 `json:"power"`       // share of different pairs separated the right way; null = there are none
}

// refuted ends a command whose verdict is negative.
type refuted struct{ text string }

func (e refuted) Error() string { return e.text }

func (a *App) selftestCommand() *cobra.Command {
	var seed uint64
	var replicates int
	var markdown bool
	c := &cobra.Command{
		Use:   "selftest [FOLDER...]",
		Short: "Show how often the decision rule is wrong, and what it finds",
		Long: `selftest lets the decision rule judge simulated batches whose truth is known. It
prints how many batches show at least one false separation, and how many true
differences are found, beside the range tie and unadjusted paired t tests.

With dated folders it shuffles the variants' labels within each task of these
batches instead, and judges them by their own frozen rule: every separation is
false then.

The same seed gives the same numbers on any machine and any number of cores.
Exit code 3: the rule was wrong more often than it states, beyond chance.`,
		Example: `  benchbatch selftest
  benchbatch selftest --seed 7 --replicates 10000
  benchbatch selftest batches/support-bench-v1_2026-11-30_7f3a9c`,
		RunE: func(cmd *cobra.Command, folders []string) error {
			if replicates != 0 && (replicates < selftestLeast || replicates > 1_000_000) {
				return usageError{fmt.Errorf("--replicates %d: must be %d to 1,000,000, or 0 for what takes seconds; fewer would pass almost any rule",
					replicates, selftestLeast)}
			}
			if markdown && a.asJSON {
				return usageError{errors.New("--markdown and --json: choose one")}
			}
			out, err := a.selftest(cmd.Context(), seed, replicates, folders)
			if err != nil {
				return err
			}
			if err := a.result(out, func() { a.showSelftest(out, markdown) }); err != nil {
				return err
			}
			return out.err()
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "`SEED` of everything that is drawn")
	c.Flags().IntVar(&replicates, "replicates", 0, fmt.Sprintf("`N` batches drawn for each row (0 = %d, fewer of a large folder)", selftestReplicates))
	c.Flags().BoolVar(&markdown, "markdown", false, "print the tables as Markdown")
	return c
}

// selftest runs every simulated world, or every folder where there are any.
func (a *App) selftest(ctx context.Context, seed uint64, replicates int, folders []string) (*selftested, error) {
	out := &selftested{Seed: seed, Replicates: replicates, Passed: true}
	if replicates == 0 {
		out.Replicates = selftestReplicates
	}
	if len(folders) == 0 {
		return out, out.simulate()
	}
	for _, dir := range folders {
		row, err := a.shuffle(ctx, dir, seed, replicates)
		if err != nil {
			return nil, err
		}
		out.add(row)
	}
	return out, nil
}

func (s *selftested) simulate() error {
	for _, w := range worlds {
		rule := stats.DefaultRule()
		r, err := stats.Simulate(w.Scenario, rule, selftestKey(s.Seed, w.size()+w.name), s.Replicates)
		if err != nil {
			return err
		}
		row := newSelftestRow(r, rule)
		row.Size, row.World = w.size(), w.name
		if w.identical() {
			row.setOnList(r)
		}
		s.add(row)
	}
	return nil
}

func selftestKey(seed uint64, row string) stats.Key {
	return stats.NewKey(fmt.Sprint("selftest ", seed), "", row)
}

func (s *selftested) add(r selftestRow) {
	s.Rows = append(s.Rows, r)
	s.Passed = s.Passed && !r.Refuted
}

// err names the rows in which the rule did not hold.
func (s *selftested) err() error {
	text := ""
	for _, r := range s.Rows {
		if r.Refuted {
			text += fmt.Sprintf("\n  %s, %s: %s where %s is stated", r.Size, r.World+r.Folder, r.Rule.interval(), percent(r.Stated))
		}
	}
	if text == "" {
		return nil
	}
	return refuted{"the rule separated equal variants in more batches than it states:" + text}
}

func newSelftestRow(r stats.Rates, rule stats.Rule) selftestRow {
	row := selftestRow{Replicates: r.Replicates, Equal: r.Equal, Different: r.Different, Stated: 2 * rule.AlphaAtLook(),
		Rule: newRates(r, r.Rule), Range: newRates(r, r.Range), PairedT: newRates(r, r.PairedT)}
	row.Refuted = beyond(r, r.Rule, row.Stated)
	return row
}

// setOnList adds the rate of a world in which claims about the list are false too.
func (row *selftestRow) setOnList(r stats.Rates) {
	list := newRates(r, r.OnList)
	row.OnList, row.Refuted = &list, row.Refuted || beyond(r, r.OnList, row.Stated)
}

// leastReplicates is how many batches it takes before the rule can be refuted: were all
// of fewer false, that could be chance.
func leastReplicates(stated float64) int {
	return max(selftestLeast, int(math.Ceil(math.Log(selftestDoubt)/math.Log(stated))))
}

// beyond says whether an observed rate can't be the simulation's own error.
func beyond(r stats.Rates, o stats.Observed, stated float64) bool {
	return stats.AtLeast(int(math.Round(o.False*float64(r.Replicates))), r.Replicates, stated) < selftestDoubt
}

func newRates(r stats.Rates, o stats.Observed) rates {
	n := float64(r.Replicates)
	i, _ := stats.Wilson(math.Round(o.False*n), n)
	out := rates{False: o.False, Low: i.Low, High: i.High}
	if r.Equal > 0 {
		out.FalsePair = &o.FalsePair
	}
	if r.Different > 0 {
		out.Power = &o.Power
	}
	return out
}
