package mlflowtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
)

// suite is one server under test.
type suite struct {
	url     string
	version Version
	client  *mlflow.Client
}

// RunConformance checks that a server behaves as everything here expects of MLflow, seen through the client and past it. What versions are known
// to do differently is in one table, with reasons.
func RunConformance(t *testing.T, address string, version Version) {
	s := &suite{url: address, version: version, client: Client(t, address)}
	s.all(t, races)
	s.all(t, []part{
		{"server", conformServer},
		{"experiments", conformExperiments},
		{"experiment tags", conformExperimentTags},
		{"runs", conformRuns},
		{"deleted runs", conformDeletedRuns},
		{"status", conformStatus},
		{"batches", conformBatches},
		{"swallowed", conformSwallowed},
		{"cut", conformCut},
		{"names", conformNames},
		{"inputs", conformInputs},
		{"search pages", conformPages},
		{"search filters", conformFilters},
		{"awkward values", conformAwkwardValues},
		{"artifacts", conformArtifacts},
		{"artifacts by run", conformRunArtifacts},
		{"cut-off upload", conformCutUpload},
		{"lost answers", conformLostAnswers},
		{"traces", conformTraces},
		{"spans", conformSpans},
	})
}

// RunRaces checks the part of the suite that claims rest on, which depends on the database behind the server.
func RunRaces(t *testing.T, address string, version Version) {
	s := &suite{url: address, version: version, client: Client(t, address)}
	s.all(t, races)
}

// part is a test of the suite.
type part struct {
	name string
	test func(t *testing.T, s *suite)
}

var races = []part{
	{"server's clock", conformClock},
	{"experiment names exist once", conformExperimentRace},
	{"deleted experiments keep their name", conformLock},
	{"params are written once", conformParamRace},
	{"racing batches are whole", conformBatchRace},
}

func (s *suite) all(t *testing.T, parts []part) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.test(t, s) })
	}
}

// run makes a run in an experiment of its own.
func (s *suite) run(t *testing.T, tags ...mlflow.Tag) mlflow.RunInfo {
	t.Helper()
	return s.runIn(t, Experiment(t, s.client), 1_700_000_000_000, tags...)
}

func (s *suite) runIn(t *testing.T, experiment string, start int64, tags ...mlflow.Tag) mlflow.RunInfo {
	t.Helper()
	info, err := s.client.CreateRun(context.Background(), mlflow.CreateRun{ExperimentID: experiment, Name: "a run", StartTime: start, Tags: tags})
	require.NoError(t, err)
	return info
}

func (s *suite) get(t *testing.T, runID string) mlflow.Run {
	t.Helper()
	run, err := s.client.GetRun(context.Background(), runID)
	require.NoError(t, err)
	return run
}

// post sends past the client and wants a status.
func (s *suite) post(t *testing.T, want int, call string, body any) map[string]any {
	t.Helper()
	status, answer := Post(t, s.url, call, body)
	require.Equal(t, want, status, "%s %v: %v", call, body, answer)
	return answer
}
