package executor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Launcher names this process: host, process id and its start time in clock ticks
// since boot, so that a reused process id is not taken for it.
var Launcher = sync.OnceValue(func() string {
	return fmt.Sprintf("%s/%d/%s", hostname(), os.Getpid(), processStart(os.Getpid()))
})

func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return strings.ReplaceAll(h, "/", "_")
}

// LauncherGone says whether a launcher ran on this host and is gone for sure.
func LauncherGone(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || parts[0] != hostname() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	if !processAlive(pid) {
		return true
	}
	start := processStart(pid)
	return start != "" && parts[2] != "" && start != parts[2]
}

// processStart is field 22 of /proc/PID/stat; "" where there is no such file.
func processStart(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return ""
	}
	return fields[19]
}
