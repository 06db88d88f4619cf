package document

import (
	"fmt"
	"strings"
)

// Own is text of ours: it holds nothing foreign. Literals become Own by
// themselves; a conversion says that the text was made by us.
type Own string

// Text is a line of text in pieces.
type Text []span

type span struct {
	text string
	own  bool // the text is ours
	kind kind
	link string // relative path or #anchor; "" = none
}

type kind uint8

const (
	plain kind = iota
	strong
	code
	good  // what one wants to see
	bad   // what one does not
	quiet // what is less important
)

// Foreign is text by others.
func Foreign(s string) Text {
	if s == "" {
		return nil
	}
	return Text{{text: s}}
}

// Say is fmt.Sprintf for texts. An argument may be a Text, an Own, a number, or a
// string, which is taken for foreign.
func Say(format Own, args ...any) Text {
	var out Text
	rest := string(format)
	for {
		before, after, found := strings.Cut(rest, "%")
		out = out.own(before)
		switch {
		case !found:
			return out
		case strings.HasPrefix(after, "%"):
			out, rest = out.own("%"), after[1:]
			continue
		}
		n := strings.IndexFunc(after, func(r rune) bool { return r >= 'a' && r <= 'z' }) + 1
		if n == 0 || len(args) == 0 {
			return out.own("%!" + after)
		}
		out = out.argument("%"+after[:n], args[0])
		rest, args = after[n:], args[1:]
	}
}

func (t Text) own(s string) Text {
	if s == "" {
		return t
	}
	if n := len(t); n > 0 && t[n-1].own && t[n-1].kind == plain && t[n-1].link == "" {
		t[n-1].text += s
		return t
	}
	return append(t, span{text: s, own: true})
}

func (t Text) argument(verb string, arg any) Text {
	switch a := arg.(type) {
	case Text:
		return append(t, a...)
	case Own:
		return t.own(string(a))
	case string:
		return append(t, Foreign(a)...)
	case fmt.Stringer:
		return append(t, Foreign(a.String())...)
	}
	return t.own(fmt.Sprintf(verb, arg))
}

// Join is texts with a separator between them.
func Join(texts []Text, separator Own) Text {
	var out Text
	for i, t := range texts {
		if i > 0 {
			out = out.own(string(separator))
		}
		out = append(out, t...)
	}
	return out
}

// Strong is text that stands out.
func Strong(t Text) Text { return t.as(strong) }

// Literal is text as a machine reads it: a digest, a command, a name.
func Literal(t Text) Text { return t.as(code) }

// Good is the tone of what one wants. A tone is seen on screens alone: the words
// must say the same without it.
func Good(t Text) Text { return t.as(good) }

// Bad is the tone of what one does not want.
func Bad(t Text) Text { return t.as(bad) }

// Quiet is the tone of what is less important.
func Quiet(t Text) Text { return t.as(quiet) }

func (t Text) as(k kind) Text {
	out := make(Text, len(t))
	for i, s := range t {
		s.kind = k
		out[i] = s
	}
	return out
}

// Link leads to a file of the folder by its relative path, or to a Heading of the
// page as "#ID". A path that could lead elsewhere makes no link.
func Link(t Text, path string) Text {
	if !linkable(path) {
		return t
	}
	out := make(Text, len(t))
	for i, s := range t {
		s.link = path
		out[i] = s
	}
	return out
}

// linkable says whether path stays in the folder and needs no escaping.
func linkable(path string) bool {
	path = strings.TrimPrefix(path, "#")
	if path == "" || strings.HasPrefix(path, "/") || strings.Contains(path, "..") {
		return false
	}
	for _, r := range path {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/+", r)) {
			return false
		}
	}
	return true
}

// String is the text without any markup, for logs and tests. It is not escaped.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.text)
	}
	return b.String()
}
