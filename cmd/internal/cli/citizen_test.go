package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// asked is a call that passed the proxy.
type asked struct {
	method, path, body string
}

func askedOf(line string) asked {
	uri, body, _ := strings.Cut(line, " HTTP ")
	method, path, _ := strings.Cut(uri, " ")
	return asked{method, path, body}
}

// names says whether a call is about a run; its create is not, as the run has no id before.
func (q asked) names(run string) bool {
	return strings.Contains(q.path, run) || strings.Contains(q.body, `"run_id":"`+run+`"`)
}

// shown are artifacts that nothing is ever read from: they stand on a run for people.
var shown = regexp.MustCompile(`/(outcomes_table\.json|report\.html|charts/cost\.svg)$`)

// forPeople says which kind of citizenship a call is, of those about a batch's run or an
// evaluation's; "" = a batch that nobody looks at in MLflow needs it too. What is shown by
// a call that is needed anyway (params, metrics, most tags) costs no call.
func (q asked) forPeople() string {
	switch {
	case strings.HasSuffix(q.path, "experiments/set-experiment-tag"):
		return "view"
	case strings.HasSuffix(q.path, "runs/log-inputs"):
		return "dataset"
	case q.method == "PUT" && shown.MatchString(q.path):
		return "artifact"
	case strings.HasSuffix(q.path, "runs/log-batch") && strings.HasPrefix(q.body, `{"run_id":"`) && strings.Contains(q.body, "mlflow.note.content"),
		strings.HasSuffix(q.path, "runs/set-tag") && strings.Contains(q.body, `"key":"mlflow.`):
		return "note"
	}
	return ""
}

// TestCallsOfACitizen counts what it costs to be at home in MLflow: docs/performance.md has the figures.
func TestCallsOfACitizen(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	calls := logCalls(t, s.env["MLFLOW_TRACKING_URI"])
	s.env["MLFLOW_TRACKING_URI"] = calls.url
	for _, again := range []bool{false, true} { // the first batch writes the views; the second one has another recipe in the same experiment
		if again {
			s.edit("benchmark.yaml", "--style, plain", "--style, other")
			s.edit("benchmark.yaml", "version: v1", "version: v2")
		}
		r := s.measure()
		all := calls.take()
		require.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
		evaluations := s.runs("tags.`benchbatch.batch` = '" + r.Batch + "'")
		require.Len(t, evaluations, 8)
		calls.take()
		ofBatch := map[string]int{}
		total := 0
		for _, line := range all {
			q := askedOf(line)
			kind := q.forPeople()
			if ofBatch["artifact"] > 0 && strings.Contains(q.path, "runs/get?") {
				kind = "note read" // has a person edited it? Before the report, the freeze looks at the run.
			}
			if kind != "" && (q.names(r.Batch) || kind == "view") {
				ofBatch[kind]++
				total++
			}
		}
		assert.Equal(t, map[string]int{"view": 4, "dataset": 1, "artifact": 2, "note": 2, "note read": 1}, ofBatch)
		assert.LessOrEqual(t, total, 10, "citizenship of a batch")
		for _, e := range evaluations {
			s.callsOfAnEvaluation(all, e)
		}
	}
}

func (s *shell) callsOfAnEvaluation(all []string, e mlflow.Run) {
	claim := "claim/" + e.Tag("benchbatch.cell") + "/" + e.Tag("benchbatch.slot") + "/"
	shown, claims, total := map[string]int{}, 0, 1 // its create
	for _, line := range all {
		q := askedOf(line)
		if strings.Contains(q.body, claim) {
			claims++
			total++
			continue
		}
		export := q.method == "GET" && strings.Contains(q.path, "/mlflow-artifacts/")
		if !q.names(e.Info.RunID) || export {
			continue
		}
		total++
		if kind := q.forPeople(); kind != "" {
			shown[kind]++
		}
	}
	assert.Equal(s.t, map[string]int{"dataset": 1, "artifact": 1}, shown, "citizenship of an evaluation: at most 4")
	assert.Equal(s.t, 2, claims)
	assert.LessOrEqual(s.t, total, 14, "claim and its end included")
	s.t.Logf("%s: %d calls, %d for people", e.Info.RunName, total, len(shown))
}
