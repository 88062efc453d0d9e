package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock opens and locks a file without waiting; a held one is ErrRunning.
func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	if err := flock(f, how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrRunning
		case err != nil:
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		default:
			return nil
		}
	}
}

// anyLocked reports whether the supervisor or its child holds its lock.
func anyLocked(dir string) (bool, error) {
	for _, name := range []string{lockFile, childLockFile} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		f, err := lock(path, syscall.LOCK_SH)
		if errors.Is(err, ErrRunning) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		_ = f.Close()
	}
	return false, nil
}

// FileLock is a lock between processes of this machine; the kernel frees it
// when its holder dies.
type FileLock struct{ f *os.File }

// LockFile waits for the lock on path, or for ctx.
func LockFile(ctx context.Context, path string) (*FileLock, error) {
	tick := time.NewTicker(pollEvery / 10)
	defer tick.Stop()
	for {
		f, err := lock(path, syscall.LOCK_EX)
		if err == nil {
			return &FileLock{f: f}, nil
		}
		if !errors.Is(err, ErrRunning) {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", path, context.Cause(ctx))
		}
	}
}

// lettingGo is how long a supervisor may hold its locks on after it has
// written how its command ended.
const lettingGo = time.Second

// lockSoon locks a file that its last holder may be just letting go of.
func lockSoon(ctx context.Context, path string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lettingGo, ErrRunning)
	defer cancel()
	l, err := LockFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return l.f, nil
}

// Unlock frees the lock.
func (l *FileLock) Unlock() { _ = l.f.Close() }
