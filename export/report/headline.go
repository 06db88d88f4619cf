package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
)

// Headline is the verdict on the batch as one fixed sentence for each end state.
// Foreign text in it goes through shown.
func Headline(s *export.Summary, shown func(string) string) string {
	h := heading{s: s, v: s.Verdict, shown: shown}
	switch {
	case s.Verdict == nil:
		return "Nothing is decided: the evidence was not read."
	case !s.Verdict.Decided():
		return "Nothing is decided: " + shown(s.Verdict.Refused) + "."
	case s.Verdict.Slice:
		return "Nothing is decided: this is a calibration."
	}
	return h.sentence()
}

type heading struct {
	s     *export.Summary
	v     *export.Verdict
	shown func(string) string
}

func (h *heading) name(variant int) string {
	return h.shown(h.s.Variants[variant].Cell.Variant.String())
}

// measured are the variants with a valid outcome.
func (h *heading) measured() []int {
	var out []int
	for i := range h.v.Description.Variants {
		if h.v.Description.Variants[i].Repeats > 0 {
			out = append(out, i)
		}
	}
	return out
}

func (h *heading) sentence() string {
	measured := h.measured()
	switch len(measured) {
	case 0:
		return "Nothing can be told: no variant has a score."
	case 1:
		return fmt.Sprintf("Nothing to compare: only %s has a score.", h.name(measured[0]))
	}
	compared := h.compared()
	switch refused := refusal(compared); {
	case len(compared) == 0:
		return "Nothing can be told: the reference has no score."
	case refused != "":
		return "Nothing can be told: " + refused + "."
	case h.v.Chosen() != stats.Nobody:
		return h.best(measured)
	case h.v.Best != stats.Nobody:
		return fmt.Sprintf("No winner: %s is first, but not without %s.", h.name(h.v.Best), h.unstable())
	}
	return h.undecided(measured, compared)
}

// undecided is the sentence where no variant is best, and in which readings it is another one.
func (h *heading) undecided(measured []int, compared []*stats.Pair) string {
	said := h.plain(measured, compared)
	same := func(s string) string { return s }
	first := heading{s: h.s, v: h.v, shown: same}
	frozen := first.plain(measured, compared)
	var names []string
	for i := range h.v.Readings {
		r := &h.v.Readings[i]
		v := *h.v
		v.Verdicts = r.Verdicts
		other := heading{s: h.s, v: &v, shown: same}
		if pairs := other.compared(); len(pairs) == 0 || other.plain(measured, pairs) != frozen {
			names = append(names, string(without(r.Name)))
		}
	}
	if len(names) == 0 || !slices.ContainsFunc(compared, func(p *stats.Pair) bool { return p.Mark != stats.CannotTell }) {
		return said
	}
	return strings.TrimSuffix(said, ".") + "; not so without " + strings.Join(names, ", nor without ") + "."
}

func (h *heading) plain(measured []int, compared []*stats.Pair) string {
	switch {
	case len(measured) == 2:
		return h.two(compared[0])
	case h.v.Rule.Compare == stats.WithReference:
		return h.byReference(compared)
	}
	return h.groups(measured, compared)
}

func (h *heading) compared() []*stats.Pair {
	var out []*stats.Pair
	for i := range h.v.Pairs {
		if h.v.Pairs[i].Compared {
			out = append(out, &h.v.Pairs[i])
		}
	}
	return out
}

// refusal is why all pairs are refused; "" where one is not.
func refusal(pairs []*stats.Pair) string {
	all := stats.Refusals
	for _, p := range pairs {
		if p.Codes&stats.Refusals == 0 {
			return ""
		}
		all &= p.Codes
	}
	switch {
	case all.Has(stats.NoRepeats):
		return "fewer than 3 repeats"
	case all.Has(stats.TooFewTasks):
		return "fewer than 10 common tasks"
	case all.Has(stats.MeasuredApart):
		return "the variants were measured apart"
	}
	return "every pair has too few repeats, too few tasks or was measured apart"
}

// unstable names the readings in which the best variant is not.
func (h *heading) unstable() string {
	var names []string
	for i := range h.v.Readings {
		if r := &h.v.Readings[i]; r.Best != h.v.Best {
			names = append(names, string(without(r.Name)))
		}
	}
	return strings.Join(names, ", nor without ")
}

func (h *heading) best(measured []int) string {
	does := "it beats every other variant"
	if h.v.Rule.Scope == stats.List {
		does = "it is ahead of every other variant on this list"
	}
	what := "best"
	if h.v.Rule.Scope == stats.List {
		what = "best on this list"
	}
	if all := len(h.s.Variants); len(measured) < all {
		what += fmt.Sprintf(" of the %s measured (%d planned)", words(len(measured)), all)
	}
	return fmt.Sprintf("%s may be called %s: %s%s.", h.name(h.v.Chosen()), what, does, h.extent())
}

// extent is what the claims have to add.
func (h *heading) extent() string {
	for i := range h.v.Pairs {
		if p := &h.v.Pairs[i]; p.Winner == h.v.Chosen() && p.Winner != stats.Nobody && p.Extent() != "" {
			return " (" + p.Extent() + ")"
		}
	}
	return ""
}

// two is the verdict on the only pair.
func (h *heading) two(p *stats.Pair) string {
	a, b := h.name(p.A), h.name(p.B)
	switch p.Mark {
	case stats.Beats, stats.Ahead:
		return sentence(h.s, p, h.shown) + ", but is not called best."
	case stats.Equal:
		return fmt.Sprintf("No winner: %s and %s are equal within the margin of %s.", a, b, short(*h.v.Rule.Margin))
	case stats.Tied:
		return fmt.Sprintf("No winner: %s and %s are tied (within noise).", a, b)
	}
	return fmt.Sprintf("Cannot tell %s from %s: %s.", a, b, p.Codes.Words())
}

func (h *heading) byReference(pairs []*stats.Pair) string {
	var better, worse int
	for _, p := range pairs {
		switch p.Winner {
		case stats.Nobody:
		case p.A:
			better++
		default:
			worse++
		}
	}
	n, reference := len(pairs), h.name(pairs[0].B)
	if better+worse == 0 {
		return fmt.Sprintf("No winner: of %s none is shown to be better or worse than the reference %s.", count(n, "candidate"), reference)
	}
	rest := ""
	if n > better+worse {
		rest = ", " + isAre(n-better-worse) + " not separated from it"
	}
	return fmt.Sprintf("Of %s %s better than the reference %s, %s worse%s.", count(n, "candidate"), isAre(better), reference, isAre(worse), rest)
}

// mostNames is how many variants a sentence names.
const mostNames = 3

// groups is the end state of a batch without a best variant.
func (h *heading) groups(measured []int, pairs []*stats.Pair) string {
	marks := map[stats.Mark]int{}
	for _, p := range pairs {
		marks[p.Mark]++
	}
	n := len(pairs)
	switch {
	case marks[stats.Equal] == n:
		return fmt.Sprintf("No winner: all %s variants are equal within the margin of %s.", words(len(measured)), short(*h.v.Rule.Margin))
	case marks[stats.Tied] == n:
		return fmt.Sprintf("No winner: all %s variants are tied (within noise).", words(len(measured)))
	case marks[stats.CannotTell] == n:
		return fmt.Sprintf("No winner: no two of %s variants can be told apart.", words(len(measured)))
	}
	var first []string
	for _, i := range measured {
		if h.v.Ranks != nil && h.v.Ranks[i].Low == 1 {
			first = append(first, h.name(i))
		}
	}
	switch len(first) {
	case len(measured):
		return fmt.Sprintf("No winner: all %s variants share the first group.", words(len(measured)))
	case 1:
		return fmt.Sprintf("No winner: %s is alone in the first group, but not shown to be better than every other variant.", first[0])
	}
	who := ""
	if len(first) <= mostNames {
		who = " (" + strings.Join(first, ", ") + ")"
	}
	return fmt.Sprintf("No winner: %s of %s share the first group%s.", words(len(first)), words(len(measured)), who)
}

// sentence is the verdict on a pair in the words of the rule.
func sentence(s *export.Summary, p *stats.Pair, shown func(string) string) string {
	name := func(i int) string { return shown(s.Variants[i].Cell.Variant.String()) }
	extent := ""
	if e := p.Extent(); e != "" {
		extent = " (" + e + ")"
	}
	inside := ""
	if p.InsideMargin {
		inside = ", inside the margin"
	}
	switch p.Mark {
	case stats.Beats:
		return fmt.Sprintf("%s beats %s%s%s", name(p.Winner), name(p.A+p.B-p.Winner), inside, extent)
	case stats.Ahead:
		return fmt.Sprintf("%s is ahead of %s on this list%s%s", name(p.Winner), name(p.A+p.B-p.Winner), inside, extent)
	case stats.Equal:
		return "equal within the margin"
	case stats.Tied:
		return "tied (within noise)"
	}
	return "cannot tell"
}

var numerals = strings.Fields("no one two three four five six seven eight nine ten eleven twelve")

// words is a small number in words.
func words(n int) string {
	if n < len(numerals) {
		return numerals[n]
	}
	return strconv.Itoa(n)
}

func count(n int, word string) string {
	if n == 1 {
		return words(n) + " " + word
	}
	return words(n) + " " + word + "s"
}

func isAre(n int) string {
	switch n {
	case 0:
		return "none is"
	case 1:
		return "one is"
	}
	return words(n) + " are"
}

// short prints a declared figure as it was declared.
func short(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
