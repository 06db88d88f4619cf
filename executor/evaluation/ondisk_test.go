package evaluation

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// writer is a runner that leaves one outcome and a file.
type writer struct{ t *testing.T }

func (l writer) Launch(_ context.Context, w Work) (Ended, error) {
	for _, v := range w.Env {
		if out, ok := strings.CutPrefix(v, "BENCHBATCH_OUT="); ok {
			require.NoError(l.t, os.MkdirAll(filepath.Join(out, "logs"), 0o700))
			require.NoError(l.t, os.WriteFile(filepath.Join(out, "logs", "a"), []byte("said"), 0o600))
			require.NoError(l.t, os.WriteFile(filepath.Join(out, batch.FileOutcomes), []byte(`{"task":"T-1","score":1,"transcript":"logs/a"}`+"\n"), 0o600))
		}
	}
	return Ended{}, nil
}

// The journal says of an answer that it is there when all that belongs to it is on disk.
func TestEvidenceIsOnDiskBeforeItsAnswerIsInTheJournal(t *testing.T) {
	for _, unit := range []string{"evaluation", "task"} {
		dir := filepath.Join(t.TempDir(), "evaluation")
		var mu sync.Mutex
		before := map[string]bool{}
		was := onDisk
		t.Cleanup(func() { onDisk = was })
		onDisk = func(name string) error {
			journal, err := os.ReadFile(filepath.Join(dir, FileJournal))
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			_, err = os.Lstat(filepath.Join(dir, "bundle.part", "attempt-1")) // what was synced before does not have it
			if err == nil && !strings.Contains(string(journal), `"answer"`) {
				before[strings.TrimPrefix(name, dir)] = true
			}
			return was(name)
		}
		_, err := Measure(t.Context(), Request{
			Spec: &spec.Spec{Dir: t.TempDir(), Tasks: []batch.Task{{ID: "T-1", Input: json.RawMessage(`1`)}}, Runner: spec.Runner{Command: []string{"runner"}, Unit: unit}},
			Slot: 1, UUID: "7f3a9c00-0000-4000-8000-000000000001", Dir: dir, WorkRoot: t.TempDir(), Launcher: writer{t},
			Lookup: func(string) (string, bool) { return "", false },
		})
		require.NoError(t, err)
		out := "/bundle.part/attempt-1/runner/out"
		if unit == "task" {
			out += "/tasks/T-1"
		}
		for _, name := range []string{"", "/bundle.part", "/bundle.part/attempt-1", out, out + "/logs", out + "/logs/a"} {
			assert.True(t, before[name], "%s %s", unit, name)
		}
		onDisk = was
	}
}
