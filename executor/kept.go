package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Kept is an evaluation in a state folder: at work, or not logged yet.
type Kept struct {
	batch.Variant
	Slot     int       `json:"slot"`
	Batch    string    `json:"batch"`  // run id of the parent
	RunID    string    `json:"run_id"` // "" = its run was not created yet
	Since    time.Time `json:"since"`  // of its start, UTC
	Measured bool      `json:"measured"`
}

// LookAt reads a state folder without taking its lock: what lies in it, and the
// launcher that works on it ("" = none). A folder that is not there holds nothing.
func LookAt(dir string) (kept []Kept, launcher string, err error) {
	s := &State{dir: dir}
	entries, err := s.entries()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	who, err := os.ReadFile(filepath.Join(dir, lockName))
	if err == nil && !LauncherGone(string(who)) {
		launcher = string(who)
	}
	for _, e := range entries {
		if e.At.IsZero() || e.Logged {
			continue // it has not written anything yet, or MLflow has it
		}
		_, err := os.Lstat(filepath.Join(s.of(e), evaluation.FileMeasured))
		kept = append(kept, Kept{Variant: e.Cell.Variant, Slot: e.Slot, Batch: e.Batch, RunID: e.RunID, Since: e.At, Measured: err == nil})
	}
	return kept, launcher, nil
}
