package exec

import (
	osexec "os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAChildAndWhatItStartsStandBackBehindTheServer(t *testing.T) {
	t.Parallel()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command("/bin/sh", "-c", "read go; nice; exit 0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	standBack(cmd.Process.Pid)
	if _, err := stdin.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	want := strconv.Itoa(min(20-raw+nicer, 19))
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("nice value %s, want %s", got, want)
	}
}
