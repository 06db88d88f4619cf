package cli

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestAFrozenBatch measures one batch and does everything to it that may come later.
func TestAFrozenBatch(t *testing.T) {
	t.Parallel()
	s := newShell(t, mlflowtest.Newest)
	r := s.measure()
	require.Equal(t, batch.Counts{Planned: 8, Done: 8}, r.Counts)
	assert.Equal(t, "Nothing can be told: fewer than 3 repeats.", r.Verdict)
	on := func(f func(*testing.T, *shell, ran)) func(*testing.T) {
		return func(t *testing.T) {
			c := *s
			c.t = t
			f(t, &c, r)
		}
	}
	t.Run("readers", func(t *testing.T) { allReaders(t, r.Folder) })
	t.Run("verified by anyone", on(verifiedByAnyone))
	t.Run("damage is named", on(damageIsNamed))
	t.Run("killed export", on(killedExport))
	t.Run("no room", on(noRoom))
	t.Run("withheld", on(withheld))
	t.Run("always the same bytes", on(alwaysTheSameBytes))
	t.Run("changed in MLflow", on(changedInMLflow))
}

// sums are the hashes of all files below a folder.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

// export writes the batch into a new folder and returns the path of the dated one.
func (s *shell) export(r ran, args ...string) string {
	s.t.Helper()
	out := s.t.TempDir()
	got := s.ok(append([]string{"export", r.Batch, "--out", out}, args...)...)
	assert.Equal(s.t, filepath.Join(out, r.Name), strings.TrimSpace(got.out))
	return filepath.Join(out, r.Name)
}

// alwaysTheSameBytes exports again and again while MLflow changes.
func alwaysTheSameBytes(t *testing.T, s *shell, r ran) {
	want := sums(t, r.Folder)
	assert.Equal(t, want, sums(t, s.export(r, "--workers", "1")))
	assert.Equal(t, want, sums(t, s.export(r, "--workers", "8")))

	for _, env := range [][]string{{"TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8"}, {"TZ=America/St_Johns", "LANG=C", "GOMAXPROCS=1"}} {
		out := t.TempDir()
		got := s.child(env, "export", r.Batch, "--out", out).wait()
		require.Zero(t, got.code, got.stderr)
		assert.Equal(t, want, sums(t, filepath.Join(out, r.Name)), env)
	}

	// Other repeats come in, tags are edited, and all runs of the batch are deleted.
	evaluations, _ := s.history()
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 3")
	more := s.measure()
	assert.Equal(t, batch.Counts{Planned: 12, Reused: 8, Done: 4}, more.Counts)
	c := mlflowtest.Client(t, s.env["MLFLOW_TRACKING_URI"])
	for i, e := range evaluations {
		for _, tag := range []string{"benchbatch.state", "benchbatch.slot", "benchbatch.outcomes", "benchbatch.artifacts", "mlflow.user"} {
			require.NoError(t, c.SetTag(t.Context(), e.Info.RunID, tag, fmt.Sprint("edited ", i)))
		}
		require.NoError(t, c.DeleteRun(t.Context(), e.Info.RunID))
	}
	require.NoError(t, c.SetTag(t.Context(), r.Batch, "mlflow.note.content", "edited"))
	require.NoError(t, c.SetTag(t.Context(), r.Batch, "benchbatch.plan", "edited"))
	assert.Equal(t, want, sums(t, s.export(r)))
	require.NoError(t, c.DeleteRun(t.Context(), r.Batch))
	assert.Equal(t, want, sums(t, s.export(r)))

	// Where it is already, it stays; another folder of that name is never replaced.
	same := s.ok("export", r.Batch)
	assert.Equal(t, r.Folder, strings.TrimSpace(same.out))
	out := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(out, r.Name), 0o700))
	got := s.run("export", r.Batch, "--out", out)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "it was left as it is")
	assert.Equal(t, []string{r.Name}, entries(t, out))
}

// changedInMLflow overwrites an artifact after the freeze.
func changedInMLflow(t *testing.T, s *shell, r ran) {
	c := mlflowtest.Client(t, s.env["MLFLOW_TRACKING_URI"])
	run, err := c.GetRun(t.Context(), r.Batch)
	require.NoError(t, err)
	for _, name := range []string{batch.FileResult, batch.FilePlan, batch.FileSpec, batch.FilePanel} {
		old, err := c.ReadArtifact(t.Context(), run.Info, name, 1<<20)
		require.NoError(t, err)
		s.overwrite(run.Info.ArtifactURI, name, append(old[:len(old):len(old)], ' '))
		s.refused(r, r.Batch, name)
		s.overwrite(run.Info.ArtifactURI, name, old)
	}
	victim := filepath.Base(entries(t, filepath.Join(r.Folder, "raw"))[3])
	run, err = c.GetRun(t.Context(), victim)
	require.NoError(t, err)
	old, err := c.ReadArtifact(t.Context(), run.Info, batch.FileOutcomes, 1<<20)
	require.NoError(t, err)
	s.overwrite(run.Info.ArtifactURI, batch.FileOutcomes, []byte(strings.Replace(string(old), `"score":0.`, `"score":1.`, 1)))
	s.refused(r, victim, batch.FileOutcomes)
	s.overwrite(run.Info.ArtifactURI, batch.FileOutcomes, old)
	s.export(r)
}

// overwrite replaces an artifact through the server, as anyone can who reaches it.
func (s *shell) overwrite(uri, name string, body []byte) {
	s.t.Helper()
	path, ok := strings.CutPrefix(uri, "mlflow-artifacts:/")
	require.True(s.t, ok, uri)
	address := s.env["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow-artifacts/artifacts/" + path + "/" + name
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, address, strings.NewReader(string(body)))
	require.NoError(s.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	resp.Body.Close()
	require.Equal(s.t, http.StatusOK, resp.StatusCode)
}

// refused exports, which must name what was changed and publish nothing.
func (s *shell) refused(r ran, run, file string) {
	s.t.Helper()
	out := s.t.TempDir()
	got := s.run("export", r.Batch, "--out", out)
	assert.Equal(s.t, ExitIntegrity, got.code, got.stderr)
	assert.Contains(s.t, got.stderr, run)
	assert.Contains(s.t, got.stderr, file)
	assert.Empty(s.t, entries(s.t, out))
}

// killedExport ends an export in the middle.
func killedExport(t *testing.T, s *shell, r ran) {
	server := s.env["MLFLOW_TRACKING_URI"]
	faults, address := mlflowtest.NewProxy(t, server)
	faults.Inject(mlflowtest.Fault{Route: batch.FileBundle, Skip: 3, Do: mlflowtest.Slow(time.Minute)})
	out := t.TempDir()
	c := s.child([]string{"MLFLOW_TRACKING_URI=" + address}, "export", r.Batch, "--out", out)
	c.until("the fourth bundle", func() bool { return faults.Requests(batch.FileBundle) > 3 })
	c.kill()
	left := entries(t, out)
	require.Len(t, left, 1)
	assert.True(t, strings.HasPrefix(left[0], ".tmp-benchbatch-"), left[0])

	c = s.child([]string{"MLFLOW_TRACKING_URI=" + address}, "export", r.Batch, "--out", out)
	before := faults.Requests(batch.FileBundle)
	c.until("a bundle", func() bool { return faults.Requests(batch.FileBundle) > before })
	c.signal(os.Interrupt)
	got := c.wait()
	assert.Equal(t, ExitInterrupted, got.code, got.stderr)
	assert.Empty(t, entries(t, out), "an interrupted export leaves nothing, and removes what a killed one left")

	s.ok("export", r.Batch, "--out", out)
	assert.Equal(t, []string{r.Name}, entries(t, out))
	assert.Equal(t, sums(t, r.Folder), sums(t, filepath.Join(out, r.Name)))

	// Two at once make one folder.
	out = t.TempDir()
	one, two := s.child(nil, "export", r.Batch, "--out", out), s.child(nil, "export", r.Batch, "--out", out)
	for _, c := range []*child{one, two} {
		got := c.wait()
		assert.Zero(t, got.code, got.stderr)
	}
	assert.Equal(t, []string{r.Name}, entries(t, out))
}

// withheld exports without answers and inputs: their digests stay.
func withheld(t *testing.T, s *shell, r ran) {
	folder := s.export(r, "--withhold", "raw,inputs")
	assert.Equal(t, sums(t, folder), sums(t, s.export(r, "--withhold", "inputs,raw")))
	for name := range sums(t, folder) {
		b, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.NotContains(t, string(b), "Where does letter", name)
		assert.NotContains(t, name, batch.FileBundle)
	}
	got := s.ok("verify", folder)
	assert.Contains(t, got.out, "withheld")
	assert.Contains(t, got.out, "could not be recomputed")
	rows := query(t, folder, "SELECT count(*) AS tasks, count(input) AS inputs, count(input_sha256) AS digests FROM 'tables/tasks.parquet'")
	assert.Equal(t, []map[string]any{{"tasks": 12.0, "inputs": 0.0, "digests": 12.0}}, rows)
}
