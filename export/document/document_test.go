package document_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/document"
)

var update = flag.Bool("update", false, "write testdata again")

const hostile = "![x](https://host.invalid/p.png) <script>|\x1b[31m\u202e`\n# h \"' onload=x"

// everything is a page with every block, and foreign text wherever text can stand.
func everything() *document.Document {
	f := document.Foreign(hostile)
	d := &document.Document{Title: "Title " + hostile, Marks: []document.Mark{{Word: "DRAFT", Text: document.Say("of %s", hostile)}}}
	d.Add(
		&document.Verdict{Question: f, Sentence: document.Say("No winner: %s.", hostile), Notes: []document.Text{f}},
		&document.Facts{Facts: []document.Fact{{Name: "Cost", Text: f}}},
		&document.Callout{Title: f, Items: []document.Text{f}},
		&document.Heading{Level: 2, ID: "first", Text: f},
		&document.Paragraph{Text: document.Say("%d of %.1f %% [95 %%] at pass^3, pass@3: %s", 1, 2.0, document.Strong(f))},
		&document.Figure{Name: "first", SVG: "<svg role=\"img\" aria-label=\"a\"></svg>\n", Narrow: "<svg role=\"img\" aria-label=\"b\"></svg>", Alt: f, Caption: f},
		&document.Table{Caption: f, Columns: []document.Column{{Text: f}, {Text: document.Say("n"), Numeric: true}},
			Rows: []document.Row{{f, f}, {f}}, Notes: []document.Text{f}},
		&document.Heading{Level: 2, ID: "second", Text: document.Say("Second | *")},
		&document.Details{Summary: f, Blocks: []document.Block{
			&document.List{Items: []document.Text{document.Link(f, "raw/a.jsonl"), document.Link(f, "https://host.invalid"), document.Link(f, "../x")}},
			&document.Paragraph{Text: document.Literal(document.Say("verify %s", "a-b")), Small: true},
			&document.Code{Lines: []document.Own{"duckdb -f x.sql  # <a>"}},
			&document.Paragraph{Text: document.Join([]document.Text{document.Good(f), document.Bad(f), document.Quiet(f)}, " | ")},
		}},
	)
	return d
}

func TestGolden(t *testing.T) {
	d := everything()
	page := document.HTML(d)
	before, rest, _ := strings.Cut(page, "<style>") // the style has tests in a browser
	_, after, found := strings.Cut(rest, "</style>")
	require.True(t, found)
	page = before + "</style>" + after
	for name, got := range map[string]string{"page.md": document.Markdown(d), "page.html": page} {
		golden := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
}

// Foreign text becomes no markup, wherever it stands.
func TestHostileText(t *testing.T) {
	d := everything()
	md, page := document.Markdown(d), document.HTML(d)
	for _, bad := range []string{"<script", "\x1b", "\u202e", "\n# h"} {
		assert.False(t, strings.Contains(md, bad), "Markdown: %q", bad)
		assert.False(t, strings.Contains(page, bad), "HTML: %q", bad)
	}
	for _, bad := range []string{"![x", "https://host", "](.."} {
		assert.False(t, strings.Contains(md, bad), "Markdown: %q", bad)
	}
	for _, bad := range []string{"onload=", `href="http`, `href="..`} {
		assert.False(t, strings.Contains(page, bad), "HTML: %q", bad)
	}
	text := md
	assert.Equal(t, 1, strings.Count(text, "!["), "the only image is the figure")
	assert.Contains(t, text, "(charts/first.svg)")
	assert.Contains(t, text, "(raw/a.jsonl)")
	columns := 0
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|") {
			columns++
			assert.Equal(t, 3, strings.Count(line, "|"), line)
		}
	}
	assert.Equal(t, 4, columns)
}

// The page must load and run nothing from anywhere.
func TestPageIsAlone(t *testing.T) {
	page := document.HTML(everything())
	assert.Contains(t, page, `content="default-src 'none'; style-src 'unsafe-inline'; img-src data:;`)
	for _, bad := range []string{"<script", "<link", "<iframe", "<img", "@import", "url(", "src="} {
		assert.False(t, strings.Contains(page, bad), bad)
	}
	for _, good := range []string{`<html lang="en">`, `scope="col"`, `scope="row"`, "<caption>", `href="#second"`, `@top-center { content: "DRAFT"`} {
		assert.True(t, strings.Contains(page, good), good)
	}
}

func TestSay(t *testing.T) {
	assert.Equal(t, "a 1 b 2.50 100 % c", document.Say("a %d b %.2f 100 %% %s", 1, 2.5, "c").String())
	assert.Equal(t, "+0.1 [-1, 2]\n", strings.TrimPrefix(document.Markdown(&document.Document{Title: "t", Blocks: []document.Block{
		&document.Paragraph{Text: document.Say("%s [%s, %d]", document.Own("+0.1"), document.Own("-1"), 2)}}}), "# t\n\n"), "our own figures stay readable")
	assert.Empty(t, document.Say("%s", ""))
}

func TestFigures(t *testing.T) {
	d := &document.Document{Blocks: []document.Block{&document.Figure{Name: "a"}, &document.Details{Blocks: []document.Block{&document.Figure{Name: "b"}}}}}
	var paths []string
	for _, f := range document.Figures(d) {
		paths = append(paths, f.Path())
	}
	assert.Equal(t, []string{"charts/a.svg", "charts/b.svg"}, paths)
}
