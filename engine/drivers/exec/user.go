package exec

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"syscall"
)

// otherUser runs each command as a user of its own, chosen by the view's first
// writable directory, so that runs can't touch one another's files or
// processes, nor the server's. It needs root. It is weaker than bubblewrap:
// world-readable files of the machine stay readable, and the processes'
// command lines stay visible.
type otherUser struct{}

// firstUID and uidCount are a range no distribution gives to people, services
// or containers by default.
const (
	firstUID = 1_800_000_000
	uidCount = 100_000_000
)

func newUser() otherUser { return otherUser{} }

func (otherUser) Name() string { return WallUser }

func (otherUser) Mounts() bool { return false }

func (w otherUser) Wrap(cmd Cmd, view View) (Cmd, error) {
	if os.Geteuid() != 0 {
		return Cmd{}, errors.New("isolation by user needs the server to run as root")
	}
	if err := errors.Join(view.validate(), view.unmounted(w)); err != nil {
		return Cmd{}, err
	}
	if len(view.ReadWrite) == 0 {
		return Cmd{}, errors.New("isolation by user needs a writable directory to choose the user by")
	}
	uid := userOf(view.ReadWrite[0])
	for _, path := range view.ReadWrite {
		if err := own(path, uid); err != nil {
			return Cmd{}, fmt.Errorf("giving %s to uid %d: %w", path, uid, err)
		}
	}
	for _, path := range view.ReadOnly {
		if err := lend(path, uid); err != nil {
			return Cmd{}, fmt.Errorf("lending %s to uid %d: %w", path, uid, err)
		}
	}
	for _, path := range view.paths() {
		if err := reachable(path); err != nil {
			return Cmd{}, err
		}
	}
	cmd.UID, cmd.GID = uid, uid
	cmd.Args = view.Limits.wrap(cmd.Args)
	return cmd, nil
}

func userOf(dir string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(dir))
	return firstUID + h.Sum32()%uidCount
}

// own gives a tree to the user and closes its top to everyone else. A tree
// that has it already is left alone: the second command of a run finds the
// files of the first.
func own(top string, uid uint32) error {
	info, err := os.Lstat(top)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid {
		return nil
	}
	if !info.IsDir() {
		return os.Lchown(top, int(uid), int(uid))
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := give(root, ".", int(uid)); err != nil {
		return err
	}
	return root.Chmod(".", 0o700)
}

// give goes through the root alone: who has the user already owns a part of
// the tree while the rest is walked, and could put links out of it there. It is
// no fs.WalkDir, which refuses names that are no UTF-8.
func give(root *os.Root, path string, uid int) error {
	if err := root.Lchown(path, uid, uid); err != nil {
		return err
	}
	if info, err := root.Lstat(path); err != nil || !info.IsDir() {
		return err
	}
	d, err := root.Open(path)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if err := give(root, filepath.Join(path, name), uid); err != nil {
			return err
		}
	}
	return nil
}

// lend makes a file that is closed to others readable to the user's group.
func lend(path string, uid uint32) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o004 != 0 {
		return err
	}
	if err := os.Chown(path, -1, int(uid)); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()|0o040)
}

// reachable says which directory above a path is closed to other users, since
// the child would only see "permission denied".
func reachable(path string) error {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("looking at %s: %w", dir, err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("isolation by user can't reach %s: %s is closed to other users; chmod o+x it, or put the server's work elsewhere", path, dir)
		}
	}
	return nil
}
