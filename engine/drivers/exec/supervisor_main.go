package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// supervision is what a supervisor is told to run.
type supervision struct {
	Dir string `json:"dir"`
	Cmd Cmd    `json:"cmd"`
}

// relayedLine is one line of the child on its way to the server.
type relayedLine struct {
	Stream string `json:"s"`
	Line   string `json:"l"`
}

// SupervisorMain is called first thing in main, and in TestMain of packages
// that supervise, with os.Args. It returns at once unless this process was
// started as a supervisor; then it never returns.
func SupervisorMain(args []string) {
	if len(args) != 2 || args[1] != supervisorArg {
		return
	}
	if err := supervise(os.Stdin); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// supervise runs one command to its end and writes how it ended. Its own
// errors have no reader: the directory then lacks a status, which reads as
// "unknown" or, before the start, as "none".
func supervise(spec io.Reader) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	var s supervision
	if err := json.NewDecoder(spec).Decode(&s); err != nil {
		return err
	}
	syscall.CloseOnExec(lockFD)
	syscall.CloseOnExec(linesFD)
	childLocks, err := s.childLocks()
	if err != nil {
		return err
	}
	relay := newRelay(os.NewFile(linesFD, "lines"))
	stdout, err := newCapture(s, stdoutFile, relay)
	if err != nil {
		return err
	}
	stderr, err := newCapture(s, stderrFile, relay)
	if err != nil {
		return err
	}
	if err := writeDurably(s.Dir, startedFile, nil); err != nil {
		return err
	}
	rec := statusRecord{}
	p, err := start(s.Cmd, stdout, stderr, childLocks...)
	for _, f := range childLocks {
		_ = f.Close() // the child's copies hold the locks on
	}
	if err != nil {
		rec.Error = err.Error()
	} else {
		_ = p.await(ctx, nil)
		rec.ExitCode = p.exitCode()
	}
	if err := errors.Join(stdout.close(), stderr.close()); err != nil {
		return err
	}
	status, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	// The status comes before the last lines: a server that stopped reading
	// must not hold it up.
	err = writeDurably(s.Dir, statusFile, status)
	relay.close()
	return err
}

// childLocks opens the locks the child holds apart from the supervisor's, so
// that neither the child nor the supervisor can free the other's.
func (s supervision) childLocks() ([]*os.File, error) {
	own, err := lock(filepath.Join(s.Dir, childLockFile), syscall.LOCK_EX)
	if err != nil || s.Cmd.Hold == "" {
		return []*os.File{own}, err
	}
	syscall.CloseOnExec(holdFD)
	held, err := lock(s.Cmd.Hold, syscall.LOCK_SH)
	return []*os.File{own, held}, err
}

// writeDurably writes a file whole or not at all, and survives a power loss.
func writeDurably(dir, name string, data []byte) error {
	tmp, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// capture scrubs a stream into a bounded file and relays its lines.
type capture struct {
	file  *os.File
	left  int64
	scrub *scrubber
	lines lineSplitter
}

func newCapture(s supervision, name string, r *relay) (*capture, error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	limit := s.Cmd.MaxOutput
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	return &capture{
		file: f, left: limit, scrub: newScrubber(s.Cmd.Scrub),
		lines: lineSplitter{emit: func(line string) { r.send(relayedLine{Stream: name, Line: line}) }},
	}, nil
}

// Write never fails: a full disk must not break the child's pipe half way
// through an apply.
func (c *capture) Write(p []byte) (int, error) {
	c.keep(c.scrub.next(p))
	return len(p), nil
}

func (c *capture) keep(b []byte) {
	c.lines.write(b)
	b = b[:min(int64(len(b)), c.left)]
	n, _ := c.file.Write(b)
	c.left -= int64(n)
}

func (c *capture) close() error {
	c.keep(c.scrub.rest())
	c.lines.flush()
	return c.file.Close()
}

// relayQueue is how many lines wait for a slow server before they are left
// out; the files keep them all.
const relayQueue = 4096

// relay sends lines to the server while it lives and reads, and never holds
// the child up.
type relay struct {
	queue chan relayedLine
	done  sync.WaitGroup
}

func newRelay(to *os.File) *relay {
	r := &relay{queue: make(chan relayedLine, relayQueue)}
	r.done.Go(func() {
		defer func() { _ = to.Close() }()
		enc := json.NewEncoder(to)
		var broken bool
		for l := range r.queue {
			broken = broken || enc.Encode(l) != nil
		}
	})
	return r
}

func (r *relay) send(l relayedLine) {
	select {
	case r.queue <- l:
	default:
	}
}

func (r *relay) close() {
	close(r.queue)
	r.done.Wait()
}
