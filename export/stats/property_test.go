package stats

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyBatch draws a batch of quarter scores (kept below 0.76, so that .24 can be added), with holes and families.
func anyBatch(t *rapid.T) Batch {
	m, n := rapid.IntRange(2, 5).Draw(t, "variants"), rapid.IntRange(8, 24).Draw(t, "tasks")
	b := Batch{Tasks: panel(n, "")}
	if rapid.Bool().Draw(t, "families") {
		for i := range b.Tasks {
			b.Tasks[i].Family = rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g"}).Draw(t, "family")
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for v := range m {
		variant := Variant{ID: string(rune('A' + v))}
		ability := rapid.IntRange(0, 3).Draw(t, "ability")
		for r := range rapid.IntRange(1, 5).Draw(t, "runs") {
			run := Run{Started: start.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "hour")) * time.Hour), Cells: make([]Cell, n)}
			if r > 2 {
				run.Place = rapid.SampledFrom([]Place{Counted, Counted, Unfilled, Replaced}).Draw(t, "place")
			}
			for i := range run.Cells {
				x := rapid.IntRange(0, 20).Draw(t, "cell")
				switch x {
				case 20:
					run.Cells[i].State = Failed
				case 19:
					run.Cells[i].State = NotRun
				default:
					run.Cells[i] = Cell{State: Scored, Score: .25 * float64(max(0, min(3, (x+i)%4+ability-1)))}
				}
			}
			variant.Runs = append(variant.Runs, run)
		}
		b.Variants = append(b.Variants, variant)
	}
	return b
}

func anyRule(t *rapid.T) Rule {
	r := DefaultRule()
	r.Reference = "A"
	if rapid.Bool().Draw(t, "margin") {
		r.Margin = ptr(rapid.SampledFrom([]float64{.05, .2, .5}).Draw(t, "delta"))
	}
	r.Scope = rapid.SampledFrom([]Scope{Population, List}).Draw(t, "scope")
	r.Compare = rapid.SampledFrom([]Compare{AllPairs, WithReference}).Draw(t, "compare")
	return r
}

// verdict is what must not change, by the ids of the pair.
type verdict struct {
	mark    Mark
	winner  string
	codes   Codes
	numbers []float64
}

func verdicts(d *Data, v *Verdicts) map[string]verdict {
	out := map[string]verdict{}
	ids := d.Variants()
	for i := range v.Pairs {
		p := &v.Pairs[i]
		w := verdict{mark: p.Mark, codes: p.Codes}
		if p.Winner != Nobody {
			w.winner = ids[p.Winner]
		}
		sign := 1.0
		name := ids[p.A] + ids[p.B]
		if ids[p.A] > ids[p.B] {
			name, sign = ids[p.B]+ids[p.A], -1
		}
		for _, x := range []*float64{p.P, p.PAdj, p.PList, p.PListAdj, p.PTostAdj, p.PFlip, p.MDE} {
			w.numbers = append(w.numbers, orMinus(x))
		}
		if p.Difference != nil {
			w.numbers = append(w.numbers, sign**p.Difference)
		}
		if p.Noise != nil {
			w.numbers = append(w.numbers, p.Noise.V, p.Noise.DF)
		}
		out[name] = w
	}
	for i, r := range v.Ranks {
		if r != nil {
			out[ids[i]] = verdict{numbers: []float64{float64(r.Low), float64(r.High)}}
		}
	}
	return out
}

func orMinus(x *float64) float64 {
	if x == nil {
		return -1
	}
	return *x
}

func assertSame(t *rapid.T, want, got map[string]verdict) {
	assert.Len(t, got, len(want))
	for name, w := range want {
		g := got[name]
		assert.Equal(t, w.mark, g.mark, name)
		assert.Equal(t, w.winner, g.winner, name)
		assert.Equal(t, w.codes, g.codes, name)
		assert.Len(t, g.numbers, len(w.numbers), name)
		for i := range w.numbers {
			assert.InDelta(t, w.numbers[i], g.numbers[i], 1e-9*math.Max(1, math.Abs(w.numbers[i])), "%s %d", name, i)
		}
	}
}

func TestOrderChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, rule := anyBatch(t), anyRule(t)
		d := build(t, b)
		want := ruled(t, d, rule)
		assertNoNaN(t, want)
		assertNoNaN(t, Describe(d, rule, want))
		tasks := rapid.Permutation(indices(len(b.Tasks))).Draw(t, "tasks")
		other := Batch{Tasks: pickAll(b.Tasks, tasks)}
		for _, v := range rapid.Permutation(b.Variants).Draw(t, "variants") {
			moved := Variant{ID: v.ID}
			for _, run := range rapid.Permutation(v.Runs).Draw(t, "runs") {
				moved.Runs = append(moved.Runs, Run{Started: run.Started, Place: run.Place, Cells: pickAll(run.Cells, tasks)})
			}
			other.Variants = append(other.Variants, moved)
		}
		again := build(t, other)
		assertSame(t, verdicts(d, want), verdicts(again, ruled(t, again, rule)))
	})
}

func TestAddingAConstantChangesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, rule := anyBatch(t), anyRule(t)
		for v := range b.Variants { // in the second reading a failure is 0, which doesn't move along
			for r := range b.Variants[v].Runs {
				for i := range b.Variants[v].Runs[r].Cells {
					if c := &b.Variants[v].Runs[r].Cells[i]; c.State == Failed {
						c.State = NotRun
					}
				}
			}
		}
		d := build(t, b)
		want := verdicts(d, ruled(t, d, rule))
		by := rapid.SampledFrom([]float64{.24, .125, .1}).Draw(t, "constant")
		for v := range b.Variants {
			for r := range b.Variants[v].Runs {
				for i := range b.Variants[v].Runs[r].Cells {
					if c := &b.Variants[v].Runs[r].Cells[i]; c.State == Scored {
						c.Score += by
					}
				}
			}
		}
		d = build(t, b)
		assertSame(t, want, verdicts(d, ruled(t, d, rule)))
	})
}

// Any batch can be shuffled under any rule; every pair of measured variants is then equal.
func TestAnyBatchCanBeShuffled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, rule := build(t, anyBatch(t)), anyRule(t)
		c, err := Shuffle(d, rule, NewKey("any", "", ""), 3)
		require.NoError(t, err)
		m := len(d.variants)
		assert.Equal(t, m*(m-1)/2, c.Equal)
		assert.Zero(t, c.Different)
		assertNoNaN(t, c)
		again, err := Shuffle(d, rule, NewKey("any", "", ""), 3)
		require.NoError(t, err)
		assert.Equal(t, c, again)
	})
}

func TestHolmIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		adj := Holm(p)
		for i := range p {
			assert.GreaterOrEqual(t, adj[i], p[i])
			assert.LessOrEqual(t, adj[i], 1.0)
			for j := range p {
				if p[i] < p[j] {
					assert.LessOrEqual(t, adj[i], adj[j])
				}
			}
		}
	})
}

func TestGroupsAreTheMaximalCliques(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		apart := make([]bool, n*n)
		for i := range n {
			for j := range i {
				apart[i*n+j] = rapid.Bool().Draw(t, "apart")
				apart[j*n+i] = apart[i*n+j]
			}
		}
		var want [][]int
		together := func(set int) bool {
			for i := range n {
				for j := range i {
					if set>>i&1 == 1 && set>>j&1 == 1 && apart[i*n+j] {
						return false
					}
				}
			}
			return true
		}
		for set := 1; set < 1<<n; set++ {
			maximal := together(set)
			for i := range n {
				maximal = maximal && (set>>i&1 == 1 || !together(set|1<<i))
			}
			if maximal {
				var members []int
				for i := range n {
					if set>>i&1 == 1 {
						members = append(members, i)
					}
				}
				want = append(want, members)
			}
		}
		slices.SortFunc(want, slices.Compare[[]int])
		got, ok := Groups(n, func(i, j int) bool { return apart[i*n+j] })
		assert.True(t, ok)
		assert.Equal(t, want, got)
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func pickAll[T any](x []T, order []int) []T {
	out := make([]T, len(x))
	for i, j := range order {
		out[i] = x[j]
	}
	return out
}
