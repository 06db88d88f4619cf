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

// BenchmarkEvaluation runs 200 evaluations of a runner that does nothing, 8 at once,
// against a bare client that makes the same calls at the same parallelism. Both pass
// a proxy of the same kind; ours is timed from its first call to its last.
func BenchmarkEvaluation(b *testing.B) {
	bin := tool(b)
	spec, server := noop(b, 200)
	for b.Loop() {
		r, address := record(b, server)
		_, out := timed(b, filepath.Dir(spec), []string{"MLFLOW_TRACKING_URI=" + address}, bin, "run", spec, "--yes", "--quiet", "--at-once", "8")
		require.Contains(b, out, "200 evaluations started now")
		evaluations := split(r.calls)
		require.Len(b, evaluations, 200)
		total, first, last := 0, time.Now(), time.Time{}
		for _, calls := range evaluations {
			total += len(calls)
			for _, c := range calls {
				if c.begun.Before(first) {
					first = c.begun
				}
				if c.ended.After(last) {
					last = c.ended
				}
			}
		}
		ours := last.Sub(first)
		_, address = record(b, server)
		theirs := replay(b, address, evaluations, 8)
		_, again := timed(b, filepath.Dir(spec), []string{"MLFLOW_TRACKING_URI=" + server}, bin, "run", spec, "--yes", "--quiet", "--out", "again")
		require.Contains(b, again, "0 evaluations started now")
		b.ReportMetric(float64(total)/200, "calls/evaluation")
		b.ReportMetric(float64(sharing(r.calls))/200, "calls-sharing/evaluation")
		b.ReportMetric(ours.Seconds(), "s/200")
		b.ReportMetric(theirs.Seconds(), "s-bare/200")
		b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-bare")
	}
}

// noop is a benchmark of two cells whose runner answers at once, on a server of its own.
func noop(b *testing.B, evaluations int) (spec, server string) {
	b.Helper()
	dir := b.TempDir()
	spec = filepath.Join(dir, "benchmark.yaml")
	require.NoError(b, os.WriteFile(spec, fmt.Appendf(nil, "benchmark: noop\nversion: v1\npanel: panel.csv\nrepeats: %d\nmodels: [a, b]\nrunner: {command: [sh, run.sh]}\n", evaluations/2), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "panel.csv"), []byte("id,input\nT1,one\nT2,two\n"), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "run.sh"), []byte(`printf '{"task":"T1","score":1}\n{"task":"T2","score":0}\n' >"$BENCHBATCH_OUT/outcomes.jsonl"`+"\n"), 0o600))
	s, err := local.Start(b.Context(), local.Options{Dir: filepath.Join(dir, "store"), Executable: mlflowtest.Executable(b, mlflowtest.Newest), EndWithParent: true})
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = local.Stop(b.Context(), s.Dir) })
	return spec, s.URL
}

// BenchmarkExportRead exports a batch of 100 evaluations of 500 tasks, against curl
// fetching the same artifacts in parallel.
func BenchmarkExportRead(b *testing.B) {
	bin := tool(b)
	spec, server := noop(b, 100)
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

// split groups recorded calls by the evaluation run that they are about, in order; the first is its create.
func split(calls []call) [][]call {
	var order []string
	by := map[string][]call{}
	for _, c := range calls {
		if strings.HasSuffix(c.uri, "/runs/create") && bytes.Contains(c.body, []byte(`"benchbatch.cell"`)) {
			uuid := between(string(c.body), `"benchbatch.evaluation","value":"`, `"`)
			order = append(order, uuid)
			by[uuid] = append(by[uuid], c)
		}
	}
	return group(calls, order, by)
}

// group adds the calls after each create: those that name its run.
func group(calls []call, order []string, by map[string][]call) [][]call {
	var ids []string
	for _, c := range calls {
		if id := runIn(c); id != "" && strings.HasSuffix(c.uri, "/runs/log-batch") && bytes.Contains(c.body, []byte(`"benchbatch.outcomes"`)) {
			ids = append(ids, id)
		}
	}
	var out [][]call
	for i, uuid := range order[:min(len(order), len(ids))] {
		list := by[uuid]
		for _, c := range calls {
			download := c.method == http.MethodGet && strings.Contains(c.uri, "/mlflow-artifacts/") // the export's
			if runIn(c) == ids[i] && !download {
				list = append(list, c)
			}
		}
		out = append(out, list)
	}
	return out
}

// sharing counts the calls by which launchers share work: those about the runs on which
// they send heartbeats.
func sharing(calls []call) (n int) {
	meeting := map[string]bool{}
	for _, c := range calls {
		if bytes.Contains(c.body, []byte(`"beat/`)) {
			meeting[runIn(c)] = true
		}
	}
	for _, c := range calls {
		if meeting[runIn(c)] {
			n++
		}
	}
	return n
}

// runIn is the run id that a call names, "" if it names none.
func runIn(c call) string {
	if id := between(string(c.body), `"run_id":"`, `"`); id != "" && !strings.HasPrefix(c.uri, "/api/2.0/mlflow-artifacts") {
		return id
	}
	if id := between(c.uri, "run_id=", "&"); id != "" {
		return id
	}
	parts := strings.Split(c.uri, "/")
	if i := slices.Index(parts, "artifacts"); i >= 0 && i+2 < len(parts) && strings.HasPrefix(c.uri, "/api/2.0/mlflow-artifacts/") {
		return parts[i+2]
	}
	return ""
}

func between(s, before, after string) string {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, after)
	return id
}

// replay makes the calls of every evaluation again, on runs of its own, and returns the wall time.
func replay(b *testing.B, server string, evaluations [][]call, parallel int) time.Duration {
	b.Helper()
	work := make(chan []call, len(evaluations))
	for _, e := range evaluations {
		work <- e
	}
	close(work)
	start := time.Now()
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for calls := range work {
				replayOne(b, server, calls)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func replayOne(b *testing.B, server string, calls []call) {
	id := ""
	for i, c := range calls {
		body, uri := string(c.body), c.uri
		if i == 0 {
			body = strings.ReplaceAll(body, "benchbatch.evaluation", "replay.evaluation") // these are no repeats
			body = strings.ReplaceAll(body, "benchbatch.recipe", "replay.recipe")
		} else if old := runIn(c); old != "" {
			body, uri = strings.ReplaceAll(body, old, id), strings.ReplaceAll(uri, old, id)
		}
		q, err := http.NewRequest(c.method, server+uri, strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		q.Header.Set("Content-Type", c.contentType)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			b.Error(err)
			return
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b.Errorf("%s %s: %d %s", c.method, uri, resp.StatusCode, answer)
			return
		}
		if i == 0 {
			id = between(string(answer), `"run_id": "`, `"`)
			if id == "" {
				id = between(string(answer), `"run_id":"`, `"`)
			}
		}
	}
}
