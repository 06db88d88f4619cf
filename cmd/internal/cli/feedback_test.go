package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/traces"
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// person does to a trace what a person does in the UI: method, path and body are those that it sends.
func (s *shell) person(method, path string, body any) string {
	s.t.Helper()
	data, err := json.Marshal(body)
	require.NoError(s.t, err)
	req, err := http.NewRequest(method, s.env["MLFLOW_TRACKING_URI"]+"/ajax-api/3.0/mlflow/traces/"+path, bytes.NewReader(data))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	if name := s.env["MLFLOW_TRACKING_USERNAME"]; name != "" {
		req.SetBasicAuth(name, s.env["MLFLOW_TRACKING_PASSWORD"])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, resp.StatusCode, "%s %s: %s", method, path, answer)
	var made struct {
		Assessment struct {
			ID string `json:"assessment_id"`
		} `json:"assessment"`
	}
	require.NoError(s.t, json.Unmarshal(answer, &made))
	return made.Assessment.ID
}

// says adds an assessment, or one in the place of another, and gives its id.
func (s *shell) says(trace, who, name string, value any, rationale, instead string) string {
	s.t.Helper()
	a := map[string]any{"assessment_name": name, "trace_id": trace, "source": map[string]any{"source_type": "HUMAN", "source_id": who}, "feedback": map[string]any{"value": value}}
	if rationale != "" {
		a["rationale"] = rationale
	}
	if instead != "" {
		a["overrides"] = instead
	}
	return s.person(http.MethodPost, trace+"/assessments", map[string]any{"assessment": a})
}

func (s *shell) corrects(trace, id string, value any) {
	s.t.Helper()
	s.person(http.MethodPatch, trace+"/assessments/"+id, map[string]any{"assessment": map[string]any{"feedback": map[string]any{"value": value}, "rationale": "on second thoughts"}, "update_mask": "feedback,rationale"})
}

func (s *shell) takesBack(trace, id string) {
	s.t.Helper()
	s.person(http.MethodDelete, trace+"/assessments/"+id, nil)
}

// refresh reads feedback again.
func (s *shell) refresh(r ran, args ...string) (refreshed, said) {
	s.t.Helper()
	var out refreshed
	got := s.json(&out, append([]string{"export", r.Batch, "--refresh-feedback"}, args...)...)
	require.Zero(s.t, got.code, got.stderr)
	return out, got
}

// saidIn is what a folder holds of what people said, as who, name and value.
func (s *shell) saidIn(folder string) (out []string) {
	s.t.Helper()
	f, err := export.OpenFolder(s.t.Context(), folder, tables.Output{})
	require.NoError(s.t, err)
	if f.Frozen.Feedback == nil {
		return nil
	}
	for _, a := range f.Frozen.Feedback.Said() {
		out = append(out, fmt.Sprintf("%s %s %s %s", a.Task, a.Who, a.Name, a.Value))
	}
	slices.Sort(out)
	return out
}

func (s *shell) file(folder, name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	require.NoError(s.t, err)
	return string(b)
}

func (s *shell) manifest(folder string) *export.Manifest {
	s.t.Helper()
	m, err := export.ReadManifest(folder)
	require.NoError(s.t, err)
	return m
}

// sameMeasures: two folders of one batch differ in nothing that was measured or decided.
func (s *shell) sameMeasures(a, b string) {
	s.t.Helper()
	for _, name := range []string{"result.json", "plan.json", "tables/outcomes.parquet", "tables/judges.parquet", "tables/metrics.parquet", "tables/variants.parquet", "tables/pairs.parquet"} {
		assert.True(s.t, s.file(a, name) == s.file(b, name), name)
	}
}

// TestWhatPeopleSayComesBack: once at the freeze, and again by --refresh-feedback into folders of their own.
func TestWhatPeopleSayComesBack(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	s.traced("scores")
	s.edit("lib/run.py", `        f.write(json.dumps(row) + "\n")`, `        row["judges"] = [{"name": "reviewer", "score": 0.5, "kind": "human"}]
        f.write(json.dumps(row) + "\n")`)
	first := s.measure("--yes")
	m := s.manifest(first.Folder)
	require.NotNil(t, m.Feedback)
	all := 0
	for _, found := range s.traces() {
		all += len(found)
	}
	assert.Equal(t, []any{0, "", false}, []any{m.Feedback.Rows, m.Feedback.Unread, m.Feedback.Refreshed}, "votes of human judges and expected answers are ours")
	assert.LessOrEqual(t, m.Feedback.Traces, all, "the last are sent while the batch is frozen")
	assert.True(t, strings.Contains(s.file(first.Folder, "report.md"), fmt.Sprintf("Nobody had said anything of %d traced outcomes in MLflow", m.Feedback.Traces)))
	before := s.file(first.Folder, "SHA256SUMS")
	unchanged, said := s.refresh(first)
	assert.Equal(t, []any{false, first.Folder}, []any{unchanged.Changed, unchanged.Folder})
	assert.Contains(t, said.stderr, "nothing changed: nobody has said anything")

	run := s.history1(first)
	one, two := traces.ID(run, "T-01"), traces.ID(run, "T-02")
	ann := s.says(one, "ann", "tone", 0.25, exporttest.Hostile+" 🙂 שלום", "")
	s.corrects(one, ann, 0.75)
	s.says(one, "bob", "tone", 0.5, "", "")
	s.says(one, "cleo", "tone", "yes", "", "")
	gone := s.says(one, "bob", "right", false, "", "")
	s.takesBack(one, gone)
	s.says(two, "cleo", "score", 0.1, "far too kind", traces.AssessmentID(two, "score"))
	s.says(two, "", "tags", []string{"a", "b"}, "", "")
	s.person(http.MethodPost, two+"/assessments", map[string]any{"assessment": map[string]any{"assessment_name": "should be", "source": map[string]any{"source_type": "HUMAN", "source_id": "ann"},
		"expectation": map[string]any{"serialized_value": map[string]any{"serialization_format": "JSON_FORMAT", "value": `{"tray":1}`}}}})
	want := []string{`T-01 ann tone 0.75`, `T-01 bob tone 0.5`, `T-01 cleo tone "yes"`, `T-02  tags "[\"a\",\"b\"]"`, `T-02 ann should be "{\"tray\":1}"`, `T-02 cleo score 0.1`}

	parent := s.parent(first)
	second, said := s.refresh(first)
	assert.Equal(t, []any{true, 6, all}, []any{second.Changed, second.Feedback.Rows, second.Feedback.Traces})
	assert.Contains(t, said.stderr, "which stays as it is")
	assert.True(t, strings.HasPrefix(filepath.Base(second.Folder), filepath.Base(first.Folder)+export.RefreshedMark), second.Folder)
	assert.Equal(t, &export.Superseded{Folder: filepath.Base(first.Folder), Manifest: batch.Sum([]byte(s.file(first.Folder, "manifest.json")))}, s.manifest(second.Folder).Supersedes)
	assert.Equal(t, want, s.saidIn(second.Folder))
	assert.Equal(t, before, s.file(first.Folder, "SHA256SUMS"))
	s.sameMeasures(first.Folder, second.Folder)
	assert.Equal(t, parent, s.parent(first), "MLflow is only read")
	for _, folder := range []string{first.Folder, second.Folder} {
		s.ok("verify", folder)
		s.ok("report", folder)
	}
	page := s.file(second.Folder, "report.md")
	assert.Contains(t, page, fmt.Sprintf("6 assessments on 2 outcomes of %d traced, by 3 people", all))
	assert.Contains(t, page, "| tone | 3 | 3 | 0.625 | 2 | 100.0 % | 1 |")
	assert.Contains(t, page, "| tags | 1 | 0 |", "whom MLflow does not name is no person that can be counted")
	for _, name := range []string{"report.md", "report.html", "README.md"} {
		for _, bad := range []string{"<script>|", "![x]", "\u202e", "\x1b"} {
			assert.NotContains(t, s.file(second.Folder, name), bad, name)
		}
	}

	require.NoError(t, os.WriteFile(second.Folder+".zip", nil, 0o600), "as people pack a folder")
	unchanged, _ = s.refresh(ran{Batch: filepath.Base(second.Folder)})
	assert.Equal(t, []any{false, second.Folder}, []any{unchanged.Changed, unchanged.Folder})
	got := s.run("export", first.Batch, "--refresh-feedback", "--withhold", "raw")
	assert.Equal(t, ExitUsage, got.code, "what is to be withheld is in the folder that is there")
	assert.Contains(t, got.stderr, second.Folder+" holds what --withhold raw leaves out: give another folder with --out")
	assert.Empty(t, got.out)
	require.NoError(t, os.Remove(second.Folder+".zip"))
	for _, wrong := range [][]string{{"--withhold", "answers"}, {"--require-verdict"}} {
		got := s.run(append([]string{"export", first.Batch, "--refresh-feedback"}, wrong...)...)
		assert.Equal(t, ExitUsage, got.code, got.stderr)
		assert.Contains(t, got.stderr, wrong[0])
	}
	s.takesBack(one, ann)
	third, _ := s.refresh(first, "--withhold", "raw")
	assert.Equal(t, filepath.Base(second.Folder), s.manifest(third.Folder).Supersedes.Folder)
	assert.Equal(t, []string{"T-01 bob tone 0.5", "T-01 cleo tone true", "T-02  tags ", "T-02 ann should be ", "T-02 cleo score 0.1"}, s.saidIn(third.Folder))
	s.ok("verify", third.Folder)
	s.says(one, "ann", "tone", 1, "", "")
	fourth, _ := s.refresh(first)
	assert.Equal(t, []string{"raw"}, s.manifest(fourth.Folder).Withheld, "what was withheld stays so")
	folders, err := os.ReadDir(filepath.Dir(first.Folder))
	require.NoError(t, err)
	assert.Len(t, folders, 4)
	real := s.env["MLFLOW_TRACKING_URI"]
	s.env["MLFLOW_TRACKING_URI"] = strings.Replace(real, "http://", "http://ann:of-the-address-7@", 1)
	careless := s.says(one, "bob", "careless", "it is of-the-address-7", "of-the-address-7", "")
	elsewhere, said := s.refresh(first, "--out", "elsewhere")
	assert.Contains(t, s.file(elsewhere.Folder, "raw/feedback.jsonl"), `"it is [redacted:`)
	assert.NotContains(t, s.file(elsewhere.Folder, "raw/feedback.jsonl"), "of-the-address-7")
	s.env["MLFLOW_TRACKING_URI"] = real
	s.takesBack(one, careless)
	assert.Contains(t, said.stderr, "is written first")
	assert.Equal(t, filepath.Base(first.Folder), s.manifest(elsewhere.Folder).Supersedes.Folder)

	// Another batch that reuses the run has what was said of it from the start.
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	more := s.measure("--yes")
	assert.Equal(t, 8, more.Counts.Reused)
	m = s.manifest(more.Folder)
	assert.Equal(t, []any{6, false}, []any{m.Feedback.Rows, m.Feedback.Refreshed})
	assert.GreaterOrEqual(t, m.Feedback.Traces, all)
	assert.Contains(t, s.saidIn(more.Folder), "T-01 ann tone 1")
	s.ok("verify", more.Folder)
	assert.Equal(t, s.file(more.Folder, "raw/feedback.jsonl"), string(s.artifact(more, "feedback.jsonl")))
	again := s.export(more)
	assert.Equal(t, s.file(more.Folder, "SHA256SUMS"), s.file(again, "SHA256SUMS"), "whatever is said since")
}

// history1 is the first counted evaluation of a batch.
func (s *shell) history1(r ran) string {
	s.t.Helper()
	var result batch.Result
	require.NoError(s.t, json.Unmarshal([]byte(s.file(r.Folder, "result.json")), &result))
	return result.Evaluations[0].RunID
}

// TestABatchIsFrozenWithoutFeedbackThatMLflowRefuses: the batch says why, and a refresh reads it later.
func TestABatchIsFrozenWithoutFeedbackThatMLflowRefuses(t *testing.T) {
	t.Parallel()
	faults, address := mlflowtest.NewProxy(t, mlflowtest.Real(t, mlflowtest.Newest).URL)
	s := newShellAt(t, address)
	s.traced("scores")
	faults.Inject(mlflowtest.Fault{Route: "traces/search", Do: mlflowtest.Fail(403, "PERMISSION_DENIED", "not for you")})
	r := s.measure("--yes")
	m := s.manifest(r.Folder)
	assert.Contains(t, m.Feedback.Unread, "not for you")
	assert.Contains(t, s.file(r.Folder, "report.md"), "MLflow did not say what people think")
	s.ok("verify", r.Folder)
	got := s.run("export", r.Batch, "--refresh-feedback")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "no folder is written")
	faults.Clear()
	now, _ := s.refresh(r)
	assert.True(t, now.Changed)
	assert.Contains(t, s.file(now.Folder, "report.md"), "Nobody had said anything")

	s.env["MLFLOW_TRACKING_URI"] = ""
	got = s.run("export", r.Batch, "--refresh-feedback")
	assert.NotZero(t, got.code)
	assert.Contains(t, got.stderr, "MLFLOW_TRACKING_URI")
	folders, err := os.ReadDir(filepath.Dir(r.Folder))
	require.NoError(t, err)
	assert.Len(t, folders, 2)
}

// TestWithoutTracesNobodyIsAsked: no call at all, no section, no table rows; on a server before 3 a refresh says what is missing.
func TestWithoutTracesNobodyIsAsked(t *testing.T) {
	t.Parallel()
	faults, address := mlflowtest.NewProxy(t, mlflowtest.Real(t, mlflowtest.Newest).URL)
	s := newShellAt(t, address)
	r := s.measure("--yes")
	assert.Zero(t, faults.Requests("traces"))
	assert.Nil(t, s.manifest(r.Folder).Feedback)
	assert.NotContains(t, s.file(r.Folder, "result.json"), "feedback")
	assert.NotContains(t, s.file(r.Folder, "report.md"), "What people said")
	unchanged, said := s.refresh(r)
	assert.False(t, unchanged.Changed)
	assert.Contains(t, said.stderr, "nothing changed: no evaluation of the batch has traces, of which something could be said (traces in the spec)")

	old := newShell(t, mlflowtest.Oldest)
	r = old.measure("--yes")
	got := old.run("export", r.Batch, "--refresh-feedback")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "this MLflow has no traces, and so no feedback of people")
	folders, err := os.ReadDir(filepath.Dir(r.Folder))
	require.NoError(t, err)
	assert.Len(t, folders, 1)
}

// TestAReaderRefreshes: who may only read MLflow gets the folder too.
func TestAReaderRefreshes(t *testing.T) {
	t.Parallel()
	server := mlflowtest.RealWith(t, mlflowtest.Newest, mlflowtest.Setup{Logins: true})
	server.AddUser(t, "owner", "the-owners-own-word-9")
	server.AddUser(t, "reader", "the-readers-own-word-9")
	s := newShellAt(t, server.Address)
	as := func(who string) {
		s.env["MLFLOW_TRACKING_USERNAME"], s.env["MLFLOW_TRACKING_PASSWORD"] = who, "the-"+who+"s-own-word-9"
	}
	as("owner")
	s.traced("scores")
	r := s.measure("--yes")
	s.says(traces.ID(s.history1(r), "T-01"), "owner", "tone", 0.5, "my word is the-owners-own-word-9", "")
	as("reader")
	got, _ := s.refresh(r)
	assert.True(t, got.Changed)
	assert.Equal(t, []string{"T-01 owner tone 0.5"}, s.saidIn(got.Folder))
	as("owner")
	s.says(traces.ID(s.history1(r), "T-02"), "owner", "tone", 0.5, "", "")
	got, _ = s.refresh(r)
	assert.NotContains(t, s.file(got.Folder, "raw/feedback.jsonl"), "the-owners-own-word-9", "what this machine knows for a secret is not passed on")
	s.ok("verify", got.Folder)
}
