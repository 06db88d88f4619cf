//go:build unix

package executor

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an exclusive lock that ends with the process; it never waits.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// processAlive says whether a process exists, ours or not.
func processAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
