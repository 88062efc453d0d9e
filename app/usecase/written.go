package usecase

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// addWritten copies the regular files that a plan left in its worktree and the
// commit does not have into a fresh one. Files of the commit are never replaced,
// so the code that is applied is the commit's. What terraform keeps for itself
// stays behind; no link is followed, and nothing is written outside.
func addWritten(planned, fresh string) error {
	from, err := os.OpenRoot(planned)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing of it was planned by this process, or it is gone
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(fresh)
	if err != nil {
		return err
	}
	defer to.Close()
	return fs.WalkDir(from.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".terraform":
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		if _, err := to.Lstat(name); err == nil {
			return nil
		}
		return copyBetween(from, to, name)
	})
}

func copyBetween(from, to *os.Root, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := to.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
