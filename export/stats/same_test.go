package stats

import (
	"encoding/hex"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onCores runs f with a number of cores.
func onCores[T any](n int, f func() T) T {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	return f()
}

func TestSameOnAnyNumberOfCores(t *testing.T) {
	s := Scenario{Variants: 30, Tasks: 60, Families: 20, Repeats: []int{3, 5}, Spread: 2, Interaction: 1, Shock: .3, Missing: .02}
	d := s.draw(rand.New(NewKey("batch", "pass", "cores").stream(0)))
	for i := range d.tasks {
		d.tasks[i] = Task{ID: string(rune('a' + i)), Family: string(rune('A' + d.unit[i]))}
	}
	for v := range d.variants {
		c := &d.variants[v]
		c.id = string(rune('A' + v))
		c.pass, c.score, c.cost, c.wall = make([]bool, len(c.y)), c.y, make([]float64, len(c.y)), make([]float64, len(c.y))
		for i := range c.cost {
			c.cost[i], c.wall[i], c.pass[i] = .1+.01*float64(i%7), 3, c.y[i] == 1
		}
	}
	type all struct {
		v *Verdicts
		x *Description
		c Rates
		s [][]float64
	}
	rule := DefaultRule()
	rule.Margin = ptr(.1)
	run := func() all {
		v := ruled(t, d, rule)
		c, err := Simulate(Scenario{Variants: 3, Tasks: 20, Repeats: []int{3}, Shock: .3}, rule, NewKey("b", "m", "sim"), 60)
		require.NoError(t, err)
		return all{v, Describe(d, rule, v), c, NewResample(60, d.unit, 1200, NewKey("b", "m", "p")).Sums(d.read(false).columns[0].mean)}
	}
	one := onCores(1, run)
	for _, n := range []int{2, 5} {
		assert.Equal(t, one, onCores(n, run))
	}
}

// The streams are part of the method: these values must never change.
func TestStreamsStayTheSame(t *testing.T) {
	key := NewKey("batch", "score", "purpose")
	assert.Equal(t, "d55d39428b58489f", hex.EncodeToString(key[:8]))
	source := index{chacha: key.stream(1)}
	var got []int
	for range 8 {
		got = append(got, source.below(1000))
	}
	assert.Equal(t, []int{803, 438, 254, 425, 651, 6, 202, 467}, got)
	filled := make([]int32, 8)
	(&index{chacha: key.stream(1)}).fill(filled, 1000)
	assert.Equal(t, []int32{803, 438, 254, 425, 651, 6, 202, 467}, filled)
	x := []float64{.1, .5, .9, 0, 1, .3, .3}
	assert.InDeltaSlice(t, []float64{2.8, 1.8}, []float64{
		NewResample(7, nil, 1000, key).Sums(x)[999][0], NewResample(7, []int{0, 0, 1, 1, 1, 2, 2}, 1000, key).Sums(x)[999][0]}, 1e-12)
	assert.Equal(t, .384, SignFlipDrawn([]float64{.1, -.2, .3, .4}, 999, key))
	g := rand.New(key.stream(0))
	assert.InDeltaSlice(t, []float64{0.5602733278814961, -0.3053378896620744, 0.6542882425780895, 1.5217055621708238},
		[]float64{g.Float64(), g.NormFloat64(), gammaVariate(g, .7), gammaVariate(g, 3)}, 1e-12)
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for _, k := range []Key{NewKey("a", "b", "c"), NewKey("a", "b", "d"), NewKey("a", "c", "c"), NewKey("b", "b", "c")} {
		for block := range 5 {
			v := k.stream(block).Uint64()
			assert.False(t, seen[v])
			seen[v] = true
		}
	}
}
