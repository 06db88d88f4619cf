package export_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/export"
)

// A printed p lies on the same side of the level as the p that was decided by.
func TestPValue(t *testing.T) {
	for _, c := range []struct {
		p, level float64
		want     string
	}{
		{0.04996, 0.05, "0.04996"},
		{0.049996, 0.05, "0.049996"},
		{0.0500004, 0.05, "0.0500004"},
		{0.05, 0.05, "0.0500"},
		{0.0312, 0.05, "0.0312"},
		{0.0015624, 0.0015625, "0.00156"}, // at the third look
		{0.00001, 0.05, "<0.0001"},
		{0.00005, 0.00002, "0.0001"}, // below 0.0001 and not below the level
		{0.00001, 0.00002, "0.00001"},
		{0, 0.05, "<0.0001"},
		{1, 0.05, "1.0000"},
		{0.05 - 1e-12, 0.05, "0.0500"}, // no less than the level, as the decision has it
	} {
		assert.Equal(t, c.want, export.PValue(c.p, c.level))
	}
}
