package executor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Launcher names this process: where it runs, its process id and its start time in
// clock ticks since boot, so that a reused process id is not taken for it.
var Launcher = sync.OnceValue(func() string {
	_, start := processStat(os.Getpid())
	return fmt.Sprintf("%s/%d/%s", place(), os.Getpid(), start)
})

// place names where process ids mean something: the host, this boot of it, and the
// namespace of its process ids. Two containers may share a host name.
var place = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return hostname()
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return hostname()
	}
	d := batch.Sum([]byte(string(boot) + namespace))
	return hostname() + "-" + string(d[:12])
})

func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return strings.ReplaceAll(h, "/", "_")
}

// LauncherHere says whether a launcher ran in this place, so that LauncherGone can
// tell.
func LauncherHere(name string) bool { return strings.HasPrefix(name, place()+"/") }

// LauncherGone says whether a launcher ran in this place and is gone for sure.
func LauncherGone(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || parts[0] != place() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	if !processAlive(pid) {
		return true
	}
	state, start := processStat(pid)
	return state == zombie || start != "" && parts[2] != "" && start != parts[2]
}

// zombie is the state of a process that has ended, and for which its parent has not waited.
const zombie = "Z"

// processStat are fields 3 and 22 of /proc/PID/stat; "" where there is no such file.
func processStat(pid int) (state, start string) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}
