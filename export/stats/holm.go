package stats

import (
	"cmp"
	"slices"
)

// Holm is F10: p-values adjusted for their number,
// adj_(i) = max_{j<=i} min(1, (F-j+1) p_(j)), in the order given.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, most := make([]float64, len(p)), 0.0
	for j, i := range order {
		most = max(most, min(1, float64(len(p)-j)*p[i]))
		adjusted[i] = most
	}
	return adjusted
}

// Significant says whether p reaches a level, with room for rounding.
func Significant(p, level float64) bool { return p <= level-guard }
