package stats

import (
	"fmt"
	"math"
)

// Measured is one task's mean in one batch, with its rerun variance and runs.
type Measured struct {
	Mean float64
	S2   float64 // over runs; 0 below 2 runs
	Runs int
}

// Anchor is a task with the same content, judge version and pass rule in both
// batches: the reference run in both, the old variant in the first, the new in the second.
type Anchor struct {
	Task           string
	RefOld, RefNew Measured
	Old, New       Measured
}

// Link says how two dated batches may be compared (F26).
type Link uint8

// From not at all to directly.
const (
	NotComparable   Link = iota // too few anchors, or families without one
	DriftUnresolved             // drift can't be excluded: the difference of differences with its interval, the raw difference withheld
	Drift                       // the reference moved: the difference of differences only
	Linked                      // the reference stayed within the margin
)

var linkNames = [...]string{"not comparable", "drift unresolved", "drift", "linked"}

// String is its name.
func (l Link) String() string { return linkNames[l] }

// Bridge is F26 over two batches.
type Bridge struct {
	Link       Link
	Why        string    // of NotComparable
	Drift      *Mean     // of the reference, second batch - first
	PLink      *float64  // TOST of |drift| < margin
	Difference *Mean     // of differences: (new - old) - drift; nil = not comparable
	P          *float64  // two-sided, of no difference of differences; nil = not comparable
	Raw        *float64  // new - old; nil unless Linked
	Anchors    []float64 // by anchor: p of its own drift, Holm-adjusted; 1 = no spread to test against
}

// BridgeOf is F26. panel is the number of tasks of the larger panel, families
// whether the anchors cover all of them; margin is delta_a and alpha its one-sided
// level. Anchors are never dropped after they were seen.
func BridgeOf(anchors []Anchor, panel int, families bool, margin, alpha float64) Bridge {
	if least := max(10, (panel+4)/5); len(anchors) < least {
		return Bridge{Why: fmt.Sprintf("%d anchors: at least %d of %d tasks are needed", len(anchors), least, panel)}
	}
	if !families {
		return Bridge{Why: "the anchors do not cover all families"}
	}
	drift, did, raw := make([]float64, len(anchors)), make([]float64, len(anchors)), make([]float64, len(anchors))
	for i, a := range anchors {
		drift[i] = a.RefNew.Mean - a.RefOld.Mean
		raw[i] = a.New.Mean - a.Old.Mean
		did[i] = raw[i] - drift[i]
	}
	z, _ := MeanOf(drift, nil, -1, 1)
	e, _ := MeanOf(did, nil, -2, 2)
	z.spread(1)
	e.spread(2)
	b := Bridge{Link: DriftUnresolved, Drift: &z, Difference: &e, Anchors: anchorDrifts(anchors)}
	b.PLink, b.P = ptr(linkP(drift, z, margin)), ptr(changeP(did, e))
	switch {
	case Significant(*b.PLink, alpha):
		b.Link, b.Raw = Linked, ptr(average(raw))
	case *z.SE > 0 && Significant(studentTwoSided(z.Value / *z.SE, z.DF), 2*alpha), *z.SE == 0 && z.Value != 0:
		b.Link = Drift
	}
	return b
}

// linkP is the TOST p of |drift| < margin, with F14 where few anchors moved.
func linkP(drift []float64, z Mean, margin float64) float64 {
	p := pairing{units: len(drift)}
	for _, d := range drift {
		if math.Abs(d) >= nought {
			p.nonzero++
		}
	}
	t := test{v: math.Max(*z.SE**z.SE, nought*nought), df: z.DF}
	return p.boundP(t, margin-math.Abs(z.Value))
}

// spread widens an interval of anchors that all agree to F14's limits: no spread at
// all is no knowledge. scale is half the range of the values.
func (m *Mean) spread(scale float64) {
	if *m.SE < nought {
		i := around(m.Value, scale*fewHalfWidth(0.025, m.Tasks)).clip(-scale, scale)
		m.Interval = &i
	}
}

// changeP tests a mean difference of anchors by t, and where few of them differ by
// sign flips too, as step 3 does for pairs. Without any spread the flips decide.
func changeP(d []float64, m Mean) float64 {
	different := 0
	for _, v := range d {
		if math.Abs(v) >= nought {
			different++
		}
	}
	p := 0.0
	if *m.SE >= nought {
		p = studentTwoSided(m.Value / *m.SE, m.DF)
	}
	if flip, ok := SignFlip(d); ok && (len(d) < 30 || different < 12) {
		p = math.Max(p, flip)
	}
	return p
}

// anchorDrifts tests each anchor's own drift by Welch's t on its runs.
func anchorDrifts(anchors []Anchor) []float64 {
	p := make([]float64, len(anchors))
	for i, a := range anchors {
		p[i] = 1
		if w, ok := welch(a.RefNew, a.RefOld); ok {
			p[i] = w.P
		}
	}
	return Holm(p)
}

// Chain adds the differences of several bridges in a row; their variances add up
// (F26). ok is false where a bridge gives none.
func Chain(bridges []Bridge) (difference, se float64, ok bool) {
	v := 0.0
	for _, b := range bridges {
		if b.Difference == nil || b.Difference.SE == nil {
			return 0, 0, false
		}
		difference += b.Difference.Value
		v += float64(*b.Difference.SE * *b.Difference.SE)
	}
	return difference, math.Sqrt(v), len(bridges) > 0
}
