package executor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// State is a launcher's folder on this machine: a lock, and one folder for each
// evaluation that is running or not yet logged.
type State struct {
	dir  string
	lock *os.File
	// cut are evaluations whose launcher was ended, with finished tasks: the next one of
	// their slot goes on with them. Recover fills it.
	cut []entry
}

// OpenState makes the folder where needed and takes its lock. Another launcher
// that holds it is named.
func OpenState(dir string) (*State, error) {
	if err := os.MkdirAll(filepath.Join(dir, evaluationsDir), 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w; choose another with --state", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w; choose another with --state", err)
	}
	if err := lockFile(f); err != nil {
		who, _ := os.ReadFile(f.Name())
		_ = f.Close()
		return nil, fmt.Errorf("another run is at work in %s (%s): one run at a time: wait for it, or end it", dir, who)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(Launcher()), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("state folder: %w; choose another with --state", err)
	}
	_ = syncDir(filepath.Dir(dir)) // where the folder was there before, it may not be ours to read
	if err := syncDir(dir); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("state folder: %w; choose another with --state", err)
	}
	return &State{dir: dir, lock: f}, nil
}

const (
	evaluationsDir = "evaluations"
	lockName       = "lock"
)

// Evaluations is the folder of what is running or not yet logged.
func (s *State) Evaluations() string { return filepath.Join(s.dir, evaluationsDir) }

// Close gives the lock back.
func (s *State) Close() error { return s.lock.Close() }

// entry describes an evaluation in its folder, so that it can be logged by
// another process.
type entry struct {
	UUID       string       `json:"uuid"`
	RunID      string       `json:"run_id"` // "" = the run was not created yet
	URI        string       `json:"artifact_uri"`
	Experiment string       `json:"experiment"`
	Batch      string       `json:"batch"`
	Slot       int          `json:"slot"`
	Cell       batch.Cell   `json:"cell"`
	Labels     labels       `json:"labels"`
	Pass       passRule     `json:"pass"`
	Panel      batch.Digest `json:"panel"`
	Tasks      int          `json:"tasks"`
	At         time.Time    `json:"at"`
	Generation int          `json:"generation,omitzero"` // of its claim
	// Cut says that its launcher was ended and its run is closed: the next evaluation of
	// the slot goes on in its folder.
	Cut bool `json:"cut,omitzero"`
	// Logged says that MLflow has it: its traces are still to be sent.
	Logged bool `json:"logged,omitzero"`
	// Settled is what of the cost of those that it goes on with stands on the ledger run already, in USD.
	Settled float64 `json:"settled_usd,omitzero"`
	// Continues are the evaluations that this one goes on with.
	Continues []origin `json:"continues,omitempty"`

	name string // of its folder; "" = the UUID
}

// origin is an evaluation that another one goes on with.
type origin struct {
	UUID  string `json:"uuid"`
	RunID string `json:"run_id"`
}

// continues are the run ids of what it goes on with.
func (e entry) continues() string {
	ids := make([]string, len(e.Continues))
	for i, o := range e.Continues {
		ids[i] = o.RunID
	}
	return strings.Join(ids, " ")
}

func (e entry) folder() string { return cmp.Or(e.name, e.UUID) }

type labels struct {
	Benchmark string `json:"benchmark"`
	Version   string `json:"version"`
	Brain     string `json:"brain"`
}

type passRule struct {
	Threshold float64 `json:"threshold"`
	Reported  bool    `json:"reported"`
}

const entryFile = "entry.json"

func (s *State) folder(name string) string { return filepath.Join(s.Evaluations(), name) }

// of is the folder of an entry.
func (s *State) of(e entry) string { return s.folder(e.folder()) }

// write puts an entry on disk, synced.
func (s *State) write(e entry) error {
	dir := s.of(e)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, entryFile), b); err != nil {
		return err
	}
	return errors.Join(syncDir(dir), syncDir(s.Evaluations()))
}

// syncDir is evaluation.SyncDir. Tests look on.
var syncDir = evaluation.SyncDir

// replaceFile writes a file whole or not at all.
func replaceFile(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// entries lists the evaluations that an earlier launcher left behind.
func (s *State) entries() ([]entry, error) {
	dirs, err := os.ReadDir(s.Evaluations())
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, d := range dirs {
		var e entry
		b, err := os.ReadFile(filepath.Join(s.Evaluations(), d.Name(), entryFile))
		if errors.Is(err, os.ErrNotExist) {
			e.UUID = d.Name() // it died before it had written anything
		} else if err != nil {
			return nil, err
		} else if err := json.Unmarshal(b, &e); err != nil {
			return nil, fmt.Errorf("%s: %w; move this folder away and run again", filepath.Join(s.Evaluations(), d.Name(), entryFile), err)
		}
		e.name = d.Name()
		out = append(out, e)
	}
	return out, nil
}

// forget removes an evaluation that is logged, or that left nothing. Its entry goes
// first: should the rest stay, nobody takes it for one that was cut short.
func (s *State) forget(e entry) error {
	if err := os.Remove(filepath.Join(s.of(e), entryFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(s.of(e))
}
