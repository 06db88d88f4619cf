package ledger

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Only what people say counts, of the runs' own traces; each run is one call.
func TestReadAssessments(t *testing.T) {
	d := newDesk(t)
	p := d.begin("a")
	trace := func(run string, n string) string {
		id := "tr-" + strings.Repeat(n, 32)
		require.NoError(t, d.client.StartTrace(t.Context(), mlflow.Trace{ID: id, ExperimentID: d.ExperimentID(), Time: d.tick(), State: mlflow.TraceOK,
			Metadata: map[string]string{"mlflow.sourceRun": run, metaTask: "T-" + n},
			Assessments: []mlflow.Assessment{
				{ID: "a-1" + n, Name: "score", SourceType: "CODE", SourceID: "runner", Value: 0.5},
				{ID: "a-2" + n, Name: "vote", SourceType: "HUMAN", SourceID: "vote", Value: 0.5},
				{ID: "a-3" + n, Name: "expected", SourceType: "HUMAN", SourceID: "bob", Expectation: "42"}}}))
		return id
	}
	first := trace(p.Info.RunID, "a")
	trace(p.Info.RunID, "b")
	trace(strings.Repeat("e", 32), "c")
	mlflowtest.Assess(t, d.server.URL, first, "tone", "ann", []string{"a"}, "why")
	ours := func(_ mlflow.Trace, a mlflow.Assessment) bool { return strings.HasPrefix(a.ID, "a-2") }
	before := d.client.Calls()["traces/search"]
	said, n, err := d.ReadAssessments(t.Context(), []TracedRun{{RunID: p.Info.RunID, ExperimentID: d.ExperimentID()}, {RunID: strings.Repeat("f", 32)}}, ours)
	require.NoError(t, err)
	assert.Equal(t, 2, d.client.Calls()["traces/search"]-before)
	assert.Equal(t, 2, n)
	require.Len(t, said, 3)
	_, lines, err := batch.NewFeedback(d.tick(), n, said)
	require.NoError(t, err)
	assert.Equal(t, []any{"T-a", "tone", batch.KindFeedback, `["a"]`, "why", "ann", p.Info.RunID, first},
		[]any{said[1].Task, said[1].Name, said[1].Kind, string(said[1].Value), said[1].Rationale, said[1].Who, said[1].RunID, said[1].Trace})
	assert.Equal(t, []any{"expected", batch.KindExpectation, `"42"`, "bob"}, []any{said[0].Name, said[0].Kind, string(said[0].Value), said[0].Who})
	assert.Equal(t, 3, strings.Count(string(lines), "\n"))

	d.server.Inject(mlflowtest.Fault{Route: "traces/search", Do: mlflowtest.Fail(403, "PERMISSION_DENIED", "no")})
	_, _, err = d.ReadAssessments(t.Context(), []TracedRun{{RunID: p.Info.RunID}}, ours)
	assert.ErrorIs(t, err, mlflow.ErrForbidden)
}
