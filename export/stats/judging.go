package stats

import (
	"math"
	"slices"
)

// Judging is F19 over the judges' votes on the scored cells of counted runs.
type Judging struct {
	Alpha    Agreement // Krippendorff, interval scale; 0 units = no cell has two votes
	Interval *Interval // 95 % over tasks (F15); nil = undefined
	Judges   []JudgeSummary
	Pairs    []JudgePair // judges that voted on common cells
	Fleiss   *Agreement  // of 3 judges or more on passing, over cells on which all voted; nil = fewer, no such cell, or no pass threshold
	Lost     []int       // by variant: the judge on which it loses most, i.e. whose votes for it are lowest on average; Nobody = no vote
}

// JudgeSummary is one judge's votes.
type JudgeSummary struct {
	Judge int
	Votes int
	Means []*float64 // by variant; nil = no vote
	Gaps  []*float64 // by variant: what it gives less what the other judges give the same cells, on average; nil = no other
	Worst int        // the variant it gives least, relative to what the other judges give it; Nobody where there is no other
}

// JudgePair is the agreement of two judges. Kappa is on passing votes, nil
// without a pass threshold.
type JudgePair struct {
	A, B  int
	Units int
	Gap   float64 // mean vote of A - mean vote of B, same cells
	Kappa *Agreement
}

// judging is nil where there is no vote; the interval is drawn with w.
func (d *Data) judging(w *drawing) *Judging {
	if len(d.judges) == 0 {
		return nil
	}
	var units [][]float64
	n, s1, s2, apart := d.zeros(), d.zeros(), d.zeros(), d.zeros()
	d.eachVoted(func(_, t int, votes []float64) {
		var given []float64
		for _, v := range votes {
			if !math.IsNaN(v) {
				given = append(given, v)
			}
		}
		if len(given) < 2 {
			return
		}
		units = append(units, given)
		distance, _ := within(given, IntervalScale)
		apart[t] += distance / float64(len(given)-1)
		for _, v := range given {
			n[t]++
			s1[t] += v
			s2[t] += float64(v * v)
		}
	})
	j := &Judging{Judges: d.judgeSummaries()}
	if !j.lost(len(d.variants)) {
		return nil
	}
	a, ok := Krippendorff(units, IntervalScale)
	if !ok {
		return j
	}
	j.Alpha, j.Pairs, j.Fleiss = a, d.judgePairs(), d.fleiss()
	if a.Value == nil {
		return j
	}
	w.add(func(sums [][]float64, at []int) { j.resampled(sums, at) }, n, s1, s2, apart)
	return j
}

// lost finds the judge on which each variant loses most; false = there is no vote.
func (j *Judging) lost(variants int) bool {
	any := false
	j.Lost = make([]int, variants)
	for v := range j.Lost {
		j.Lost[v] = Nobody
		least := math.Inf(1)
		for n := range j.Judges {
			if m := j.Judges[n].Means[v]; m != nil && *m < least-nought {
				least, j.Lost[v] = *m, n
			}
		}
		any = any || j.Lost[v] != Nobody
	}
	return any
}

// resampled makes the interval from the draws' sums of votes, squares and distances.
func (j *Judging) resampled(sums [][]float64, at []int) {
	var draws []float64
	for _, s := range sums {
		n, s1, s2, apart := s[at[0]], s[at[1]], s[at[2]], s[at[3]]
		if expected := 2 * (s2 - s1*s1/n) / (n - 1); n > 1 && expected > nought {
			draws = append(draws, 1-apart/n/expected)
		}
	}
	if i, ok := Percentile(draws); ok && len(draws) > len(sums)*9/10 {
		j.Interval = &i
	}
}

func (d *Data) zeros() []float64 { return make([]float64, len(d.tasks)) }

// eachVoted calls f with the votes on every scored cell of the counted runs.
func (d *Data) eachVoted(f func(variant, task int, votes []float64)) {
	j := len(d.judges)
	for v := range d.variants {
		d.eachScored(v, func(t, cell int) { f(v, t, d.variants[v].votes[cell*j:(cell+1)*j]) })
	}
}

// judgeSummaries finds, for each judge, the variant it gives least compared with
// what other judges gave the same cells.
func (d *Data) judgeSummaries() []JudgeSummary {
	m := len(d.variants)
	out := make([]JudgeSummary, len(d.judges))
	sum, n := make([]float64, m*len(d.judges)), make([]int, m*len(d.judges))
	gap, both := make([]float64, m*len(d.judges)), make([]int, m*len(d.judges))
	d.eachVoted(func(v, _ int, votes []float64) {
		total, given := 0.0, 0
		for _, x := range votes {
			if !math.IsNaN(x) {
				total += x
				given++
			}
		}
		for j, x := range votes {
			if math.IsNaN(x) {
				continue
			}
			sum[j*m+v] += x
			n[j*m+v]++
			if given > 1 {
				gap[j*m+v] += x - (total-x)/float64(given-1)
				both[j*m+v]++
			}
		}
	})
	for j := range out {
		out[j] = JudgeSummary{Judge: j, Means: make([]*float64, m), Gaps: make([]*float64, m), Worst: Nobody}
		least := math.Inf(1)
		for v := range m {
			i := j*m + v
			out[j].Votes += n[i]
			if n[i] > 0 {
				out[j].Means[v] = ptr(sum[i] / float64(n[i]))
			}
			if both[i] == 0 {
				continue
			}
			out[j].Gaps[v] = ptr(gap[i] / float64(both[i]))
			if *out[j].Gaps[v] < least-nought {
				least, out[j].Worst = *out[j].Gaps[v], v
			}
		}
	}
	return out
}

func (d *Data) judgePairs() []JudgePair {
	var out []JudgePair
	for a := range d.judges {
		for b := a + 1; b < len(d.judges); b++ {
			p := JudgePair{A: a, B: b}
			var table [4]int // both pass, only a, only b, neither
			d.eachVoted(func(_, _ int, votes []float64) {
				if math.IsNaN(votes[a]) || math.IsNaN(votes[b]) {
					return
				}
				p.Units++
				p.Gap += votes[a] - votes[b]
				if d.threshold != nil {
					table[2*int(1-d.passing(votes[a]))+int(1-d.passing(votes[b]))]++
				}
			})
			if p.Units == 0 {
				continue
			}
			p.Gap /= float64(p.Units)
			if d.threshold != nil {
				if k, ok := Cohen(table[0], table[1], table[2], table[3]); ok {
					p.Kappa = &k
				}
			}
			out = append(out, p)
		}
	}
	return out
}

// fleiss is nil where two judges are all there are: Cohen's kappa says the same.
func (d *Data) fleiss() *Agreement {
	if len(d.judges) < 3 || d.threshold == nil {
		return nil
	}
	var units [][2]int
	d.eachVoted(func(_, _ int, votes []float64) {
		if slices.ContainsFunc(votes, math.IsNaN) {
			return
		}
		passes := 0
		for _, v := range votes {
			passes += int(d.passing(v))
		}
		units = append(units, [2]int{passes, len(votes) - passes})
	})
	a, ok := Fleiss(units)
	if !ok {
		return nil
	}
	return &a
}

func (d *Data) passing(vote float64) float64 { return indicator(vote >= *d.threshold-guard) }
