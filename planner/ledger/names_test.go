package ledger

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/benchbatch/benchbatch/planner/batch"
)

func variantsOf(agents, models []string) (out []batch.Variant) {
	for _, a := range agents {
		for _, m := range models {
			out = append(out, batch.Variant{Agent: a, Model: m})
		}
	}
	return out
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		agents, models []string
		repeats        int
		first, last    string
	}{
		{[]string{"quick", "careful"}, []string{"m-one", "m-two"}, 2, "quick+m-one · r1", "careful+m-two · r1"},
		{[]string{"claude-code", "codex"}, []string{"model-a", "model-b"}, 5, "clau…code+model-a · r1", "codex+model-b · r1"},
		{[]string{"direct", "retriever", "checker"}, []string{"tern-large", "tern-small", "wren-mini"}, 3, "direct+tern-large · r1", "che…er+wren-mini · r1"},
		{[]string{"only-agent-here"}, []string{"gpt-5-mini-2026-01-01", "gpt-5-nano-2026-01-01"}, 5, "…mini… · r1", "…nano… · r1"},
		{[]string{"an-agent-with-a-long-name", "another"}, []string{"only"}, 5, "an-agent…ong-name · r1", "another · r1"},
		{[]string{"one-agent-with-a-long-name"}, []string{"one-model-with-a-long-name"}, 100, "one…ame+one…ame · r1", "one…ame+one…ame · r1"},
	} {
		all := variantsOf(c.agents, c.models)
		n := NamesOf(all, c.repeats)
		assert.Equal(t, c.first, n.Of(all[0], 1))
		assert.Equal(t, c.last, n.Of(all[len(all)-1], 1))
	}
}

// TestNamesOfAWideBatch: 12 models with forty characters in common, of five agents.
func TestNamesOfAWideBatch(t *testing.T) {
	common := strings.Repeat("a-very-long-vendors-name-", 2)[:40]
	for name, form := range map[string]string{"end": common + "%d", "middle": common + "%d" + "-instruct-2026-11-30", "begin": "%d" + common, "no words": strings.Repeat("x", 40) + "%d"} {
		var models, agents []string
		for i := range 12 {
			models = append(models, fmt.Sprintf(form, i*7))
		}
		for i := range 5 {
			agents = append(agents, fmt.Sprintf("agent-with-settings-%c-and-more", 'a'+i))
		}
		all := variantsOf(agents, models)
		n, seen := NamesOf(all, 5), map[string]bool{}
		for _, v := range all {
			for slot := 1; slot <= 5; slot++ {
				got := n.Of(v, slot)
				assert.LessOrEqual(t, utf8.RuneCountInString(got), NameWidth, got)
				assert.True(t, strings.HasSuffix(got, fmt.Sprintf(" · r%d", slot)), got)
				assert.False(t, seen[got], "%s: %s twice", name, got)
				seen[got] = true
			}
		}
	}
}

// TestNamesStayDistinct for any ids, scripts that no spec allows included.
func TestNamesStayDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringOfN(rapid.SampledFrom([]rune("ab-._é🙂ש\u200d")), 1, 64, -1)
		ids := func(most int) []string { return rapid.SliceOfNDistinct(id, 1, most, rapid.ID[string]).Draw(t, "ids") }
		all := variantsOf(ids(12), ids(12))
		repeats := rapid.IntRange(1, 999).Draw(t, "repeats")
		n, seen := NamesOf(all, repeats), map[string]bool{}
		for _, v := range all {
			got := n.Of(v, repeats)
			assert.LessOrEqual(t, utf8.RuneCountInString(got), NameWidth, got)
			assert.True(t, utf8.ValidString(got), got)
			assert.False(t, seen[got], got)
			seen[got] = true
		}
	})
}
