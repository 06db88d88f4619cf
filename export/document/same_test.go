package document_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/benchbatch/benchbatch/export/document"
)

var (
	unread  = regexp.MustCompile(`(?s)<style>.*?</style>|<title>.*?</title>|<nav.*?</nav>|<svg.*?</svg>|<a class="skip".*?</a>|<div class="watermark".*?</div>`)
	blocks  = regexp.MustCompile(`</?(p|li|div|dt|dd|td|th|tr|h\d|caption|summary|pre|figcaption)\b[^>]*>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
	picture = regexp.MustCompile(`(?m)^!\[.*\]\(charts/.*\)$`)
	rule    = regexp.MustCompile(`(?m)^\|( -+:? \|)+$`)
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	signs   = strings.NewReplacer("**", "", "|", " ", "`", "")
	starts  = regexp.MustCompile(`(?m)^(#+|-) `)
)

// What a reader of one form reads, a reader of the other does.
func TestBothSayTheSame(t *testing.T) {
	d := everything()
	page := blocks.ReplaceAllString(unread.ReplaceAllString(document.HTML(d), ""), " ")
	page = html.UnescapeString(tag.ReplaceAllString(page, ""))
	text := picture.ReplaceAllString(document.Markdown(d), "")
	text = starts.ReplaceAllString(rule.ReplaceAllString(text, ""), "")
	text = html.UnescapeString(signs.Replace(link.ReplaceAllString(text, "$1")))
	assert.Equal(t, words(page), words(text))
}

// words are those of a text; marks of punctuation that one form adds do not count.
func words(s string) []string {
	return strings.Fields(strings.NewReplacer(":", " ", "|", " ", "`", " ", "**", "").Replace(s))
}
