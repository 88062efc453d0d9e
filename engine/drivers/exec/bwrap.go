package exec

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
)

// bwrap is bubblewrap: new process, IPC and host name spaces, no capability,
// and a file system in which only the view and the system's read-only
// directories exist. The network is shared.
type bwrap struct{ program string }

func newBwrap() bwrap {
	program, err := osexec.LookPath("bwrap")
	if err != nil {
		return bwrap{}
	}
	return bwrap{program: program}
}

func (bwrap) Name() string { return WallBwrap }

func (bwrap) Mounts() bool { return true }

// systemEtc are the files of /etc that programs need to resolve names, check
// certificates and load libraries. None holds a secret: /etc/ssl/private and
// its like stay out.
var systemEtc = [...]string{
	"alternatives", "ca-certificates", "gai.conf", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf",
	"ld.so.conf.d", "localtime", "nsswitch.conf", "passwd", "protocols", "resolv.conf", "services",
	"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "crypto-policies", "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf",
}

func (b bwrap) Wrap(cmd Cmd, view View) (Cmd, error) {
	if b.program == "" {
		return Cmd{}, errors.New("bubblewrap is not installed (apt-get install bubblewrap)")
	}
	if err := view.validate(); err != nil {
		return Cmd{}, err
	}
	args := []string{
		b.program, "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		// The command leads a session of its own, so that a signal reaches it
		// and its children but not bubblewrap, which would die of it.
		"--as-pid-1", "--new-session", "--cap-drop", "ALL",
	}
	if !view.Detached {
		args = append(args, "--die-with-parent")
	}
	system, err := systemBinds()
	if err != nil {
		return Cmd{}, err
	}
	args = append(args, system...)
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/tmp")
	args = append(args, viewBinds(view)...)
	// Else what a command writes outside the view would seem to work and be
	// lost with the mounts, a state file for one. And behind a server that is root
	// it could set what the kernel of the whole machine runs: the files of /proc/sys
	// ask for root's id and for no capability, and bubblewrap leaves them writable.
	args = append(args, "--remount-ro", "/", "--remount-ro", "/proc")
	if cmd.Dir != "" {
		args = append(args, "--chdir", cmd.Dir)
	}
	cmd.Args = append(append(args, "--"), view.Limits.wrap(cmd.Args)...)
	cmd.Dir = "/"
	cmd.Launcher = true
	return cmd, nil
}

// systemBinds opens the system's program directories read-only, keeping links
// such as /bin -> usr/bin.
func systemBinds() ([]string, error) {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("looking at %s: %w", dir, err)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(dir)
			if err != nil {
				return nil, fmt.Errorf("looking at %s: %w", dir, err)
			}
			args = append(args, "--symlink", target, dir)
		default:
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	for _, name := range systemEtc {
		path := filepath.Join("/etc", name)
		args = append(args, "--ro-bind-try", path, path)
	}
	return args, nil
}

// viewBinds mounts outer directories before the ones inside them. What is bound
// is found in the file system outside, so a path can be shown over its own
// directory that a base covers.
func viewBinds(view View) []string {
	type bind struct{ flag, from, at string }
	var binds []bind
	if view.Base != (Mount{}) {
		binds = append(binds, bind{"--ro-bind", view.Base.From, view.Base.At})
	}
	for _, p := range view.ReadOnly {
		binds = append(binds, bind{"--ro-bind", p, p})
	}
	for _, p := range slices.Concat(view.ReadWrite, view.Shared) {
		binds = append(binds, bind{"--bind", p, p})
	}
	slices.SortStableFunc(binds, func(a, b bind) int { return cmp.Compare(len(a.at), len(b.at)) })
	var args []string
	for _, b := range binds {
		args = append(args, b.flag, b.from, b.at)
	}
	return args
}
