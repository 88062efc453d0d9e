package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// The files of a supervised command's directory. What is there after a crash
// is the whole truth about it (soundness, "Supervisor").
const (
	lockFile      = "lock"       // held by the supervisor
	childLockFile = "child.lock" // held by the child and what it starts
	startedFile   = "started"    // written before the child starts
	statusFile    = "status"     // written after it ended
	stdoutFile    = "stdout"
	stderrFile    = "stderr"
)

// ErrRunning refuses a start while the directory's or the Hold file's earlier
// command still runs, an orphan of a dead supervisor counted (soundness I4).
var ErrRunning = errors.New("an earlier command still runs")

// ErrStarted refuses a second start in a directory whose command was started
// once, however it ended (soundness I6).
var ErrStarted = errors.New("a command was already started here")

// ErrUnknown is a supervised command whose end nobody observed.
var ErrUnknown = errors.New("the end of the command was not observed")

// ErrNotStarted is a supervised command of which nothing ever ran.
var ErrNotStarted = errors.New("the command was not started")

// supervisorArg is the hidden first argument of our own program.
const supervisorArg = "__supervise"

// The supervisor's file descriptors besides standard input, on which the
// command arrives: it holds credentials and must not touch a disk.
const (
	lockFD = 3 + iota
	linesFD
	holdFD // only with Cmd.Hold
)

// Supervised is a command that runs under a process of ours which outlives the
// server.
type Supervised struct {
	dir    string
	cmd    *osexec.Cmd
	ended  chan struct{}
	onLine func(stream, line string)
}

// StartSupervised starts the command under a supervisor: a process in a
// session of its own, running this program's SupervisorMain. dir is private to
// this one command and is made if absent. Cmd.Stdin is not passed on. A stream
// above MaxOutput is cut, not stopped: an apply must end by itself.
// ErrRunning and ErrStarted refuse it; then nothing was started.
func StartSupervised(ctx context.Context, dir string, c Cmd) (*Supervised, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name(), err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of a supervised command: %w", err)
	}
	locks, err := takeLocks(ctx, dir, c.Hold)
	defer func() {
		for _, f := range locks {
			_ = f.Close() // the supervisor's copies hold the locks on
		}
	}()
	if err != nil {
		for _, f := range locks {
			// Closing does not let go while a child that is just being started
			// elsewhere in this process still has a copy.
			_ = flock(f, syscall.LOCK_UN)
		}
		return nil, fmt.Errorf("starting %s: %w", c.name(), err)
	}
	return spawn(dir, c, locks)
}

// takeLocks locks the directory and, when named, the hold file, and refuses a
// directory that was used before. The files are to be closed even on error.
func takeLocks(ctx context.Context, dir, hold string) ([]*os.File, error) {
	if used, err := exists(dir, statusFile); used || err != nil {
		return nil, errors.Join(ErrStarted, err)
	}
	own, err := lock(filepath.Join(dir, lockFile), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	locks := []*os.File{own}
	if used, err := exists(dir, startedFile); used || err != nil {
		return locks, errors.Join(ErrStarted, err)
	}
	if hold == "" {
		return locks, nil
	}
	held, err := lockSoon(ctx, hold)
	if err != nil {
		return locks, err
	}
	locks = append(locks, held)
	// Shared from here on, so that the child can hold it by itself too. Who
	// slipped in between makes this fail.
	if err := flock(held, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return locks, err
	}
	return locks, nil
}

func exists(dir, name string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func spawn(dir string, c Cmd, locks []*os.File) (*Supervised, error) {
	spec, err := json.Marshal(supervision{Dir: dir, Cmd: c})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name(), err)
	}
	fromSupervisor, toParent, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name(), err)
	}
	defer func() { _ = toParent.Close() }()
	self, err := selfExecutable()
	if err != nil {
		return nil, fmt.Errorf("finding this program to supervise %s: %w", c.name(), err)
	}
	cmd := &osexec.Cmd{
		Path: self, Args: []string{"chant-supervisor", supervisorArg}, Dir: "/", Env: []string{},
		ExtraFiles:  append([]*os.File{locks[0], toParent}, locks[1:]...),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = fromSupervisor.Close()
		return nil, fmt.Errorf("starting the supervisor of %s: %w", c.name(), err)
	}
	s := &Supervised{dir: dir, cmd: cmd, ended: make(chan struct{}), onLine: c.OnLine}
	go s.follow(fromSupervisor)
	// A supervisor that died early shows as an unknown or absent status.
	_, _ = stdin.Write(spec)
	_ = stdin.Close()
	return s, nil
}

// follow hands lines on until the supervisor ends.
func (s *Supervised) follow(lines io.ReadCloser) {
	defer close(s.ended)
	defer func() { _ = lines.Close() }()
	r := bufio.NewReader(lines)
	for {
		text, err := r.ReadBytes('\n')
		var l relayedLine
		if err == nil && json.Unmarshal(text, &l) == nil && s.onLine != nil {
			s.onLine(l.Stream, l.Line)
		}
		if err != nil {
			break
		}
	}
	_ = s.cmd.Wait()
}

// StoppedError is a supervised command that was interrupted because the
// waiting context ended. Its result is known all the same.
type StoppedError struct{ Cause error }

func (e *StoppedError) Error() string { return fmt.Sprintf("stopped: %v", e.Cause) }

// Unwrap gives the context's cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// Wait returns how the command ended. When ctx ends first, the command gets
// SIGINT and its grace, and Wait returns its result with a *StoppedError. When
// the supervisor died, Wait waits for what it started and returns ErrUnknown;
// with ctx ended it leaves that alone and returns ErrRunning. ErrNotStarted says
// that nothing ran; after any other error that is not known.
func (s *Supervised) Wait(ctx context.Context) (Result, error) {
	var stopped error
	select {
	case <-s.ended:
	case <-ctx.Done():
		stopped = &StoppedError{Cause: context.Cause(ctx)}
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
	}
	st, err := AwaitRecovered(ctx, s.dir)
	switch {
	case st.State == Running:
		return Result{}, fmt.Errorf("%w, but its supervisor died", ErrRunning)
	case err != nil:
		return Result{}, err
	case st.State == Exited:
		return st.Result, stopped
	case st.State == None:
		return Result{}, fmt.Errorf("%w: its supervisor ended first", ErrNotStarted)
	}
	return Result{}, ErrUnknown
}

// State is what is known about a supervised command.
type State int

// The states of a supervised command.
const (
	None    State = iota // nothing was started in the directory
	Running              // its supervisor or a process it started lives
	Exited               // it ended and the result is known
	Unknown              // it was started, nothing of it lives, and nobody saw its end
)

func (s State) String() string {
	return [...]string{"none", "running", "exited", "unknown"}[s]
}

// Status is what a supervised command's directory tells.
type Status struct {
	State  State
	Result Result // of Exited; streams may be cut at their bound
}

type statusRecord struct {
	ExitCode int    `json:"exitCode"`
	Error    string `json:"error,omitempty"` // why the command could not be started
}

// Recover tells how the command of a directory stands, from the directory
// alone. A command that could not be started is ErrNotStarted with the reason.
func Recover(dir string) (Status, error) {
	st, found, err := readStatus(dir)
	if found || err != nil {
		return st, err
	}
	running, err := anyLocked(dir)
	if err != nil {
		return Status{}, err
	}
	if running {
		return Status{State: Running}, nil
	}
	// The supervisor may have ended between the two looks above.
	if st, found, err = readStatus(dir); found || err != nil {
		return st, err
	}
	started, err := exists(dir, startedFile)
	switch {
	case err != nil:
		return Status{}, fmt.Errorf("looking for a started command: %w", err)
	case started:
		return Status{State: Unknown}, nil
	}
	return Status{State: None}, nil
}

func readStatus(dir string) (st Status, found bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, statusFile))
	if errors.Is(err, os.ErrNotExist) {
		return Status{}, false, nil
	}
	var rec statusRecord
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		return Status{}, false, fmt.Errorf("reading a command's status: %w", err)
	}
	if rec.Error != "" {
		return Status{}, true, fmt.Errorf("%w: %s", ErrNotStarted, rec.Error)
	}
	st = Status{State: Exited, Result: Result{ExitCode: rec.ExitCode}}
	if st.Result.Stdout, err = os.ReadFile(filepath.Join(dir, stdoutFile)); err != nil {
		return Status{}, true, fmt.Errorf("reading a command's output: %w", err)
	}
	if st.Result.Stderr, err = os.ReadFile(filepath.Join(dir, stderrFile)); err != nil {
		return Status{}, true, fmt.Errorf("reading a command's output: %w", err)
	}
	return st, true, nil
}

// pollEvery is how often AwaitRecovered looks: a lock's release can't be
// waited for together with a context.
const pollEvery = 200 * time.Millisecond

// AwaitRecovered is Recover once the command no longer runs. When ctx ends
// first the command is left alone and the error wraps context.Cause.
func AwaitRecovered(ctx context.Context, dir string) (Status, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		st, err := Recover(dir)
		if err != nil || st.State != Running {
			return st, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return st, fmt.Errorf("waiting for a command that still runs: %w", context.Cause(ctx))
		}
	}
}
