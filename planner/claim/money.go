package claim

import (
	"fmt"
	"math"
	"strconv"
)

// micro is an amount in millionths of a USD, so that sums are exact.
type micro int64

// toMicro rounds up: what is reserved or spent is never understated.
func toMicro(usd float64) (micro, error) {
	if math.IsNaN(usd) || usd < 0 || usd > 1e9 {
		return 0, fmt.Errorf("%v is no amount in USD: from 0 to a thousand million", usd)
	}
	return micro(math.Ceil(usd*1e6 - 1e-3)), nil // a thousandth of a millionth is the noise of a double
}

func (m micro) usd() float64 { return float64(m) / 1e6 }

func (m micro) String() string { return fmt.Sprintf("%d.%06d", m/1e6, m%1e6) }

func parseMicro(s string) (micro, bool) {
	usd, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(usd) || usd < 0 || usd > 1e9 {
		return 0, false
	}
	return micro(math.Round(usd * 1e6)), true
}
