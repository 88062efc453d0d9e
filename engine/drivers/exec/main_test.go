package exec

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// parentArg makes the test program a server that starts a supervised command
// and then waits to be killed.
const parentArg = "__test-parent"

func TestMain(m *testing.M) {
	SupervisorMain(os.Args)
	if len(os.Args) > 2 && os.Args[1] == parentArg {
		actAsParent(os.Args[2], os.Args[3:])
	}
	// A shell has what it starts in the background ignore interrupts, and all that is
	// started from there, unless they are handled on the way.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	os.Exit(m.Run())
}

// actAsParent prints a line once the command is supervised and started.
func actAsParent(dir string, args []string) {
	_, err := StartSupervised(context.Background(), dir, Cmd{Args: args, Env: BaseEnv("/", "/tmp")})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

// newFIFO makes a named pipe, by which tests and children wait for each other.
func newFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitWriter returns once a child has opened the pipe to write.
func awaitWriter(t *testing.T, fifo string) *os.File {
	t.Helper()
	f, err := os.Open(fifo)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// release writes to a pipe a child reads from.
func release(t *testing.T, fifo string) {
	t.Helper()
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

func shell(script string, args ...string) Cmd {
	return Cmd{Args: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: BaseEnv("/", "/tmp")}
}
