package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// callLog is a proxy in front of a server that keeps what it was asked.
type callLog struct {
	url  string
	mu   sync.Mutex
	seen []string // method, path, query and body
}

func logCalls(t *testing.T, server string) *callLog {
	t.Helper()
	target, err := url.Parse(server)
	require.NoError(t, err)
	r := &callLog{}
	next := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // a broken request fails on the server too
		q.Body = io.NopCloser(bytes.NewReader(body))
		r.mu.Lock()
		r.seen = append(r.seen, q.Method+" "+q.URL.RequestURI()+" HTTP "+string(body))
		r.mu.Unlock()
		next.ServeHTTP(w, q)
	}))
	t.Cleanup(proxy.Close)
	r.url = proxy.URL
	return r
}

// take gives what was asked since the last call.
func (r *callLog) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// fewCalls counts what a plan and an evaluation ask of the server.
func fewCalls(t *testing.T, s *shell, calls *callLog, first ran) {
	measured := calls.take()
	children := s.runs("tags.`benchbatch.batch` = '" + first.Batch + "'")
	require.Len(t, children, 8)
	for _, c := range children {
		n := 1 // its create does not hold its id
		for _, q := range measured {
			uri, body, _ := strings.Cut(q, " HTTP ")
			download := strings.HasPrefix(uri, "GET ") && strings.Contains(uri, "/artifacts/"+c.Info.ExperimentID+"/") // by the export
			if (strings.Contains(uri, c.Info.RunID) || strings.Contains(body, `"run_id":"`+c.Info.RunID+`"`)) && !download {
				n++
			}
		}
		assert.LessOrEqual(t, n, 10, c.Info.RunName)
		assert.Greater(t, n, 5, c.Info.RunName)
	}
	calls.take()
	s.plan()
	assert.LessOrEqual(t, len(calls.take()), 5, "of a finished batch")
	s.edit("benchmark.yaml", "repeats: 2", "repeats: 4")
	assert.Equal(t, 8, s.plan().Counts.NotStarted)
	assert.LessOrEqual(t, len(calls.take()), 5, "with repeats missing")
	s.edit("benchmark.yaml", "version: v1", "version: v2")
	s.edit("policies/refund.md", "14", "30")
	assert.Equal(t, 16, s.plan().Counts.NotStarted)
	assert.LessOrEqual(t, len(calls.take()), 5, "of a recipe that was never measured")
}

// reuseRules plans with every way to bound what is counted.
func reuseRules(t *testing.T, s *shell, first ran) {
	t.Run("finished", func(t *testing.T) {
		p := s.plan()
		assert.True(t, p.Finished)
		assert.Equal(t, first.Batch, p.Batch)
		assert.Equal(t, batch.Counts{Planned: 8, Done: 8}, p.Counts)
		text := s.ok("plan", s.spec).out
		assert.Contains(t, text, "8 planned = 0 reused + 8 done + 0 missing")
		assert.Contains(t, text, "is finished and frozen")
		assert.Contains(t, text, "nothing is missing: nothing would be paid")
	})
	t.Run("new", func(t *testing.T) {
		p := s.plan("--new")
		assert.False(t, p.Finished)
		assert.Empty(t, p.Batch)
		assert.Equal(t, batch.Counts{Planned: 8, Reused: 8}, p.Counts)
	})
	t.Run("fresh", func(t *testing.T) {
		p := s.plan("--fresh", "quick+m-one")
		assert.Equal(t, batch.Counts{Planned: 8, Reused: 6, NotStarted: 2}, p.Counts)
		require.Len(t, p.Ignored, 2)
		for _, i := range p.Ignored {
			assert.Equal(t, "older than --fresh quick+m-one", i.Reason)
		}
		require.NotNil(t, p.Estimate.CostUSD)
		assert.InDelta(t, 2*12*0.001, p.Estimate.CostUSD.Mean, 1e-9)
		got := s.run("plan", s.spec, "--fresh", "quick+m-nine")
		assert.Equal(t, ExitUsage, got.code)
		assert.Contains(t, got.stderr, "quick+m-nine: no such variant; there are quick+m-one, quick+m-two")
	})
	t.Run("only", func(t *testing.T) {
		p := s.plan("--only", "model=m-two,agent=quick")
		require.Len(t, p.Cells, 1)
		assert.Equal(t, "quick+m-two", p.Cells[0].Variant.String())
		for arg, want := range map[string]string{"model=m-nine": "no such model", "task=T-01": "agent=ID or model=ID", "quick": "agent=ID or model=ID"} {
			got := s.run("plan", s.spec, "--only", arg)
			assert.Equal(t, ExitUsage, got.code, arg)
			assert.Contains(t, got.stderr, want)
		}
	})
	t.Run("not_before", func(t *testing.T) {
		c := s.fork(t)
		c.edit("benchmark.yaml", "prices:", "reuse: {not_before: 2199-01-01}\nprices:")
		p := c.plan()
		assert.Equal(t, batch.Counts{Planned: 8, NotStarted: 8}, p.Counts)
		require.Len(t, p.Ignored, 8)
		assert.Contains(t, p.Ignored[0].Reason, "before the reuse limit 2199-01-01T00:00:00Z")
		c.edit("benchmark.yaml", "2199", "1999")
		assert.Equal(t, batch.Counts{Planned: 8, Reused: 8}, c.plan().Counts)
	})
	t.Run("max_age", func(t *testing.T) {
		c := s.fork(t)
		c.edit("benchmark.yaml", "prices:", "reuse: {max_age: 1s}\nprices:")
		time.Sleep(1100 * time.Millisecond)
		assert.Equal(t, 8, c.plan().Counts.NotStarted)
		c.edit("benchmark.yaml", "max_age: 1s", "max_age: 30d")
		assert.Equal(t, batch.Counts{Planned: 8, Reused: 8}, c.plan().Counts)
	})
	t.Run("further experiment", func(t *testing.T) {
		c := s.fork(t)
		name := benchmarkOf(t, s)
		c.edit("benchmark.yaml", "benchmark: "+name, "benchmark: elsewhere-"+name)
		assert.Equal(t, 8, c.plan().Counts.NotStarted)
		c.edit("benchmark.yaml", "prices:", "reuse: {experiments: ["+name+"]}\nprices:")
		assert.Equal(t, batch.Counts{Planned: 8, Reused: 8}, c.plan().Counts)
		c.edit("benchmark.yaml", "["+name+"]", "[nobody-"+name+"]")
		got := c.run("plan", c.spec)
		assert.Equal(t, ExitFailed, got.code)
		assert.Contains(t, got.stderr, `reuse.experiments: "nobody-`+name+`"`)
	})
	t.Run("explain", func(t *testing.T) {
		text := s.ok("plan", s.spec, "--explain", "careful+m-two").out
		assert.Contains(t, text, "nothing changed since "+first.Name)
		assert.Equal(t, ExitUsage, s.run("plan", s.spec, "--explain", "careful+m-nine").code)
		c := s.fork(t)
		c.edit("agents/quick/agent.py", "0.5", "0.6")
		text = c.ok("plan", c.spec, "--explain", "quick+m-two").out
		assert.Contains(t, text, "  agent: agents/quick/agent.py\n    was ")
		assert.NotContains(t, c.ok("plan", c.spec, "--explain", "careful+m-two").out, "agents/quick")
	})
}

// benchmarkOf is the name of a shell's benchmark.
func benchmarkOf(t *testing.T, s *shell) string {
	t.Helper()
	p := s.plan()
	i := slices.IndexFunc(p.Cells, every)
	require.GreaterOrEqual(t, i, 0)
	return p.Benchmark
}
