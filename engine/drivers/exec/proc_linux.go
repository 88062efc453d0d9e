package exec

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the process has ended and leaves it unreaped, so that
// its id stays taken. It reports whether it could.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// nicer is how far children stand back: whoever waits for an answer of the
// server is not held up by what it runs.
const nicer = 5

// standBack lowers the priority of a child that has just started, and so of all
// it will start. Best effort.
func standBack(pid int) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 minus the nice value
	if err == nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, min(20-raw+nicer, 19))
	}
}

// childrenOf lists the live direct children of a process.
func childrenOf(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var children []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// "pid (name) state ppid ...": the name may hold anything, so the
		// fields are counted from its closing bracket.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) {
			children = append(children, pid)
		}
	}
	return children
}

// selfExecutable names this program even after its file was replaced by an
// upgrade.
func selfExecutable() (string, error) { return "/proc/self/exe", nil }
