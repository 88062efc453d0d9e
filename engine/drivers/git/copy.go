package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyWorktree copies directories of a worktree that Worktree made, and that
// nothing else wrote to, into to, which must not be there: many exports of one
// commit cost one walk of its objects. The directories are relative to the
// worktree, none within another; "." is all of it. Links were checked when they
// were written, and stay as they are. After an error to holds part of the files;
// remove it.
func CopyWorktree(from, to string, dirs ...string) error {
	if err := os.Mkdir(to, 0o755); err != nil { //nolint:gosec // a tool under another user reads it
		return fmt.Errorf("copying a worktree: %w", err)
	}
	for _, dir := range dirs {
		dir = filepath.FromSlash(dir)
		copied := filepath.Join(to, dir)
		err := os.MkdirAll(copied, 0o777) //nolint:gosec // the umask decides, as in Worktree
		if err == nil {
			err = copyDirectory(filepath.Join(from, dir), copied)
		}
		if err != nil {
			return fmt.Errorf("copying a worktree: %w", err)
		}
	}
	return nil
}

func copyDirectory(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		source, copied := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case e.IsDir():
			if err := os.Mkdir(copied, 0o777); err != nil { //nolint:gosec // the umask decides, as in Worktree
				return err
			}
			err = copyDirectory(source, copied)
		case e.Type() == fs.ModeSymlink:
			err = copyLink(source, copied)
		case e.Type().IsRegular():
			err = copyFile(source, copied)
		default:
			err = fmt.Errorf("%s is no file of a commit", source)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// copyFile shares the blocks where the file system can.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
