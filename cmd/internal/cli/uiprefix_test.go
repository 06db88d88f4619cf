package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/note"
)

// TestTheUIBelowAPrefix: links, and the picture in the note, hold below whatever address the server is reached by.
func TestTheUIBelowAPrefix(t *testing.T) {
	t.Parallel()
	s := newShellAt(t, mlflowtest.RealWith(t, mlflowtest.Newest, mlflowtest.Setup{Prefix: "/ml"}).Address)
	s.one()
	r := s.measure()
	l, o := newLooker(t), s.pages(r)
	l.see("batch", o.Page, r.Verdict, "2 planned = 0 reused + 2 done")
	l.await(1, `[...document.images].filter(i => i.src.includes('/ml/get-artifact?') && i.naturalWidth > 300).length`)
	l.await(2, `[...document.querySelectorAll('table a')].filter(a => a.href.includes('/ml/#/experiments/')).length`)
	l.see("score", o.Views["score"], "2 matching runs", "quick+m-one · r1")
}

// TestAWideBatchIsReadable: 12 agents on 5 models with long names, and words of any script.
func TestAWideBatchIsReadable(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	id := mlflowtest.Experiment(t, s.client())
	run, err := s.client().CreateRun(t.Context(), mlflow.CreateRun{ExperimentID: id, Name: "wide v1 · 2026-11-30", StartTime: 1_796_000_000_000})
	require.NoError(t, err)
	num := func(v float64) *float64 { return &v }
	b := note.Batch{
		Verdict: "No winner: all 60 variants share the first group.", Question: `Who answers “שלום”, 'مرحبا' and "你好 🙂" best? ` + "\u202eevil <img src=x> ![x](http://example.org/x.png)",
		Counts: batch.Counts{Planned: 300, Done: 290, Failed: 10}, Spent: note.Spent{USD: num(12.5), Unknown: true}, Reasons: []string{"10 failed (a+b): 'שגיאה' \"🙂\" | <b>"},
		Links: []note.Link{{Label: "evaluations by score", Address: "#/x"}}, AllRuns: "#/all",
	}
	for i := range 60 {
		c := note.Cell{Variant: batch.Variant{Agent: fmt.Sprintf("agent-with-a-very-long-name-%02d-%s", i/5, strings.Repeat("x", 30)), Model: fmt.Sprintf("model-%d.%s", i%5, strings.Repeat("y", 50))}, Planned: 5, Score: num(0.5)}
		for k := range 5 {
			c.Repeats = append(c.Repeats, note.Repeat{Slot: k + 1, Run: views.Links{}.Run(id, run.RunID), Raw: views.Links{}.File(run.RunID, "x")})
		}
		b.Cells = append(b.Cells, c)
	}
	text := note.Text(b)
	require.NoError(t, s.client().SetTag(t.Context(), run.RunID, "mlflow.note.content", text))
	l := newLooker(t)
	seen := l.see("wide", views.Links{Server: s.env["MLFLOW_TRACKING_URI"]}.Run(id, run.RunID), b.Verdict, "300 planned = 0 reused + 290 done + 10 failed", "at least $12.50 spent",
		`“שלום”, 'مرحبا' and "你好 🙂"`, "⟨U+202E⟩evil <img src=x> ![x](http://example.org/x.png)", "of 60 variants", `'שגיאה' "🙂" | <b>`, b.Cells[0].Agent)
	l.Eval(t, `document.querySelector('[data-component-id$="show_comment_text_toggle"]').click() ?? null`, new(any))
	time.Sleep(time.Second)
	l.picture("wide")
	l.await(0, `[...document.images].filter(i => i.src.includes('example.org') || i.src.endsWith('/x')).length`)
	rows := strings.Count(text, "\n| agent-with")
	assert.Greater(t, rows, 20)
	assert.Equal(t, rows, strings.Count(seen, "agent-with"), "every row that is there is seen")
	var wider int
	l.Eval(t, `document.documentElement.scrollWidth - innerWidth`, &wider)
	assert.LessOrEqual(t, wider, 0, "the page does not scroll sideways")
}
