package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a spec or a file it names.
type Problem struct {
	File    string `json:"file"`             // the spec as given, or a file it names beside it
	Line    int    `json:"line,omitempty"`   // 1-based; 0 = the whole file
	Column  int    `json:"column,omitempty"` // 1-based; 0 = the whole line
	Field   string `json:"field,omitempty"`  // such as agents[1].settings.temperature
	Value   string `json:"value,omitempty"`  // as written
	Message string `json:"message"`          // what is wrong
	Remedy  string `json:"remedy,omitempty"` // what would be right
}

// String is "file:line:column: field: message (value); remedy", on one line and
// safe to print: text from the file is quoted and cut.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(plain(p.File))
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	if p.Value != "" {
		b.WriteString(": " + quote(p.Value))
	}
	b.WriteString(": " + p.Message)
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

// Problems is everything wrong with a spec, in file order: the spec first, then
// the files it names.
type Problems []Problem

// Error lists all problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what is kept: a panel of 100,000 wrong lines is one mistake.
const maxProblems = 200

// position is where a field stands in its file, and what was written there.
type position struct {
	line, column int
	value        string
}

// collector gathers problems of one file.
type collector struct {
	file     string
	order    int // of the file among the files of the spec
	at       map[string]position
	unread   map[string]bool // fields whose value could not be read
	problems *[]located
}

type located struct {
	Problem
	order int
}

func newCollector(file string) *collector {
	return &collector{file: file, at: map[string]position{}, unread: map[string]bool{}, problems: new([]located)}
}

// sub gathers problems of a further file into the same list.
func (c *collector) sub(file string, order int) *collector {
	return &collector{file: file, order: order, at: map[string]position{}, unread: map[string]bool{}, problems: c.problems}
}

// add notes a problem with a field, at the place where the field or the nearest
// field around it is written. What could not be read is not checked further:
// one mistake is one problem.
func (c *collector) add(field, message, remedy string) {
	pos, exact := c.at[field]
	for around := field; ; around = enclosing(around) {
		if c.unread[around] {
			return
		}
		if pos.line == 0 {
			pos = c.at[around]
		}
		if around == "" {
			break
		}
	}
	if !exact {
		pos.value = ""
	}
	c.addAt(pos, field, message, remedy)
}

// addUnread notes a problem with a field whose value could not be read.
func (c *collector) addUnread(pos position, field, message, remedy string) {
	c.addAt(pos, field, message, remedy)
	c.unread[field] = true
}

// addAt notes a problem at a known place.
func (c *collector) addAt(pos position, field, message, remedy string) {
	p := Problem{c.file, pos.line, pos.column, field, pos.value, message, remedy}
	*c.problems = append(*c.problems, located{p, c.order})
}

// enclosing is the field around a field: a.b[1] → a.b → a → "".
func enclosing(field string) string {
	return field[:max(0, strings.LastIndexAny(field, ".["))]
}

// err returns what was gathered in file order, or nil.
func (c *collector) err() error {
	list := *c.problems
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var out Problems
	seen := map[Problem]bool{}
	for _, l := range list {
		if seen[l.Problem] {
			continue
		}
		seen[l.Problem] = true
		if len(out) == maxProblems {
			out = append(out, Problem{File: c.file, Message: fmt.Sprintf("and more: %d problems in all", len(list))})
			break
		}
		out = append(out, l.Problem)
	}
	return out
}

// quote makes text from a file safe and short for a terminal.
func quote(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

// plain leaves ordinary text as it is and quotes what a terminal could obey.
func plain(s string) string {
	q := strconv.Quote(s)
	if q == `"`+s+`"` {
		return s
	}
	return q
}
