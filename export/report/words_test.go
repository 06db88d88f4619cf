package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// One outcome of 2,500 that is missing is seen.
func TestCoverageIsNeverRoundedUp(t *testing.T) {
	assert.Equal(t, own("99.9 %"), covered(2499.0/2500))
	assert.Equal(t, own("100.0 %"), covered(1))
	assert.Equal(t, own("97.5 %"), covered(0.975))
	assert.Equal(t, own("0.0 %"), covered(0))
}
