package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/planner/batch"
)

func TestManyRunsWithOneReasonShareALine(t *testing.T) {
	var ignored []batch.Ignored
	for i := range 11 {
		ignored = append(ignored, batch.Ignored{RunID: fmt.Sprintf("r%02d", i), Reason: "deleted"})
	}
	ignored = append(ignored, batch.Ignored{RunID: "x", Reason: "tag missing"})
	assert.Equal(t, []string{"does not count: 11 runs, the first r00: deleted", "does not count: x: tag missing"}, ignoredLines(ignored))
	assert.Len(t, ignoredLines(ignored[:3]), 3)
}
