//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/benchbatch/benchbatch/executor/evaluation"
)

func adopt() {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func limit(int, evaluation.Work) {}

func waitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func reap(cmd *exec.Cmd) *os.ProcessState { return cmd.ProcessState }

func sweep(evaluation.Work) int { return 0 }

func endLeft(string) int { return 0 }
