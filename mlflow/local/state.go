package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// state is what server.json holds.
type state struct {
	URL     string `json:"url"`
	PID     int    `json:"pid"`
	Started string `json:"started"` // the process's start as the system tells it, so that a reused pid is not taken for it
	Version string `json:"version"`
}

func stateFile(dir string) string { return filepath.Join(dir, stateDir, "server.json") }

func (s *state) server(dir string, found bool) *Server {
	return &Server{Dir: dir, URL: s.URL, PID: s.PID, Version: s.Version, Found: found}
}

// readState gives nil if no server was recorded.
func readState(dir string) (*state, error) {
	data, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var st state
	if err := json.Unmarshal(data, &st); err != nil || st.PID <= 1 || st.URL == "" {
		return nil, fmt.Errorf("%s can't be read: end the server by hand if one is running, and remove the file", stateFile(dir))
	}
	return &st, nil
}

// write puts the file in place whole.
func (s *state) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	part := stateFile(dir) + ".part"
	if err := os.WriteFile(part, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, stateFile(dir))
}

func removeState(dir string) error {
	err := os.Remove(stateFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// lock keeps others from starting or stopping the folder's server. The system takes it back from a process that dies.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, stateDir, "server.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("waiting for another start or stop of the server of %s: %w", dir, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
