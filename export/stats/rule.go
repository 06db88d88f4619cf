package stats

import (
	"errors"
	"fmt"
	"math"
)

// Scope says what a claim is about.
type Scope uint8

// Population claims cover tasks like these; List claims exactly these tasks.
const (
	Population Scope = iota
	List
)

// Rule is the decision rule of section 3, frozen before the run.
type Rule struct {
	Alpha     float64  // one-sided level of the first look, in (0, 0.5); pairs are tested two-sided at twice that
	Margin    *float64 // smallest difference that matters, in (0,1); nil = not declared
	Reference string   // variant id; "" = none, and no non-inferiority
	Compare   Compare
	Scope     Scope
	Look      int      // 1 = the first batch of this question, 2 = the second, …
	Pairs     [][2]int // of ChosenPairs
}

// Compare says which pairs are compared.
type Compare uint8

// All pairs, every variant with the reference only, or the pairs listed in Pairs
// (two dated batches of the same variants as one Data: each new with its old).
const (
	AllPairs Compare = iota
	WithReference
	ChosenPairs // no ranks, no letters
)

// DefaultRule is a rule at alpha .025 (one-sided), first look, no margin, all pairs.
func DefaultRule() Rule { return Rule{Alpha: 0.025, Look: 1} }

// AlphaAtLook is alpha_L of step 5b: alpha at the first look, alpha/2^(2L-1)
// later, so that any number of looks costs at most 1.17 alpha.
func (r Rule) AlphaAtLook() float64 { return alphaAt(r.Alpha, r.Look) }

func alphaAt(alpha float64, look int) float64 {
	if look <= 1 {
		return alpha
	}
	return math.Ldexp(alpha, 1-2*look)
}

// level is alpha_2, the two-sided level of a family of pairs.
func (r Rule) level() float64 { return 2 * r.AlphaAtLook() }

// nextLevel is a pair's two-sided level in the look in which a repair would be read.
func (r Rule) nextLevel(places int) float64 {
	return 2 * alphaAt(r.Alpha, r.Look+1) / float64(max(1, places))
}

func (r Rule) check(d *Data) (reference int, err error) {
	if !(r.Alpha > 0 && r.Alpha < 0.5) {
		return -1, fmt.Errorf("alpha %v: must lie in (0, 0.5)", r.Alpha)
	}
	if r.Margin != nil && !(*r.Margin > 0 && *r.Margin < 1) {
		return -1, fmt.Errorf("margin %v: must lie in (0, 1), the range of a difference of scores", *r.Margin)
	}
	if r.Look < 1 || r.Look > 100 {
		return -1, fmt.Errorf("look %d: must be 1 for the first batch of a question, and at most 100", r.Look)
	}
	if r.Scope > List || r.Compare > ChosenPairs {
		return -1, errors.New("scope or compare: not one of the constants")
	}
	reference = -1
	for v := range d.variants {
		if d.variants[v].id == r.Reference {
			reference = v
		}
	}
	if r.Reference != "" && reference < 0 {
		return -1, fmt.Errorf("reference %q: not a variant of this batch", r.Reference)
	}
	if (len(r.Pairs) > 0) != (r.Compare == ChosenPairs) {
		return -1, errors.New("pairs: to be listed for ChosenPairs, and only then")
	}
	for i, p := range r.Pairs {
		if n := len(d.variants); p[0] == p[1] || min(p[0], p[1]) < 0 || max(p[0], p[1]) >= n {
			return -1, fmt.Errorf("pair %d: %v: must be two of the %d variants", i+1, p, n)
		}
	}
	if r.Compare == WithReference && reference < 0 {
		return -1, errors.New("compare: reference: names no reference")
	}
	return reference, nil
}
