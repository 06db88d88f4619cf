//go:build unix

package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/executor/process"
)

// work is a launch of a shell script in a folder of its own.
func work(t *testing.T, script string) evaluation.Work {
	t.Helper()
	tree := t.TempDir()
	dir := filepath.Join(tree, "work")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"+script), 0o700))
	return evaluation.Work{
		Command: []string{"./run.sh"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "BENCHBATCH_JOB=" + filepath.Join(tree, "job.json")},
		Stdout: filepath.Join(tree, "stdout.log"), Stderr: filepath.Join(tree, "stderr.log"), Timeout: time.Minute, Grace: 100 * time.Millisecond,
	}
}

func launch(t *testing.T, w evaluation.Work) evaluation.Ended {
	t.Helper()
	end, err := process.Launcher{}.Launch(context.Background(), w)
	require.NoError(t, err)
	return end
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// pids are the process numbers that a script wrote to stdout, one a line.
func pids(t *testing.T, w evaluation.Work) []int {
	t.Helper()
	var out []int
	for _, f := range strings.Fields(read(t, w.Stdout)) {
		n, err := strconv.Atoi(f)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

// requireGone checks that processes have ended and were reaped.
func requireGone(t *testing.T, pids []int) {
	t.Helper()
	require.NotEmpty(t, pids)
	for _, pid := range pids {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d is still there", pid)
	}
}

func TestExitCodeAndOutput(t *testing.T) {
	w := work(t, "cat; echo err >&2; exit 7")
	w.Stdin = filepath.Join(filepath.Dir(w.Dir), "in")
	require.NoError(t, os.WriteFile(w.Stdin, []byte("from stdin"), 0o600))
	end := launch(t, w)
	assert.Equal(t, 7, end.ExitCode)
	assert.Empty(t, end.Signal)
	assert.False(t, end.TimedOut || end.Interrupted || end.Cut)
	assert.Zero(t, end.Left)
	assert.Equal(t, "from stdin", read(t, w.Stdout))
	assert.Equal(t, "err\n", read(t, w.Stderr))
	assert.False(t, end.Ended.Before(end.Started))
}

func TestEnvironmentIsOnlyWhatIsGiven(t *testing.T) {
	t.Setenv("BENCHBATCH_TEST_SECRET", "must not be seen")
	w := work(t, "env")
	w.Env = append(w.Env, "ONLY=this")
	launch(t, w)
	assert.Contains(t, read(t, w.Stdout), "ONLY=this")
	assert.NotContains(t, read(t, w.Stdout), "BENCHBATCH_TEST_SECRET")
	w.Env, w.Command = nil, []string{"/usr/bin/env"}
	launch(t, w)
	assert.Empty(t, read(t, w.Stdout), "no environment is an empty one, not ours")
}

func TestTheLaunchersEnvironmentCanNotBeLookedUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // no /proc
	}
	w := work(t, `cat "/proc/$PPID/environ"`)
	launch(t, w)
	assert.Empty(t, strings.Trim(read(t, w.Stdout), "\x00"))
	assert.NotEmpty(t, os.Getenv("PATH"), "the launcher itself still has it")
}

func TestEndsBySignal(t *testing.T) {
	end := launch(t, work(t, "kill -9 $$"))
	assert.Equal(t, -1, end.ExitCode)
	assert.Equal(t, "killed", end.Signal)
	assert.False(t, end.TimedOut)
}

func TestTimeoutAsksFirst(t *testing.T) {
	w := work(t, `trap 'echo asked; exit 3' TERM; while :; do sleep 0.01; done`)
	w.Timeout, w.Grace = 300*time.Millisecond, time.Minute
	end := launch(t, w)
	assert.True(t, end.TimedOut)
	assert.Equal(t, 3, end.ExitCode)
	assert.Equal(t, "asked\n", read(t, w.Stdout))
}

func TestTermIgnoringTreeEnds(t *testing.T) {
	w := work(t, `trap '' TERM; echo $$; sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & while :; do sleep 1; done`)
	w.Timeout = 300 * time.Millisecond
	end := launch(t, w)
	assert.True(t, end.TimedOut)
	assert.Equal(t, "killed", end.Signal)
	requireGone(t, pids(t, w))
}

// The leader exits at once and leaves a child in the background that would hold a pipe open.
func TestBackgroundChildEndsWithTheLeader(t *testing.T) {
	w := work(t, `sleep 600 & echo $!; exit 0`)
	end := launch(t, w)
	assert.Equal(t, 0, end.ExitCode)
	requireGone(t, pids(t, w))
}

func TestGrandchildrenThatLeftTheGroupEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux can find a process that left its group: nothing is promised here")
		return
	}
	for name, script := range map[string]string{
		"setsid":                    `setsid sh -c 'echo $$; sleep 600 & echo $!; wait' & while [ "$(wc -l < ../stdout.log)" -lt 2 ]; do sleep 0.01; done`,
		"setsid without a variable": `env -i PATH="$PATH" setsid sh -c 'echo $$; sleep 600' & while [ "$(wc -l < ../stdout.log)" -lt 1 ]; do sleep 0.01; done`,
		"setsid, TERM ignored":      `setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & while [ "$(wc -l < ../stdout.log)" -lt 1 ]; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			w := work(t, script)
			end := launch(t, w)
			assert.Equal(t, 0, end.ExitCode)
			assert.Positive(t, end.Left)
			requireGone(t, pids(t, w))
		})
	}
}

func TestOthersAreNotDisturbed(t *testing.T) {
	other := exec.Command("sleep", "600")
	other.Dir = t.TempDir()
	require.NoError(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	long := work(t, `setsid sh -c 'sleep 1; echo finished' & wait`)
	var wg sync.WaitGroup
	wg.Go(func() { launch(t, long) })
	for range 3 {
		launch(t, work(t, `setsid sleep 600 & sleep 0.1`))
	}
	wg.Wait()
	assert.Equal(t, "finished\n", read(t, long.Stdout))
	require.NoError(t, other.Process.Signal(syscall.Signal(0)))
}

func TestInterrupted(t *testing.T) {
	w := work(t, `echo $$; exec sleep 600`)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if b, err := os.ReadFile(w.Stdout); err == nil && len(b) > 0 {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	end, err := process.Launcher{}.Launch(ctx, w)
	require.NoError(t, err)
	assert.True(t, end.Interrupted)
	assert.False(t, end.TimedOut)
	requireGone(t, pids(t, w))
	end, err = process.Launcher{}.Launch(ctx, w)
	require.NoError(t, err)
	assert.True(t, end.Interrupted, "a cancelled context starts nothing")
}

func TestLogsAreCutAndTheProcessGoesOn(t *testing.T) {
	w := work(t, `head -c 50000000 /dev/zero; sleep 0.2; head -c 50000000 /dev/zero >&2; echo done > done`)
	w.MaxOutput = 1 << 20
	end := launch(t, w)
	assert.Equal(t, 0, end.ExitCode)
	assert.True(t, end.Cut)
	for _, log := range []string{w.Stdout, w.Stderr} {
		info, err := os.Stat(log)
		require.NoError(t, err)
		assert.Equal(t, int64(1<<20), info.Size())
	}
	assert.FileExists(t, filepath.Join(w.Dir, "done"))
}

func TestMemoryIsLimited(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // the limit is Linux's
	}
	w := work(t, `sleep 0.3; exec python3 -c 'x = bytearray(400_000_000); print(len(x))'`)
	w.Memory = 100 << 20
	end := launch(t, w)
	assert.NotEqual(t, 0, end.ExitCode)
	assert.Contains(t, read(t, w.Stderr), "MemoryError")
}

func TestProgramsThatDoNotStart(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		mode                os.FileMode
		command             []string
		want                string
	}{
		{"absent", "", "", 0, []string{"./absent.sh"}, "no such file in the working folder"},
		{"not in PATH", "", "", 0, []string{"no-such-program"}, "no such program in PATH"},
		{"not executable", "x.sh", "#!/bin/sh\n", 0o600, []string{"./x.sh"}, "chmod +x"},
		{"no first line", "x", "hello\n", 0o700, []string{"./x"}, "first line should be #!"},
		{"no interpreter", "x", "#!/no/such/interpreter\n", 0o700, []string{"./x"}, `"#!/no/such/interpreter" does not exist`},
		{"folder", "d/x", "", 0o700, []string{"./d"}, "is a folder"},
		{"empty", "", "", 0, nil, "the command is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := work(t, "")
			w.Command = c.command
			if c.file != "" {
				path := filepath.Join(w.Dir, c.file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(c.content), c.mode))
			}
			_, err := process.Launcher{}.Launch(context.Background(), w)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestNothingIsLeftOfManyLaunches(t *testing.T) {
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				launch(t, work(t, `sleep 600 & exit 0`))
			}
		})
	}
	wg.Wait()
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 5*time.Second, 10*time.Millisecond)
}

// A launcher that is killed can't clean up: the next one finds what it left.
func TestWhatAKilledLauncherLeftIsEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // only Linux can find it
	}
	const uuid = "0d9f7c1e-8a55-4c0e-9d4c-5a3f2f7f1a11"
	start := func(id string) *exec.Cmd {
		cmd := exec.Command("sleep", "600")
		cmd.Env = []string{"BENCHBATCH_JOB=/tmp/benchbatch-" + id + "-123/job.json"}
		require.NoError(t, cmd.Start())
		return cmd
	}
	left, other := start(uuid), start("1d9f7c1e-8a55-4c0e-9d4c-5a3f2f7f1a11")
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	assert.Zero(t, process.EndLeft(""))
	assert.Equal(t, 1, process.EndLeft(uuid))
	require.ErrorIs(t, syscall.Kill(left.Process.Pid, 0), syscall.ESRCH)
	require.NoError(t, other.Process.Signal(syscall.Signal(0)))
}
