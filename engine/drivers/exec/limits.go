package exec

import (
	"fmt"
	"strings"
)

// Limits bound what one child may use. Zero is no limit.
type Limits struct {
	FileSize  int64 // bytes of any one file
	Memory    int64 // bytes of data of each process
	CPU       int64 // seconds of processor time of each process
	Processes int64 // processes and threads of the user; no effect on root
	OpenFiles int64
}

// DefaultLimits are wide enough for the large providers.
func DefaultLimits() Limits {
	return Limits{FileSize: 4 << 30, Memory: 8 << 30, CPU: 4 * 3600, Processes: 8192, OpenFiles: 8192}
}

// wrap prefixes a command by a POSIX shell that sets the limits and becomes
// the command, so they hold from its first instruction on. A limit above the
// hard one the server has itself can't be set and is then already stricter.
func (l Limits) wrap(args []string) []string {
	var set strings.Builder
	add := func(flag string, value, unit int64) {
		if value > 0 {
			fmt.Fprintf(&set, "ulimit %s %d 2>/dev/null; ", flag, max(value/unit, 1))
		}
	}
	add("-f", l.FileSize, 512)
	add("-d", l.Memory, 1024)
	add("-t", l.CPU, 1)
	add("-n", l.OpenFiles, 1)
	if l.Processes > 0 {
		// The flag differs between shells: -u, or -p in dash and busybox.
		fmt.Fprintf(&set, "ulimit -u %[1]d 2>/dev/null || ulimit -p %[1]d 2>/dev/null; ", l.Processes)
	}
	if set.Len() == 0 {
		return args
	}
	return append([]string{"/bin/sh", "-c", set.String() + `exec "$@"`, "sh"}, args...)
}
