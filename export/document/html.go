package document

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/benchbatch/benchbatch/export/escape"
)

//go:embed page.css
var css string

// policy keeps the page from loading or running anything, whatever it quotes.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

// HTML is the page as one file: no script, and nothing from elsewhere.
func HTML(d *Document) string {
	w := &writer{}
	w.line("<!DOCTYPE html>")
	w.line(`<html lang="en">`)
	w.line("<head>\n<meta charset=\"utf-8\">")
	w.line(`<meta http-equiv="Content-Security-Policy" content="%s">`, policy)
	w.line(`<meta name="viewport" content="width=device-width, initial-scale=1">`)
	w.line(`<meta name="color-scheme" content="light dark">`)
	w.line(`<meta name="referrer" content="no-referrer">`)
	w.line("<title>%s</title>", escape.HTML(d.Title))
	w.line("<style>\n%s%s</style>\n</head>", css, running(d.Marks))
	w.line("<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>")
	w.line("<header>\n<h1>%s</h1>", escape.HTML(d.Title))
	for _, m := range d.Marks {
		w.line(`<p class="mark"><strong>%s</strong>%s</p>`, escape.HTML(string(m.Word)), prefixed(": ", inline(m.Text)))
	}
	w.contents(d.Blocks)
	w.line("</header>\n<main id=\"content\">")
	for _, b := range d.Blocks {
		b.html(w)
	}
	w.line("</main>")
	if words := markWords(d.Marks); words != "" {
		w.line(`<div class="watermark" aria-hidden="true">%s</div>`, escape.HTML(words))
	}
	w.line("</body>\n</html>")
	return w.String()
}

func markWords(marks []Mark) string {
	var words []string
	for _, m := range marks {
		words = append(words, string(m.Word))
	}
	return strings.Join(words, " · ")
}

// running is the style that repeats the marks in the margin of every printed page.
func running(marks []Mark) string {
	words := markWords(marks)
	if words == "" {
		return ""
	}
	safe := strings.NewReplacer(`\`, "", `"`, "", "<", "", "\n", " ").Replace(words)
	return "@page { @top-center { content: \"" + safe + "\"; font: bold 10pt sans-serif; color: #a01010 } }\n"
}

// contents lists the sections.
func (w *writer) contents(blocks []Block) {
	var links []string
	for _, b := range blocks {
		if h, ok := b.(*Heading); ok && h.Level == 2 && h.ID != "" {
			links = append(links, `<li><a href="#`+h.ID+`">`+inline(h.Text)+"</a></li>")
		}
	}
	if len(links) < 2 {
		return
	}
	w.line("<nav aria-label=\"Contents\"><details><summary>Contents</summary>\n<ul>\n%s\n</ul></details></nav>", strings.Join(links, "\n"))
}

func (h *Heading) html(w *writer) {
	id := ""
	if h.ID != "" {
		id = ` id="` + escape.HTML(h.ID) + `"`
	}
	w.line("<h%d%s>%s</h%d>", h.Level, id, inline(h.Text), h.Level)
}

func (p *Paragraph) html(w *writer) {
	class := ""
	if p.Small {
		class = ` class="small"`
	}
	w.line("<p%s>%s</p>", class, inline(p.Text))
}

func (l *List) html(w *writer) {
	if len(l.Items) == 0 {
		return
	}
	w.line("<ul>")
	for _, t := range l.Items {
		w.line("<li>%s</li>", inline(t))
	}
	w.line("</ul>")
}

func (f *Facts) html(w *writer) {
	if len(f.Facts) == 0 {
		return
	}
	w.line("<dl>")
	for _, x := range f.Facts {
		w.line("<div><dt>%s</dt><dd>%s</dd></div>", escape.HTML(string(x.Name)), inline(x.Text))
	}
	w.line("</dl>")
}

// table writes a wide thing into a box that scrolls by itself, by keyboard too.
func (t *Table) html(w *writer) {
	w.line("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table>", escape.HTML(t.Caption.String()))
	if len(t.Caption) > 0 {
		w.line("<caption>%s</caption>", inline(t.Caption))
	}
	w.line("<thead><tr>")
	for _, c := range t.Columns {
		w.line(`<th scope="col"%s>%s</th>`, numeric(c), inline(c.Text))
	}
	w.line("</tr></thead>\n<tbody>")
	for _, r := range t.Rows {
		w.WriteString("<tr>")
		for i, c := range t.Columns {
			if i < max(1, t.Headers) {
				w.WriteString(`<th scope="row"` + unbroken(r.cell(i)) + ">" + inline(r.cell(i)) + "</th>")
			} else {
				w.WriteString("<td" + class(c, r.cell(i)) + ">" + inline(r.cell(i)) + "</td>")
			}
		}
		w.line("</tr>")
	}
	w.line("</tbody></table></div>")
	for _, n := range t.Notes {
		w.line(`<p class="small">%s</p>`, inline(n))
	}
}

// shortName is up to how many characters a name stays in one line.
const shortName = 36

// unbroken keeps short names in one line.
func unbroken(t Text) string {
	if utf8.RuneCountInString(t.String()) <= shortName {
		return ` class="k"`
	}
	return ""
}

// class gives figures their column, long texts room, and short ones one line.
func class(c Column, t Text) string {
	switch n := utf8.RuneCountInString(t.String()); {
	case c.Numeric:
		return numeric(c)
	case n > 28:
		return ` class="t"`
	}
	return ` class="k"`
}

func numeric(c Column) string {
	if c.Numeric {
		return ` class="n"`
	}
	return ""
}

func (f *Figure) html(w *writer) {
	w.line("<figure id=\"chart-%s\">", escape.HTML(f.Name))
	if f.Narrow == "" {
		w.line("%s", strings.TrimSpace(f.SVG))
	} else {
		w.line("<div class=\"wide\">\n%s\n</div>\n<div class=\"narrow\">\n%s\n</div>", strings.TrimSpace(f.SVG), strings.TrimSpace(f.Narrow))
	}
	if len(f.Caption) > 0 {
		w.line("<figcaption>%s</figcaption>", inline(f.Caption))
	}
	w.line("</figure>")
}

func (v *Verdict) html(w *writer) {
	w.line(`<section class="verdict" aria-label="Verdict">`)
	if len(v.Question) > 0 {
		w.line(`<p class="question">%s</p>`, inline(v.Question))
	}
	w.line(`<p class="sentence">%s</p>`, inline(v.Sentence))
	for _, n := range v.Notes {
		w.line("<p>%s</p>", inline(n))
	}
	w.line("</section>")
}

func (c *Callout) html(w *writer) {
	w.line("<div class=\"callout\"><p><strong>%s</strong></p>", inline(c.Title))
	(&List{c.Items}).html(w)
	w.line("</div>")
}

func (c *Code) html(w *writer) {
	w.WriteString(`<pre class="scroll" tabindex="0"><code>`)
	for _, l := range c.Lines {
		w.line("%s", escape.HTML(string(l)))
	}
	w.line("</code></pre>")
}

func (d *Details) html(w *writer) {
	w.line("<details><summary>%s</summary>", inline(d.Summary))
	for _, b := range d.Blocks {
		b.html(w)
	}
	w.line("</details>")
}

var elements = [...][2]string{plain: {"", ""}, strong: {"<strong>", "</strong>"}, code: {"<code>", "</code>"},
	good: {`<span class="good">`, "</span>"}, bad: {`<span class="bad">`, "</span>"}, quiet: {`<span class="quiet">`, "</span>"}}

// inline is a text as HTML.
func inline(t Text) string {
	var b strings.Builder
	for i := 0; i < len(t); {
		j := i + 1
		for j < len(t) && t[j].kind == t[i].kind && t[j].link == t[i].link {
			j++
		}
		if t[i].link != "" {
			b.WriteString("<a href=" + strconv.Quote(t[i].link) + ">")
		}
		b.WriteString(elements[t[i].kind][0])
		for _, s := range t[i:j] {
			b.WriteString(word(s))
		}
		b.WriteString(elements[t[i].kind][1])
		if t[i].link != "" {
			b.WriteString("</a>")
		}
		i = j
	}
	return b.String()
}

// word is a piece of text; a short name with hyphens in it is kept in one line.
func word(s span) string {
	text := escape.HTML(s.text)
	if !s.own && strings.Contains(s.text, "-") && !strings.ContainsAny(s.text, " \n\t") && utf8.RuneCountInString(s.text) <= shortName {
		return `<span class="w">` + text + "</span>"
	}
	return text
}
