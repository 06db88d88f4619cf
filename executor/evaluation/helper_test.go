package evaluation_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/executor/process"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// bench is a benchmark in a temporary folder that a test fills in.
type bench struct {
	t   *testing.T
	env map[string]string // the launcher's own environment
	req evaluation.Request
}

// newBench makes a benchmark of n tasks T-1.. whose runner is a shell script.
func newBench(t *testing.T, n int, script string) *bench {
	t.Helper()
	b := &bench{t: t, env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/someone"}}
	s := &spec.Spec{
		Dir: t.TempDir(), Benchmark: "bench", Version: "v1",
		Runner: spec.Runner{Command: []string{"./run.sh"}, Unit: "evaluation", Timeout: time.Minute},
		Valid:  batch.Validity{MaxMissing: 0.05}, Decision: spec.Decision{PassThreshold: 1},
	}
	for i := range n {
		s.Tasks = append(s.Tasks, batch.Task{
			ID: fmt.Sprintf("T-%d", i+1), Input: json.RawMessage(fmt.Sprintf(`"question %d"`, i+1)),
			Expected: json.RawMessage(fmt.Sprintf(`"expected-%d"`, i+1)),
		})
	}
	b.req = evaluation.Request{
		Spec: s, Agent: spec.Agent{ID: "agent", Version: "1"}, Model: spec.Model{ID: "model", Route: "provider/model"},
		Slot: 1, UUID: "7f3a9c00-0000-4000-8000-000000000001", Dir: filepath.Join(t.TempDir(), "evaluation"), WorkRoot: t.TempDir(),
		Lookup:   func(name string) (string, bool) { v, ok := b.env[name]; return v, ok },
		Launcher: process.Launcher{}, Grace: 200 * time.Millisecond,
		Backoff: func(outcome.State, int) time.Duration { return time.Millisecond },
	}
	b.script("run.sh", script)
	return b
}

// file writes a file of the benchmark.
func (b *bench) file(name, content string, mode os.FileMode) {
	b.t.Helper()
	path := filepath.Join(b.req.Spec.Dir, name)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, []byte(content), mode))
}

// script writes an executable shell script.
func (b *bench) script(name, body string) { b.file(name, "#!/bin/sh\n"+body, 0o755) }

// interpreter is Python itself, not a wrapper that adds variables of its own.
var interpreter = sync.OnceValue(func() string {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		panic("these tests need python3 in PATH: " + err.Error())
	}
	return strings.TrimSpace(string(out))
})

// python writes an executable Python script with the job read in.
func (b *bench) python(name, body string) {
	b.file(name, "#!"+interpreter()+"\nimport json, os, sys, time\njob = json.load(open(os.environ['BENCHBATCH_JOB']))\nout = os.environ['BENCHBATCH_OUT']\n"+body, 0o755)
}

// measure runs the evaluation and checks what holds of every one.
func (b *bench) measure() evaluation.Measured {
	b.t.Helper()
	return b.measureWith(context.Background())
}

func (b *bench) measureWith(ctx context.Context) evaluation.Measured {
	b.t.Helper()
	m, err := evaluation.Measure(ctx, b.req)
	require.NoError(b.t, err)
	require.Len(b.t, m.Outcomes, len(b.req.Spec.Tasks))
	ids := []string{}
	for _, task := range b.req.Spec.Tasks {
		ids = append(ids, task.ID)
	}
	slices.Sort(ids)
	for i, id := range ids {
		require.Equal(b.t, id, m.Outcomes[i].Task, "outcomes stand in the order of their ids")
		require.NotEmpty(b.t, m.Outcomes[i].State)
	}
	again, err := evaluation.Load(b.req.Dir)
	require.NoError(b.t, err)
	require.Equal(b.t, asJSON(b.t, m.Outcomes), asJSON(b.t, again.Outcomes))
	require.Equal(b.t, asJSON(b.t, m.Attempts), asJSON(b.t, again.Attempts))
	require.Equal(b.t, m.Artifacts, again.Artifacts)
	left, err := os.ReadDir(b.req.WorkRoot)
	require.NoError(b.t, err)
	require.Empty(b.t, left, "private folders are removed")
	names := []string{}
	entries, err := os.ReadDir(b.req.Dir)
	require.NoError(b.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(b.t, []string{"attempts.jsonl", "bundle.tar.zst", "measured.json", "outcomes.jsonl", "outcomes_table.json"}, names)
	return m
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, outcome.Append(&b, v))
	return b.String()
}

// bundle unpacks the bundle: name → content.
func (b *bench) bundle() map[string]string {
	b.t.Helper()
	f, err := os.Open(filepath.Join(b.req.Dir, batch.FileBundle))
	require.NoError(b.t, err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	require.NoError(b.t, err)
	defer z.Close()
	files := map[string]string{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(b.t, err)
		content, err := io.ReadAll(tr)
		require.NoError(b.t, err)
		files[h.Name] = string(content)
	}
}

// states are the outcomes as task=state.
func states(m evaluation.Measured) map[string]outcome.State {
	s := map[string]outcome.State{}
	for _, o := range m.Outcomes {
		s[o.Task] = o.State
	}
	return s
}

// everything is all that an evaluation kept, as one text.
func (b *bench) everything() string {
	b.t.Helper()
	var all bytes.Buffer
	for name, content := range b.bundle() {
		all.WriteString(name + "\n" + content + "\n")
	}
	for _, name := range []string{"attempts.jsonl", "measured.json", "outcomes.jsonl", "outcomes_table.json"} {
		content, err := os.ReadFile(filepath.Join(b.req.Dir, name))
		require.NoError(b.t, err)
		all.Write(content)
	}
	return all.String()
}
