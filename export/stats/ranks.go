package stats

import (
	"cmp"
	"slices"
)

// ahead says which mark orders the ranks under a scope.
func (r Rule) ahead() Mark {
	if r.Scope == List {
		return Ahead
	}
	return Beats
}

// rank fills in F11 and F12 from the final marks. Variants without any valid
// outcome have neither rank nor letter, and the ranks are those among the others. Where
// every pair was refused there are no ranks: an interval of all places would be no finding.
func (v *Verdicts) rank(r *reading, rule Rule) {
	m := len(r.columns)
	var measured []int
	for i := range r.columns {
		if r.columns[i].k > 0 {
			measured = append(measured, i)
		}
	}
	better := make([][2]int, m) // of each variant: how many are better, how many are worse
	apart := make([]bool, m*m)
	tested := false
	for i := range v.Pairs {
		p := &v.Pairs[i]
		tested = tested || p.Compared && min(p.RepeatsA, p.RepeatsB) >= MinRepeats && p.Codes&Refusals == 0
		if !p.Compared || p.Mark != rule.ahead() {
			continue
		}
		loser := p.A + p.B - p.Winner
		better[loser][0]++
		better[p.Winner][1]++
		apart[p.A*m+p.B], apart[p.B*m+p.A] = true, true
	}
	if !tested || rule.Compare == ChosenPairs {
		return
	}
	v.Ranks = make([]*Rank, m)
	for _, i := range measured {
		v.Ranks[i] = &Rank{Low: 1 + better[i][0], High: len(measured) - better[i][1]}
		if v.Ranks[i].High == 1 {
			v.Best = i
		}
	}
	if rule.Compare == AllPairs {
		v.Letters = letters(r, measured, apart)
	}
}

// letters is F12: one letter a maximal clique of the graph of pairs that are not separated.
func letters(r *reading, measured []int, apart []bool) []string {
	m := len(r.columns)
	order := slices.Clone(measured)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.columns[b].ybar, r.columns[a].ybar), cmp.Compare(r.columns[a].id, r.columns[b].id))
	})
	cliques, ok := Groups(len(order), func(i, j int) bool { return apart[order[i]*m+order[j]] })
	if !ok {
		return nil
	}
	out := make([]string, m)
	for c, clique := range cliques {
		for _, place := range clique {
			out[order[place]] += letter(c)
		}
	}
	return out
}

// maxGroups is as far as one or two letters reach.
const maxGroups = 26 + 26*26

// Groups is F12: the maximal sets of n items (by place, best first) no two of
// which are separated, in lexicographic order. ok is false above 702 groups.
func Groups(n int, separated func(i, j int) bool) (groups [][]int, ok bool) {
	var grow func(clique, candidates, done []int) bool
	grow = func(clique, candidates, done []int) bool {
		if len(candidates) == 0 && len(done) == 0 {
			groups = append(groups, slices.Sorted(slices.Values(clique)))
			return len(groups) <= maxGroups
		}
		pivot := pick(candidates, done, separated)
		for _, c := range slices.Clone(candidates) {
			if c != pivot && !separated(c, pivot) {
				continue
			}
			join := func(x int) bool { return x == c || separated(x, c) }
			if !grow(append(slices.Clone(clique), c), slices.DeleteFunc(slices.Clone(candidates), join), slices.DeleteFunc(slices.Clone(done), join)) {
				return false
			}
			candidates = slices.DeleteFunc(candidates, func(x int) bool { return x == c })
			done = append(done, c)
		}
		return true
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if n == 0 {
		return nil, true
	}
	if !grow(nil, all, nil) {
		return nil, false
	}
	slices.SortFunc(groups, slices.Compare[[]int])
	return groups, true
}

// pick is the item with the most unseparated candidates (Bron and Kerbosch's pivot).
func pick(candidates, done []int, separated func(i, j int) bool) int {
	best, most := -1, -1
	for _, list := range [][]int{candidates, done} {
		for _, p := range list {
			n := 0
			for _, c := range candidates {
				if c != p && !separated(c, p) {
					n++
				}
			}
			if n > most {
				best, most = p, n
			}
		}
	}
	return best
}

// letter is a..z, aa, ab, …
func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return letter(i/26-1) + string(rune('a'+i%26))
}
