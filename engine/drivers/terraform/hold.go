package terraform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// hold keeps the lock of a root's state: a console holds it while its input is
// open. It runs under a supervisor and outlives this process, as an apply does, so
// that nobody writes a state whose resources are in a journal.
type hold struct {
	dir  string // of the supervised console
	pipe string // its input
	s    *exec.Supervised
}

// endTime bounds the end of a console that was told to end.
const endTime = time.Minute

// hold takes the lock of the root's state, or finds it held by a console of an
// earlier call. Somebody else's lock is waited for as long as any run does.
func (w *workdir) hold(ctx context.Context) (*hold, error) {
	patience := time.NewTimer(w.d.cfg.LockTimeout)
	defer patience.Stop()
	for n := 1; ; n++ {
		h := w.holdAt(n)
		st, err := exec.Recover(h.dir)
		if err != nil && !errors.Is(err, exec.ErrNotStarted) {
			return nil, fmt.Errorf("holding the state of root %s: %w", w.t.Root.Name, err)
		}
		if err != nil || st.State == exec.Exited || st.State == exec.Unknown {
			continue // an earlier console's
		}
		if st.State == exec.None {
			if err := w.startConsole(ctx, h); err != nil {
				return nil, fmt.Errorf("holding the state of root %s: %w", w.t.Root.Name, err)
			}
		}
		ended, err := h.await(ctx)
		if err != nil || ended == nil {
			return h, err
		}
		failure := w.failure(call{args: []string{"console"}}, *ended)
		if !strings.Contains(string(ended.Stderr), "state lock") {
			return nil, failure
		}
		select {
		case <-patience.C:
			return nil, failure
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (w *workdir) holdAt(n int) *hold {
	dir := filepath.Join(w.t.RunDir, "hold", strconv.Itoa(n))
	return &hold{dir: dir, pipe: filepath.Join(w.t.RunDir, "console", strconv.Itoa(n))}
}

// startConsole starts a console that reads from the hold's pipe. With the member's
// hold file, so that no apply of the member itself runs beside it (soundness I4).
func (w *workdir) startConsole(ctx context.Context, h *hold) error {
	if err := os.MkdirAll(filepath.Dir(h.pipe), 0o711); err != nil { //nolint:gosec // as a run directory
		return err
	}
	if err := syscall.Mkfifo(h.pipe, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	args := []string{"console", "-no-color"}
	path, err := w.localState()
	if err != nil {
		return err
	}
	if path != "" {
		// Of its own a console locks terraform.tfstate in its directory, wherever the
		// local backend keeps the state.
		args = append(args, "-state="+path)
	}
	w.more = append(w.more, h.pipe)
	cmd, err := w.command(call{args: args, stdin: h.pipe, detached: true})
	if err != nil {
		return err
	}
	if cmd.Hold, err = w.d.holdFile(w.t.Member); err != nil {
		return err
	}
	h.s, err = exec.StartSupervised(ctx, h.dir, cmd)
	return err
}

// localState is where the local backend of an initialised root keeps its state,
// "" for another backend.
func (w *workdir) localState() (string, error) {
	kind, config, err := w.backend()
	if err != nil || kind != "local" && kind != "" {
		return "", err
	}
	const name = "terraform.tfstate"
	path, _ := config.Get("path").Text()
	if !w.inDefaultWorkspace() {
		dir, _ := config.Get("workspace_dir").Text()
		if dir == "" {
			dir = name + ".d"
		}
		return filepath.Join(dir, w.t.Root.Workspace, name), nil
	}
	if path == "" {
		path = name
	}
	return path, nil
}

// pipeSize is more than a pipe holds anywhere.
func pipeSize() int { return 16*os.Getpagesize() + 1 }

// await returns once the console reads its input, which it does with the lock
// held, or how it ended before that.
func (h *hold) await(ctx context.Context) (ended *exec.Result, err error) {
	// For both, so that opening it waits for nobody and it is never broken.
	pipe, err := os.OpenFile(h.pipe, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the input of a console: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		st  exec.Status
		err error
	}
	ends := make(chan end, 1)
	go func() {
		st, err := exec.AwaitRecovered(ctx, h.dir)
		ends <- end{st, err}
	}()
	read := make(chan error, 1) // for one that nobody waits for
	go func() {
		// More than the pipe holds goes in only once some of it was read.
		_, err := pipe.WriteString(strings.Repeat("\n", pipeSize()))
		read <- err
	}()
	select {
	case err = <-read:
		return nil, errors.Join(err, pipe.Close())
	case e := <-ends:
		_ = pipe.Close() // ends the write
		if e.err == nil && e.st.State != exec.Exited {
			e.err = errors.New("the end of a console was not observed")
		}
		return &e.st.Result, e.err
	}
}

// release ends the console, and with it the lock.
func (h *hold) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	pipe, err := os.OpenFile(h.pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return nil // nothing reads it any more
	case err == nil:
		_, err = pipe.WriteString("exit\n")
		err = errors.Join(err, pipe.Close())
	}
	if err == nil && h.s != nil {
		_, err = h.s.Wait(ctx)
	} else if err == nil {
		_, err = exec.AwaitRecovered(ctx, h.dir)
	}
	if err != nil {
		return fmt.Errorf("releasing a state: %w", err)
	}
	return nil
}

// releaseAll ends the consoles that earlier calls for a member left.
func (w *workdir) releaseAll(ctx context.Context) error {
	for n := 1; ; n++ {
		h := w.holdAt(n)
		st, err := exec.Recover(h.dir)
		switch {
		case errors.Is(err, exec.ErrNotStarted):
		case err != nil:
			return fmt.Errorf("releasing the state of root %s: %w", w.t.Root.Name, err)
		case st.State == exec.None:
			return nil
		case st.State == exec.Running:
			if err := h.release(ctx); err != nil {
				return err
			}
		}
	}
}

// push stores a state in the backend of an initialised root whose lock is held.
func (w *workdir) push(ctx context.Context, state string) error {
	const name = "push.tfstate"
	if err := w.runDir.WriteFile(name, []byte(state), 0o600); err != nil {
		return fmt.Errorf("writing the state of root %s: %w", w.t.Root.Name, err)
	}
	defer func() { _ = w.runDir.Remove(name) }()
	file := filepath.Join(w.t.RunDir, name)
	c := call{args: []string{"state", "push", "-no-color", "-lock=false", file}, reads: []string{file}}
	res, err := w.run(ctx, c)
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return engine.Tell(w.failure(c, res))
	}
	return nil
}
