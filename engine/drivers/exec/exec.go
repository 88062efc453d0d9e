// Package exec is the only place that starts processes. It builds a child's
// environment from nothing, bounds and scrubs its output, stops it in order
// (SIGINT, a grace, SIGKILL), puts it behind a wall, and supervises the ones
// that must outlive the server. It knows nothing about the tools it runs.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// DefaultMaxOutput is the bound of each output stream in bytes when a Cmd
// names none (components §3.2).
const DefaultMaxOutput int64 = 64 << 20

const (
	defaultGrace = 10 * time.Second
	// pipeGrace is how long streams are read on after the child has ended,
	// for grandchildren that left its group and keep a pipe open.
	pipeGrace = 2 * time.Second
)

// Cmd is one process to run. The zero value of every field but Args is valid.
type Cmd struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"`
	// Env is complete: nothing is inherited from the server.
	Env   []string  `json:"env"`
	Stdin io.Reader `json:"-"`
	// MaxOutput bounds stdout and stderr each, in bytes; 0 is DefaultMaxOutput.
	MaxOutput int64 `json:"maxOutput"`
	// Scrub are exact values that never appear in a result or a line.
	Scrub []string `json:"scrub"`
	// Grace is the time between SIGINT and SIGKILL; 0 is 10 seconds.
	Grace time.Duration `json:"grace"`
	// OnLine receives each scrubbed line without its line end; stream is
	// "stdout" or "stderr". It is never called concurrently.
	OnLine func(stream, line string) `json:"-"`
	// UID and GID run the child as another user when UID is not zero; the
	// server must be root.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// Launcher says that Args[0] is a wall's own program whose child is the
	// command: signals go to that child, in its own session, and the launcher
	// reports its end.
	Launcher bool `json:"launcher"`
	// Hold is the path of a lock file that a supervisor and its child hold
	// until the last of them has ended; a second StartSupervised with the same
	// path is refused with ErrRunning. Run ignores it.
	Hold string `json:"hold"`
}

// Result is what a finished child left.
type Result struct {
	Stdout, Stderr []byte
	// ExitCode is the exit status, or 128 plus the signal that ended it.
	ExitCode int
}

// Err is nil for exit code 0, else an *ExitError for the named command.
func (r Result) Err(command string) error {
	if r.ExitCode == 0 {
		return nil
	}
	return &ExitError{Command: command, ExitCode: r.ExitCode, Stderr: lastLines(r.Stderr, maxErrorText)}
}

// ExitError is a command that ran and did not exit 0.
type ExitError struct {
	Command  string
	ExitCode int
	Stderr   string // scrubbed, its end only
}

func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s exited with %d", e.Command, e.ExitCode)
	}
	return fmt.Sprintf("%s exited with %d: %s", e.Command, e.ExitCode, e.Stderr)
}

const maxErrorText = 8 << 10

func lastLines(b []byte, limit int) string {
	s := strings.TrimSpace(string(b))
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return "[...]\n" + s
}

// OutputLimitError is a child that was stopped because one stream grew above
// its bound.
type OutputLimitError struct {
	Stream string
	Limit  int64 // bytes
}

func (e *OutputLimitError) Error() string {
	return fmt.Sprintf("%s grew above its bound of %d bytes, so the process was stopped", e.Stream, e.Limit)
}

// Run starts the command in a process group of its own and waits for its end.
// A non-zero exit is no error (see Result.Err). The error tells that the
// command could not be started, that it wrote more than its bound
// (*OutputLimitError), or that ctx ended (wrapping context.Cause); in the last
// two cases the group got SIGINT, then after the grace SIGKILL, and the result
// holds what was written until then.
func Run(ctx context.Context, c Cmd) (Result, error) {
	if err := context.Cause(ctx); err != nil {
		return Result{}, fmt.Errorf("starting %s: %w", c.name(), err)
	}
	limit := c.MaxOutput
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	over := make(chan error, 2)
	var lines sync.Mutex
	stdout := newStream("stdout", limit, c, &lines, over)
	stderr := newStream("stderr", limit, c, &lines, over)
	p, err := start(c, stdout, stderr)
	if err != nil {
		return Result{}, err
	}
	stopped := p.await(ctx, over)
	stdout.close()
	stderr.close()
	res := Result{Stdout: stdout.bytes(), Stderr: stderr.bytes(), ExitCode: p.exitCode()}
	if stopped != nil {
		return res, fmt.Errorf("running %s: %w", c.name(), stopped)
	}
	if p.err != nil {
		return res, fmt.Errorf("running %s: %w", c.name(), p.err)
	}
	return res, nil
}

func (c Cmd) name() string {
	if len(c.Args) == 0 {
		return "an empty command"
	}
	return c.Args[0]
}

// process is a started child and its group.
type process struct {
	cmd   *osexec.Cmd
	grace time.Duration
	inner bool
	done  chan struct{}
	err   error // of waiting, other than a non-zero exit; valid after done
}

func start(c Cmd, stdout, stderr io.Writer, extra ...*os.File) (*process, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("starting a process: the command is empty")
	}
	cmd := osexec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx // a context would kill it alone; we end its whole group
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, stdout, stderr
	cmd.Env = append([]string{}, c.Env...) // never nil: nil would inherit ours
	cmd.ExtraFiles = extra
	cmd.WaitDelay = pipeGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.UID != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.UID, Gid: c.GID, Groups: []uint32{}}
	}
	p := &process{cmd: cmd, grace: c.Grace, inner: c.Launcher, done: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = defaultGrace
	}
	begun := make(chan error)
	go p.live(begun)
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name(), err)
	}
	return p, nil
}

// live starts the child and waits for it on one thread: a launcher that dies
// with its parent dies, in truth, with the thread that started it.
func (p *process) live(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err == nil {
		standBack(p.cmd.Process.Pid)
	}
	begun <- err
	if err == nil {
		p.reap()
	}
}

// reap waits for the leader and then ends what is left of its group, while the
// leader's id can't have been given to another process yet.
func (p *process) reap() {
	defer close(p.done)
	if awaitExit(p.cmd.Process.Pid) {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	err := p.cmd.Wait()
	var exit *osexec.ExitError
	if errors.As(err, &exit) || errors.Is(err, osexec.ErrWaitDelay) || errors.Is(err, errStopReading) {
		return
	}
	p.err = err
}

// await returns nil once the child ended by itself, else why it was stopped;
// the child has ended either way.
func (p *process) await(ctx context.Context, over <-chan error) error {
	var why error
	select {
	case <-p.done:
		select { // a child that wrote too much may be gone already
		case err := <-over:
			return err
		default:
			return nil
		}
	case <-ctx.Done():
		why = context.Cause(ctx)
	case why = <-over:
	}
	p.stop()
	return why
}

// stop asks the group to end, then ends it.
func (p *process) stop() {
	p.signal(syscall.SIGINT)
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal reaches the command's whole group. A launcher is left alone by SIGINT:
// it would die of it at once and lose its child's exit status.
func (p *process) signal(sig syscall.Signal) {
	leader := p.cmd.Process.Pid
	if p.inner {
		children := childrenOf(leader)
		for _, pid := range children {
			if syscall.Kill(-pid, sig) != nil {
				_ = syscall.Kill(pid, sig)
			}
		}
		if len(children) > 0 && sig == syscall.SIGINT {
			return
		}
	}
	_ = syscall.Kill(-leader, sig)
}

func (p *process) exitCode() int {
	state := p.cmd.ProcessState
	if state == nil {
		return -1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
