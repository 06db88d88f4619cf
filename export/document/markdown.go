package document

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/benchbatch/benchbatch/export/escape"
)

// writer is a page being written.
type writer struct {
	strings.Builder
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// Markdown is the page as GitHub's and CommonMark's dialects read it.
func Markdown(d *Document) string {
	w := &writer{}
	w.line("# %s\n", escape.Markdown(d.Title))
	for _, m := range d.Marks {
		w.line("**%s**%s\n", m.Word, prefixed(": ", md(m.Text)))
	}
	for _, b := range d.Blocks {
		b.markdown(w)
	}
	return strings.TrimRight(w.String(), "\n") + "\n"
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func (h *Heading) markdown(w *writer) {
	w.line("%s %s\n", strings.Repeat("#", h.Level), md(h.Text))
}

func (p *Paragraph) markdown(w *writer) { w.line("%s\n", md(p.Text)) }

func (l *List) markdown(w *writer) {
	for _, t := range l.Items {
		w.line("- %s", md(t))
	}
	if len(l.Items) > 0 {
		w.line("")
	}
}

func (f *Facts) markdown(w *writer) {
	for _, x := range f.Facts {
		w.line("- %s: %s", x.Name, md(x.Text))
	}
	if len(f.Facts) > 0 {
		w.line("")
	}
}

func (t *Table) markdown(w *writer) {
	if len(t.Caption) > 0 {
		w.line("%s:\n", md(t.Caption))
	}
	for _, c := range t.Columns {
		w.WriteString("| " + md(c.Text) + " ")
	}
	w.line("|")
	for _, c := range t.Columns {
		w.WriteString("| ---")
		if c.Numeric {
			w.WriteByte(':')
		}
		w.WriteByte(' ')
	}
	w.line("|")
	for _, r := range t.Rows {
		for i := range t.Columns {
			w.WriteString("| ")
			w.WriteString(md(r.cell(i)))
			w.WriteByte(' ')
		}
		w.line("|")
	}
	w.line("")
	for _, n := range t.Notes {
		w.line("%s\n", md(n))
	}
}

func (r Row) cell(i int) Text {
	if i < len(r) {
		return r[i]
	}
	return nil
}

func (f *Figure) markdown(w *writer) {
	w.line("![%s](%s)\n", md(f.Alt), f.Path())
	if len(f.Caption) > 0 {
		w.line("%s\n", md(f.Caption))
	}
}

func (v *Verdict) markdown(w *writer) {
	if len(v.Question) > 0 {
		w.line("%s\n", md(v.Question))
	}
	w.line("%s\n", md(Strong(v.Sentence)))
	for _, n := range v.Notes {
		w.line("%s\n", md(n))
	}
}

func (c *Callout) markdown(w *writer) {
	w.line("%s\n", md(Strong(c.Title)))
	(&List{c.Items}).markdown(w)
}

func (c *Code) markdown(w *writer) {
	for _, l := range c.Lines {
		w.line("    %s", l)
	}
	w.line("")
}

func (d *Details) markdown(w *writer) {
	w.line("%s\n", md(Strong(d.Summary)))
	for _, b := range d.Blocks {
		b.markdown(w)
	}
}

// markup are the characters of our own text that Markdown could read as more.
var markup = strings.NewReplacer("&", "&#38;", "<", "&#60;", "|", "&#124;", "*", "&#42;", "`", "&#96;", "~", "&#126;", "\\", "&#92;", "$", "&#36;",
	"](", "&#93;(", "]:", "&#93;:", "\n", " ")

// verbatim is what may stand between backticks, in a table too.
var verbatim = regexp.MustCompile(`^[A-Za-z0-9._/+=:,@^ -]+$`)

// md is a text in one line.
func md(t Text) string {
	var b strings.Builder
	for i := 0; i < len(t); { // neighbours of the same kind share their markup
		j := i + 1
		for j < len(t) && t[j].kind == t[i].kind && t[j].link == t[i].link {
			j++
		}
		b.WriteString(piece(t[i:j]))
		i = j
	}
	return b.String()
}

func piece(t Text) string {
	var b strings.Builder
	for _, s := range t {
		switch {
		case s.own:
			b.WriteString(markup.Replace(s.text))
		default:
			b.WriteString(escape.Markdown(s.text))
		}
	}
	text := b.String()
	if strings.TrimSpace(text) == "" {
		return text
	}
	switch t[0].kind {
	case strong:
		text = "**" + strings.TrimSpace(text) + "**"
	case code:
		if all := t.String(); verbatim.MatchString(all) {
			text = "`" + strings.TrimSpace(all) + "`"
		}
	}
	if t[0].link != "" {
		text = "[" + text + "](" + t[0].link + ")"
	}
	return text
}
