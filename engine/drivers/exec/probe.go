package exec

import (
	"fmt"
	"os"
	"path/filepath"
)

// probeDirs makes one directory a probed command may use and one it must not
// see, each holding a file.
func probeDirs() (open, closed string, cleanup func(), err error) {
	top, err := os.MkdirTemp("", "chant-probe-")
	if err != nil {
		return "", "", nil, fmt.Errorf("making a directory to probe isolation with: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(top) }
	top, err = filepath.EvalSymlinks(top)
	if err == nil {
		err = os.Chmod(top, 0o711) //nolint:gosec // another user must pass through
	}
	open, closed = filepath.Join(top, "open"), filepath.Join(top, "closed")
	for _, dir := range []string{open, closed} {
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "file"), []byte("x\n"), 0o600)
		}
	}
	if err != nil {
		cleanup()
		return "", "", nil, fmt.Errorf("making a directory to probe isolation with: %w", err)
	}
	return open, closed, cleanup, nil
}
