package evaluation

import (
	"context"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Launcher runs one process, and everything it started, to its end.
type Launcher interface {
	// Launch returns an error only if the process could not be started or ended.
	// Cancelling ctx ends the process tidily and gives Ended.Interrupted.
	Launch(ctx context.Context, w Work) (Ended, error)
}

// Work is one process to run.
type Work struct {
	Command []string      // program and arguments; a program with a slash is relative to Dir
	Dir     string        // working folder, absolute
	Env     []string      // the complete environment, NAME=value
	Stdin   string        // file to read; "" = nothing
	Stdout  string        // file to write
	Stderr  string        // file to write
	Timeout time.Duration // 0 = unlimited
	Grace   time.Duration // between asking the process to end and ending it
	CPUs    float64       // 0 = unlimited; a launcher may be unable to enforce it
	Memory  int64         // bytes a process; 0 = unlimited
	// MaxOutput is how many bytes of each of Stdout and Stderr are kept; the
	// process goes on and the rest is dropped. 0 = unlimited.
	MaxOutput int64
}

// Ended says how a process ended.
type Ended struct {
	ExitCode    int    // -1 if it was ended by a signal
	Signal      string // "" if it exited by itself
	TimedOut    bool   // ended because Timeout had passed
	Interrupted bool   // ended because the context was cancelled
	Cut         bool   // output beyond MaxOutput was dropped
	Left        int    // processes it had left behind, which were ended too
	Started     time.Time
	Ended       time.Time
}

// Request says what to measure and where to put it.
type Request struct {
	Spec  *spec.Spec
	Cell  batch.Cell
	Agent spec.Agent
	Model spec.Model
	Slot  int    // 1..repeats; the job's "repeat"
	UUID  string // of the evaluation
	Dir   string // final folder of the artifacts; created where it does not exist
	// Continue goes on with what an evaluation of the same cell and slot left in Dir
	// whose launcher was ended (LookAtLeft): its finished tasks, with their attempts and
	// cost, become this one's.
	Continue bool
	// WorkRoot is where private folders are made; "" = the system's temporary
	// folder. Inside a git repository another place is taken instead.
	WorkRoot string
	// Files is what every file had as its digest when it was hashed, by slash path
	// relative to the spec. A copy that differs is refused. Nil = not checked.
	Files map[string]batch.Digest
	// Lookup reads the launcher's own environment. Only names that the spec lists are asked for.
	Lookup    func(string) (string, bool)
	MLflowEnv []string // NAME=value; given to the runner only if runner.mlflow is true
	Launcher  Launcher
	Progress  func(done, total int) // tasks with a line so far; nil = not wanted

	Grace time.Duration // 0 = DefaultGrace
	// Backoff is the wait after the n-th failure (from 1) of a task for one reason; nil = by class, doubling, with jitter.
	Backoff   func(class outcome.State, n int) time.Duration
	MaxOutput int64 // bytes kept of one log; 0 = DefaultMaxOutput
	MaxBundle int64 // bytes kept in the bundle before compression; 0 = DefaultMaxBundle
	MaxFiles  int   // files kept in the bundle; 0 = DefaultMaxFiles
}

// Defaults of a request.
const (
	DefaultGrace     = 10 * time.Second
	DefaultMaxOutput = 64 << 20
	DefaultMaxBundle = 1 << 30
	DefaultMaxFiles  = 50_000
)

// Measured is one evaluation as it stands on disk.
type Measured struct {
	UUID      string                `json:"uuid"`
	State     batch.EvaluationState `json:"state"`
	Reason    string                `json:"reason,omitempty"` // why it is not complete
	Outcomes  []outcome.Outcome     `json:"-"`                // by task id, every task, settled
	Attempts  []outcome.Attempt     `json:"-"`                // by attempt, then task id
	Started   time.Time             `json:"started"`          // UTC
	Ended     time.Time             `json:"ended"`            // UTC
	Artifacts []batch.Artifact      `json:"artifacts"`        // in Dir, sorted by path
	LogTail   string                `json:"log_tail,omitempty"`
	Problems  []string              `json:"problems,omitempty"` // refused lines, files left out; all of them are in the bundle
}
