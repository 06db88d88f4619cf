package note

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

func num(v float64) *float64 { return &v }

// sample is a frozen batch of some variants with some repeats each.
func sample(variants, repeats int) Batch {
	b := Batch{
		Verdict: "a0+m may be called best: it beats every other variant.", Question: "Which variant should answer first?",
		Counts: batch.Counts{Planned: variants * repeats, Reused: 1, Done: variants*repeats - 1},
		Spent:  Spent{USD: num(0.99), Ceiling: num(5)}, Ranked: true, Folder: "demo-v1_2026-11-30_7f3a9c",
		Links:   []Link{{"report", "#/experiments/1/runs/" + id(0) + "/artifacts/report.html"}, {"evaluations by score", "#/experiments/1/runs?viewStateShareKey=x"}},
		Picture: "get-artifact?run_uuid=" + id(0) + "&path=charts/cost.svg", AllRuns: "#/all",
	}
	for v := range variants {
		c := Cell{Variant: batch.Variant{Agent: fmt.Sprintf("a%d", v), Model: "m"}, Planned: repeats, Score: num(0.859), Low: num(0.833), High: num(0.885), Pass: num(0.92), USD: num(0.0892)}
		for r := range repeats {
			run := id(v*repeats + r)
			c.Repeats = append(c.Repeats, Repeat{Slot: r + 1, Reused: v+r == 0, Run: "#/experiments/1/runs/" + run, Raw: "get-artifact?run_uuid=" + run + "&path=bundle.tar.zst"})
		}
		b.Cells = append(b.Cells, c)
	}
	return b
}

func id(n int) string { return fmt.Sprintf("%032x", n) }

func TestFirstLinesSayWhatCounts(t *testing.T) {
	lines := strings.Split(Text(sample(2, 3)), "\n")
	assert.Equal(t, "a0+m may be called best: it beats every other variant.  ", lines[0])
	assert.Equal(t, "6 planned = 1 reused + 5 done + 0 failed + 0 skipped + 0 not started · &#36;0.9900 of &#36;5.00 spent", lines[1])
	assert.Empty(t, lines[2])
	assert.True(t, strings.HasPrefix(lines[3], "[report](#/experiments/1/runs/"), lines[3])
	text := Text(sample(2, 3))
	assert.Contains(t, text, "| a0&nbsp;&nbsp;| m&nbsp;&nbsp;| 3 (1 reused)&nbsp;&nbsp;| **0.859**&nbsp;&nbsp;| 0.833–0.885&nbsp;&nbsp;| 92 %&nbsp;&nbsp;| &#36;0.0892&nbsp;&nbsp;| "+
		"[1&nbsp;reused](#/experiments/1/runs/"+id(0)+") [2](#/experiments/1/runs/"+id(1)+") [3](#/experiments/1/runs/"+id(2)+")&nbsp;&nbsp;| [1](get-artifact?run_uuid="+id(0)+"&path=bundle.tar.zst)")
	assert.Contains(t, text, "![score against cost](get-artifact?run_uuid="+id(0)+"&path=charts/cost.svg)")
	assert.NotContains(t, text, "Left out")
}

func TestUnfinished(t *testing.T) {
	b := sample(2, 3)
	b.Verdict, b.Running, b.Draft, b.Live, b.Folder = "", true, true, 2, ""
	b.AsOf = time.Date(2026, 11, 30, 15, 4, 5, 0, time.FixedZone("here", 3600))
	b.Counts = batch.Counts{Planned: 6, Done: 1, Failed: 1, Skipped: 1, NotStarted: 3}
	b.Spent = Spent{USD: num(0.00012), Unknown: true}
	b.Reasons = []string{"1 failed (a0+m): exit code 1"}
	text := Text(b)
	assert.True(t, strings.HasPrefix(text, "DRAFT (the version may still change). Running, 1 of 6 repeats are there. Nothing is decided before the end.  \n"+
		"6 planned = 0 reused + 1 done + 1 failed + 1 skipped + 3 not started (2 running now) · at least &#36;0.000120 spent · as of 2026-11-30 14:04 UTC\n"), text)
	assert.Contains(t, text, "What is missing:\n\n- 1 failed (a0+m)")
	b.Running, b.Counts.Done, b.Spent.USD, b.Cells = false, 0, nil, nil
	text = Text(b)
	assert.Contains(t, text, "Unfinished, none of 6 repeats are there: the batch can be continued.")
	assert.Contains(t, text, "cost unknown spent")
	assert.NotContains(t, text, "|---", "no variants, no table")
}

// TestNothingForeignBecomesMarkup: a note is read in a browser, which would fetch an image and follow what looks like a link.
func TestNothingForeignBecomesMarkup(t *testing.T) {
	const evil = "![x](http://evil.example/a.png) <img src=x> | `a` [b](javascript:1)\n# big \u202egnihton\u2066 🙂"
	b := sample(1, 1)
	b.Question, b.Reasons, b.Folder = evil, []string{evil}, evil
	b.Cells[0].Agent, b.Cells[0].Model = evil, evil
	b.Links = append(b.Links, Link{evil, "#/x"})
	text := Text(b)
	assert.NotContains(t, text, "![x]")
	assert.NotContains(t, text, "](http")
	assert.NotContains(t, text, "](javascript")
	assert.NotContains(t, text, "<img")
	assert.NotContains(t, text, "\n# big")
	assert.NotContains(t, text, "\u202e")
	assert.Contains(t, text, "⟨U+202E⟩gnihton")
	assert.Contains(t, text, "🙂")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") {
			assert.Equal(t, 10, strings.Count(line, "|"), line)
		}
	}
}

// TestItFits: MLflow cuts a longer note and says nothing, so that the cut must be ours.
func TestItFits(t *testing.T) {
	for _, tt := range []struct {
		variants, repeats int
		long              bool
		says              string
	}{
		{4, 3, false, ""},
		{4, 10, false, "links to raw bundles, which are under Artifacts"},
		{3, 60, false, "beyond the tenth"},
		{12, 5, false, "all runs but the first"},
		{25, 5, false, "links to runs and raw bundles"},
		{60, 5, true, "of 60 variants"},
		{1000, 1000, true, "of 1000 variants"},
	} {
		b := sample(tt.variants, tt.repeats)
		b.Question = strings.Repeat("é", 3000)
		for i := range 30 {
			b.Reasons = append(b.Reasons, fmt.Sprintf("%d failed: %s", i, strings.Repeat("<", 1000)))
		}
		if tt.says == "" {
			b.Question, b.Reasons = "", nil
		}
		if tt.long {
			for i := range b.Cells {
				b.Cells[i].Agent, b.Cells[i].Model = fmt.Sprintf("%064d", i), strings.Repeat("_", 64)
			}
		}
		text := Text(b)
		require.LessOrEqual(t, utf8.RuneCountInString(text), Limit, "%d × %d", tt.variants, tt.repeats)
		assert.True(t, strings.HasPrefix(text, b.Verdict), "the verdict is never cut")
		if tt.says == "" {
			assert.NotContains(t, text, "Left out")
			continue
		}
		assert.Contains(t, text, "Left out, because MLflow keeps 8,000 characters of a note: ")
		assert.Contains(t, text, tt.says)
		assert.True(t, strings.HasSuffix(text, "[All runs](#/all)\n"))
	}
}

// TestAVerdictOfAnyLength: what stands before the table may be long too.
func TestAVerdictOfAnyLength(t *testing.T) {
	b := sample(3, 3)
	b.Verdict = strings.Repeat("variant ", 2000)
	text := Text(b)
	assert.LessOrEqual(t, utf8.RuneCountInString(text), Limit)
	assert.Greater(t, utf8.RuneCountInString(text), Limit/2)
	assert.True(t, strings.HasPrefix(text, "variant variant "), "what fits of it is kept")
}
