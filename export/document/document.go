// Package document is a page as blocks of text, tables and figures, and the two
// ways to write it: Markdown for repositories and notes, and one HTML file that
// works from disk, in print and on a phone. Both say the same.
//
// Order of use: fill a Document with blocks, whose texts are made with Say,
// Foreign and their like, then call Markdown and HTML. Figures lists the charts,
// which Markdown links as files of their own.
//
// Foreign text (ids, answers, reasons, errors) is escaped here, by export/escape,
// once for each form: a string is foreign unless it is of type Own, which only
// literals become by themselves. Nothing here returns an error. The same document
// always gives the same bytes.
package document

// Document is a page.
type Document struct {
	Title  string
	Marks  []Mark // what no reader may miss: on top, and on every printed page
	Blocks []Block
}

// Mark is a warning about the whole page, such as DRAFT.
type Mark struct {
	Word Own  // printed on every page
	Text Text // what it means, beside it on top of the page
}

// Block is one part of a page: Heading, Paragraph, List, Facts, Table, Figure,
// Verdict, Callout, Code or Details.
type Block interface {
	markdown(w *writer)
	html(w *writer)
}

// Heading starts a section. Those of level 2 make the table of contents.
type Heading struct {
	Level int    // 2 to 4; 1 is the title
	ID    string // anchor, of a-z, 0-9 and -; unique on the page, "" = none
	Text  Text
}

// Paragraph is running text; Small is a note beside what stands before it.
type Paragraph struct {
	Text  Text
	Small bool
}

// List is a list of points.
type List struct{ Items []Text }

// Facts is a list of names with what each one is.
type Facts struct{ Facts []Fact }

// Fact is one of Facts.
type Fact struct {
	Name Own
	Text Text
}

// Table is a table. Every row has as many cells as there are columns: missing
// ones stay empty.
type Table struct {
	Caption Text // says what a row is
	Columns []Column
	Headers int // first columns that name the row; 0 = 1
	Rows    []Row
	Notes   []Text // below it: what columns mean, what was left out
}

// Column is the head of a column.
type Column struct {
	Text    Text
	Numeric bool // to be compared digit by digit
}

// Row is a row's cells.
type Row []Text

// Figure is a chart: SVG in the page, or a file that the page links.
type Figure struct {
	Name    string // of the file below charts/, without .svg: a-z, 0-9 and -
	SVG     string // trusted: made by a package of ours, with title, colours for light and dark, ids that no other figure has
	Narrow  string // the same drawn for narrow pages, in HTML alone; "" = SVG serves all
	Alt     Text   // what it shows, for who can't see it
	Caption Text
}

// Path is where the figure's file stands in a folder.
func (f *Figure) Path() string { return "charts/" + f.Name + ".svg" }

// Verdict is the answer that the page gives, to be seen first.
type Verdict struct {
	Question Text // nil = none was asked
	Sentence Text
	Notes    []Text
}

// Callout is text that must not be overlooked.
type Callout struct {
	Title Text
	Items []Text
}

// Code is lines to be typed.
type Code struct{ Lines []Own }

// Details are blocks that most readers skip. They are folded in HTML, open in
// print, and as any others in Markdown.
type Details struct {
	Summary Text
	Blocks  []Block
}

// Add puts blocks at the end.
func (d *Document) Add(blocks ...Block) { d.Blocks = append(d.Blocks, blocks...) }

// Figures are the charts of the page in order.
func Figures(d *Document) []*Figure { return figures(d.Blocks, nil) }

func figures(blocks []Block, out []*Figure) []*Figure {
	for _, b := range blocks {
		switch b := b.(type) {
		case *Figure:
			out = append(out, b)
		case *Details:
			out = figures(b.Blocks, out)
		}
	}
	return out
}
