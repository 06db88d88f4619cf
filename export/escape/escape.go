// Package escape makes foreign text (answers, errors, ids, file names) harmless
// in each place where it is shown: Markdown for notes and reports, Terminal for
// standard output and error, HTML for pages. There is one function for each
// sink, and nothing else writes foreign text into one.
//
// All three turn text into a single line and show what cannot be seen (control
// characters, terminal escapes, bidirectional marks, zero-width characters,
// invalid UTF-8) as ⟨U+202E⟩ and ⟨byte FF⟩. None of them returns an error, and
// none shortens the text.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal returns s as one line that moves no cursor, changes no colour and
// reads in the order in which it is written.
func Terminal(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	each(s, func(_, r, _ rune) { b.WriteRune(r) }, &b)
	return b.String()
}

// HTML returns s as text for an HTML element or a quoted attribute.
func HTML(s string) string {
	var b strings.Builder
	each(s, func(_, r, _ rune) {
		switch r {
		case '&', '<', '>', '"', '\'', '`', '=':
			entity(&b, r)
		default:
			b.WriteRune(r)
		}
	}, &b)
	return b.String()
}

// Markdown returns s as text for a paragraph, list item or table cell: no
// markup, link, image, HTML, table border, formula or mention can come of it.
// It uses numeric entities, which every Markdown dialect reads the same way.
func Markdown(s string) string {
	var b strings.Builder
	s = strings.TrimSpace(s)
	each(s, func(before, r, after rune) {
		if markup(before, r, after) {
			entity(&b, r)
		} else {
			b.WriteRune(r)
		}
	}, &b)
	return ordered(b.String())
}

// markup says whether r can mean something in any common Markdown dialect.
func markup(before, r, after rune) bool {
	switch r {
	case '&', '<', '>', '`', '*', '~', '|', '\\', '[', ']', '$', '@', '^', '{', '}':
		return true
	case '_':
		return !word(before) || !word(after)
	case ':':
		return after == '/' || !word(before) || word(after)
	case '.':
		return before == 'w' || before == 'W' // www. becomes a link by itself
	case '#', '+', '-', '=', '!':
		return !word(before)
	}
	return false
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// ordered keeps "1. x" and "1) x" at the start from becoming a list.
func ordered(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if i > 0 && (s[i] == '.' || s[i] == ')') {
		return s[:i] + fmt.Sprintf("&#%d;", s[i]) + s[i+1:]
	}
	return s
}

func entity(b *strings.Builder, r rune) { fmt.Fprintf(b, "&#%d;", r) }

// each calls visible for every rune that may be shown, with its neighbours (0 at
// the ends), and writes a description of every other one to b.
func each(s string, visible func(before, r, after rune), b *strings.Builder) {
	var before rune
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(b, "⟨byte %02X⟩", s[i])
		case r == '\n' || r == '\t' || r == '\r':
			visible(before, ' ', after)
		case hidden(r):
			fmt.Fprintf(b, "⟨U+%04X⟩", r)
		default:
			visible(before, r, after)
		}
		before = r
		i += n
	}
}

// hidden says whether r changes what others look like without being seen itself.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) ||
		unicode.Is(unicode.Co, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Noncharacter_Code_Point, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
