package stats

import (
	"math"
	"slices"
)

// JudgeBias is F20 for one judge whose model is of a variant's own family.
type JudgeBias struct {
	Judge    int
	Family   string
	Bias     *Mean    // how much more it gives its own family than outside judges do, against what it gives others; nil = not computable
	PFlip    *float64 // F13 over tasks (or families); nil where Bias is
	Recount  bool     // the verdicts could be computed without the judge
	Turned   int      // pairs whose verdict changes without it
	Why      string   // what was not computable; "" = nothing
	Variants []int    // of its family
}

// ownJudges applies F20 to every judge that shares a family with a variant, and
// flips the pairs whose verdict hangs on it. A pair is looked at where one of its
// variants is of the judge's family; both sides are judged without it.
func ownJudges(parts []*Data, rule Rule, reference int, first [][]contest, out []*Verdicts) {
	for j := range parts[0].judges {
		own := parts[0].ownVariants(j)
		if len(own) == 0 {
			continue
		}
		found := make([]JudgeBias, len(parts))
		var rest []*reading
		for i, d := range parts {
			found[i] = JudgeBias{Judge: j, Family: d.judges[j].Family, Variants: own}
			d.bias(&found[i])
			without, why := d.without(j)
			if without == nil {
				found[i].Why = why
				without = d
			} else {
				found[i].Recount = true
			}
			rest = append(rest, without.read(false))
		}
		again := judge(rule, reference, rest...)
		for i := range parts {
			found[i].turn(first[i], again[i], out[i].Pairs)
			out[i].Judges = append(out[i].Judges, found[i])
		}
	}
}

// ownVariants lists the variants of the judge's family.
func (d *Data) ownVariants(judge int) []int {
	var own []int
	for v := range d.variants {
		if f := d.judges[judge].Family; f != "" && d.variants[v].family == f {
			own = append(own, v)
		}
	}
	return own
}

// turn flips the pairs of the judge's family whose verdict changes without it.
func (b *JudgeBias) turn(with, without []contest, pairs []Pair) {
	for i := range with {
		x, y := &with[i], &without[i]
		concerned := slices.Contains(b.Variants, x.a) || slices.Contains(b.Variants, x.b)
		if concerned && (x.mark != y.mark || x.winner != y.winner) {
			pairs[i].flip(JudgeDependent)
			b.Turned++
		}
	}
}

// bias is F20's difference of differences: it removes a judge's plain severity.
func (d *Data) bias(out *JudgeBias) {
	if len(out.Variants) == len(d.variants) {
		out.Why = "no variant of another family"
		return
	}
	var x []float64
	var family []int
	for t := range d.tasks {
		var in, outside []float64
		for v := range d.variants {
			if e, ok := d.excess(v, t, out.Judge); ok {
				if slices.Contains(out.Variants, v) {
					in = append(in, e)
				} else {
					outside = append(outside, e)
				}
			}
		}
		if len(in) > 0 && len(outside) > 0 {
			x, family = append(x, average(in)-average(outside)), append(family, d.unit[t])
		}
	}
	m, ok := MeanOf(x, family, -2, 2)
	if !ok {
		out.Why = "no task judged by it and by a judge of another family, for variants of both sides"
		return
	}
	p := flipByUnit(x, family, d.key("judge/"+d.judges[out.Judge].ID))
	out.Bias, out.PFlip = &m, &p
}

// excess is e_vt: the judge's score less the mean of the judges outside its
// family, for the same outputs, over the variant's counted runs.
func (d *Data) excess(v, t, judge int) (e float64, ok bool) {
	col, k, n := &d.variants[v], len(d.variants[v].runs), 0
	for r := range k {
		if col.runs[r].place != Counted || col.state[t*k+r] != Scored {
			continue
		}
		votes := col.votes[(t*k+r)*len(d.judges) : (t*k+r+1)*len(d.judges)]
		sum, others := 0.0, 0
		for j, vote := range votes {
			if !math.IsNaN(vote) && d.judges[j].Family != d.judges[judge].Family {
				sum += vote
				others++
			}
		}
		if others > 0 && !math.IsNaN(votes[judge]) {
			e += votes[judge] - sum/float64(others)
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return e / float64(n), true
}

// flipByUnit is F13 over tasks, or over families where 1 < G < N.
func flipByUnit(x []float64, family []int, key Key) float64 {
	sums, place := []float64(nil), map[int]int{}
	for i, f := range family {
		p, known := place[f]
		if !known {
			p = len(sums)
			place[f] = p
			sums = append(sums, 0)
		}
		sums[p] += x[i]
	}
	if len(sums) < 2 || len(sums) == len(x) {
		sums = x
	}
	if p, ok := SignFlip(sums); ok {
		return p
	}
	return SignFlipDrawn(sums, Draws, key)
}

// without is the data as if the judge had not been there: every score that it
// shared is the mean of the other judges. It needs scores that are such means.
func (d *Data) without(judge int) (rest *Data, why string) {
	out := *d
	out.variants = make([]variant, len(d.variants))
	changed := false
	for v := range d.variants {
		col := d.variants[v]
		col.y = append([]float64(nil), col.y...)
		col.state = append([]State(nil), col.state...)
		for i, s := range col.state {
			votes := col.votes[i*len(d.judges) : (i+1)*len(d.judges)]
			if s != Scored || math.IsNaN(votes[judge]) {
				continue
			}
			all, others, n := 0.0, 0.0, 0
			for j, vote := range votes {
				if math.IsNaN(vote) {
					continue
				}
				n++
				all += vote
				if j != judge {
					others += vote
				}
			}
			if !d.follows(&col, i, all/float64(n)) {
				return nil, "scores are not the means of their judges' votes"
			}
			changed = true
			if n == 1 {
				col.state[i], col.y[i] = NotRun, 0
				continue
			}
			col.y[i] = d.value(others / float64(n-1))
		}
		out.variants[v] = col
	}
	if !changed {
		return nil, "it gave no vote"
	}
	return &out, ""
}

// follows says whether a cell's value follows from the mean of its votes.
func (d *Data) follows(v *variant, i int, mean float64) bool {
	if math.Abs(v.score[i]-mean) > guard {
		return false
	}
	return d.metric == Score || d.threshold != nil && v.y[i] == d.value(mean)
}

// value is the metric's value of a score.
func (d *Data) value(score float64) float64 {
	if d.metric == Score {
		return score
	}
	return indicator(d.threshold != nil && score >= *d.threshold-guard)
}
