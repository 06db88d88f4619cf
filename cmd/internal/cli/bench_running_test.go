package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
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

// BenchmarkEvaluation runs 200 evaluations of a runner that does nothing, 16 at once
// under a quota, against a bare client that makes the same calls, claims and heartbeats
// too, at the same parallelism. Both pass a proxy of the same kind; ours is timed from
// its first call for an evaluation to its last.
func BenchmarkEvaluation(b *testing.B) {
	const evaluations, atOnce = 200, 16
	bin := tool(b)
	for b.Loop() {
		spec, server := noop(b, evaluations, atOnce)
		r, address := record(b, server)
		_, out := timed(b, filepath.Dir(spec), []string{"MLFLOW_TRACKING_URI=" + address}, bin, "run", spec, "--yes", "--quiet", "--at-once", fmt.Sprint(atOnce))
		require.Contains(b, out, fmt.Sprint(evaluations, " evaluations started now"))
		chains := split(r.calls)
		require.Len(b, chains, evaluations)
		total, first, last := 0, time.Now(), time.Time{}
		for _, calls := range chains {
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
		meetings, shared := sharing(r.calls, first, last)
		_, address = record(b, server)
		theirs := replay(b, address, spread(chains, shared), meetings, atOnce)
		_, again := timed(b, filepath.Dir(spec), []string{"MLFLOW_TRACKING_URI=" + server}, bin, "run", spec, "--yes", "--quiet", "--out", "again")
		require.Contains(b, again, "0 evaluations started now")
		b.ReportMetric(float64(total+len(shared))/evaluations, "calls/evaluation")
		b.ReportMetric(float64(len(shared))/evaluations, "calls-sharing/evaluation")
		b.ReportMetric(ours.Seconds(), "s/200")
		b.ReportMetric(theirs.Seconds(), "s-bare/200")
		b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-bare")
	}
}

// BenchmarkMemory runs 2,000 evaluations of a runner that does nothing, 16 at once, and
// looks at the launcher's resident memory ten times a second: early and late among the
// evaluations, and while it freezes and exports after them.
func BenchmarkMemory(b *testing.B) {
	const evaluations = 2000
	bin := tool(b)
	for b.Loop() {
		spec, server := noop(b, evaluations, 16)
		ran := filepath.Join(filepath.Dir(spec), "ran")
		cmd := exec.Command(bin, "run", spec, "--yes", "--quiet", "--at-once", "16")
		cmd.Dir, cmd.Env = filepath.Dir(spec), append(os.Environ(), "MLFLOW_TRACKING_URI="+server)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(b, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		var early, late, after float64 // MiB
		for running := true; running; {
			select {
			case err := <-done:
				require.NoError(b, err, out.String())
				running = false
			case <-time.After(100 * time.Millisecond):
				m, err := resident(cmd.Process.Pid)
				if err != nil {
					continue // it is ending
				}
				switch begun := size(ran); {
				case begun == evaluations:
					after = max(after, m)
				case begun > evaluations/2:
					late = max(late, m)
				case begun > evaluations/10:
					early = max(early, m)
				}
			}
		}
		require.Contains(b, out.String(), fmt.Sprint(evaluations, " evaluations started now"))
		b.ReportMetric(early, "MiB-early")
		b.ReportMetric(late, "MiB-late")
		b.ReportMetric(after, "MiB-freeze-and-export")
	}
}

// size is how long a file is in bytes; 0 = it isn't there.
func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// resident is the resident memory of a process in MiB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	var kib float64
	_, err = fmt.Sscanf(strings.TrimSpace(between(string(text), "VmRSS:", "kB")), "%g", &kib)
	return kib / 1024, err
}

// noop is a benchmark of two cells whose runner answers at once, on a server of its own.
func noop(b *testing.B, evaluations, atOnce int) (spec, server string) {
	b.Helper()
	dir := b.TempDir()
	spec = filepath.Join(dir, "benchmark.yaml")
	require.NoError(b, os.WriteFile(spec, fmt.Appendf(nil, `benchmark: noop
version: v1
panel: panel.csv
repeats: %d
models: [{id: a, quota: engine}, {id: b, quota: engine}]
quotas: {engine: {at_once: %d}}
runner: {command: [sh, run.sh]}
`, evaluations/2, atOnce), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "panel.csv"), []byte("id,input\nT1,one\nT2,two\n"), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "run.sh"), fmt.Appendf(nil, `printf . >>'%s/ran'
printf '{"task":"T1","score":1}\n{"task":"T2","score":0}\n' >"$BENCHBATCH_OUT/outcomes.jsonl"
`, dir), 0o600))
	s, err := local.Start(b.Context(), local.Options{Dir: filepath.Join(dir, "store"), Executable: mlflowtest.Executable(b, mlflowtest.Newest), EndWithParent: true})
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = local.Stop(b.Context(), s.Dir) })
	return spec, s.URL
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

// sharing are the calls between two moments by which launchers share work: those about
// the runs on which they send heartbeats.
func sharing(calls []call, first, last time.Time) (meetings []string, shared []call) {
	for _, c := range calls {
		if run := runIn(c); bytes.Contains(c.body, []byte(`"beat/`)) && !slices.Contains(meetings, run) {
			meetings = append(meetings, run)
		}
	}
	for _, c := range calls {
		if slices.Contains(meetings, runIn(c)) && !c.begun.Before(first) && !c.ended.After(last) {
			shared = append(shared, c)
		}
	}
	return meetings, shared
}

// spread puts calls evenly behind the first call of each chain.
func spread(chains [][]call, calls []call) (out [][]call) {
	for i, chain := range chains {
		from, to := i*len(calls)/len(chains), (i+1)*len(calls)/len(chains)
		out = append(out, slices.Concat(chain[:1], calls[from:to], chain[1:]))
	}
	return out
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

// replay makes the calls of every evaluation again, on runs of its own that stand for
// the evaluations' and the meetings', and returns the wall time.
func replay(b *testing.B, server string, evaluations [][]call, meetings []string, parallel int) time.Duration {
	b.Helper()
	stands := map[string]string{}
	for _, m := range meetings {
		experiment := between(string(evaluations[0][0].body), `"experiment_id":"`, `"`)
		stands[m] = created(send(b, call{method: http.MethodPost, contentType: "application/json"}, server+"/api/2.0/mlflow/runs/create", fmt.Sprintf(`{"experiment_id":%q}`, experiment)))
		require.NotEmpty(b, stands[m])
	}
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
				replayOne(b, server, calls, stands)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func replayOne(b *testing.B, server string, calls []call, stands map[string]string) {
	id := ""
	for i, c := range calls {
		body, uri := string(c.body), c.uri
		if i == 0 {
			body = strings.ReplaceAll(body, "benchbatch.evaluation", "replay.evaluation") // these are no repeats
			body = strings.ReplaceAll(body, "benchbatch.recipe", "replay.recipe")
		} else if old := runIn(c); old != "" {
			instead := cmp.Or(stands[old], id)
			body, uri = strings.ReplaceAll(body, old, instead), strings.ReplaceAll(uri, old, instead)
		}
		answer := send(b, c, server+uri, body)
		if i == 0 {
			id = created(answer)
		}
		if id == "" {
			return // it was told
		}
	}
}

// send makes a call again with another body; "" = it failed.
func send(b *testing.B, c call, address, body string) string {
	q, err := http.NewRequest(c.method, address, strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return ""
	}
	q.Header.Set("Content-Type", c.contentType)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		b.Error(err)
		return ""
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		b.Errorf("%s %s: %d %s", c.method, address, resp.StatusCode, answer)
		return ""
	}
	return string(answer)
}

// created is the run id in the answer to a create.
func created(answer string) string {
	return cmp.Or(between(answer, `"run_id": "`, `"`), between(answer, `"run_id":"`, `"`))
}
