package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/local"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// The benchmarks of whole commands against what a user would use instead, in one
// run: each reports a ratio (ours / theirs). They need curl and an installed MLflow.

// tool builds the binary once and returns how to run it in a folder.
func tool(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "benchbatch")
	out, err := exec.Command("go", "build", "-o", bin, "../../benchbatch").CombinedOutput()
	require.NoError(b, err, string(out))
	return bin
}

// timed runs a command and returns its wall time.
func timed(b *testing.B, dir string, env []string, name string, args ...string) (time.Duration, string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(start)
	require.NoError(b, err, "%s %v\n%s", name, args, out)
	return wall, string(out)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// recorder is a proxy that keeps the calls that pass it.
type recorder struct {
	mu    sync.Mutex
	calls []call
}

// call is one recorded request.
type call struct {
	method, uri, contentType string
	body                     []byte
	begun, ended             time.Time
}

// record starts a recording proxy before a server.
func record(b *testing.B, server string) (*recorder, string) {
	b.Helper()
	target, err := url.Parse(server)
	require.NoError(b, err)
	r := &recorder{}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		c := call{method: q.Method, uri: q.URL.RequestURI(), contentType: q.Header.Get("Content-Type"), body: body, begun: time.Now()}
		proxy.ServeHTTP(w, q)
		c.ended = time.Now()
		r.mu.Lock()
		r.calls = append(r.calls, c)
		r.mu.Unlock()
	}))
	b.Cleanup(s.Close)
	return r, s.URL
}

// curlConfig writes the calls as one curl configuration.
func curlConfig(b *testing.B, server string, calls []call) string {
	b.Helper()
	dir := b.TempDir()
	var cfg strings.Builder
	for i, c := range calls {
		if i > 0 {
			cfg.WriteString("next\n")
		}
		fmt.Fprintf(&cfg, "url = %q\nrequest = %s\noutput = /dev/null\nsilent\nfail\n", server+c.uri, c.method)
		if len(c.body) > 0 {
			body := filepath.Join(dir, fmt.Sprint(i))
			require.NoError(b, os.WriteFile(body, c.body, 0o600))
			fmt.Fprintf(&cfg, "header = \"Content-Type: %s\"\ndata-binary = \"@%s\"\n", c.contentType, body)
		}
	}
	name := filepath.Join(dir, "config")
	require.NoError(b, os.WriteFile(name, []byte(cfg.String()), 0o600))
	return name
}

// BenchmarkPlan plans one recipe of 180 runs in a history of 10,000 and of 100,000
// runs: against curl making the same calls, and the two histories against each other.
func BenchmarkPlan(b *testing.B) {
	bin := tool(b)
	var first time.Duration
	for _, runs := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			spec, env := seeded(b, bin, runs)
			r, address := record(b, env["MLFLOW_TRACKING_URI"])
			_, out := timed(b, filepath.Dir(spec), []string{"MLFLOW_TRACKING_URI=" + address, "REGION=north"}, bin, "plan", spec)
			require.Contains(b, out, "180 planned = 180 reused + 0 done + 0 missing")
			config := curlConfig(b, env["MLFLOW_TRACKING_URI"], r.calls)
			var ours, theirs []time.Duration
			for b.Loop() {
				for range 5 {
					d, _ := timed(b, filepath.Dir(spec), []string{"MLFLOW_TRACKING_URI=" + env["MLFLOW_TRACKING_URI"], "REGION=north"}, bin, "plan", spec)
					ours = append(ours, d)
					d, _ = timed(b, filepath.Dir(spec), nil, "curl", "--config", config)
					theirs = append(theirs, d)
				}
			}
			b.ReportMetric(float64(len(r.calls)), "calls")
			b.ReportMetric(median(ours).Seconds(), "s/plan")
			b.ReportMetric(median(ours).Seconds()/median(theirs).Seconds(), "x-curl")
			if first == 0 {
				first = median(ours)
			}
			b.ReportMetric(median(ours).Seconds()/first.Seconds(), "x-10000")
		})
	}
}

// seeded fills the store of a server of its own with a history in which one recipe is a spec's.
func seeded(b *testing.B, bin string, runs int) (spec string, env map[string]string) {
	b.Helper()
	dir := b.TempDir()
	bench := filepath.Join(dir, "bench")
	require.NoError(b, os.CopyFS(bench, os.DirFS("testdata/bench")))
	spec = filepath.Join(bench, "benchmark.yaml")
	text, err := os.ReadFile(spec)
	require.NoError(b, err)
	var models strings.Builder
	for i := range 30 {
		fmt.Fprintf(&models, "  - {id: m-%02d, route: local/%02d}\n", i, i)
	}
	changed := strings.NewReplacer("repeats: 2", "repeats: 3", "  - {id: m-one, route: local/one, revision: r1, quota: all}\n", models.String(),
		"  - {id: m-two, route: local/two, quota: all}\n", "", "prices: prices.yaml\n", "").Replace(string(text))
	require.NoError(b, os.WriteFile(spec, []byte(changed), 0o600))
	_, hashes := timed(b, dir, []string{"REGION=north"}, bin, "hash", spec, "--json", "--quiet")
	hashFile := filepath.Join(dir, "hashes.json")
	require.NoError(b, os.WriteFile(hashFile, []byte(hashes), 0o600))

	executable := mlflowtest.Executable(b, mlflowtest.Newest)
	store := filepath.Join(dir, "store")
	options := local.Options{Dir: store, Executable: executable, EndWithParent: true}
	s, err := local.Start(b.Context(), options) // makes the database
	require.NoError(b, err)
	require.NoError(b, s.Stop(b.Context()))
	seed, err := filepath.Abs("../../../scripts/bench/seed.py")
	require.NoError(b, err)
	timed(b, store, nil, filepath.Join(filepath.Dir(executable), "python"), seed, "sqlite:///mlflow.db", fmt.Sprint(runs), "small", hashFile)
	s, err = local.Start(b.Context(), options)
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = local.Stop(b.Context(), store) })
	return spec, map[string]string{"MLFLOW_TRACKING_URI": s.URL}
}

// BenchmarkExportRead exports a batch of 100 evaluations of 500 tasks, against curl
// fetching the same artifacts in parallel.
func BenchmarkExportRead(b *testing.B) {
	bin := tool(b)
	spec, server := noop(b, 100, 4)
	dir := filepath.Dir(spec)
	var panel strings.Builder
	panel.WriteString("id,input\n")
	for i := range 500 {
		fmt.Fprintf(&panel, "T%03d,letter %d\n", i, i)
	}
	require.NoError(b, os.WriteFile(filepath.Join(dir, "panel.csv"), []byte(panel.String()), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "run.sh"), []byte(`awk 'BEGIN { for (i = 0; i < 500; i++)
printf "{\"task\":\"T%03d\",\"score\":%.3f,\"cost_usd\":0.001,\"tokens\":{\"input\":%d,\"output\":20},\"duration_s\":1.5}\n", i, (i % 10) / 10, 100 + i }' >"$BENCHBATCH_OUT/outcomes.jsonl"
`), 0o600))
	env := []string{"MLFLOW_TRACKING_URI=" + server}
	timed(b, dir, env, bin, "run", spec, "--yes", "--quiet", "--at-once", "4")
	r, address := record(b, server)
	timed(b, dir, []string{"MLFLOW_TRACKING_URI=" + address}, bin, "export", "latest", "--out", "recorded")
	var urls strings.Builder
	n := 0
	for _, c := range r.calls {
		if strings.Contains(c.uri, "/mlflow-artifacts/artifacts/") {
			fmt.Fprintf(&urls, "url = %q\noutput = %q\n", server+c.uri, filepath.Join(dir, fmt.Sprintf("curl-%d", n)))
			n++
		}
	}
	require.Greater(b, n, 300)
	config := filepath.Join(dir, "config")
	require.NoError(b, os.WriteFile(config, []byte(urls.String()), 0o600))
	var ours, theirs []time.Duration
	for b.Loop() {
		for i := range 5 {
			d, _ := timed(b, dir, env, bin, "export", "latest", "--out", fmt.Sprintf("out-%d-%d", b.N, i))
			ours = append(ours, d)
			d, _ = timed(b, dir, nil, "curl", "-s", "--fail", "-Z", "--config", config)
			theirs = append(theirs, d)
		}
	}
	b.ReportMetric(float64(n), "artifacts")
	b.ReportMetric(median(ours).Seconds(), "s/export")
	b.ReportMetric(median(theirs).Seconds(), "s/curl")
	b.ReportMetric(median(ours).Seconds()/median(theirs).Seconds(), "x-curl")
}
