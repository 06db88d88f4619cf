// Package terminal lays text out for terminals: columns that are aligned by what
// is seen, lines no longer than a width, and marks of colour where they are wanted.
//
// Order of use: make a Table, Add rows, and Write it; Wrap running text; Style
// what shall stand out. All text passes export/escape on its way. Nothing here
// returns an error of its own.
package terminal

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/benchbatch/benchbatch/export/escape"
)

// Columns is how wide everything is at most that is meant for people.
const Columns = 80

// Width is how many columns a terminal takes for s, which holds no controls: two
// for wide characters of East Asia and most pictures, none for marks that combine.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit is s cut to n columns, with … where something is left out.
func Fit(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > n-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// Wrap is foreign or own text in lines of at most n columns, broken at spaces; a
// word that is longer is broken where it must be.
func Wrap(s string, n int) []string { return wrap(s, n, true) }

// Flow is as Wrap, but leaves a longer word whole, on a line of its own: an address
// or a path can then be copied.
func Flow(s string, n int) []string { return wrap(s, n, false) }

func wrap(s string, n int, split bool) []string {
	var lines []string
	line, used := "", 0
	flush := func() {
		if line != "" {
			lines = append(lines, line)
		}
		line, used = "", 0
	}
	for _, word := range strings.Fields(escape.Terminal(s)) {
		for split && Width(word) > n {
			flush()
			head := head(word, n)
			lines, word = append(lines, head), word[len(head):]
		}
		w := Width(word)
		switch {
		case w == 0:
			continue
		case used == 0:
			line, used = word, w
		case used+1+w <= n:
			line, used = line+" "+word, used+1+w
		default:
			flush()
			line, used = word, w
		}
	}
	flush()
	return lines
}

// head is the longest beginning of s that fits n columns, at least one character.
func head(s string, n int) string {
	used := 0
	for i, r := range s {
		used += runeWidth(r)
		if used > n && i > 0 {
			return s[:i]
		}
	}
	return s
}

// Table is text in columns.
type Table struct {
	// Right says which columns are numbers, set against the right.
	Right []bool
	// Fits are the columns that may be cut, most willing first, where a row would be
	// wider than Most. Most 0 = as wide as it is.
	Fits []int
	Most int
	rows [][]string
}

// Add adds a row; its cells may be foreign text.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = escape.Terminal(c)
	}
	t.rows = append(t.rows, row)
}

const gap = 2 // columns between cells

// Lines are the rows, aligned, with nothing at their ends.
func (t *Table) Lines() []string {
	widths := t.widths()
	var lines []string
	for _, r := range t.rows {
		var b strings.Builder
		for i, c := range r {
			c = Fit(c, widths[i])
			pad := strings.Repeat(" ", widths[i]-Width(c))
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			if i < len(t.Right) && t.Right[i] {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

func (t *Table) widths() []int {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c))
		}
	}
	if t.Most == 0 {
		return widths
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	const least = 8 // columns that a cut cell keeps
	for _, i := range t.Fits {
		if cut := min(total-t.Most, widths[i]-least); cut > 0 {
			widths[i] -= cut
			total -= cut
		}
	}
	return widths
}

// Write writes the rows.
func (t *Table) Write(w io.Writer) {
	for _, l := range t.Lines() {
		_, _ = io.WriteString(w, l+"\n") // as every other line of a command
	}
}

// Style marks text where colour is wanted, and leaves it alone elsewhere.
type Style bool

// Bold is for the one thing to be read.
func (s Style) Bold(text string) string { return s.mark("1", text) }

// Faint is for what is beside it.
func (s Style) Faint(text string) string { return s.mark("2", text) }

func (s Style) mark(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
