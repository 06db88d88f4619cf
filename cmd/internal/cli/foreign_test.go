package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// foreignRun is a run that another tool logs.
type foreignRun struct {
	Name     string            `json:"name"`
	Tags     map[string]string `json:"tags,omitempty"`
	Metrics  map[string]string `json:"metrics,omitempty"`
	Status   string            `json:"status,omitempty"` // "" = FINISHED
	Outcomes *string           `json:"outcomes"`         // nil = the run has no such file
	Under    string            `json:"under,omitempty"`  // name of the run that it is nested in
	Delete   bool              `json:"delete,omitempty"`

	reason string // why it does not count; "" = it does
	unseen bool   // it is not found by the recipe at all
}

// logForeign logs runs through Python and gives their ids by name.
func (s *shell) logForeign(v mlflowtest.Version, runs []foreignRun) map[string]string {
	s.t.Helper()
	order, err := json.Marshal(map[string]any{"experiment": s.hashes()[0].Tags["benchbatch.benchmark"], "runs": runs})
	require.NoError(s.t, err)
	python := filepath.Join(filepath.Dir(mlflowtest.Executable(s.t, v)), "python")
	cmd := exec.Command(python, "testdata/foreign.py")
	cmd.Env = []string{"MLFLOW_TRACKING_URI=" + s.env["MLFLOW_TRACKING_URI"], "PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "MLFLOW_DISABLE_TELEMETRY=true", "GIT_PYTHON_REFRESH=quiet"}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, stderr.String())
	at := bytes.LastIndexByte(out, '{') // the client may talk before
	ids := map[string]string{}
	require.NoError(s.t, json.Unmarshal(out[at:], &ids), string(out))
	return ids
}

// hashes is what `benchbatch hash` prints of the benchmark.
func (s *shell) hashes() []hashed {
	s.t.Helper()
	var cells []hashed
	s.json(&cells, "hash", s.spec)
	require.NotEmpty(s.t, cells)
	return cells
}

// record is an outcomes.jsonl of the benchmark's twelve tasks, all with this score,
// lines replaced as told (by task number, from 1).
func recordOf(score float64, replaced map[int]string) *string {
	var b strings.Builder
	for i := 1; i <= 12; i++ {
		line, ok := replaced[i]
		if !ok {
			line = fmt.Sprintf(`{"task": "T-%02d", "score": %v}`, i, score)
		}
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	text := b.String()
	return &text
}

// tagsOf are the printed tags of a cell with a new UUID, changed as told ("" = left out).
func tagsOf(h hashed, changed map[string]string) map[string]string {
	tags := maps.Clone(h.Tags)
	tags["benchbatch.evaluation"] = uuid.NewString()
	for key, v := range changed {
		if v == "" {
			delete(tags, key)
		} else {
			tags[key] = v
		}
	}
	return tags
}

// foreignRuns are two runs that count, and every kind that does not.
func foreignRuns(h, other hashed) []foreignRun {
	tag := func(key, value string) map[string]string {
		return tagsOf(h, map[string]string{"benchbatch." + key: value})
	}
	good := recordOf(0.75, nil)
	valid := tagsOf(h, nil)
	provider := `{"task": "T-05", "error": {"class": "provider", "message": "HTTP 503"}}`
	identity := strings.Replace(h.Tags["benchbatch.identity"], `"agent":"`, `"agent":"0`, 1)
	return []foreignRun{
		{Name: "valid", Tags: valid, Outcomes: good, Metrics: map[string]string{"score": "75"}},
		{Name: "one task missing", Tags: tagsOf(other, nil), Outcomes: recordOf(0.5, map[int]string{5: provider})},
		{Name: "twin", Tags: valid, Outcomes: good, reason: "same evaluation UUID as run %valid"},
		{Name: "no evaluation", Tags: tag("evaluation", ""), Outcomes: good, reason: "tag benchbatch.evaluation is missing"},
		{Name: "no UUID", Tags: tag("evaluation", "first try"), Outcomes: good, reason: `tag benchbatch.evaluation is "first try", not a UUID`},
		{Name: "half-tagged", Tags: tag("model_hash", ""), Outcomes: good, reason: "tag benchbatch.model_hash is missing"},
		{Name: "no recipe", Tags: tag("recipe", ""), Outcomes: good, unseen: true},
		{Name: "no tags", Outcomes: good, unseen: true},
		{Name: "cell of another", Tags: tag("cell", other.Tags["benchbatch.cell"]), Outcomes: good, reason: "tag benchbatch.cell is " + other.Tags["benchbatch.cell"]},
		{Name: "identity edited", Tags: tag("identity", identity), Outcomes: good, reason: "tag benchbatch.identity: recipe and cell do not follow"},
		{Name: "identity cut off", Tags: tag("identity", `{"scheme":1`), Outcomes: good, reason: "tag benchbatch.identity is not the JSON that `benchbatch hash` prints"},
		{Name: "deleted", Tags: tagsOf(h, nil), Outcomes: good, Delete: true, reason: "deleted"},
		{Name: "no record", Tags: tagsOf(h, nil), Metrics: map[string]string{"score": "1"}, reason: "FINISHED, but it has no outcomes.jsonl"},
		{Name: "NaN metric", Tags: tagsOf(h, nil), Metrics: map[string]string{"score": "nan"}, Outcomes: good, reason: "metric score is NaN"},
		{Name: "NaN line", Tags: tagsOf(h, nil), Outcomes: recordOf(1, map[int]string{3: `{"task": "T-03", "score": NaN}`}), reason: "outcomes.jsonl: line 3: "},
		{Name: "score out of range", Tags: tagsOf(h, nil), Outcomes: recordOf(1, map[int]string{2: `{"task": "T-02", "score": 75}`}), reason: "outcomes.jsonl: line 2: score 75"},
		{Name: "task twice", Tags: tagsOf(h, nil), Outcomes: recordOf(1, map[int]string{2: `{"task": "T-01", "score": 1}`}), reason: `task "T-01" stands twice`},
		{Name: "empty record", Tags: tagsOf(h, nil), Outcomes: new(string), reason: "12 of 12 tasks have no outcome"},
		{Name: "wrong digest", Tags: tag("outcomes", strings.Repeat("ab", 32)), Outcomes: good, reason: "but tag benchbatch.outcomes says abab"},
		{Name: "task absent", Tags: tagsOf(h, nil), Outcomes: recordOf(1, map[int]string{12: ""}), reason: "1 of 12 tasks have no outcome (T-12)"},
		{Name: "unknown task", Tags: tagsOf(h, nil), Outcomes: recordOf(1, map[int]string{1: `{"task": "T-01", "score": 1}` + "\n" + `{"task": "T-99", "score": 1}`}), reason: "not in the panel (T-99)"},
		{Name: "too much missing", Tags: tagsOf(h, nil), Outcomes: recordOf(1, map[int]string{5: provider, 6: strings.Replace(provider, "05", "06", 1)}),
			reason: "2 of 12 tasks are missing (2 provider); at most 1 may be"},
		{Name: "failed", Tags: tagsOf(h, nil), Metrics: map[string]string{"score": "1"}, Outcomes: good, Status: "FAILED", reason: "status FAILED"},
		{Name: "below", Tags: tagsOf(h, nil), Outcomes: good, Under: "valid", reason: "lies below the evaluation %valid"},
		{Name: "between", Under: "valid", unseen: true},
		{Name: "further below", Tags: tagsOf(h, nil), Outcomes: good, Under: "between", reason: "lies below the evaluation %valid"},
		{Name: "state of its own", Tags: tag("state", "complete"), Outcomes: good, reason: "tag benchbatch.artifacts is not a list of artifacts"},
		{Name: "group", unseen: true},
		{Name: "in a group", Tags: tagsOf(other, map[string]string{"benchbatch.role": "selection"}), Outcomes: good, Under: "group"},
	}
}

// TestRunsOfOthers counts what MLflow's Python client logged, by the rule, with the
// newest client and server and with the oldest.
func TestRunsOfOthers(t *testing.T) {
	t.Parallel()
	for _, v := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		t.Run(string(v), func(t *testing.T) { runsOfOthers(t, newShell(t, v), v) })
	}
}

func runsOfOthers(t *testing.T, s *shell, v mlflowtest.Version) {
	cells := s.hashes()
	runs := foreignRuns(cells[0], cells[3])
	ids := s.logForeign(v, runs)

	p := s.plan()
	assert.Equal(t, batch.Counts{Planned: 8, Reused: 3, NotStarted: 5}, p.Counts)
	assert.Equal(t, []int{1, 0, 0, 2}, []int{p.Cells[0].Reused, p.Cells[1].Reused, p.Cells[2].Reused, p.Cells[3].Reused})
	reasons := map[string]string{}
	for _, i := range p.Ignored {
		reasons[i.RunID] = i.Reason
	}
	text := s.ok("plan", s.spec).out
	assert.Contains(t, text, "8 planned = 3 reused + 0 done + 5 missing")
	for _, r := range runs {
		got, listed := reasons[ids[r.Name]]
		delete(reasons, ids[r.Name])
		if r.reason == "" {
			assert.False(t, listed, "%s: %s", r.Name, got)
			continue
		}
		want := strings.ReplaceAll(r.reason, "%valid", ids["valid"])
		assert.Contains(t, got, want, r.Name)
		assert.Contains(t, text, "does not count: "+ids[r.Name]+": ", r.Name)
	}
	assert.Empty(t, reasons)

	// Deleted, it does not count; restored, it counts again and nothing is started.
	s.post("runs/delete", ids["in a group"])
	assert.Equal(t, 2, s.plan().Counts.Reused)
	s.post("runs/restore", ids["in a group"])
	s.post("runs/restore", ids["deleted"])
	assert.Equal(t, 4, s.plan().Counts.Reused)

	// Their repeats take the label as ours do, with either version of the server.
	changed := s.fork(t)
	changed.edit("policies/refund.md", "14", "30")
	got := changed.run("plan", changed.spec)
	assert.Equal(t, ExitUsage, got.code)
	assert.Contains(t, got.stderr, `version "v1" of `)
	assert.Contains(t, got.stderr, ids["valid"])
	if v == mlflowtest.Newest {
		finishWithOthers(t, s, ids)
	}
}

// finishWithOthers measures the rest: what others logged is reused, exported and verified like our own.
func finishWithOthers(t *testing.T, s *shell, ids map[string]string) {
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 8, Reused: 4, Done: 4}, r.Counts)
	assert.Len(t, s.starts(), 4)
	require.NotNil(t, r.Cells[0].Mean)
	assert.InDelta(t, 0.75, *r.Cells[0].Mean, 1e-9, "the record counts, not a metric on another scale")
	s.ok("verify", r.Folder)
	b, err := os.ReadFile(filepath.Join(r.Folder, "raw", ids["valid"], "outcomes.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, *recordOf(0.75, nil), string(b))
	for _, e := range resultOf(t, r.Folder).Evaluations {
		assert.Equal(t, e.RunID == ids["in a group"], e.Role == "selection", "it counts, and is marked")
		assert.Equal(t, e.Foreign, e.Reused)
	}
	assert.Len(t, s.runs("tags.`benchbatch.batch` = '"+r.Batch+"'"), 4, "runs of others stay as they are")
}

// post calls the server's REST interface for one run.
func (s *shell) post(call, run string) {
	s.t.Helper()
	status, _ := mlflowtest.Post(s.t, s.env["MLFLOW_TRACKING_URI"], call, map[string]string{"run_id": run})
	require.Equal(s.t, http.StatusOK, status)
}
