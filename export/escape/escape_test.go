package escape

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"qwen-27b":                      "qwen-27b",
		"my_model_v2.1":                 "my_model_v2.1",
		"a | b":                         "a &#124; b",
		"![x](https://host.invalid/p)":  "&#33;&#91;x&#93;(https&#58;//host.invalid/p)",
		"[x](javascript:alert)":         "&#91;x&#93;(javascript&#58;alert)",
		"<img src=x onerror=y>":         "&#60;img src=x onerror=y&#62;",
		"&lt;b&gt;":                     "&#38;lt;b&#38;gt;",
		"`code` *bold* _em_ ~~no~~":     "&#96;code&#96; &#42;bold&#42; &#95;em&#95; &#126;&#126;no&#126;&#126;",
		"line one\n# heading":           "line one &#35; heading",
		"- item":                        "&#45; item",
		"1. item":                       "1&#46; item",
		"12) item":                      "12&#41; item",
		"www.host.invalid":              "www&#46;host.invalid",
		"mail me@host.invalid":          "mail me&#64;host.invalid",
		"right\u202eleft":               "right⟨U+202E⟩left",
		"\x1b[31mred\x1b[0m":            "⟨U+001B⟩&#91;31mred⟨U+001B⟩&#91;0m",
		"zero\u200bwidth":               "zero⟨U+200B⟩width",
		"bad\xffbyte":                   "bad⟨byte FF⟩byte",
		"$x$":                           "&#36;x&#36;",
		"":                              "",
		"ünïcode 日本":                    "ünïcode 日本",
		"\\| escaped":                   "&#92;&#124; escaped",
		"cell\u2028separator\u0085next": "cell⟨U+2028⟩separator⟨U+0085⟩next",
	} {
		assert.Equal(t, want, Markdown(in), "%q", in)
	}
}

func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                  "plain text",
		"\x1b]0;title\x07":            "⟨U+001B⟩]0;title⟨U+0007⟩",
		"a\rb\nc\td":                  "a b c d",
		"\u009b2J":                    "⟨U+009B⟩2J",
		"a\u2066b\u2069":              "a⟨U+2066⟩b⟨U+2069⟩",
		"\xf0\x9f":                    "⟨byte F0⟩⟨byte 9F⟩",
		"tag \U000E0041 soft\u00adhy": "tag ⟨U+E0041⟩ soft⟨U+00AD⟩hy",
		"\x7f":                        "⟨U+007F⟩",
	} {
		assert.Equal(t, want, Terminal(in), "%q", in)
	}
}

func TestHTML(t *testing.T) {
	assert.Equal(t, "&#60;b onclick&#61;&#34;x&#39;&#34;&#62;&#38;amp;", HTML(`<b onclick="x'">&amp;`))
	assert.Equal(t, "a b⟨U+202E⟩c", HTML("a\nb\u202ec"))
}

var live = regexp.MustCompile("[<>|`*\\[\\]\\\\~$@]")

// Whatever goes in, one clean line comes out in which no markup is left.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for sink, out := range map[string]string{"markdown": Markdown(in), "terminal": Terminal(in), "html": HTML(in)} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
				t.Fatalf("%s: %q is not clean", sink, out)
			}
		}
		if out := Markdown(in); live.MatchString(out) {
			t.Fatalf("markup left in %q", out)
		}
	})
}
