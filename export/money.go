package export

import (
	"math"
	"strconv"
)

// Dollars prints USD with four decimals, and below a cent with as many as three
// digits need: 0.0315, 0.00793, 0.0000213. What is more than 0 never reads as 0.
func Dollars(usd float64) string {
	decimals := 4
	if usd > 0 && usd < 0.01 {
		decimals = min(15, max(4, 2-int(math.Floor(math.Log10(usd)))))
	}
	return strconv.FormatFloat(usd, 'f', decimals, 64)
}
