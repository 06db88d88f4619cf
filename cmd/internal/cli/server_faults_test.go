package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// small makes one agent and one repeat of the benchmark: two evaluations.
func (s *shell) small() *shell {
	s.t.Helper()
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	s.edit("benchmark.yaml", "  - {id: careful, version: \"1\", files: [agents/careful/]}\n", "")
	return s
}

// nothingDone checks that a refused command left the server and the runner alone.
func nothingDone(t *testing.T, s *shell, f *mlflowtest.Fake) {
	t.Helper()
	assert.Empty(t, s.starts())
	assert.NoFileExists(t, filepath.Join(s.dir, "mlflow.db"))
	assert.NoDirExists(t, filepath.Join(s.dir, "batches"))
	for _, write := range []string{"create", "update", "log-batch", "log-inputs", "set-tag", "mlflow-artifacts"} {
		assert.Zero(t, f.Requests(write), write)
	}
}

// TestAnswersThatAreNone: what answers is no tracking server, or not one for us.
func TestAnswersThatAreNone(t *testing.T) {
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mlflowtest.LoginPage(w, r, nil) }))
	t.Cleanup(login.Close)
	for name, c := range map[string]struct {
		act  mlflowtest.Act
		says []string
	}{
		"login page":           {mlflowtest.LoginPage, []string{"did not answer with JSON", "login page"}},
		"redirect to a login":  {mlflowtest.Redirect(http.StatusFound, login.URL), []string{"redirects to " + login.URL, "not followed"}},
		"moved":                {mlflowtest.Redirect(http.StatusMovedPermanently, login.URL), []string{"set MLFLOW_TRACKING_URI to " + login.URL}},
		"not logged in":        {mlflowtest.Answer(http.StatusUnauthorized, "You are not authenticated."), []string{"HTTP 401", "MLFLOW_TRACKING_USERNAME"}},
		"not allowed":          {mlflowtest.Fail(http.StatusForbidden, "PERMISSION_DENIED", "Permission denied"), []string{"HTTP 403", "permission"}},
		"another kind of site": {mlflowtest.Answer(http.StatusNotFound, "<html>nothing here</html>", "Content-Type", "text/html"), []string{"404"}},
		"half an answer":       {mlflowtest.Answer(http.StatusOK, `{"experiment": {"experiment_id"`, "Content-Type", "application/json"), []string{"JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := fakeShell(t)
			f.Inject(mlflowtest.Fault{Do: c.act})
			for _, command := range []string{"plan", "run"} {
				got := s.run(command, s.spec)
				assert.Equal(t, ExitFailed, got.code, command)
				assert.Empty(t, got.out)
				for _, text := range c.says {
					assert.Contains(t, got.stderr, text)
				}
				for _, secret := range []string{"cookie-of-the-login-page", "<form", "<html"} {
					assert.NotContains(t, got.stderr, secret)
				}
			}
			nothingDone(t, s, f)
		})
	}
}

// TestSearchThatFails: a refused or broken search is never read as "no runs".
func TestSearchThatFails(t *testing.T) {
	for name, act := range map[string]mlflowtest.Act{
		"refused":     mlflowtest.Fail(http.StatusBadRequest, "INVALID_PARAMETER_VALUE", "Invalid clause(s) in filter string"),
		"login page":  mlflowtest.LoginPage,
		"not allowed": mlflowtest.Fail(http.StatusForbidden, "PERMISSION_DENIED", "Permission denied"),
	} {
		t.Run(name, func(t *testing.T) {
			s, f := fakeShell(t)
			s.logRun(mlflow.StatusFinished, tagsOf(s.hashes()[0], nil), recordOf(1, nil))
			writes := f.Requests("create")
			f.Inject(mlflowtest.Fault{Route: "runs/search", Do: act})
			for _, command := range []string{"plan", "run"} {
				got := s.run(command, s.spec)
				assert.Equal(t, ExitFailed, got.code)
				assert.Empty(t, got.out)
				assert.Contains(t, got.stderr, "runs/search")
			}
			assert.Equal(t, writes, f.Requests("create"))
			assert.Empty(t, s.starts())
		})
	}
}

// TestRecordsThatCannotBeRead: a repeat that may be there is not paid for again, and the run is named.
func TestRecordsThatCannotBeRead(t *testing.T) {
	s, f := fakeShell(t)
	s.small()
	foreign := s.logRun(mlflow.StatusFinished, tagsOf(s.hashes()[0], nil), recordOf(1, nil))
	f.Inject(mlflowtest.Fault{Route: "outcomes.jsonl", Do: mlflowtest.Fail(http.StatusForbidden, "PERMISSION_DENIED", "no access to the store")})
	for _, command := range []string{"plan", "run"} {
		got := s.run(command, s.spec)
		assert.Equal(t, ExitFailed, got.code)
		assert.Contains(t, got.stderr, "outcomes.jsonl of run "+foreign.RunID+", logged by another tool, can't be read")
		assert.Contains(t, got.stderr, "no access to the store")
	}
	assert.Empty(t, s.starts())
	f.Clear()
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 1, Done: 1}, r.Counts)

	// Nor is one of ours that can't be confirmed.
	s.edit("benchmark.yaml", "repeats: 1", "repeats: 2")
	own := slots(t, r.Folder)["quick+m-two 1"]
	f.Inject(mlflowtest.Fault{Route: own + "/artifacts/outcomes.jsonl", Do: mlflowtest.Fail(http.StatusForbidden, "PERMISSION_DENIED", "no access to the store")})
	got := s.run("run", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "outcomes.jsonl of run "+own+", which is to count, can't be read")
	assert.Len(t, s.starts(), 1)
}

// TestNobodyThere: the address and how to start a server, soon.
func TestNobodyThere(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + closed.Addr().String()
	require.NoError(t, closed.Close())
	s := newShellAt(t, address)
	for _, args := range [][]string{{"plan", s.spec}, {"run", s.spec}, {"doctor"}} {
		begin := time.Now()
		got := s.run(args...)
		assert.Equal(t, ExitFailed, got.code, args[0])
		assert.Less(t, time.Since(begin), 5*time.Second, "the limit that is promised")
		text := got.out + got.stderr // doctor's findings are its product
		assert.Contains(t, text, address, args[0])
		assert.Contains(t, text, "benchbatch server start", args[0])
	}
	assert.Empty(t, s.starts())
}

// TestNoAddress: without an address only run, demo and server start a server.
func TestNoAddress(t *testing.T) {
	s := newShellAt(t, "")
	delete(s.env, "MLFLOW_TRACKING_URI")
	for _, args := range [][]string{{"plan", s.spec}, {"status"}, {"export", "latest"}, {"doctor"}, {"server", "status"}} {
		got := s.run(args...)
		assert.Equal(t, ExitFailed, got.code, args[0])
		assert.Empty(t, got.out)
		assert.Contains(t, got.stderr, "benchbatch server start", args[0])
	}
	for uri, says := range map[string]string{"sqlite:///mlflow.db": "sqlite:", "./mlruns": "a path", "databricks": "which only Python's MLflow can open", "http://": "host"} {
		s.env["MLFLOW_TRACKING_URI"] = uri
		got := s.run("plan", s.spec)
		assert.Equal(t, ExitFailed, got.code, uri)
		assert.Contains(t, got.stderr, says, uri)
	}
	s.env["MLFLOW_TRACKING_URI"] = "http://127.0.0.1:1"
	for name, value := range map[string]string{"MLFLOW_TRACKING_AWS_SIGV4": "true", "MLFLOW_TRACKING_AUTH": "plugin", "MLFLOW_HTTP_REQUEST_TIMEOUT": "soon"} {
		s.env[name] = value
		got := s.run("plan", s.spec)
		assert.Equal(t, ExitFailed, got.code, name)
		assert.Contains(t, got.stderr, name)
		delete(s.env, name)
	}
	assert.NoFileExists(t, filepath.Join(s.dir, "mlflow.db"))
}

// TestPrefixedAddress: a server below a path, written with and without a final slash, and behind a redirect that keeps writes.
func TestPrefixedAddress(t *testing.T) {
	f := mlflowtest.NewFake(t)
	var outside []string
	var mu sync.Mutex
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, "/team/mlflow/")
		if !ok {
			mu.Lock()
			outside = append(outside, r.URL.Path)
			mu.Unlock()
			http.NotFound(w, r)
			return
		}
		http.StripPrefix("/team/mlflow", f.Faults).ServeHTTP(w, r)
		_ = path
	}))
	t.Cleanup(front.Close)
	s := newShellAt(t, front.URL+"/team/mlflow/").small()
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
	assert.Contains(t, r.Page, front.URL+"/team/mlflow/#/experiments/")
	s.env["MLFLOW_TRACKING_URI"] = front.URL + "/team/mlflow"
	assert.Equal(t, r.Batch, s.plan().Batch)
	assert.Empty(t, outside)

	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, front.URL+"/team/mlflow"+q.URL.RequestURI(), http.StatusPermanentRedirect)
	}))
	t.Cleanup(moved.Close)
	s.env["MLFLOW_TRACKING_URI"] = moved.URL
	assert.Equal(t, batch.Counts{Planned: 2, Reused: 2}, s.measure("--new").Counts, "308 keeps method and body")
}

// pagesOf makes a server give at most so many runs a page, and end its pages in one of three ways.
func pagesOf(size int, last string) mlflowtest.Act {
	limit := regexp.MustCompile(`"max_results":\d+`)
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, _ := io.ReadAll(r.Body)
		body = limit.ReplaceAll(body, []byte(`"max_results":`+strconv.Itoa(size)))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		mlflowtest.Rewrite(func(answer []byte) []byte {
			var m map[string]json.RawMessage
			if json.Unmarshal(answer, &m) != nil || m["next_page_token"] != nil || last == "" {
				return answer
			}
			m["next_page_token"] = json.RawMessage(last)
			answer, _ = json.Marshal(m)
			return answer
		})(w, r, next)
	}
}

// TestManyPages: every page is read, however the last one is marked and however few runs a page holds.
func TestManyPages(t *testing.T) {
	for _, version := range []mlflowtest.Version{mlflowtest.Newest, mlflowtest.Oldest} {
		f := mlflowtest.NewFakeOf(t, version)
		s := newShellAt(t, f.URL)
		s.edit("benchmark.yaml", "repeats: 2", "repeats: 5")
		for _, h := range s.hashes() {
			for range 5 {
				s.logRun(mlflow.StatusFinished, tagsOf(h, nil), recordOf(1, nil))
			}
		}
		for _, last := range []string{"", `""`, `null`} {
			for _, size := range []int{3, 20} { // 20 runs: with the older server a full last page leads to an empty one
				f.Clear()
				f.Inject(mlflowtest.Fault{Route: "runs/search", Do: pagesOf(size, last)})
				assert.Equal(t, batch.Counts{Planned: 20, Reused: 20}, s.plan().Counts, "%s, pages of %d, last token %q", version, size, last)
			}
		}
	}
}

// TestStableOrder: runs are asked for by start time alone, since other orders lose rows, and equal start times are told apart by run id.
func TestStableOrder(t *testing.T) {
	s, f := fakeShell(t)
	h := s.hashes()[0]
	s.logRun(mlflow.StatusFinished, nil, nil)
	var ids []string
	for range 10 {
		info, err := s.client().CreateRun(t.Context(), mlflow.CreateRun{ExperimentID: s.experiment(), Name: "same time", StartTime: 1_790_000_000_000, Tags: tagList(tagsOf(h, nil))})
		require.NoError(t, err)
		require.NoError(t, s.client().PutArtifactBytes(t.Context(), info, batch.FileOutcomes, []byte(*recordOf(1, nil))))
		_, err = s.client().UpdateRun(t.Context(), info.RunID, mlflow.StatusFinished, 1_790_000_001_000)
		require.NoError(t, err)
		ids = append(ids, info.RunID)
	}
	slices.Sort(ids)
	calls := logCalls(t, f.URL)
	s.env["MLFLOW_TRACKING_URI"] = calls.url
	p := s.plan()
	assert.Equal(t, 2, p.Cells[0].Reused)
	for _, q := range calls.take() {
		if _, order, ok := strings.Cut(q, `"order_by":["`); ok {
			assert.True(t, strings.HasPrefix(order, "attributes.start_time"), q)
		}
	}
	s.env["MLFLOW_TRACKING_URI"] = f.URL
	now := slots(t, s.measure().Folder)
	assert.Equal(t, ids[:2], []string{now["quick+m-one 1"], now["quick+m-one 2"]})
}

func tagList(tags map[string]string) []mlflow.Tag {
	var out []mlflow.Tag
	for key, v := range tags {
		out = append(out, mlflow.Tag{Key: key, Value: v})
	}
	return out
}

// TestLostAnswers: a create whose answer was lost is looked up, never repeated blindly.
func TestLostAnswers(t *testing.T) {
	for name, act := range map[string]mlflowtest.Act{
		"connection closed": mlflowtest.LoseAnswer,
		"gateway timeout":   mlflowtest.Afterwards(mlflowtest.Answer(http.StatusGatewayTimeout, "upstream timed out")),
	} {
		t.Run(name, func(t *testing.T) {
			s, f := fakeShell(t)
			s.small()
			f.Inject(mlflowtest.Fault{Route: "experiments/create", Times: 1, Do: act})
			f.Inject(mlflowtest.Fault{Route: "runs/create", Times: 3, Do: act}) // the parent's, and two evaluations'
			f.Inject(mlflowtest.Fault{Route: "runs/update", Times: 1, Do: act})
			f.Inject(mlflowtest.Fault{Route: "runs/log-batch", Times: 2, Do: act})
			r := s.measure()
			assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
			assert.Len(t, s.starts(), 2)
			all := measurements(s.runs(""))
			assert.Len(t, all, 3, "one parent and two evaluations, no orphan")
			for _, run := range all {
				assert.Equal(t, mlflow.StatusFinished, run.Info.Status, run.Info.RunName)
			}
			s.ok("verify", r.Folder)
		})
	}
}

// TestServerGoneInTheMiddle: what was measured is on disk, and the next run logs it without paying again.
func TestServerGoneInTheMiddle(t *testing.T) {
	s, f := fakeShell(t)
	s.small()
	f.Inject(mlflowtest.Fault{Route: "mlflow-artifacts", Skip: 3, Do: mlflowtest.Fail(http.StatusBadRequest, "INVALID_PARAMETER_VALUE", "the disk is full")})
	got := s.run("run", s.spec, "--at-once", "1")
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "was measured and is kept in ")
	assert.Contains(t, got.stderr, "the disk is full")
	assert.Len(t, s.starts(), 1)
	assert.NoDirExists(t, filepath.Join(s.dir, "batches"))
	f.Clear()
	again := s.run("run", s.spec)
	require.Equal(t, ExitDone, again.code, again.stderr)
	assert.Contains(t, again.stderr, "an earlier run had stopped: 1 measured evaluation logged now")
	assert.Len(t, s.starts(), 2)
	left, err := os.ReadDir(filepath.Join(filepath.Dir(s.spec), ".benchbatch", "evaluations"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestABatchThatWasFrozenInPart: MLflow fails once more when the result is stored and the
// batch's run is about to be ended.
func TestABatchThatWasFrozenInPart(t *testing.T) {
	s, f := fakeShell(t)
	s.small()
	hit := ""
	f.Inject(mlflowtest.Fault{Route: "runs/update", Skip: 4, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, _ := io.ReadAll(r.Body)
		hit = string(body)
		mlflowtest.Fail(http.StatusInternalServerError, "BROKEN", "the disk is full")(w, r, next)
	}})
	r := s.measure()
	require.Contains(t, hit, r.Batch, "the last of the runs that are ended")
	assert.True(t, r.Frozen)
	run, err := mlflowtest.Client(t, f.URL).GetRun(t.Context(), r.Batch)
	require.NoError(t, err)
	assert.Equal(t, mlflow.StatusFinished, run.Info.Status)
}

// TestAServerThatGoesAwayUnderAnExport: it says nothing about what was frozen.
func TestAServerThatGoesAwayUnderAnExport(t *testing.T) {
	s, f := fakeShell(t)
	s.small()
	r := s.measure()
	require.NoError(t, os.RemoveAll(r.Folder))
	s.env["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
	f.Inject(mlflowtest.Fault{Route: "bundle.tar.zst", Do: mlflowtest.Answer(http.StatusBadGateway, "nobody there")})
	got := s.run("export", r.Batch)
	assert.Equal(t, ExitFailed, got.code, got.stderr)
	assert.NotContains(t, got.stderr, "integrity")
	f.Clear()
	s.ok("export", r.Batch)
}
