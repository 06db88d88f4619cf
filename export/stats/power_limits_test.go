package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"
)

func TestSpreadLimits(t *testing.T) {
	for _, df := range []float64{1, 2, 5, 9, 35, 499} {
		low, high, ok := SpreadLimits(df)
		assert.True(t, ok)
		x := distuv.ChiSquared{K: df}
		assert.InEpsilon(t, df/x.Quantile(0.975), low*low, 1e-8, df)
		assert.InEpsilon(t, df/x.Quantile(0.025), high*high, 1e-8, df)
	}
	_, _, ok := SpreadLimits(0)
	assert.False(t, ok)
}
