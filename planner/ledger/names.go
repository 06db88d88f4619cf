package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// NameWidth is how many characters of a run's name MLflow's tables show.
const NameWidth = 22

// Names gives the evaluations of a batch names that tables show whole. They are for
// people: nothing is ever found by one.
type Names struct {
	agents, models map[string]string // by id; nil = left out: there is one, and no room
}

// NamesOf makes names for variants whose repeats are numbered up to repeats. Ids stand
// as they are where all fit. Else what all ids have in common goes first, then the
// middle of what is left. Different variants keep different names.
func NamesOf(variants []batch.Variant, repeats int) Names {
	var agents, models []string
	for _, v := range variants {
		if !slices.Contains(agents, v.Agent) {
			agents = append(agents, v.Agent)
		}
		if !slices.Contains(models, v.Model) {
			models = append(models, v.Model)
		}
	}
	room := NameWidth - utf8.RuneCountInString(numbered(repeats))
	a, m := longest(agents), longest(models)
	switch {
	case a+1+m <= room:
		return Names{shorten(agents, a), shorten(models, m)}
	case len(agents) == 1 && len(models) > 1:
		return Names{models: shorten(models, room)}
	case len(models) == 1 && len(agents) > 1:
		return Names{agents: shorten(agents, room)}
	}
	// Of all ways to divide the room the one that cuts fewest, the most even one first.
	var best Names
	least := -1
	for off := range room - 2*shortest {
		width := (room-1)/2 + (off+1)/2*(1-off%2*2)
		n := Names{models: shorten(models, room-1-width)}
		n.agents = shorten(agents, room-1-longest(slices.Collect(maps.Values(n.models))))
		if cut := changed(n.agents)*len(models) + changed(n.models)*len(agents); least < 0 || cut < least {
			best, least = n, cut
		}
	}
	return best
}

// shortest is how many characters an id keeps at least where both ids are cut.
const shortest = 4

func changed(names map[string]string) int {
	n := 0
	for id, name := range names {
		if id != name {
			n++
		}
	}
	return n
}

// Of is the name of a repeat: agent, model and number.
func (n Names) Of(v batch.Variant, slot int) string {
	parts := slices.DeleteFunc([]string{n.agents[v.Agent], n.models[v.Model]}, func(p string) bool { return p == "" })
	return strings.Join(parts, "+") + numbered(slot)
}

func numbered(slot int) string { return fmt.Sprintf(" · r%d", slot) }

func longest(ids []string) int {
	n := 0
	for _, id := range ids {
		n = max(n, utf8.RuneCountInString(id))
	}
	return n
}

// shorten gives each id n characters at most, and no two the same.
func shorten(ids []string, n int) map[string]string {
	for _, from := range [][]string{ids, withoutCommon(ids)} {
		if longest(from) <= n {
			return named(ids, from)
		}
	}
	for head := n / 2; head >= 0; head-- { // an even cut first, the end alone last
		for _, from := range [][]string{withoutCommon(ids), ids} {
			cut := make([]string, len(from))
			for i, id := range from {
				cut[i] = id
				if r := []rune(id); len(r) > n {
					cut[i] = string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
				}
			}
			if len(named(cut, cut)) == len(ids) {
				return named(ids, cut)
			}
		}
	}
	cut := make([]string, len(ids))
	for i, id := range ids {
		number := fmt.Sprintf("…%d", i+1)
		r := []rune(id)
		cut[i] = string(r[:max(0, min(len(r), n-utf8.RuneCountInString(number)))]) + number
	}
	return named(ids, cut)
}

func named(ids, names []string) map[string]string {
	out := map[string]string{}
	for i, id := range ids {
		out[id] = names[i]
	}
	return out
}

// withoutCommon puts … for the words with which all ids begin, and for those with which all end.
func withoutCommon(ids []string) []string {
	if len(ids) < 2 {
		return ids
	}
	const between = "-._/ "
	begin, end := ids[0], ids[0]
	for _, id := range ids {
		for !strings.HasPrefix(id, begin) {
			begin = begin[:len(begin)-1]
		}
		for !strings.HasSuffix(id, end) {
			end = end[1:]
		}
	}
	begin = begin[:strings.LastIndexAny(begin, between)+1]
	if at := strings.IndexAny(end, between); at >= 0 {
		end = end[at:]
	} else {
		end = ""
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		rest := id[len(begin):]
		out[i] = rest
		if begin != "" {
			out[i] = "…" + rest
		}
		if end != "" && len(end) < len(rest) {
			out[i] = strings.TrimSuffix(out[i], end) + "…"
		}
	}
	return out
}
