package cli

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// parent reads a batch's run.
func (s *shell) parent(r ran) mlflow.Run {
	s.t.Helper()
	run, err := s.client().GetRun(s.t.Context(), r.Batch)
	require.NoError(s.t, err)
	return run
}

// artifact reads a file of a batch's run.
func (s *shell) artifact(r ran, name string) []byte {
	s.t.Helper()
	b, err := s.client().ReadArtifact(s.t.Context(), s.parent(r).Info, name, 1<<24)
	require.NoError(s.t, err, name)
	return b
}

func TestTheReportStandsOnTheRun(t *testing.T) {
	faults, address := mlflowtest.NewProxy(t, mlflowtest.NewFake(t).URL)
	s := newShellAt(t, address)
	r := s.measure()
	inFolder := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(r.Folder, filepath.FromSlash(name)))
		require.NoError(t, err)
		return b
	}
	for _, name := range append(reportFiles, batch.FilePlan, batch.FileResult, batch.FileSpec) {
		assert.Equal(t, string(inFolder(name)), string(s.artifact(r, name)), name)
	}
	note := s.parent(r).Tag("mlflow.note.content")
	assert.True(t, strings.HasPrefix(note, r.Verdict+"  \n8 planned = 0 reused + 8 done + 0 failed + 0 skipped + 0 not started · "), note)
	assert.Equal(t, 4, faults.Requests("set-experiment-tag"), "views: the history stands on a new experiment from the start")

	colours := map[string]string{}
	evaluations, _ := s.history()
	for _, e := range evaluations {
		cell := e.Tag("benchbatch.cell")
		if colours[cell] == "" {
			colours[cell] = e.Tag("mlflow.runColor")
		}
		assert.Equal(t, colours[cell], e.Tag("mlflow.runColor"), "one colour a cell")
	}
	assert.Len(t, slices.Compact(slices.Sorted(maps.Values(colours))), 4, "another for each")

	// Once is enough; another batch of the same recipe needs no view, and its report stands on its own run.
	uploads := faults.Requests("report.html")
	s.ok("run", s.spec)
	assert.Equal(t, uploads, faults.Requests("report.html"), "it stands there already")
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	more := s.measure("--log-folder")
	assert.Equal(t, 4, faults.Requests("set-experiment-tag"))
	assert.Contains(t, s.parent(more).Tag("mlflow.note.content"), "12 planned = 8 reused + 4 done")
	assert.Contains(t, s.parent(more).Tag("mlflow.note.content"), "[1&nbsp;reused](#/experiments/")
	for name := range sums(t, more.Folder) {
		want, err := os.ReadFile(filepath.Join(more.Folder, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(s.artifact(more, more.Name+"/"+filepath.ToSlash(name))), name)
	}
	assert.Equal(t, note, s.parent(r).Tag("mlflow.note.content"), "the earlier batch is left alone")
}

// TestAnEditedNoteIsLeftAlone: whatever benchbatch does later, a person's words stay.
func TestAnEditedNoteIsLeftAlone(t *testing.T) {
	s := newShellAt(t, mlflowtest.NewFake(t).URL)
	var part ran
	s.json(&part, "run", s.spec, "--only", "model=m-one")
	require.False(t, part.Frozen)
	assert.Contains(t, s.parent(part).Tag("mlflow.note.content"), "Unfinished, 4 of 8 repeats are there")
	require.NoError(t, s.client().SetTag(t.Context(), part.Batch, "mlflow.note.content", "mine"))
	said := s.json(&part, "run", s.spec, "--only", "model=m-one")
	assert.Contains(t, said.stderr, "was edited in MLflow: it is left as it is")
	var r ran
	said = s.json(&r, "run", s.spec)
	assert.Equal(t, part.Batch, r.Batch)
	assert.Contains(t, said.stderr, "was edited in MLflow: it is left as it is")
	assert.Equal(t, "mine", s.parent(r).Tag("mlflow.note.content"))
	assert.NotEmpty(t, s.artifact(r, "report.html"), "the report stands there all the same")
}

// TestAPageThatCannotBeWritten harms no batch, and the next run makes up for it.
func TestAPageThatCannotBeWritten(t *testing.T) {
	faults, address := mlflowtest.NewProxy(t, mlflowtest.NewFake(t).URL)
	s := newShellAt(t, address)
	refused := mlflowtest.Answer(http.StatusBadRequest, `{"error_code":"INVALID_PARAMETER_VALUE","message":"not today"}`, "Content-Type", "application/json")
	faults.Inject(mlflowtest.Fault{Route: "set-experiment-tag", Do: refused})
	faults.Inject(mlflowtest.Fault{Route: "report.html", Do: refused})
	var r ran
	said := s.json(&r, "run", s.spec)
	require.Zero(t, said.code, said.stderr)
	assert.True(t, r.Frozen)
	assert.Contains(t, said.stderr, "the batch goes on without")
	assert.Contains(t, said.stderr, "the report could not be logged in MLflow")
	faults.Clear()
	s.ok("run", s.spec)
	assert.NotEmpty(t, s.artifact(r, "report.html"))
	assert.True(t, strings.HasPrefix(s.parent(r).Tag("mlflow.note.content"), r.Verdict))
}

// TestAReaderIsRefused before anything starts: who may not write would pay for what can't be logged.
func TestAReaderIsRefused(t *testing.T) {
	faults, address := mlflowtest.NewProxy(t, mlflowtest.NewFake(t).URL)
	s := newShellAt(t, address)
	s.one()
	s.measure()
	started := len(s.starts())
	faults.Inject(mlflowtest.Fault{Route: "runs/create", Do: mlflowtest.Answer(http.StatusForbidden, "Permission denied")})
	got := s.run("run", s.spec, "--new", "--fresh", "quick+m-one")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "EDIT permission on the experiment")
	assert.Len(t, s.starts(), started, "nothing was started")
}

func TestRunsSayWhereTheyComeFrom(t *testing.T) {
	s := newShellAt(t, mlflowtest.NewFake(t).URL)
	s.one()
	dir := filepath.Dir(s.spec)
	var commit string
	for _, args := range [][]string{{"init", "-q", "-b", "trunk"}, {"add", "benchmark.yaml"}, {"-c", "user.name=someone", "-c", "user.email=someone@example.org", "commit", "-q", "-m", "first"}, {"rev-parse", "HEAD"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		require.NoError(t, err, args)
		commit = strings.TrimSpace(string(out))
	}
	s.env["USER"] = "someone"
	r := s.measure()
	evaluations, parents := s.history()
	for _, run := range append(evaluations, parents...) {
		assert.Equal(t, "benchbatch run benchmark.yaml", run.Tag("mlflow.source.name"))
		assert.Equal(t, "LOCAL", run.Tag("mlflow.source.type"))
		assert.Equal(t, commit, run.Tag("mlflow.source.git.commit"))
		assert.Equal(t, "trunk", run.Tag("mlflow.source.git.branch"))
		assert.Equal(t, "someone", run.Tag("mlflow.user"))
	}
	assert.NotEmpty(t, r.Batch)
	outside, branch := revision(t.Context(), t.TempDir())
	assert.Empty(t, outside+branch)
}

// TestDoctorAsksWhatTheUINeeds, and leaves nothing behind.
func TestDoctorAsksWhatTheUINeeds(t *testing.T) {
	for version, says := range map[mlflowtest.Version][]string{
		mlflowtest.Newest: {"3.17.2", "written, and removed again", "through the server's proxy", "/runs?workflowType=machine_learning"},
		mlflowtest.Oldest: {"2.22.5: saved views open by their links alone", "written, and emptied again", "through the server's proxy"},
	} {
		s := newShellAt(t, mlflowtest.NewFakeOf(t, version).URL)
		got := s.ok("doctor", "--experiment", "probed")
		for _, text := range says {
			assert.Contains(t, got.out, text)
		}
		e, err := s.client().GetExperimentByName(t.Context(), "probed")
		require.NoError(t, err)
		assert.Empty(t, views.IDs(e, ""))
	}
	faults, address := mlflowtest.NewProxy(t, mlflowtest.NewFake(t).URL)
	faults.Inject(mlflowtest.Fault{Route: "set-experiment-tag", Do: mlflowtest.Answer(http.StatusForbidden, "Permission denied")})
	s := newShellAt(t, address)
	got := s.run("doctor")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.out, "EDIT permission")
}
