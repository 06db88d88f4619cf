package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "–": 1, "日本": 4, "ｱ": 1, "Ａ": 2, "e\u0301": 1, "🙂": 2, "한글": 4, "ü": 1} {
		assert.Equal(t, want, Width(s), s)
	}
}

func TestTableAlignsWhatIsSeen(t *testing.T) {
	table := Table{Right: []bool{false, true}}
	table.Add("name", "n")
	table.Add("日本語", "12")
	table.Add("e\u0301a", "3", "note")
	table.Add("red\x1b[31m", "4")
	for _, l := range table.Lines() {
		assert.NotContains(t, l, "\x1b")
	}
	lines := table.Lines()
	at := Width(lines[0])
	assert.Equal(t, at, Width(lines[1]))
	assert.Equal(t, at, Width(strings.TrimSuffix(lines[2], "  note")))
}

func TestTableFits(t *testing.T) {
	table := Table{Right: []bool{false, true, true}, Fits: []int{0}, Most: 30}
	table.Add("variant", "mean", "cost")
	table.Add(strings.Repeat("日本", 20), "0.123", "$1.2345")
	table.Add("short", "0.5", "–")
	for _, l := range table.Lines() {
		assert.LessOrEqual(t, Width(l), 30, l)
	}
	assert.Contains(t, table.Lines()[1], "…")
	assert.Contains(t, table.Lines()[1], "$1.2345")
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"a bb", "ccc", "dddd", "d"}, Wrap(" a bb ccc\nddddd", 4))
	assert.Empty(t, Wrap("  ", 10))
	assert.Equal(t, []string{"⟨U+001B⟩[31m"}, Wrap("\x1b[31m", 20))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		s := rapid.String().Draw(t, "s")
		for _, l := range Wrap(s, n) {
			assert.LessOrEqual(t, Width(l), n, "%q", l)
			assert.NotEmpty(t, l)
		}
	})
}

func TestStyle(t *testing.T) {
	assert.Equal(t, "\x1b[1mx\x1b[0m", Style(true).Bold("x"))
	assert.Equal(t, "x", Style(false).Bold("x"))
	assert.Empty(t, Style(true).Faint(""))
}
