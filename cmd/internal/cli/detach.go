package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// detached is what `run --detach --json` prints.
type detached struct {
	PID  int    `json:"pid"`
	Log  string `json:"log"`
	Spec string `json:"spec"`
}

// runDetached does what may need somebody here, and has another process do the rest.
func (a *App) runDetached(ctx context.Context, conn *connection, r *spec.Resolved, name string, f runFlags) error {
	ready, err := a.prepare(ctx, conn, r, &f)
	if err != nil {
		return err
	}
	if ready.plan.Finished != nil {
		defer ready.state.Close()
		out, err := a.finished(ctx, conn, ready.ledger, ready.plan, f)
		if out == nil {
			return err
		}
		return errors.Join(a.result(out, func() { a.showRan(out) }), err)
	}
	if err := ready.state.Close(); err != nil {
		return err
	}
	out, err := a.detach(ctx, f.state)
	if err != nil {
		return err
	}
	out.Spec = name
	return a.result(out, func() {
		a.print("process %d goes on in the background", out.PID)
		a.print("log     %s", cleanLine(a.below(out.Log)))
		a.print("look    benchbatch status %s --watch", cleanLine(name))
		a.print("end     benchbatch stop %s", cleanLine(name))
	})
}

// attached are the arguments of the same command in the foreground, which asks nothing.
func attached(args []string) []string {
	var out []string
	for _, arg := range args {
		switch flag, _, _ := strings.Cut(arg, "="); flag {
		case "--detach":
			out = append(out, "--yes") // in its place: what stands behind -- is no flag
		case "--json":
		default:
			out = append(out, arg)
		}
	}
	return out
}

// detach starts this command again, in a session of its own and without questions, and
// waits until it has the state folder.
func (a *App) detach(ctx context.Context, state string) (*detached, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(state, "run-"+a.Now().UTC().Format("20060102T150405Z")+".log")
	log, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, attached(a.Args)...) //nolint:gosec // it is this program
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its state tells
	}()
	out := &detached{PID: cmd.Process.Pid, Log: name}
	for {
		select {
		case <-ended:
			said, _ := os.ReadFile(name)
			if cmd.ProcessState.Success() { // it was quick
				return out, nil
			}
			return nil, fmt.Errorf("process %d in the background ended with exit code %d; it said, in %s:\n%s",
				out.PID, cmd.ProcessState.ExitCode(), name, strings.TrimSpace(string(said)))
		case <-ctx.Done():
			_ = cmd.Process.Signal(os.Interrupt)
			<-ended
			return nil, errInterrupted
		case <-time.After(20 * time.Millisecond):
		}
		if _, launcher, err := executor.LookAt(state); err == nil && strings.Contains(launcher, fmt.Sprintf("/%d/", out.PID)) {
			return out, nil
		}
	}
}
