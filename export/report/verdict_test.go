package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// diagonal is a line of n tasks and 5 repeats: all c, but for one other letter in
// a different repeat of each of the last few tasks.
func diagonal(n, few int, c, other string) string {
	var b strings.Builder
	for i := range n {
		word := strings.Repeat(c, 5)
		if j := i - (n - few); j >= 0 {
			word = word[:j%5] + other + word[j%5+1:]
		}
		b.WriteString(word + " ")
	}
	return b.String()
}

var (
	high  = diagonal(30, 6, "1", "0")
	high2 = diagonal(30, 5, "1", "0")
	low   = diagonal(30, 6, "0", "1")
	low2  = diagonal(30, 5, "0", "1")
	mid   = strings.Repeat("10101 01010 11011 00100 10010 ", 6)
)

const (
	withMargin = `{"metric":"passed","margin":0.2}`
	reference  = `{"metric":"passed","margin":0.2,"reference":"agent-1+model-1","compare":"reference"}`
)

// The sentence for each end state is fixed: people learn to read it.
func TestHeadlines(t *testing.T) {
	twelve := func(word string) string { return strings.Repeat(word+" ", 12) }
	for name, c := range map[string]struct {
		lines    []string
		decision string
		change   func(s *exporttest.Synthetic)
		want     string
		rests    []string // what else the page says
	}{
		"one differs": {[]string{high, low, low2}, withMargin, nil,
			"agent-1+model-1 may be called best: it beats every other variant.",
			[]string{"agent-1+model-1 beats agent-2+model-1", "equal within the margin", "| agent-1+model-1 | 1 | 0.960 [0.930, 0.990] | a |", "| 2–3 |", "differences below 0.2 do not matter"}},
		"last is alone": {[]string{high, high2, high, low, high2, high}, withMargin, nil,
			"No winner: five of six share the first group.",
			[]string{"agent-1+model-1 beats agent-4+model-1"}},
		"two lead": {[]string{high, high2, low}, withMargin, nil,
			"No winner: two of three share the first group (agent-1+model-1, agent-2+model-1).", nil},
		"all equal": {[]string{high, high2, high}, withMargin, nil,
			"No winner: all three variants are equal within the margin of 0.2.", []string{"it does not rank"}},
		"two equal": {[]string{high, high2}, withMargin, nil,
			"No winner: agent-1+model-1 and agent-2+model-1 are equal within the margin of 0.2.", nil},
		"no margin": {[]string{high, high2}, `{"metric":"passed"}`, nil,
			"Cannot tell agent-1+model-1 from agent-2+model-1: too little power, no margin was declared.", []string{"declare a margin", "it does not rank", "no margin was declared"}},
		"three unclear": {[]string{high, high2, high}, `{"metric":"passed"}`, nil,
			"No winner: no two of three variants can be told apart.", nil},
		"one repeat": {[]string{twelve("1"), twelve("0")}, withMargin, nil,
			"Nothing can be told: fewer than 3 repeats.",
			[]string{"it does not rank", "| cannot tell | too few repeats |", "add repeats: 4 more (48 task runs)"}},
		"few tasks": {[]string{"111 111 111", "000 000 000"}, withMargin, nil,
			"Nothing can be told: fewer than 10 common tasks.", []string{"add tasks: 7 more"}},
		"apart": {[]string{high, low}, withMargin, func(s *exporttest.Synthetic) { older(s, "agent-1") },
			"Nothing can be told: the variants were measured apart.", []string{"| cannot tell | measured apart |", "run both sides on the same day: 5 more"}},
		"one variant": {[]string{high}, withMargin, nil,
			"Nothing to compare: only agent-1+model-1 has a score.", nil},
		"all failed": {[]string{twelve("---"), twelve("---")}, withMargin, nil,
			"Nothing can be told: no variant has a score.", []string{"Without a score, and so in no pair: agent-1+model-1, agent-2+model-1."}},
		"none started": {[]string{high, low}, withMargin, func(s *exporttest.Synthetic) { s.Drop(0); s.Drop(1) },
			"Nothing can be told: no variant has a score.", nil},
		"one not started": {[]string{high, low, low2}, withMargin, func(s *exporttest.Synthetic) { s.Drop(2) },
			"agent-1+model-1 may be called best of the two measured (3 planned): it beats every other variant.", nil},
		"margin beyond the scale": {[]string{high, low}, `{"metric":"passed","margin":1.5}`, nil,
			"Nothing is decided: margin 1.5: must lie in (0, 1), the range of a difference of scores.", []string{"it does not rank"}},
		"reference": {[]string{mid, high, low}, reference, nil,
			"Of two candidates one is better than the reference agent-1+model-1, one is worse.",
			[]string{"## Differences to the reference agent-1+model-1", "| agent-2+model-1 | agent-2+model-1 beats agent-1+model-1 |", "| superior |", "| inferior |"}},
		"reference is best": {[]string{high, low, mid}, reference, nil,
			"agent-1+model-1 may be called best: it beats every other variant.", nil},
		"reference without score": {[]string{high, low, mid}, reference, func(s *exporttest.Synthetic) { s.Drop(0) },
			"Nothing can be told: the reference has no score.", nil},
		"nobody differs from the reference": {[]string{high, high2, high}, reference, nil,
			"No winner: of two candidates none is shown to be better or worse than the reference agent-1+model-1.", nil},
		"list": {[]string{high, low, mid}, `{"metric":"passed","scope":"list"}`, nil,
			"agent-1+model-1 may be called best on this list: it is ahead of every other variant on this list.",
			[]string{"about exactly these tasks", "agent-1+model-1 is ahead of agent-2+model-1 on this list", "(this list &#60;0.0001)"}},
		"families": {[]string{high, low}, `{"metric":"passed"}`, func(s *exporttest.Synthetic) { s.SetFamilies(strings.Repeat("aaabbbcccd", 3)) },
			"agent-1+model-1 is ahead of agent-2+model-1 on this list (these families only), but is not called best.", nil},
		"withdrawn": {[]string{high, low}, `{"metric":"passed"}`, func(s *exporttest.Synthetic) {
			for _, task := range s.Tasks[:28] {
				s.Plan.Withdraw = append(s.Plan.Withdraw, batch.Withdrawal{Task: task.ID, Why: "wrong", Date: "2026-12-02"})
			}
		}, "No winner: agent-1+model-1 is first, but not without the withdrawn tasks.",
			[]string{"Without the withdrawn tasks the verdict on 1 pair changes", "| without the withdrawn tasks: cannot tell |", "see [Does the verdict hold?](#holds)"}},
		"equal in one reading": {[]string{high, high2}, withMargin, func(s *exporttest.Synthetic) { selected(s, 3) },
			"No winner: agent-1+model-1 and agent-2+model-1 are equal within the margin of 0.2; not so without the runs of selection.", nil},
		"candidates in one reading": {[]string{mid, high, low}, reference, func(s *exporttest.Synthetic) { selected(s, 3) },
			"Of two candidates one is better than the reference agent-1+model-1, one is worse; not so without the runs of selection.", nil},
		"passes of graded scores": {[]string{high, low}, withMargin, nil,
			"agent-1+model-1 may be called best: it beats every other variant.",
			[]string{"worst run – best run, of scores", "range tie, of scores", "Share of passes by task and variant", "Mean score of every counted run"}},
	} {
		s := exporttest.Lettered(c.lines...)
		s.SetDecision(c.decision)
		if c.change != nil {
			c.change(s)
		}
		report, readme := texts(t, s, nil)
		lines := strings.Split(report, "\n")
		assert.Contains(t, lines[:8], "**"+c.want+"**", "%s: %s", name, strings.Join(lines[:8], "\n"))
		assert.True(t, strings.Contains(readme[:400], c.want), "%s: README", name)
		for _, text := range c.rests {
			assert.True(t, strings.Contains(report, text), "%s: %q is missing", name, text)
		}
		for _, text := range []string{"NaN", "Inf", "%!"} {
			assert.NotContains(t, report, text, name)
		}
		claims := strings.Contains(report, " beats ") || strings.Contains(report, "is ahead of")
		assert.Equal(t, !claims, strings.Contains(report, "it does not rank"), name)
	}
}

// selected marks the first runs of every variant as those by which something was chosen.
func selected(s *exporttest.Synthetic, runs int) {
	for i := range s.Result.Evaluations {
		if e := &s.Result.Evaluations[i]; e.Slot <= runs {
			e.Role = export.RoleSelection
		}
	}
}

func older(s *exporttest.Synthetic, agent string) {
	for i := range s.Result.Evaluations {
		if e := &s.Result.Evaluations[i]; e.Agent == agent {
			e.Started = e.Started.Add(-60 * 24 * time.Hour)
		}
	}
}

// Ids of other tools' plans are foreign text wherever the verdict names them.
func TestHostileIds(t *testing.T) {
	s := exporttest.Lettered(high, low, mid)
	for i := range s.Plan.Cells {
		s.Plan.Cells[i].Agent += exporttest.Hostile
	}
	s.SetDecision(`{"metric":"passed","margin":0.2,"compare":"all"}`)
	report, readme := texts(t, s, nil)
	require.Contains(t, report, "may be called best")
	for name, text := range map[string]string{"report.md": report, "README.md": readme} {
		for _, bad := range []string{"<script", "![x", "https://host", "\x1b", "\u202e", "\n# h"} {
			assert.NotContains(t, text, bad, name)
		}
	}
	s.SetDecision(`{"metric":"passed","reference":"<script>|x","compare":"reference"}`)
	report, _ = texts(t, s, nil)
	assert.Contains(t, report, "Nothing is decided: the reference")
	assert.NotContains(t, report, "<script")
}

// Which look this is stands beside the verdict, with its level.
func TestLooks(t *testing.T) {
	s := exporttest.Lettered(high, low)
	report, _ := texts(t, s, nil)
	assert.Contains(t, report, "This is the first look at this question: 1 pair is tested at 0.05 two-sided")
	s.Plan.Earlier = []string{"a", "b"}
	report, _ = texts(t, s, nil)
	assert.Contains(t, report, "This is look 3, at a level lowered for it, at this question: 1 pair is tested at 0.0015625 two-sided")
}
