package cli

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export/exporttest/browser"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// looker reads pages of the MLflow UI in a real browser. Its pictures are kept as the
// test's artifacts: go test -artifacts -outputdir DIR.
type looker struct {
	*browser.Browser
	dir string
	t   *testing.T
}

func newLooker(t *testing.T) *looker {
	return &looker{browser.Start(t), t.ArtifactDir(), t}
}

// closeAssistant closes the panel that MLflow 3 shows to a new browser.
const closeAssistant = `document.querySelector('[data-component-id="mlflow.assistant.chat_panel.close"]')?.click()`

// see opens a page, waits until it shows all texts, keeps a picture, and returns its text, with
// single spaces.
func (l *looker) see(name, page string, texts ...string) string {
	l.t.Helper()
	l.Open(l.t, "about:blank", browser.Options{Width: 1500, Height: 1100}) // an address that differs in its fragment alone is not loaded again
	l.Open(l.t, page, browser.Options{Width: 1500, Height: 1100})
	var text string
	for end := time.Now().Add(time.Minute); ; time.Sleep(300 * time.Millisecond) {
		var ignored any
		l.Eval(l.t, "("+closeAssistant+") ?? null", &ignored)
		l.Eval(l.t, "document.body.innerText", &text)
		text = strings.Join(strings.Fields(text), " ")
		missing := ""
		for _, want := range texts {
			if !strings.Contains(text, want) {
				missing = want
			}
		}
		if missing == "" {
			break
		}
		if time.Now().After(end) {
			assert.Failf(l.t, "a text does not appear", "%s: %q is not on %s, which says:\n%s", name, missing, page, text)
			break
		}
	}
	time.Sleep(time.Second) // charts and pictures move in
	l.picture(name)
	return text
}

func (l *looker) picture(name string) {
	l.t.Helper()
	l.Window(l.t, filepath.Join(l.dir, name+".png"))
}

// await waits until a number in the page is what it must be.
func (l *looker) await(want int, js string) {
	l.t.Helper()
	var got int
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if l.Eval(l.t, js, &got); got == want {
			return
		}
	}
	assert.Equal(l.t, want, got, js)
}

// pages is what `open` says of a batch.
func (s *shell) pages(r ran) opened {
	s.t.Helper()
	var o opened
	s.json(&o, "open", r.Batch)
	return o
}

// twoDays measures a batch, and one that reuses it; one task of all always fails at its provider.
func (s *shell) twoDays() (first, second ran) {
	s.t.Helper()
	s.faults(map[string]any{"T-01": 99})
	s.edit("benchmark.yaml", "runner:", "retry: {provider: 0}\nrunner:")
	first = s.measure()
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	second = s.measure("--log-folder")
	require.Equal(s.t, batch.Counts{Planned: 12, Reused: 8, Done: 4}, second.Counts)
	return first, second
}

// TestTheUIIsUnderstood: whoever opens MLflow after a batch reads what happened.
func TestTheUIIsUnderstood(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	_, r := s.twoDays()
	l, o := newLooker(t), s.pages(r)

	text := l.see("batch", o.Page, r.Verdict, "12 planned = 8 reused + 4 done + 0 failed + 0 skipped + 0 not started · $0.0480 of $100.00 spent",
		"report · dated folder with all raw bundles · evaluations by score · cells, mean over repeats · tasks side by side · failed and incomplete · history")
	assert.Contains(t, text, "Source benchbatch run benchmark.yaml")
	l.Eval(t, `document.querySelector('[data-component-id$="show_comment_text_toggle"]').click() ?? null`, new(any))
	l.await(12, `document.querySelectorAll('table a[href*="/runs/"]').length`)
	l.await(12, `document.querySelectorAll('table a[href*="path=bundle.tar.zst"]').length`)
	l.await(1, `[...document.images].filter(i => i.src.includes('path=charts/cost.svg') && i.naturalWidth > 300).length`)
	l.await(8, `[...document.querySelectorAll('table a')].filter(a => a.innerText.includes('reused')).length`)
	l.picture("batch")

	text = l.see("score", o.Views["score"], "evaluations by score", "12 matching runs", "pass_fraction", "careful+m-one · r1", "partial")
	assert.Less(t, strings.Index(text, "careful+m-"), strings.Index(text, "quick+m-"), "the best first")
	l.see("parallel", o.Views["score"]+"&compareRunsMode=CHART", "benchbatch (3)", "Parallel Coordinates", "cost_usd vs. score")
	l.await(1, `document.querySelectorAll('canvas').length > 0 ? 1 : 0`)
	l.picture("parallel")
	l.see("cells", o.Views["cells"], "cells, mean over repe", "benchbatch (4)", "Group: agent: careful", "12 matching runs")
	l.await(16, `document.querySelectorAll('.js-plotly-plot .bars .point').length + document.querySelectorAll('.js-plotly-plot .scatterlayer .point').length`)
	l.see("tasks", o.Views["tasks"], "tasks side by side", "Table: outcomes_table.json", "Compare: score", "T-01", "T-03")
	l.see("failed", o.Views["failed"], "failed and incomplete", "12 matching runs", "partial")
	l.see("history", o.Views["history"], "history of all batches", "2 matching runs", r.Verdict[:20])

	run := s.reusedRun(r)
	text = l.see("evaluation", views.Links{Server: s.env["MLFLOW_TRACKING_URI"]}.Run(run.experiment, run.id), "Parent run", "partial", "score", "pass_fraction", "cost_usd", "Eval")
	assert.Less(t, strings.Index(text, "score "), strings.Index(text, "pass_fraction"), "the score is the first metric")
	assert.Contains(t, text, "HTTP 503", "the note says what failed")

	artifact := func(path string) string {
		return views.Links{Server: s.env["MLFLOW_TRACKING_URI"]}.Artifact(run.experiment, r.Batch, path)
	}
	l.see("plan", artifact(batch.FilePlan), "report.html", "charts", r.Name, `"decision_digest"`)
	l.see("manifest", artifact("manifest.json"), `"planned"`)
	l.see("report", artifact("report.html"), "report.html")
	l.await(1, `document.querySelectorAll('iframe').length`)
	time.Sleep(time.Second)
	l.picture("report")
	l.see("report-md", artifact(r.Name+"/report.md"), "Leaderboard", "12 of 12 planned repeats count")
	l.see("folder", artifact(r.Name+"/tables"), "outcomes.parquet", "SHA256SUMS")
	l.see("outcomes", views.Links{Server: s.env["MLFLOW_TRACKING_URI"]}.Artifact(run.experiment, run.id, batch.FileOutcomes), `"task":"T-01"`)
	l.see("table", views.Links{Server: s.env["MLFLOW_TRACKING_URI"]}.Artifact(run.experiment, run.id, batch.FileTable), "T-01", "provider")
	text = l.see("genai", o.Views["evaluations"], "Evaluation runs", "score", "Eval")
	assert.Less(t, strings.Index(text, "score"), strings.Index(text, "coverage"), "columns follow the order in which metrics were logged")
}

// TestTheOlderUIIsUnderstood is the same on the oldest MLflow, as far as it can show it.
func TestTheOlderUIIsUnderstood(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Oldest)
	_, r := s.twoDays()
	l, o := newLooker(t), s.pages(r)
	l.see("batch", o.Page, r.Verdict, "12 planned = 8 reused + 4 done + 0 failed + 0 skipped + 0 not started", "lowest–highest", "1 reused")
	l.await(1, `[...document.images].filter(i => i.src.includes('path=charts/cost.svg') && i.naturalWidth > 300).length`)
	l.see("score", o.Views["score"], "12 matching runs", "pass_fraction", "careful+m-one · r1")
	l.see("cells", o.Views["cells"], "benchbatch (4)", "Group: agent: c", "12 matching runs")
	l.see("tasks", o.Views["tasks"], "Table: outcomes_table.json", "Compare: score", "T-01")
	l.see("history", o.Views["history"], "2 matching runs")
}

// runAt is a run and where it is.
type runAt struct{ experiment, id string }

// reusedRun is one of the runs that a batch reused.
func (s *shell) reusedRun(r ran) runAt {
	s.t.Helper()
	var result batch.Result
	b, err := os.ReadFile(filepath.Join(r.Folder, batch.FileResult))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(b, &result))
	for _, e := range result.Evaluations {
		if e.Reused {
			return runAt{s.experiment(), e.RunID}
		}
	}
	s.t.Fatal("nothing was reused")
	return runAt{}
}

func TestPagesArePrinted(t *testing.T) {
	s := newShellAt(t, mlflowtest.NewFake(t).URL)
	r := s.measure()
	got := s.ok("open")
	assert.Equal(t, r.Page+"\n", got.out)
	o := s.pages(r)
	assert.Equal(t, r.Name, o.Name)
	for _, view := range []string{"score", "cells", "tasks", "failed", "history", "evaluations"} {
		assert.Equal(t, o.Views[view]+"\n", s.ok("open", r.Name, "--view", view).out)
		address, err := url.Parse(o.Views[view])
		require.NoError(t, err)
		assert.Contains(t, address.Fragment, "workflowType=", view)
	}
	bad := s.run("open", "--view", "nothing")
	assert.Equal(t, ExitUsage, bad.code)
	assert.Contains(t, bad.stderr, "score, cells, tasks")

	// A browser is opened where somebody looks on.
	seen := filepath.Join(s.dir, "seen")
	script := filepath.Join(s.dir, "browser")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$1\" > "+seen+".tmp && mv "+seen+".tmp "+seen+"\n"), 0o700))
	s.env["BROWSER"] = script
	s.ok("open")
	assert.NoFileExists(t, seen, "no terminal")
	s.terminal = true
	s.ok("open")
	require.Eventually(t, func() bool { _, err := os.Stat(seen); return err == nil }, time.Minute, 10*time.Millisecond)
	b, err := os.ReadFile(seen)
	require.NoError(t, err)
	assert.Equal(t, r.Page, strings.TrimSpace(string(b)))
}

func TestViewsAreUninstalled(t *testing.T) {
	for _, version := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		t.Run(string(version), func(t *testing.T) {
			s := newShellAt(t, mlflowtest.NewFakeOf(t, version).URL)
			s.measure()
			c := s.client()
			require.NoError(t, c.SetExperimentTag(t.Context(), s.experiment(), views.Prefix+"mine", "{}"))
			left := func() []string {
				e, err := c.GetExperiment(t.Context(), s.experiment())
				require.NoError(t, err)
				return views.IDs(e, "")
			}
			require.Len(t, left(), 6)
			got := s.ok("uninstall-views", "--experiment", s.name())
			want := "5 views removed"
			if version == mlflowtest.Oldest {
				want = "5 views emptied (this MLflow can't remove them)"
			}
			assert.Contains(t, got.out, want)
			assert.Equal(t, []string{"mine"}, left())
			assert.Equal(t, "no views of benchbatch\n", s.ok("uninstall-views").out)
		})
	}
}
