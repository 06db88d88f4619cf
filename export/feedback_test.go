package export_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// said is a small batch of whose outcomes people said something.
func said(t *testing.T) *exporttest.Synthetic {
	t.Helper()
	s := exporttest.New(small)
	run := s.Result.Evaluations[0].RunID
	s.Say(run, s.Tasks[0].ID, "tone", "0.5", "ann")
	s.Say(run, s.Tasks[0].ID, "tone", `"yes"`, "bob")
	s.Say(run, s.Tasks[1].ID, "why", `"free text about a customer"`, "bob")
	return s
}

func TestBatchName(t *testing.T) {
	for folder, batch := range map[string]string{
		"small-v1_2026-11-30_7f3a9c":                                   "small-v1_2026-11-30_7f3a9c",
		"small-v1_2026-11-30_7f3a9c_feedback-20261201T010203.004Z":     "small-v1_2026-11-30_7f3a9c",
		"our_feedback-v1_2026-11-30_7f3a9c":                            "our_feedback-v1_2026-11-30_7f3a9c",
		"a_feedback-b_2026-11-30_7f3a9c_feedback-20261201T010203.004Z": "a_feedback-b_2026-11-30_7f3a9c",
		"latest": "latest",
	} {
		assert.Equal(t, batch, export.BatchName(folder))
	}
}

// The same folder with and without what people said differs in nothing that is measured.
func TestFeedbackIsNoMeasurement(t *testing.T) {
	with, without := write(t, said(t).Freeze(), nil), write(t, exporttest.New(small).Freeze(), nil)
	for _, table := range []string{"outcomes", "judges", "variants", "metrics", "evaluations"} {
		a, err := os.ReadFile(filepath.Join(with, "tables", table+".parquet"))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(without, "tables", table+".parquet"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(a, b), table)
	}
	m, err := export.ReadManifest(with)
	require.NoError(t, err)
	require.NotNil(t, m.Feedback)
	assert.Equal(t, []any{3, 12, false}, []any{m.Feedback.Rows, m.Feedback.Traces, m.Feedback.Refreshed})
	lines, err := os.ReadFile(filepath.Join(with, "raw", batch.FileFeedback))
	require.NoError(t, err)
	assert.Equal(t, m.Feedback.Digest, batch.Sum(lines))
	require.NoError(t, verify(t, with).Err())

	m, err = export.ReadManifest(without)
	require.NoError(t, err)
	assert.Nil(t, m.Feedback)
	assert.NoFileExists(t, filepath.Join(without, "raw", batch.FileFeedback))
	report, err := os.ReadFile(filepath.Join(without, "report.md"))
	require.NoError(t, err)
	assert.NotContains(t, string(report), "What people said")
}

// Without raw evidence numbers and yes or no stay, the words go, and the report still follows from the tables.
func TestFeedbackWithheld(t *testing.T) {
	for _, withhold := range []string{export.WithholdRaw, export.WithholdInputs} {
		dir := write(t, said(t).Freeze(), func(o *export.Options) { o.Withhold = []string{withhold} })
		require.NoError(t, verify(t, dir).Err())
		raw := withhold == export.WithholdRaw
		assert.Equal(t, !raw, fileExists(filepath.Join(dir, "raw", batch.FileFeedback)))
		f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
		require.NoError(t, err)
		_, made, err := f.Render(t.Context(), "", outputs())
		require.NoError(t, err)
		assert.Empty(t, f.Same(made, outputs()))
		for _, a := range f.Frozen.Feedback.Said() {
			assert.Equal(t, raw, a.Rationale == "", a.Name)
			if a.Name == "why" {
				assert.Equal(t, raw, a.Value == nil)
			} else {
				assert.NotNil(t, a.Value)
			}
		}
		files := allFiles(t, dir)
		for _, name := range files {
			b, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			if raw {
				assert.NotContains(t, string(b), "free text about a customer", name)
			}
		}
	}
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// What was read again makes another folder, which says what it supersedes; the batch's own stays.
func TestRefreshedFeedback(t *testing.T) {
	s := said(t)
	b, out := s.Freeze(), t.TempDir()
	old := write(t, b, func(o *export.Options) { o.Out = out })
	before := read(t, old, "SHA256SUMS")
	s.Said[0].Value = []byte("0.75")
	again, lines, err := batch.NewFeedback(s.Result.Frozen.Add(49*time.Hour+7*time.Millisecond), 12, s.Said)
	require.NoError(t, err)
	o := export.Options{Out: out, Outputs: outputs(), Feedback: again, Supersedes: &export.Superseded{Folder: filepath.Base(old), Manifest: batch.Sum([]byte(read(t, old, "manifest.json")))}}
	_, err = export.Write(context.Background(), b, o)
	var integrity *export.IntegrityError
	require.ErrorAs(t, err, &integrity, "the frozen lines are not those that were read")
	assert.Contains(t, err.Error(), "raw/feedback.jsonl")
	b.FeedbackJSONL = lines
	dir, err := export.Write(context.Background(), b, o)
	require.NoError(t, err)
	assert.Equal(t, filepath.Base(old)+"_feedback-20261202T133000.007Z", filepath.Base(dir))
	same, err := export.Write(context.Background(), b, o)
	require.NoError(t, err)
	assert.Equal(t, dir, same)
	assert.Equal(t, before, read(t, old, "SHA256SUMS"))
	assert.Equal(t, read(t, old, "result.json"), read(t, dir, "result.json"))
	r := verify(t, dir)
	require.NoError(t, r.Err())
	assert.Empty(t, r.Unproven)
	assert.Contains(t, strings.Join(r.Notes, "\n"), "read again on 2026-12-02T13:30:00.007Z, after the freeze")
	assert.Equal(t, []any{filepath.Base(dir), *o.Supersedes, true}, []any{r.Manifest.Name, *r.Manifest.Supersedes, r.Manifest.Feedback.Refreshed})
	for _, name := range []string{"report.md", "README.md"} {
		assert.Contains(t, strings.ReplaceAll(read(t, dir, name), "&#95;", "_"), "supersedes "+filepath.Base(old))
	}
	assert.Contains(t, read(t, dir, "report.md"), "read again after the freeze")
	assert.Contains(t, read(t, dir, "report.md"), "| tone | 2 | 2 | 0.750 |")
	_, err = export.OpenFolder(t.Context(), dir, tables.Output{})
	require.NoError(t, err)
	require.NoError(t, verify(t, old).Err())
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(b)
}

// Lines that somebody changed, with every digest in the folder made to match, are found by result.json alone.
func TestForgedFeedback(t *testing.T) {
	s := said(t)
	b := s.Freeze()
	b.FeedbackJSONL = bytes.Replace(b.FeedbackJSONL, []byte("0.5"), []byte("0.9"), 1)
	_, err := export.Write(context.Background(), b, export.Options{Out: t.TempDir(), Outputs: outputs()})
	var integrity *export.IntegrityError
	require.ErrorAs(t, err, &integrity)

	dir := write(t, s.Freeze(), nil)
	name := filepath.Join(dir, "raw", batch.FileFeedback)
	honest := copyTree(t, dir)
	swap(t, name, "0.5", "0.9")
	reseal(t, dir)
	r := verify(t, dir)
	assert.True(t, named(r.Findings, "raw/feedback.jsonl"), "%v", r.Findings)

	name = filepath.Join(honest, "raw", batch.FileFeedback)
	require.NoError(t, os.Remove(name))
	r = verify(t, honest)
	require.Error(t, r.Err())
	assert.True(t, named(r.Findings, "raw/feedback.jsonl"))

	for what, change := range map[string]func(a *batch.Assessment){
		"a run of no evaluation": func(a *batch.Assessment) { a.RunID = "elsewhere" },
	} {
		s := said(t)
		change(&s.Said[0])
		_, err := export.Write(context.Background(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: outputs()})
		var input *export.InputError
		require.ErrorAs(t, err, &input, what)
		assert.ErrorContains(t, err, "is no evaluation of the batch")
	}
}

func TestFeedbackIsScanned(t *testing.T) {
	s := said(t)
	s.Said[2].Rationale = "use ghp_" + strings.Repeat("a1", 20)
	m, err := export.ReadManifest(write(t, s.Freeze(), nil))
	require.NoError(t, err)
	assert.Equal(t, []export.SecretHit{{File: "raw/feedback.jsonl", Pattern: "github token", Count: 1}}, m.Secrets.Found)
}
