package cli

import (
	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/stats"
)

// requireVerdict adds the flag that demands an answer.
func requireVerdict(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "require-verdict", false, "exit code 3 where the verdict is open")
}

// demanded is an error where an answer was demanded and the batch gives none.
func demanded(wanted bool, f *export.Frozen, s *export.Summary) error {
	if !wanted || f == nil || s == nil {
		return nil
	}
	if f.PostHoc != nil {
		return refuted{"no verdict: the rule was chosen after the run"}
	}
	if why := s.Verdict.Open(); why != "" {
		return refuted{"no verdict: " + why}
	}
	return nil
}

// demandedChange is the same for a comparison.
func demandedChange(wanted bool, v *compare.View) error {
	switch {
	case !wanted:
		return nil
	case v.PostHoc != "":
		return refuted{"no verdict: the rule was chosen after the runs"}
	case v.Overall != nil && v.Overall.Mark != stats.CannotTell.String():
		if v.Stands {
			return nil
		}
		return refuted{"no verdict: it does not hold in every reading"}
	}
	return refuted{"no verdict: whether anything changed over all cannot be told"}
}
