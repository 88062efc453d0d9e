package soundness_test

import (
	"bufio"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"
)

// server is one process of the server. It can be killed at any moment.
type server struct {
	cmd    *osexec.Cmd
	log    *os.File
	exited chan struct{}
}

// start runs the server on a configuration and waits until it takes deliveries at
// the address returned.
// env is added to an environment that holds a token no child may see.
func start(t testing.TB, configPath, logPath string, env ...string) (s *server, address string) {
	t.Helper()
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(os.Args[0], serveArg, configPath)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{write}
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	s = &server{cmd: cmd, log: log, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(s.exited)
	}()
	address, err = bufio.NewReader(read).ReadString('\n')
	_ = read.Close()
	if err != nil {
		s.kill()
		text, _ := os.ReadFile(logPath)
		t.Fatalf("the server did not start: %v\n%s", err, tail(string(text)))
	}
	return s, strings.TrimSpace(address)
}

// kill is kill -9.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
	_ = s.log.Close()
}

// stop is the graceful end.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.exited
	_ = s.log.Close()
}

func (s *server) running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

func tail(s string) string { return s[max(0, len(s)-20000):] }
