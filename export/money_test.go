package export_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/export"
)

// A cost that is more than 0 never reads as 0.
func TestDollars(t *testing.T) {
	for usd, want := range map[float64]string{0: "0.0000", 0.000021: "0.0000210", 0.00000213: "0.00000213", 0.0079301: "0.00793",
		0.01: "0.0100", 0.0315: "0.0315", 12.5: "12.5000"} {
		assert.Equal(t, want, export.Dollars(usd))
	}
}
