package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Options say what to start. Only Dir is required.
type Options struct {
	Dir           string        // holds mlflow.db, mlartifacts and .benchbatch; made if it is missing
	Port          int           // on 127.0.0.1; 0 means any free one
	Executable    string        // the mlflow command; "" means $BENCHBATCH_MLFLOW, then mlflow on the PATH
	EndWithParent bool          // the server ends when this process does, however it does
	StartTimeout  time.Duration // until the first answer; 0 means 3 min: without byte code MLflow takes long
}

// Server is a server that answered.
type Server struct {
	Dir     string // absolute
	URL     string // as http://127.0.0.1:5000
	PID     int    // leader of its process group and session
	Version string // of MLflow, as "3.17.2"
	Found   bool   // it was running already
}

// ErrNoExecutable means that MLflow is not installed, or not found.
var ErrNoExecutable = errors.New("no mlflow command")

// ErrSchema means that the database is not of the schema that this MLflow wants.
var ErrSchema = errors.New("the database has another schema")

const (
	databaseName = "mlflow.db"
	stateDir     = ".benchbatch"
	stopGrace    = 10 * time.Second
)

// Start serves a folder and returns when the server has answered a real call. A server that serves the folder already is returned as it is,
// whatever its port; two calls at the same time make one server.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.StartTimeout == 0 {
		o.StartTimeout = 3 * time.Minute
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, stateDir), 0o755); err != nil {
		return nil, fmt.Errorf("MLflow's folder: %w", err)
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("no answer within %v", o.StartTimeout))
	defer cancel()

	if st, err := readState(dir); err != nil {
		return nil, err
	} else if st != nil && st.alive() {
		if err := waitReady(ctx, st, nil); err != nil {
			return nil, fmt.Errorf("the MLflow server of %s (process %d, %s) does not answer: %w (benchbatch server stop ends it)", dir, st.PID, st.URL, err)
		}
		return st.server(dir, true), nil
	}
	executable, err := findExecutable(o.Executable)
	if err != nil {
		return nil, err
	}
	probed, err := probe(ctx, executable, filepath.Join(dir, databaseName))
	if err != nil {
		return nil, err
	}
	st, err := launch(ctx, o, dir, executable, probed.Version)
	if err != nil {
		return nil, err
	}
	return st.server(dir, false), nil
}

// Status tells which server serves the folder; nil if none does.
func Status(dir string) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	st, err := readState(dir)
	if err != nil || st == nil || !st.alive() {
		return nil, err
	}
	return st.server(dir, true), nil
}

// Stop ends the server of the folder with all its processes: first politely, after ten seconds for good. False means that none was running.
func Stop(ctx context.Context, dir string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(filepath.Join(dir, stateDir)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return false, err
	}
	defer unlock()
	st, err := readState(dir)
	if err != nil || st == nil {
		return false, err
	}
	running := st.alive()
	if running {
		if err := st.end(ctx, stopGrace); err != nil {
			return true, err
		}
	}
	return running, removeState(dir)
}

// Stop ends this server: see the function of that name.
func (s *Server) Stop(ctx context.Context) error {
	_, err := Stop(ctx, s.Dir)
	return err
}

// LogFile is where the server's output goes.
func (s *Server) LogFile() string { return logFile(s.Dir) }

func logFile(dir string) string { return filepath.Join(dir, stateDir, "server.log") }
