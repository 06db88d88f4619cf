package brief

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/export/terminal"
)

// How much a terminal shows; the rest is in the report.
const (
	mostVariants = 24
	mostClaims   = 8
)

// sort puts ranked variants by rank, then by mean; those without one stand last.
// Without ranks nothing is ordered by its mean: that would be a ranking.
func (b *Brief) sort() {
	slices.SortStableFunc(b.Variants, func(x, y Variant) int {
		if x.RankLow == 0 || y.RankLow == 0 {
			return cmp.Compare(unranked(x), unranked(y))
		}
		return cmp.Or(cmp.Compare(x.RankLow, y.RankLow), cmp.Compare(x.RankHigh, y.RankHigh), cmp.Compare(*y.Mean, *x.Mean))
	})
}

func unranked(v Variant) int {
	if v.RankLow == 0 {
		return 1
	}
	return 0
}

// Lines are the brief for a terminal, none wider than terminal.Columns but where a
// path is.
func (b *Brief) Lines(style terminal.Style) []string {
	l := &lines{style: style}
	l.head(b)
	l.rests(b)
	l.leaderboard(b)
	l.claims(b)
	l.money(b)
	for i, f := range b.Files {
		name := ""
		if i == 0 {
			name = "files"
		}
		l.add(strings.TrimRight(fmt.Sprintf("%-10s%s", name, escape.Terminal(join(b.Folder, f))), " "))
	}
	return l.out
}

func join(dir, file string) string {
	if dir == "" {
		return file
	}
	return strings.TrimSuffix(dir, "/") + "/" + file
}

type lines struct {
	style terminal.Style
	out   []string
}

func (l *lines) add(s string) { l.out = append(l.out, s) }

func (l *lines) gap() { l.add("") }

// fact is a name and what it is, over as many lines as it takes.
func (l *lines) fact(name, text string) {
	for i, t := range terminal.Wrap(text, terminal.Columns-10) {
		if i > 0 {
			name = ""
		}
		l.add(fmt.Sprintf("%-10s%s", name, t))
	}
}

func (l *lines) head(b *Brief) {
	title := fmt.Sprintf("%s %s, %s", b.Benchmark, b.Version, b.Name)
	for _, t := range terminal.Wrap(title, terminal.Columns) {
		l.add(l.style.Faint(t))
	}
	for _, m := range []struct {
		is   bool
		text string
	}{
		{b.PostHoc, "POST HOC: decided by another rule than the one that was frozen before the run"},
		{b.Draft, "DRAFT: this version may still change"},
		{b.Provisional, "PROVISIONAL: the batch was not frozen"},
	} {
		if m.is {
			for _, t := range terminal.Wrap(m.text, terminal.Columns) {
				l.add(l.style.Bold(t))
			}
		}
	}
	for _, t := range terminal.Wrap(b.Question, terminal.Columns) {
		l.add(t)
	}
	l.gap()
	for _, t := range terminal.Wrap(b.Verdict, terminal.Columns) {
		l.add(l.style.Bold(t))
	}
	l.gap()
}

func (l *lines) rests(b *Brief) {
	r := &b.Rests
	text := fmt.Sprintf("%s × %s of %s", count(r.Tasks, "task"), count(r.Repeats, "repeat"), count(r.Variants, "variant"))
	if r.Coverage != nil {
		text += fmt.Sprintf("; %s of the outcomes have a score", percent(*r.Coverage))
	}
	if r.First != nil {
		first, last := r.First.Format("2006-01-02"), r.Last.Format("2006-01-02")
		text += "; measured " + first
		if last != first {
			text += " to " + last
		}
	}
	l.fact("rests on", text)
	if r.Look > 0 {
		rule := metric(r.Metric)
		if r.Margin != nil {
			rule += ", margin " + short(*r.Margin)
		} else {
			rule += ", no margin declared"
		}
		rule += fmt.Sprintf(", alpha %s one-sided", short(r.Alpha))
		if r.Look > 1 {
			rule += fmt.Sprintf(" (lowered: look %d at this question)", r.Look)
		}
		l.fact("rule", rule)
	}
	l.gap()
}

func (l *lines) leaderboard(b *Brief) {
	t := terminal.Table{Right: []bool{false, true, true, true, false, true, true}, Fits: []int{0}, Most: terminal.Columns}
	t.Add("variant", "mean", "95 % interval", "rank", "group", "repeats", "cost")
	for i, v := range b.Variants {
		if i == mostVariants {
			break
		}
		t.Add(v.Variant.String(), figure(v.Mean, 3), interval(v.Low, v.High, plain), rank(v), or(terminal.Fit(v.Letters, 8)), strconv.Itoa(v.Repeats), v.cost())
	}
	rows := t.Lines()
	l.add(l.style.Faint(rows[0]))
	l.out = append(l.out, rows[1:]...)
	if n := len(b.Variants) - mostVariants; n > 0 {
		l.add(fmt.Sprintf("and %s more, in the report", count(n, "variant")))
	}
	l.gap()
}

func (l *lines) claims(b *Brief) {
	for i, c := range b.Apart {
		if i == mostClaims {
			l.fact("", fmt.Sprintf("and %s more, in the report", count(len(b.Apart)-mostClaims, "separated pair")))
			break
		}
		name := ""
		if i == 0 {
			name = "apart"
		}
		l.fact(name, c.text())
	}
	var parts []string
	for _, m := range b.Marks {
		parts = append(parts, fmt.Sprintf("%d %s", m.Pairs, m.Mark))
	}
	if len(parts) > 0 {
		l.fact("pairs", strings.Join(parts, ", "))
	}
	if b.Flagged > 0 {
		l.fact("flagged", count(b.Flagged, "outcome")+" by audits; the report has the verdict without them")
	}
}

func (c *Claim) text() string {
	verb := " beats "
	after := ""
	if c.Mark != "beats" {
		verb, after = " is ahead of ", " on this list"
	}
	text := c.Winner + verb + c.Loser + after
	if c.Difference != nil {
		text += " by " + signed(*c.Difference)
	}
	if c.Low != nil {
		text += " " + interval(c.Low, c.High, signed)
	}
	if c.Extent != "" {
		text += " (" + c.Extent + ")"
	}
	if !c.Stands {
		text += "; not in every reading"
	}
	return text
}

func (l *lines) money(b *Brief) {
	n := b.Counts
	l.fact("repeats", fmt.Sprintf("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted))
	s := &b.Spend
	text := fmt.Sprintf("%s for %s that ran", s.Today.text(), count(s.Ran, "evaluation"))
	if s.Reused > 0 {
		text += fmt.Sprintf("; %s reused (%s when measured)", strconv.Itoa(s.Reused), s.Value.text())
	}
	if s.Judges.Known != nil {
		text += "; judges " + s.Judges.text()
	}
	l.fact("spent", text)
}

// metric is what a rule compares, in words.
func metric(name string) string {
	switch judge, ok := strings.CutPrefix(name, "judge/"); {
	case ok:
		return "score of judge " + judge
	case name == "passed":
		return "share of passes"
	}
	return name
}

func (u USD) text() string {
	switch {
	case u.Known == nil && u.Unknown == 0:
		return "nothing"
	case u.Known == nil:
		return "an unknown sum"
	case u.Unknown > 0:
		return "at least " + dollars(*u.Known)
	}
	return dollars(*u.Known)
}

func (v *Variant) cost() string {
	switch {
	case v.CostUSD == nil:
		return "–"
	case v.CostUnknown > 0:
		return "≥" + dollars(*v.CostUSD)
	}
	return dollars(*v.CostUSD)
}

func dollars(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("$%.2f", v)
	}
	return "$" + export.Dollars(v)
}

func rank(v Variant) string {
	switch v.RankLow {
	case 0:
		return "–"
	case v.RankHigh:
		return strconv.Itoa(v.RankLow)
	}
	return fmt.Sprintf("%d–%d", v.RankLow, v.RankHigh)
}

func plain(v float64) string { return figure(&v, 3) }

// signed prints a difference; what rounds to 0 has no sign.
func signed(v float64) string {
	if math.Abs(v) < 0.0005 {
		return "0.000"
	}
	return fmt.Sprintf("%+.3f", v)
}

func interval(low, high *float64, form func(float64) string) string {
	if low == nil || high == nil {
		return "–"
	}
	return "[" + form(*low) + ", " + form(*high) + "]"
}

func figure(v *float64, digits int) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// percent is a share; what is not all of it never reads as 100 %.
func percent(v float64) string {
	return strconv.FormatFloat(math.Floor(v*1000+1e-9)/10, 'f', -1, 64) + " %"
}

func or(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
