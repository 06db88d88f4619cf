//go:build linux

package chaos_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/benchbatch/benchbatch/cmd/internal/chaos"
)

// launcher is one of those that share a batch, with a folder of its own, in one process
// after another.
type launcher struct {
	batch *trial
	name  string
	spec  string

	mu      sync.Mutex
	cmd     *exec.Cmd // nil = no process is there
	life    *chaos.Life
	starved time.Time // when its disk was full first; zero = it was not
	tries   int
}

// said is how a process of it ended.
type said struct {
	code        int
	out, stderr string
}

// final says that there is nothing more for it to do in this batch.
func (s said) final() bool {
	return s.code == 0 || s.code == 4 && (strings.Contains(s.stderr, "frozen with ") || strings.Contains(s.stderr, "budget: "))
}

// run is one process of the launcher, from its start to its end.
func (l *launcher) run() said {
	var out, stderr bytes.Buffer
	l.mu.Lock()
	l.tries++
	name := fmt.Sprintf("%s.%d", l.name, l.tries)
	cmd := l.batch.tool(name, "run", l.spec, "--json", "--yes", "--at-once", "3", "--out", filepath.Join(filepath.Dir(l.spec), "..", "batches"))
	cmd.Stdout, cmd.Stderr = &out, &stderr
	l.life, l.starved = &chaos.Life{}, time.Time{}
	l.batch.born(name, l.life)
	err := cmd.Start()
	l.cmd = cmd
	l.mu.Unlock()
	if err != nil {
		return said{-1, "", err.Error()}
	}
	err = cmd.Wait()
	_ = os.WriteFile(filepath.Join(l.batch.dir, name+".log"), append(out.Bytes(), stderr.Bytes()...), 0o600) // to look at after a violation
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cmd = nil
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return said{-1, out.String(), err.Error()}
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL && !l.life.Killed.IsZero():
		l.batch.world.faults.Add("launcher killed")
	case cmd.ProcessState.ExitCode() != 0:
		l.life.Failed = time.Now()
		if !l.starved.IsZero() { // from then on it had an error to end with, and gave back what it could not save
			l.life.Failed = l.starved
		}
	}
	if !l.starved.IsZero() && (strings.Contains(stderr.String(), "file too large") || strings.Contains(out.String(), "file too large")) {
		l.batch.world.faults.Add("disk full")
	}
	return said{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// kill ends its process as a crash would. It counts when it has.
func (l *launcher) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cmd == nil {
		return
	}
	at := time.Now()
	if l.cmd.Process.Kill() == nil {
		l.life.Killed = at
	}
}

// stop stops its process for a while.
func (l *launcher) stop(d time.Duration) {
	l.mu.Lock()
	cmd, life := l.cmd, l.life
	at := time.Now()
	if cmd == nil || cmd.Process.Signal(syscall.SIGSTOP) != nil {
		l.mu.Unlock()
		return
	}
	life.Stops = append(life.Stops, chaos.Span{From: at})
	l.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	if stopped(cmd.Process.Pid) {
		l.batch.world.faults.Add("launcher stopped")
	}
	time.Sleep(d)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	l.mu.Lock()
	defer l.mu.Unlock()
	life.Stops[len(life.Stops)-1].To = time.Now()
}

// stopped says whether a process is.
func stopped(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.HasPrefix(string(b[bytes.LastIndexByte(b, ')')+1:]), " T")
}

// starve lets no file of its process grow for a while, nor those of runners that it
// starts meanwhile: every write fails, as on a full disk. It counts where the process
// has met it.
func (l *launcher) starve(d time.Duration) {
	l.mu.Lock()
	cmd := l.cmd
	var was unix.Rlimit
	if cmd == nil || unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &was) != nil ||
		unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: was.Max}, nil) != nil {
		l.mu.Unlock()
		return
	}
	if l.starved.IsZero() {
		l.starved = time.Now()
	}
	l.mu.Unlock()
	time.Sleep(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cmd == cmd {
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &was, nil)
	}
}
