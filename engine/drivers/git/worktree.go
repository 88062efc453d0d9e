package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// LinkError is a symbolic link that leads out of the checkout.
type LinkError struct{ Path, Target string }

func (l *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s, outside the repository; remove it or link to a path inside", l.Path, l.Target)
}

// Worktree writes the files of a commit into dir, which must be empty or not
// there. There is no .git in it, and no filter, attribute or line-end
// conversion of the repository applies: the bytes are the blobs'. A symbolic
// link that leads out of dir is a *LinkError. Submodules are empty directories.
// After an error the directory holds part of the files; remove it.
func (c *Clone) Worktree(ctx context.Context, commit, dir string) error {
	tree, err := c.TreeOf(ctx, commit)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a tool under another user reads it
		return fmt.Errorf("making the worktree: %w", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("making the worktree: %s is not empty", dir))
	}
	root, err := os.OpenRoot(dir) // no write of ours follows a link out of it
	if err != nil {
		return fmt.Errorf("making the worktree: %w", err)
	}
	defer func() { _ = root.Close() }()

	x := &export{clone: c, root: root}
	if err := x.directory(ctx, tree, ""); err != nil {
		return fmt.Errorf("exporting %s: %w", commit, err)
	}
	if err := x.write(ctx); err != nil {
		return fmt.Errorf("exporting %s: %w", commit, err)
	}
	return x.checkLinks()
}

// RemoveWorktree removes a worktree, also one that a tool left directories in
// that cannot be written.
func RemoveWorktree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	// Best effort: the removal below says what is left.
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) //nolint:gosec // a directory about to be removed
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the worktree: %w", err)
	}
	return nil
}

// export is one commit on its way to a directory.
type export struct {
	clone *Clone
	root  *os.Root
	files []TreeEntry
	links []TreeEntry // written after all files, so that none is in their way
}

// directory makes a directory and all below, and notes the files.
func (x *export) directory(ctx context.Context, tree, at string) error {
	dir, err := x.clone.readTree(ctx, tree)
	if err != nil {
		return fmt.Errorf("directory %q: %w", at, err)
	}
	for _, e := range dir.entries() {
		if err := checkName(e.name); err != nil {
			return fmt.Errorf("directory %q: %w", at, err)
		}
		t := treeEntry(e, at)
		switch {
		case t.Type == "tree" || t.Type == "commit":
			if err := x.root.Mkdir(t.Path, 0o777); err != nil {
				return err
			}
			if t.Type == "tree" {
				if err := x.directory(ctx, t.OID, t.Path); err != nil {
					return err
				}
			}
		case t.Mode == modeLink:
			x.links = append(x.links, t)
		default:
			x.files = append(x.files, t)
		}
	}
	return nil
}

// write fetches all contents from one process, asking for the next while the
// ones before are written.
func (x *export) write(ctx context.Context) error {
	all := slices.Concat(x.files, x.links)
	if len(all) == 0 {
		return nil
	}
	v, err := x.clone.converse(ctx, "cat-file", "--batch", "--buffer")
	if err != nil {
		return err
	}
	defer v.close()
	stop := context.AfterFunc(ctx, v.close)
	defer stop()
	go func() {
		w := bufio.NewWriter(v.conn)
		for _, e := range all {
			if _, err := w.WriteString(e.OID + "\n"); err != nil {
				return // the reading side sees the end
			}
		}
		if w.Flush() == nil {
			_ = v.closeWrite() // makes cat-file flush what it holds back
		}
	}()
	for _, e := range all {
		if err := x.writeFile(v, e); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("writing %s: %w", e.Path, err)
		}
	}
	return nil
}

func (x *export) writeFile(v *conversation, e TreeEntry) error {
	o, size, err := v.header(e.OID)
	if err != nil {
		return err
	}
	if o.kind != "blob" {
		return fmt.Errorf("object %s is a %s, not a blob", e.OID, o.kind)
	}
	if e.Mode == modeLink {
		return x.writeLink(v, e, size)
	}
	mode := fs.FileMode(0o666) // the umask decides, as it does for git
	if e.Mode == modeExec {
		mode = 0o777
	}
	f, err := x.root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, v.in, size)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = v.in.Discard(1)
	return err
}

// maxLinkTarget is the longest target a file system takes, in bytes.
const maxLinkTarget = 4096

func (x *export) writeLink(v *conversation, e TreeEntry, size int64) error {
	if size > maxLinkTarget {
		return fmt.Errorf("its link target is %d bytes long", size)
	}
	target := make([]byte, size+1)
	if _, err := io.ReadFull(v.in, target); err != nil {
		return err
	}
	to := string(target[:size])
	if path.IsAbs(to) || leavesRoot(path.Dir(e.Path), to) {
		return &LinkError{Path: e.Path, Target: to}
	}
	return x.root.Symlink(to, e.Path)
}

// leavesRoot judges a link by its text, which also holds for a target that is
// not there yet.
func leavesRoot(dir, target string) bool {
	to := path.Join(dir, target)
	return to == ".." || strings.HasPrefix(to, "../")
}

// checkLinks follows every link as the file system does: one that stays inside
// by its text can still lead out through another.
func (x *export) checkLinks() error {
	for _, e := range x.links {
		_, err := x.root.Stat(e.Path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		target, readErr := x.root.Readlink(e.Path)
		if readErr != nil {
			return fmt.Errorf("checking the link %s: %w", e.Path, readErr)
		}
		return &LinkError{Path: e.Path, Target: target}
	}
	return nil
}
