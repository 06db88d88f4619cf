package export

import (
	"strconv"

	"github.com/benchbatch/benchbatch/export/stats"
)

// PValue prints p, in [0,1], with four decimals, or with as many as it takes to stand
// on its own side of level: what is printed never contradicts what was decided. Below
// 0.0001 it says so.
func PValue(p, level float64) string {
	if p < 0.0001 && level >= 0.0001 {
		return "<0.0001"
	}
	below, above := stats.Significant(p, level), stats.Significant(level, p)
	for decimals := 4; decimals < 17; decimals++ {
		text := strconv.FormatFloat(p, 'f', decimals, 64)
		if shown, _ := strconv.ParseFloat(text, 64); (shown < level) == below && (shown > level) == above && (shown > 0 || p == 0) {
			return text
		}
	}
	return strconv.FormatFloat(p, 'g', -1, 64)
}
