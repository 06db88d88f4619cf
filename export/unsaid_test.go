package export_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// lead is a variant that is right wherever it says anything: in the first 12 of 20
// tasks, of which it tries the rest in vain. The other one is right in 8 of those 12.
func lead(rest func(o *outcome.Outcome) bool) *exporttest.Synthetic {
	s := exporttest.Lettered(strings.Repeat("1111 ", 20), strings.Repeat("0101 ", 6)+strings.Repeat("0011 ", 6)+strings.Repeat("1111 ", 8))
	for i := range s.Result.Evaluations {
		e := &s.Result.Evaluations[i]
		if e.Agent != "agent-1" {
			continue
		}
		list, err := outcome.ReadAbout(strings.NewReader(string(s.Files[e.RunID][batch.FileOutcomes])), outcome.TimeoutFail, 0)
		if err != nil {
			panic(err)
		}
		kept := list[:12]
		for _, o := range list[12:] {
			if rest(&o) {
				kept = append(kept, o)
			}
		}
		s.SetOutcomes(e.RunID, kept)
	}
	return s
}

// A variant gains nothing by leaving out what it is bad at, or by calling it
// something that costs nobody knows how much.
func TestWhatIsUnsaidIsAFailure(t *testing.T) {
	failed := func(class outcome.State, cost *float64) func(*outcome.Outcome) bool {
		return func(o *outcome.Outcome) bool {
			*o = outcome.Failed(o.Task, class, "invented")
			o.CostUSD = cost
			return true
		}
	}
	nothing := 0.0
	for name, rest := range map[string]func(*outcome.Outcome) bool{
		"a failure of the provider":   failed(outcome.Provider, nil),
		"no line":                     func(*outcome.Outcome) bool { return false },
		"stopped at an unknown cost":  failed(outcome.Budget, nil),
		"stopped before it had begun": failed(outcome.Budget, &nothing),
	} {
		p := summaryOf(t, lead(rest)).Verdict.Pairs[0]
		require.Equal(t, stats.Beats, p.First.Mark, name)
		if name == "stopped before it had begun" {
			assert.Equal(t, stats.Beats, p.Mark, name)
			continue
		}
		assert.Equal(t, stats.CannotTell, p.Mark, name)
		assert.True(t, p.Codes.Has(stats.ProviderFailuresDecide), name)
	}
}
