package executor

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow/local"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// leaveTraces leaves a logged evaluation of so many tasks whose traces are still to be sent.
func leaveTraces(t testing.TB, s *State, experiment, run, uuid string, tasks int) entry {
	t.Helper()
	e := entry{UUID: uuid, RunID: run, Experiment: experiment, Batch: run, Slot: 1, Cell: cellOf("m"), Pass: passRule{Threshold: 0.5}, At: time.Now().UTC(), Logged: true}
	require.NoError(t, s.write(e))
	sp := &spec.Spec{Traces: spec.TracesScores}
	var outcomes, bundle bytes.Buffer
	z, err := zstd.NewWriter(&bundle)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	for i := range tasks {
		id := fmt.Sprintf("T-%04d", i)
		sp.Tasks = append(sp.Tasks, batch.Task{ID: id, Input: json.RawMessage(`"` + strings.Repeat("question ", 20) + `"`), Expected: json.RawMessage(`"yes"`)})
		fmt.Fprintf(&outcomes, `{"task":"%s","state":"scored","score":0.75,"judges":[{"name":"tone","score":0.5,"kind":"model","model":"j"}],"tokens":{"input":10,"output":5},"cost_usd":0.001,"duration_s":1,"output":"out/%s.txt"}`+"\n", id, id)
		answer := []byte("the answer to " + id)
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "out/" + id + ".txt", Size: int64(len(answer)), Mode: 0o644}))
		_, err := w.Write(answer)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	frame, err := frameOf(sp)
	require.NoError(t, err)
	require.NoError(t, s.writeFrame(e, frame))
	m := evaluation.Measured{UUID: uuid, State: batch.StateComplete, Started: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)}
	for name, body := range map[string][]byte{batch.FileOutcomes: outcomes.Bytes(), batch.FileAttempts: nil, batch.FileBundle: bundle.Bytes()} {
		require.NoError(t, os.WriteFile(filepath.Join(s.of(e), name), body, 0o600))
		m.Artifacts = append(m.Artifacts, batch.Artifact{Path: name, Digest: batch.Sum(body), Size: int64(len(body))})
	}
	mark, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.of(e), evaluation.FileMeasured), mark, 0o600))
	return e
}

// BenchmarkTraces sends 1,000 outcomes as scores, against a bare client that sends the same bodies, under other ids, with as many calls at
// once. Both pass a proxy of the same kind and take turns, so that neither meets the larger database.
func BenchmarkTraces(b *testing.B) {
	server, err := local.Start(b.Context(), local.Options{Dir: b.TempDir(), Executable: mlflowtest.Executable(b, mlflowtest.Newest), EndWithParent: true})
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = local.Stop(b.Context(), server.Dir) })
	target, err := url.Parse(server.URL)
	require.NoError(b, err)
	var mu sync.Mutex
	var bodies []string
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(r.URL.Path, "/traces") {
			mu.Lock()
			bodies = append(bodies, string(body))
			mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(s.Close)
	client := mlflowtest.Client(b, s.URL)
	l, err := ledger.Open(b.Context(), client, "traces")
	require.NoError(b, err)
	require.NoError(b, l.Create(b.Context()))
	state, err := OpenState(b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { _ = state.Close() })
	var ours, theirs time.Duration
	n := 0
	for b.Loop() {
		for range 10 {
			n++
			run := fmt.Sprintf("%032x", n)
			e := leaveTraces(b, state, l.ExperimentID(), run, fmt.Sprint("u", n), 100)
			bodies = nil
			start := time.Now()
			t := newSender(l, state)
			t.send(b.Context(), e)
			ours += time.Since(start)
			require.Equal(b, Traces{Sent: 100}, t.out)
			require.Len(b, bodies, 100)
			theirs += bare(b, s.URL, renamed(bodies))
		}
	}
	b.ReportMetric(ours.Seconds()/float64(n)*10, "s/1000")
	b.ReportMetric(theirs.Seconds()/float64(n)*10, "s-bare/1000")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-rate-of-bare")
}

// renamed are the bodies with ids of other traces and assessments.
func renamed(bodies []string) []string {
	out := make([]string, len(bodies))
	for i, body := range bodies {
		out[i] = strings.NewReplacer(`_id":"tr-`, `_id":"tr-f`, `_id":"a-`, `_id":"a-f`).Replace(body)
	}
	return out
}

// bare posts bodies with a plain client.
func bare(b *testing.B, address string, bodies []string) time.Duration {
	b.Helper()
	work := make(chan string, len(bodies))
	for _, body := range bodies {
		work <- body
	}
	close(work)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: tracesAtOnce}}
	start := time.Now()
	var wg sync.WaitGroup
	for range tracesAtOnce {
		wg.Go(func() {
			for body := range work {
				resp, err := client.Post(address+"/api/3.0/mlflow/traces", "application/json", strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					b.Errorf("status %d", resp.StatusCode)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}
