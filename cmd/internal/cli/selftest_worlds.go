package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export/stats"
)

// world is a simulated kind of batch with its name in words.
type world struct {
	name string
	stats.Scenario
}

// The usual strength of what is simulated, in log-odds: a task suits an agent by an
// SD of 1.5, a shocked run is off by an SD of .3 (about 4 points).
const (
	suits = 1.5
	shift = 0.3
)

// worlds are the rows of the self-test: first those without a true difference, then
// those with one. docs/statistics.md explains the names.
var worlds = []world{
	{"agents are the same", stats.Scenario{Variants: 2, Tasks: 36, Repeats: []int{5}}},
	{"agents are the same", stats.Scenario{Variants: 12, Tasks: 100, Repeats: []int{3}}},
	{"tasks suit agents", stats.Scenario{Variants: 2, Tasks: 100, Repeats: []int{5}, Interaction: suits}},
	{"tasks suit agents", stats.Scenario{Variants: 12, Tasks: 36, Repeats: []int{5}, Interaction: suits}},
	{"runs shift too", stats.Scenario{Variants: 2, Tasks: 200, Repeats: []int{3}, Interaction: suits, Shock: shift}},
	{"runs shift too", stats.Scenario{Variants: 12, Tasks: 100, Repeats: []int{3}, Interaction: suits, Shock: shift}},
	{"runs shift too", stats.Scenario{Variants: 12, Tasks: 100, Repeats: []int{5}, Interaction: suits, Shock: shift}},
	{"3 of 12 shift", stats.Scenario{Variants: 12, Tasks: 100, Repeats: []int{3}, Shock: 2 * shift, Shocked: 3}},
	{"credit, failures", stats.Scenario{Variants: 3, Tasks: 60, Repeats: []int{3, 5}, Interaction: suits, Shock: shift, Missing: .02, Continuous: true}},
	{"12 families", stats.Scenario{Variants: 3, Tasks: 60, Families: 12, Repeats: []int{3}, FamilySD: 1}},

	{"1 logit apart", stats.Scenario{Variants: 2, Tasks: 36, Repeats: []int{5}, Interaction: suits, Spread: 1}},
	{"1 logit apart", stats.Scenario{Variants: 2, Tasks: 100, Repeats: []int{3}, Interaction: suits, Spread: 1}},
	{"1 logit apart", stats.Scenario{Variants: 2, Tasks: 100, Repeats: []int{10}, Interaction: suits, Spread: 1}},
	{"2 logits apart", stats.Scenario{Variants: 12, Tasks: 36, Repeats: []int{5}, Interaction: suits, Spread: 2}},
	{"2 logits apart", stats.Scenario{Variants: 12, Tasks: 100, Repeats: []int{5}, Interaction: suits, Spread: 2}},
}

// size is variants × tasks × repeats.
func (w world) size() string { return sizeText(w.Variants, w.Tasks, w.Repeats) }

func sizeText(variants, tasks int, repeats []int) string {
	var k []string
	for _, n := range slices.Compact(slices.Sorted(slices.Values(repeats))) {
		k = append(k, fmt.Sprint(n))
	}
	return fmt.Sprintf("%d × %d × %s", variants, tasks, strings.Join(k, ", "))
}

// identical says whether the variants are equal on each single task too.
func (w world) identical() bool { return w.Spread == 0 && w.Interaction == 0 && w.FamilySD == 0 }
