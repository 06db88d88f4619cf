package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Refused says that two batches can't be compared, and in what they differ.
type Refused struct {
	A, B    string // names
	Why     []string
	Changes []batch.Change // of the recipe, part by part
}

// mostChanges is how many changes an error lists.
const mostChanges = 12

func (r *Refused) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s and %s can't be compared: ", r.A, r.B)
	b.WriteString(strings.Join(r.Why, "; "))
	for i, c := range r.Changes {
		if i == mostChanges {
			fmt.Fprintf(&b, "\n  and %d more (--json lists them)", len(r.Changes)-mostChanges)
			break
		}
		b.WriteString("\n  " + ChangeText(c))
	}
	return b.String()
}

// ChangeText is a change in words. It may hold foreign text.
func ChangeText(c batch.Change) string {
	switch {
	case c.Old == "":
		return fmt.Sprintf("%s: %s is new", c.Part, c.Item)
	case c.New == "":
		return fmt.Sprintf("%s: %s is gone", c.Part, c.Item)
	}
	return fmt.Sprintf("%s: %s changed, %s to %s", c.Part, c.Item, shorten(c.Old), shorten(c.New))
}

// shorten cuts digests to what people compare.
func shorten(v string) string {
	if batch.Digest(v).Valid() {
		return v[:8]
	}
	return v
}

// sameRecipe says whether all cells of both batches have one recipe.
func sameRecipe(a, b *export.Frozen) bool {
	if len(a.Plan.Cells) == 0 || len(b.Plan.Cells) == 0 {
		return false
	}
	want := recipe(&a.Plan.Cells[0])
	for _, f := range []*export.Frozen{a, b} {
		for i := range f.Plan.Cells {
			if recipe(&f.Plan.Cells[i]) != want {
				return false
			}
		}
	}
	return true
}

type recipeID struct {
	scheme             int
	execution, scoring batch.Digest
}

func recipe(c *batch.Cell) recipeID {
	return recipeID{c.Identity.Scheme, c.Identity.Execution, c.Identity.Scoring}
}

// recipeChanges are the differences of the recipes, part by part.
func recipeChanges(a, b *export.Frozen) []batch.Change {
	return append(batch.Explain(batch.PartExecution, a.Plan.Execution, b.Plan.Execution),
		batch.Explain(batch.PartScoring, a.Plan.Scoring, b.Plan.Scoring)...)
}

// otherChanges are the differences of brain, agents and models of the variants in both.
func otherChanges(a, b *export.Frozen, both []batch.Variant) []batch.Change {
	out := batch.Explain(batch.PartBrain, a.Plan.Brain, b.Plan.Brain)
	seen := map[string]bool{}
	for _, v := range both {
		for _, x := range []struct {
			part     batch.Part
			id       string
			old, now map[string]batch.Manifest
		}{{batch.PartAgent, v.Agent, a.Plan.Agents, b.Plan.Agents}, {batch.PartModel, v.Model, a.Plan.Models, b.Plan.Models}} {
			key := string(x.part) + " " + x.id
			if seen[key] {
				continue
			}
			seen[key] = true
			for _, c := range batch.Explain(x.part, x.old[x.id], x.now[x.id]) {
				c.Item = x.id + ": " + c.Item
				out = append(out, c)
			}
		}
	}
	return out
}

// inBoth lists the variants of both batches, in B's order, and those of one alone.
func inBoth(a, b *export.Frozen) (both, onlyA, onlyB []batch.Variant) {
	x, y := variants(a), variants(b)
	for i := range b.Plan.Cells {
		v := b.Plan.Cells[i].Variant
		if x[v] != nil {
			both = append(both, v)
		} else {
			onlyB = append(onlyB, v)
		}
	}
	for i := range a.Plan.Cells {
		if v := a.Plan.Cells[i].Variant; y[v] == nil {
			onlyA = append(onlyA, v)
		}
	}
	return both, onlyA, onlyB
}

// judgedOtherwise are the differences of the scoring that no anchor survives: all but
// expected answers, which are a task's own.
func judgedOtherwise(a, b *export.Frozen) ([]string, error) {
	for _, f := range []*export.Frozen{a, b} {
		d, err := f.Plan.Scoring.Digest(batch.PartScoring)
		if err != nil {
			return nil, err
		}
		for i := range f.Plan.Cells {
			if f.Plan.Cells[i].Identity.Scoring != d {
				return []string{"the scoring of " + f.Result.Name + " is not what its plan lists"}, nil
			}
		}
	}
	var out []string
	for _, c := range batch.Explain(batch.PartScoring, a.Plan.Scoring, b.Plan.Scoring) {
		if !strings.HasPrefix(c.Item, "expected ") {
			out = append(out, ChangeText(c))
		}
	}
	return out, nil
}

// families are the names of the families of a panel.
func families(tasks []export.Task) []string {
	var out []string
	for _, t := range tasks {
		if t.Family != "" && !slices.Contains(out, t.Family) {
			out = append(out, t.Family)
		}
	}
	return out
}
