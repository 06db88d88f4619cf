//go:build unix

// Package process runs evaluations as processes of this machine.
//
// Order of use: Launcher{}.Launch, which returns when the process and
// everything that it started has ended, whatever they did to stay: background
// children, children that ignore TERM, and (on Linux) children that left the
// process group. Output goes to files, never through pipes, so nothing can hang
// on an open pipe and logs survive a crash.
//
// Processes that left the group are known by their environment: they carry the
// launch's own BENCHBATCH_JOB. No other process is ever touched.
//
// This is no sandbox: a process gets nothing that it was not given, and the
// launcher's own environment can't be read through /proc, but it runs as the same
// user and can read the files of that user whose names it knows or finds.
//
// Limits: Memory bounds the data segment of each single process, on Linux only.
// CPUs is not enforced here.
//
// Errors say which program could not be started and what to do. How a started
// process ended is in evaluation.Ended, never an error.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
)

// Launcher starts local processes. Its zero value is ready; it may be used by
// many goroutines at once.
type Launcher struct{}

// EndLeft ends the processes that an evaluation left because its launcher was
// killed, and returns how many there were. They are known by the UUID in their
// BENCHBATCH_JOB. On systems other than Linux it finds none.
func EndLeft(uuid string) int {
	if len(uuid) < minUUID {
		return 0
	}
	return endLeft(uuid)
}

// minUUID keeps EndLeft from taking a part of a name for a UUID.
const minUUID = 32

const (
	watchEvery = 50 * time.Millisecond // how often logs are cut to their limit
	killWait   = 10 * time.Second      // for the kernel to end a killed process
)

// Launch implements evaluation.Launcher.
func (Launcher) Launch(ctx context.Context, w evaluation.Work) (evaluation.Ended, error) {
	now := time.Now().UTC()
	if ctx.Err() != nil {
		return evaluation.Ended{ExitCode: -1, Interrupted: true, Started: now, Ended: now}, nil
	}
	if len(w.Command) == 0 {
		return evaluation.Ended{}, errors.New("the command is empty")
	}
	adopt()
	files, err := openFiles(w)
	if err != nil {
		return evaluation.Ended{}, err
	}
	defer files.close()

	// The kernel ends the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, err := start(w, files)
	if err != nil {
		return evaluation.Ended{}, err
	}
	limit(cmd.Process.Pid, w)
	p := &running{cmd: cmd, work: w, files: files, exited: make(chan struct{})}
	p.ended.Started = time.Now().UTC()
	go p.wait()
	err = p.watch(ctx)
	p.ended.Ended = time.Now().UTC()
	return p.ended, err
}

// running is a started process.
type running struct {
	cmd    *exec.Cmd
	work   evaluation.Work
	files  *files
	exited chan struct{} // closed when the leader has exited
	ended  evaluation.Ended
}

func (p *running) wait() {
	waitExit(p.cmd)
	close(p.exited)
}

func (p *running) watch(ctx context.Context) error {
	var limit <-chan time.Time
	if p.work.Timeout > 0 {
		t := time.NewTimer(p.work.Timeout)
		defer t.Stop()
		limit = t.C
	}
	switch p.until(limit, ctx.Done()) {
	case byTimer:
		p.ended.TimedOut = true
	case byContext:
		p.ended.Interrupted = true
	}
	return p.end()
}

type cause int

const (
	byExit cause = iota
	byTimer
	byContext
)

// until waits for one of three things and meanwhile keeps the logs within bounds.
func (p *running) until(timer <-chan time.Time, done <-chan struct{}) cause {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			return byExit
		case <-timer:
			return byTimer
		case <-done:
			return byContext
		case <-tick.C:
			p.cut()
		}
	}
}

// end ends the whole group, reaps the leader last so that the group's number
// can't be reused meanwhile, and sweeps up what left the group.
func (p *running) end() error {
	pgid := p.cmd.Process.Pid
	if p.ended.TimedOut || p.ended.Interrupted {
		_ = syscall.Kill(-pgid, syscall.SIGTERM)
		grace := time.NewTimer(p.work.Grace)
		p.until(grace.C, nil)
		grace.Stop()
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	kill := time.NewTimer(killWait)
	defer kill.Stop()
	if p.until(kill.C, nil) != byExit {
		return fmt.Errorf("process %d (%s) does not end although it was killed; it may wait for a device or a network file system", pgid, p.work.Command[0])
	}
	state := reap(p.cmd)
	p.ended.Left = endGroup(pgid) + sweep(p.work)
	p.cut()
	p.ended.ExitCode = -1
	if state != nil {
		p.ended.ExitCode = state.ExitCode()
		if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			p.ended.Signal = ws.Signal().String()
		}
	}
	return nil
}

// cut shortens logs to their limit. They are opened for appending, so the
// process goes on writing behind what is kept.
func (p *running) cut() {
	for _, f := range []*os.File{p.files.out, p.files.err} {
		info, err := f.Stat()
		if err == nil && p.work.MaxOutput > 0 && info.Size() > p.work.MaxOutput {
			p.ended.Cut = true
			_ = f.Truncate(p.work.MaxOutput)
		}
	}
}

// endGroup kills what is left of a group and waits until it is gone. It
// returns how many of its processes were ours to reap.
func endGroup(pgid int) int {
	n := 0
	for deadline := time.Now().Add(killWait); ; {
		_ = syscall.Kill(-pgid, syscall.SIGKILL)
		for {
			pid, err := syscall.Wait4(-pgid, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if pid <= 0 {
				break
			}
			n++
		}
		if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) || time.Now().After(deadline) {
			return n
		}
		time.Sleep(time.Millisecond)
	}
}
