package stats_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/benchbatch/benchbatch/export/stats"
)

// The table of codes in docs/statistics.md says what pages and tables say.
func TestCodesAreDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/statistics.md")
	require.NoError(t, err)
	all := Codes(1<<16 - 1).List()
	require.Len(t, all, 8)
	for _, c := range all {
		assert.Contains(t, string(docs), fmt.Sprintf("| `%s` | %s | ", c, c.Words()))
	}
	assert.Equal(t, "too few repeats, measured apart", Codes(0).With(MeasuredApart).With(NoRepeats).Words())
	assert.Empty(t, Codes(0).Words())
}
