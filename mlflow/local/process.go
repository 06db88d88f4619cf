package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// alive tells whether any process of the server is left. Its workers can outlive the one that was started.
func (s *state) alive() bool {
	if started, ok := startOf(s.PID); ok {
		return started == s.Started
	}
	return sessionAlive(s.PID)
}

// end asks the whole process group to stop, and makes it after the grace period.
func (s *state) end(ctx context.Context, grace time.Duration) error {
	for _, step := range []struct {
		signal unix.Signal
		wait   time.Duration
	}{{unix.SIGTERM, grace}, {unix.SIGKILL, 5 * time.Second}} {
		if err := unix.Kill(-s.PID, step.signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("ending the MLflow server (process group %d): %w", s.PID, err)
		}
		for deadline := time.Now().Add(step.wait); time.Now().Before(deadline); {
			if errors.Is(unix.Kill(-s.PID, 0), unix.ESRCH) || !s.alive() && !sessionAlive(s.PID) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return fmt.Errorf("the MLflow server (process group %d) does not end", s.PID)
}

// startOf tells when a process started, in the system's own terms; false if there is none, or only its remains.
func startOf(pid int) (string, bool) {
	if fields, ok := procStat(strconv.Itoa(pid)); ok {
		return fields.start, fields.state != "Z"
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return "", false
	}
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	start := strings.TrimSpace(string(out))
	return start, err == nil && start != ""
}

// sessionAlive tells whether the session that a process led still has members. The id of a session with members is not given to another process.
func sessionAlive(session int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return unix.Kill(-session, 0) == nil
	}
	for _, e := range entries {
		if fields, ok := procStat(e.Name()); ok && fields.session == strconv.Itoa(session) && fields.state != "Z" {
			return true
		}
	}
	return false
}

type stat struct{ state, session, start string }

// procStat reads what Linux says of a process. The command's name stands in brackets and may hold anything.
func procStat(pid string) (stat, bool) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return stat{}, false
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return stat{}, false
	}
	return stat{state: fields[0], session: fields[3], start: fields[19]}, true
}
