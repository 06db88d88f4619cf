package brief_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/brief"
	"github.com/benchbatch/benchbatch/export/exporttest"
)

func of(t *testing.T, s *exporttest.Synthetic) *brief.Brief {
	t.Helper()
	var b *brief.Brief
	_, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(),
		Summarized: func(f *export.Frozen, s *export.Summary) { b = brief.Of(f, s, "sentence") }})
	require.NoError(t, err)
	require.NotNil(t, b)
	return b
}

// A claim is told from its winner, whichever side of the pair that is.
func TestClaimsAreOfTheWinner(t *testing.T) {
	good, bad := strings.Repeat("11111 ", 24)+"01111 10111 11011 11101 11110 01111", strings.Repeat("00000 ", 29)+"00001"
	for _, lines := range [][]string{{good, bad}, {bad, good}} {
		b := of(t, exporttest.Lettered(lines...))
		require.Len(t, b.Apart, 1)
		c := b.Apart[0]
		assert.Positive(t, *c.Difference)
		assert.Positive(t, *c.Low)
		assert.Less(t, *c.Low, *c.Difference)
		assert.Greater(t, *c.High, *c.Difference)
		assert.Equal(t, c.Winner, b.Variants[0].Variant.String(), "the best stands first")
		assert.Equal(t, 1, b.Variants[0].RankHigh)
		assert.Contains(t, strings.Join(b.Lines(false), "\n"), c.Winner+" beats "+c.Loser+" by +")
	}
}

// Unknown costs are never 0, and what is missing is never 100 %.
func TestUnknownStaysUnknown(t *testing.T) {
	b := of(t, exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("11- ", 12)))
	assert.Nil(t, b.Spend.Today.Known)
	assert.Equal(t, 72, b.Spend.Today.Unknown)
	text := strings.Join(b.Lines(false), "\n")
	assert.Contains(t, text, "an unknown sum")
	assert.Contains(t, text, "83.3 % of the outcomes")
	assert.NotContains(t, text, "$0")

	b = of(t, exporttest.Lettered(strings.Repeat("1 ", 12), strings.Repeat("0 ", 12)))
	assert.Zero(t, b.Variants[0].RankLow)
	assert.Equal(t, "agent-1+model-1", b.Variants[0].Variant.String(), "unranked variants stand in the plan's order")

	b = of(t, exporttest.Mixed())
	assert.Equal(t, 1, b.Flagged)
	assert.Contains(t, strings.Join(b.Lines(false), "\n"), "at least $")
}
