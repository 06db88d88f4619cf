// Package note writes the note of a batch's parent run: the page that people see
// first in the MLflow UI. It is pure: [Text] makes Markdown of what is known of a
// batch, at most [Limit] characters, cut by itself and saying so, and can't fail.
//
// Only plain words, tables, links and images survive in MLflow's notes, and a few
// lines show before "Show more": the verdict, the counts and the links stand first.
package note

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Limit is the longest note in characters. MLflow cuts one at 8,000 and says nothing.
const Limit = 7900

// Batch is what a note tells. Its texts are foreign, and escaped here, except where
// a field says that it is Markdown; addresses are of our own making.
type Batch struct {
	Verdict     string    // Markdown: one sentence in the words of the decision rule; "" = not frozen
	Running     bool      // it is being measured
	AsOf        time.Time // of what was read; zero = a frozen batch, whose numbers stay
	Draft       bool      // the version label is "draft"
	Calibration bool      // a slice, to find out what a batch will cost
	Question    string    // "" = none
	Counts      batch.Counts
	Live        int // evaluations that run now
	Spent       Spent
	Links       []Link
	Cells       []Cell   // in the order of the leaderboard
	Ranked      bool     // the order is by rank; else it is the plan's
	Reasons     []string // why repeats are missing, one a kind
	Picture     string   // address of an image; "" = none
	Folder      string   // name of the dated folder; "" = there is none yet
	AllRuns     string   // address that lists all runs, for what is cut off; "" = none
}

// Spent is what the batch itself has cost so far.
type Spent struct {
	USD     *float64 // the known part; nil = unknown
	Unknown bool     // more was spent than is known
	Ceiling *float64 // USD, from the spec; nil = none
}

// Link is an address with its label.
type Link struct{ Label, Address string }

// Cell is one row of the leaderboard.
type Cell struct {
	batch.Variant
	Repeats []Repeat // that count
	Planned int
	Score   *float64 // mean over repeats; nil = none
	Low     *float64 // of the repeats' means
	High    *float64
	Pass    *float64 // share of passes in [0,1]; nil = unknown
	USD     *float64 // mean cost of a repeat, the known part; nil = unknown
	AtLeast bool     // a part of the cost is unknown
}

// Repeat is one run that counts.
type Repeat struct {
	Slot   int
	Reused bool
	Run    string // address of its page
	Raw    string // address of its raw bundle; "" = it has none
}

// Text is the note.
func Text(b Batch) string {
	for _, d := range details {
		if b.addresses(d)*shortest > Limit {
			continue // not even tried: there may be a million
		}
		if text := b.text(d, len(b.Cells)); fits(text) {
			return text
		}
	}
	d := details[len(details)-1]
	low, high := 0, len(b.Cells) // the most rows that fit
	for low < high {
		if n := (low + high + 1) / 2; fits(b.text(d, n)) {
			low = n
		} else {
			high = n - 1
		}
	}
	return b.text(d, low)
}

// shortest is what a link takes at least, in characters: a run's id and some more.
const shortest = 40

// addresses counts the links to runs that a detail gives.
func (b Batch) addresses(d detail) int {
	n := 0
	for i := range b.Cells {
		n += min(d.runs, len(b.Cells[i].Repeats))
	}
	return n
}

func fits(text string) bool { return utf8.RuneCountInString(text) <= Limit }

// detail is how much of a batch a note holds.
type detail struct {
	raw  bool   // a link to the raw bundle of each repeat
	runs int    // links to runs in a row, at most
	left string // what is left out
}

// details are tried until one fits.
var details = []detail{
	{raw: true, runs: 1000},
	{runs: 1000, left: "links to raw bundles, which are under Artifacts of each run"},
	{runs: 10, left: "links to runs beyond the tenth of a row, and to raw bundles"},
	{runs: 1, left: "links to all runs but the first of a row, and to raw bundles"},
	{left: "links to runs and raw bundles"},
}

func (b Batch) text(d detail, rows int) string {
	var w strings.Builder
	w.WriteString(b.first() + "  \n" + b.counts() + "\n\n")
	if len(b.Links) > 0 {
		w.WriteString(links(b.Links) + "\n\n")
	}
	if b.Question != "" {
		w.WriteString("Question: " + shown(b.Question, 500) + "\n\n")
	}
	b.table(&w, d, rows)
	if b.Picture != "" {
		w.WriteString("![score against cost](" + b.Picture + ")\n\n")
	}
	b.reasons(&w)
	if b.Folder != "" {
		name := escape.Markdown(b.Folder)
		w.WriteString("Frozen: nothing that happens in MLflow changes it. Who has the folder " + name + " can check every number: benchbatch verify " + name + "\n\n")
	}
	b.cut(&w, d, rows)
	return strings.TrimRight(w.String(), "\n") + "\n"
}

// first is the line that stands in tables of runs too: plain words.
func (b Batch) first() string {
	what := "batch"
	if b.Calibration {
		what = "calibration"
	}
	line := clip(b.Verdict, mostVerdict)
	switch {
	case line != "":
	case b.Running:
		line = fmt.Sprintf("Running, %s of %d repeats are there. Nothing is decided before the end.", asCount(b.Counts.Reused+b.Counts.Done), b.Counts.Planned)
	default:
		line = fmt.Sprintf("Unfinished, %s of %d repeats are there: the %s can be continued. Nothing is decided.", asCount(b.Counts.Reused+b.Counts.Done), b.Counts.Planned, what)
	}
	if b.Draft {
		line = "DRAFT (the version may still change). " + line
	}
	return line
}

// mostVerdict is the longest verdict, in characters, far more than its forms need.
const mostVerdict = 2000

func asCount(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// counts is the line that adds up, with the spend.
func (b Batch) counts() string {
	c := b.Counts
	line := fmt.Sprintf("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started", c.Planned, c.Reused, c.Done, c.Failed, c.Skipped, c.NotStarted)
	if b.Live > 0 {
		line += fmt.Sprintf(" (%d running now)", b.Live)
	}
	line += " · " + b.Spent.String()
	if !b.AsOf.IsZero() {
		line += " · as of " + b.AsOf.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	return line
}

func (s Spent) String() string {
	text := "cost unknown"
	if s.USD != nil {
		text = usd(*s.USD)
		if s.Unknown {
			text = "at least " + text
		}
	}
	if s.Ceiling != nil {
		return text + " of " + usd(*s.Ceiling) + " spent"
	}
	return text + " spent"
}

// usd has as many digits as a small sum needs. The dollar sign is an entity, which no dialect takes for a formula.
func usd(v float64) string {
	switch {
	case v != 0 && v < 0.01:
		return "&#36;" + strconv.FormatFloat(v, 'f', min(15, max(4, 2-int(math.Floor(math.Log10(math.Abs(v)))))), 64)
	case v < 1:
		return fmt.Sprintf("&#36;%.4f", v)
	}
	return fmt.Sprintf("&#36;%.2f", v)
}

func links(all []Link) string {
	parts := make([]string, len(all))
	for i, l := range all {
		parts[i] = link(escape.Markdown(l.Label), l.Address)
	}
	return strings.Join(parts, " · ")
}

func link(label, address string) string { return "[" + label + "](" + address + ")" }

const mostReasons = 8

func (b Batch) reasons(w *strings.Builder) {
	if len(b.Reasons) == 0 {
		return
	}
	w.WriteString("What is missing:\n\n")
	for i, r := range b.Reasons {
		if i == mostReasons {
			fmt.Fprintf(w, "- and %d reasons more\n", len(b.Reasons)-i)
			break
		}
		w.WriteString("- " + shown(r, 240) + "\n")
	}
	w.WriteString("\n")
}

// cut says what was left out to fit.
func (b Batch) cut(w *strings.Builder, d detail, rows int) {
	var left []string
	if n := len(b.Cells) - rows; n > 0 {
		left = append(left, fmt.Sprintf("%d of %d variants", n, len(b.Cells)))
	}
	if d.left != "" && len(b.Cells) > 0 {
		left = append(left, d.left)
	}
	if len(left) == 0 {
		return
	}
	w.WriteString("Left out, because MLflow keeps 8,000 characters of a note: " + strings.Join(left, "; ") + ".")
	if b.AllRuns != "" {
		w.WriteString(" " + link("All runs", b.AllRuns))
	}
	w.WriteString("\n")
}

// shown is foreign text, of at most n characters once it is harmless.
func shown(s string, n int) string {
	for most := n; ; most = most * 3 / 4 {
		if text := escape.Markdown(clip(s, most)); utf8.RuneCountInString(text) <= n {
			return text
		}
	}
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
