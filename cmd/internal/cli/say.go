package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/benchbatch/benchbatch/export/terminal"
)

// say writes a line of conversation. A terminal gets it in lines that fit; elsewhere
// it stays whole, so that it can be searched for.
func (a *App) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.Terminal {
		text = strings.Join(flow(text), "\n")
	}
	fmt.Fprintln(a.Stderr, text)
}

// print writes a line of the product.
func (a *App) print(format string, args ...any) {
	fmt.Fprintf(a.Stdout, format+"\n", args...)
}

// printFlow writes a sentence of the product, as say does one of the conversation.
func (a *App) printFlow(text string) {
	if a.Screen {
		text = strings.Join(flow(text), "\n")
	}
	a.print("%s", text)
}

// flow breaks each line of a text that is wider than a terminal; what follows of it
// stands two columns further in.
func flow(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if terminal.Width(line) <= terminal.Columns {
			out = append(out, line)
			continue
		}
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		for i, part := range terminal.Flow(words, terminal.Columns-len(indent)-2) {
			if i == 1 {
				indent += "  "
			}
			out = append(out, indent+part)
		}
	}
	return out
}

// lines prints text after a label, wrapped between words, further lines below it.
func (a *App) lines(label, text string) {
	for _, line := range terminal.Wrap(text, terminal.Columns-terminal.Width(label)) {
		a.print("%s%s", label, line)
		label = strings.Repeat(" ", terminal.Width(label))
	}
}

// below is a path as one would type it here: relative where it is below the current folder.
func (a *App) below(path string) string {
	rel, err := filepath.Rel(a.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// table is text in columns, aligned by what a terminal shows.
type table struct{ terminal.Table }

// numbers sets columns against the right.
func (t *table) numbers(columns ...int) {
	for _, c := range columns {
		for len(t.Right) <= c {
			t.Right = append(t.Right, false)
		}
		t.Right[c] = true
	}
}

func (t *table) add(cells ...string) { t.Add(cells...) }

// write prints the table, two spaces between columns and none at a line's end.
func (t *table) write(w io.Writer) { t.Write(w) }
