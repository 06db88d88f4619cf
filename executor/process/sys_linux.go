package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/benchbatch/benchbatch/executor/evaluation"
)

// adopt makes this process the parent of orphans below it, so that they can be
// found and reaped, and keeps its own environment, open files and folder from
// processes of the same user that look them up in /proc (root still sees files
// and folder).
var adopt = sync.OnceFunc(func() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	hideEnvironment()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
})

// hideEnvironment blanks the block that /proc/PID/environ shows. Go has copied
// the variables when the process started: os.Getenv is not changed by it.
func hideEnvironment() {
	fields := statFields("/proc/self")
	if len(fields) < 49 {
		return
	}
	start, err1 := strconv.ParseInt(fields[47], 10, 64) // env_start, field 50
	end, err2 := strconv.ParseInt(fields[48], 10, 64)   // env_end
	if err1 != nil || err2 != nil || start <= 0 || end <= start || end-start > 8<<20 {
		return
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer mem.Close()
	_, _ = mem.WriteAt(make([]byte, end-start), start)
}

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func limit(pid int, w evaluation.Work) {
	if w.Memory > 0 {
		n := uint64(w.Memory)
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: n}, nil)
	}
}

// waitExit waits until the process has exited and leaves it to be reaped.
func waitExit(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

func reap(cmd *exec.Cmd) *os.ProcessState {
	_ = cmd.Wait()
	return cmd.ProcessState
}

// sweep ends the processes of a launch that left its group, and returns how many
// there were. They are killed through a handle taken before they are looked at,
// so a number that was reused meanwhile hits nobody.
func sweep(w evaluation.Work) int {
	job := variable(w.Env, "BENCHBATCH_JOB")
	if job == "" {
		return 0
	}
	s := sweeper{mark: []byte("\x00BENCHBATCH_JOB=" + job + "\x00"), tree: filepath.Dir(job), self: os.Getpid(), found: map[int]bool{}}
	return s.sweep()
}

// endLeft ends the processes whose job lies in a private folder of the evaluation.
func endLeft(uuid string) int {
	s := sweeper{mark: []byte("/benchbatch-" + uuid + "-"), self: os.Getpid(), found: map[int]bool{}}
	return s.sweep()
}

func (s *sweeper) sweep() int {
	for deadline := time.Now().Add(killWait); s.pass() && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	for pid := range s.found {
		s.reap(pid)
	}
	return len(s.found)
}

type sweeper struct {
	mark  []byte // of the environment
	tree  string // the launch's private folder; "" = known by its environment alone
	self  int
	found map[int]bool
}

// pass kills every process of the launch and says whether there was any.
func (s *sweeper) pass() bool {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	any := false
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == s.self {
			continue
		}
		if s.found[pid] {
			s.reap(pid)
		}
		any = s.kill(pid) || any
	}
	return any
}

// reap takes the status of a process that was killed, if it became our child.
func (s *sweeper) reap(pid int) { _, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) }

func (s *sweeper) kill(pid int) bool {
	if !s.ours(pid) {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if !s.ours(pid) {
		return false
	}
	s.found[pid] = true
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	return true
}

// ours says whether a process carries the launch's job, or is an orphan that we
// adopted and that still stands in the launch's private folder.
func (s *sweeper) ours(pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(proc + "/environ")
	if err != nil {
		return false
	}
	if bytes.Contains(append([]byte{0}, env...), s.mark) {
		return true
	}
	if s.tree == "" {
		return false
	}
	cwd, err := os.Readlink(proc + "/cwd")
	if err != nil || !strings.HasPrefix(cwd+"/", s.tree+"/") {
		return false
	}
	return parent(proc) == s.self
}

// parent is the fourth field of /proc/PID/stat.
func parent(proc string) int {
	fields := statFields(proc)
	if len(fields) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[1])
	return pid
}

// statFields are the fields of /proc/PID/stat behind the name in parentheses:
// the first is field 3, the state.
func statFields(proc string) []string {
	b, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}
