package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// maxObject bounds one object read into memory, in bytes.
const maxObject = 64 << 20

// UnfitError is about what was committed: no second try reads it.
type UnfitError struct{ reason string }

func (e *UnfitError) Error() string { return e.reason }

// idleReader is how long a reader waits for the next question before it ends.
const idleReader = 30 * time.Second

// object is one object, or where a name points when data was not asked for.
type object struct {
	oid, kind string
	data      []byte
}

// catFile answers questions about objects and refs from one running
// `git cat-file`, started when first asked: a process for each object would
// cost more than everything else the ledger does.
type catFile struct {
	clone *Clone
	mu    sync.Mutex
	live  *conversation
	idle  *time.Timer
}

func newCatFile(c *Clone) *catFile { return &catFile{clone: c} }

// contents reads an object. ErrUnknownRevision says that there is none.
func (f *catFile) contents(ctx context.Context, name string) (object, error) {
	return f.ask(ctx, "contents", name)
}

// info tells an object's id and type. ErrUnknownRevision says there is none.
func (f *catFile) info(ctx context.Context, name string) (object, error) {
	return f.ask(ctx, "info", name)
}

func (f *catFile) ask(ctx context.Context, verb, name string) (object, error) {
	if strings.ContainsAny(name, "\n\x00") || name == "" {
		return object{}, fmt.Errorf("%w: %q", ErrUnknownRevision, name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for attempt := 0; ; attempt++ {
		o, err := f.askLive(ctx, verb, name)
		if _, broken := errors.AsType[*brokenError](err); !broken {
			return o, err
		}
		f.drop()
		if ctx.Err() != nil {
			return object{}, fmt.Errorf("reading %s: %w", name, context.Cause(ctx))
		}
		if attempt > 0 {
			return object{}, fmt.Errorf("reading %s: %w", name, err)
		}
		// The process may have ended while it was idle; a fresh one decides.
	}
}

func (f *catFile) askLive(ctx context.Context, verb, name string) (object, error) {
	if f.live == nil {
		live, err := f.clone.converse(ctx, "cat-file", "--batch-command")
		if err != nil {
			return object{}, err
		}
		f.live = live
		f.idle = time.AfterFunc(idleReader, func() { f.endIdle(live) })
	}
	f.idle.Reset(idleReader)
	live := f.live
	stop := context.AfterFunc(ctx, live.close) // a read that hangs ends with ctx
	defer stop()
	if _, err := io.WriteString(live.conn, verb+" "+name+"\n"); err != nil {
		return object{}, &brokenError{err}
	}
	return live.answer(name, verb == "contents")
}

func (f *catFile) endIdle(live *conversation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live == live {
		f.drop()
	}
}

// end ends the running process; a later question starts another.
func (f *catFile) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
}

func (f *catFile) drop() {
	if f.live != nil {
		f.idle.Stop()
		f.live.close()
		f.live = nil
	}
}

// brokenError is a conversation that ended or lost its place.
type brokenError struct{ err error }

func (b *brokenError) Error() string { return "git cat-file ended: " + b.err.Error() }
func (b *brokenError) Unwrap() error { return b.err }

// conversation is a git process that answers on the same socket it is asked on.
// It ends when the socket closes: it outlives the context it was started with,
// and never this process.
type conversation struct {
	conn  *os.File
	in    *bufio.Reader
	close func()
}

// converse starts a git command with one socket as both its input and its
// output. That keeps exec.Run, which collects output until the end, the only
// way a process is started.
func (c *Clone) converse(ctx context.Context, args ...string) (*conversation, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("starting git %s: %w", args[0], err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that close wakes a reader
		return nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "git"), os.NewFile(uintptr(fds[1]), "git")
	cmd := exec.Cmd{
		Args: append([]string{"sh", "-c", `exec "$0" "$@" >&0`, c.program}, args...),
		Dir:  c.dir, Env: c.env, Stdin: theirs, MaxOutput: 1 << 20, Grace: time.Second,
	}
	detached := context.WithoutCancel(ctx)
	go func() {
		// How it ended shows on the socket; what it said does not matter then.
		_, _ = exec.Run(detached, cmd)
		_ = theirs.Close()
	}()
	live := &conversation{conn: ours, in: bufio.NewReaderSize(ours, 64<<10)}
	live.close = sync.OnceFunc(func() { _ = ours.Close() })
	return live, nil
}

// closeWrite ends the questions; answers still come.
func (v *conversation) closeWrite() error {
	raw, err := v.conn.SyscallConn()
	if err != nil {
		return err
	}
	var shut error
	if err := raw.Control(func(fd uintptr) { shut = unix.Shutdown(int(fd), unix.SHUT_WR) }); err != nil {
		return err
	}
	return shut
}

// header reads the first line of a reply of cat-file's batch protocol.
func (v *conversation) header(name string) (o object, size int64, err error) {
	line, err := v.in.ReadString('\n')
	if err != nil {
		return object{}, 0, &brokenError{err}
	}
	line = strings.TrimSuffix(line, "\n")
	if strings.HasSuffix(line, " missing") || strings.HasSuffix(line, " ambiguous") {
		return object{}, 0, fmt.Errorf("%w: %s", ErrUnknownRevision, name)
	}
	fields := strings.Fields(line)
	if len(fields) == 3 {
		size, err = strconv.ParseInt(fields[2], 10, 64)
	}
	if len(fields) != 3 || err != nil || size < 0 {
		return object{}, 0, &brokenError{fmt.Errorf("unexpected answer %q", line)}
	}
	return object{oid: fields[0], kind: fields[1]}, size, nil
}

// answer reads one whole reply.
func (v *conversation) answer(name string, withData bool) (object, error) {
	o, size, err := v.header(name)
	if err != nil || !withData {
		return o, err
	}
	if size > maxObject {
		if _, err := io.CopyN(io.Discard, v.in, size+1); err != nil {
			return object{}, &brokenError{err}
		}
		return object{}, &UnfitError{fmt.Sprintf("object %s is %d bytes, more than the bound of %d", o.oid, size, int64(maxObject))}
	}
	data := make([]byte, size+1) // a line end follows the content
	if _, err := io.ReadFull(v.in, data); err != nil {
		return object{}, &brokenError{err}
	}
	o.data = data[:size:size]
	return o, nil
}
