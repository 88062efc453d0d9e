package exec

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Wall puts a command where it sees its own files and nothing of the server:
// not its environment, state directory, clone or other runs (soundness,
// "walls"). The network stays open, since providers and backends need it.
type Wall interface {
	// Name is "bwrap", "systemd", "user" or "none".
	Name() string
	// Wrap returns the command behind the wall with the view's paths open to
	// it. Paths are absolute and exist.
	Wrap(cmd Cmd, view View) (Cmd, error)
	// Mounts tells whether the wall can show a directory in another's place, which
	// View.Base asks for. One that can't refuses such a view.
	Mounts() bool
}

// View is what a walled command may touch besides the system's read-only
// directories.
type View struct {
	ReadOnly, ReadWrite []string
	// Base is shown read-only beneath the other paths; the zero value is none. What
	// of them lies in it replaces a directory of it, reached through no link.
	Base Mount
	// Shared are writable too but belong to no single run, such as a state
	// directory: a wall leaves their ownership alone.
	Shared []string
	// Detached commands may outlive the server; others end with it where the
	// wall can do that.
	Detached bool
	Limits   Limits
}

// Mount is the directory From, seen as At.
type Mount struct{ From, At string }

func (v View) validate() error {
	paths := v.paths()
	if v.Base != (Mount{}) {
		paths = append(paths, v.Base.From, v.Base.At)
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p || p == "/" {
			return fmt.Errorf("opening %q to a walled process: want a clean absolute path below /", p)
		}
	}
	return nil
}

func (v View) paths() []string { return slices.Concat(v.ReadOnly, v.ReadWrite, v.Shared) }

// The names DetectWall takes.
const (
	WallAuto    = "auto"
	WallBwrap   = "bwrap"
	WallSystemd = "systemd"
	WallUser    = "user"
	WallNone    = "none"
)

const probeTimeout = 10 * time.Second

// DetectWall returns the named wall after running a command behind it, or for
// "auto" the first of bwrap, systemd and user that works. Only "none" is
// without isolation, and "auto" never chooses it: with no wall the error says
// what each try failed of.
func DetectWall(ctx context.Context, want string) (Wall, error) {
	candidates := []Wall{newBwrap(), newSystemd(), newUser()}
	switch want {
	case WallNone:
		return noWall{}, nil
	case WallAuto, "":
		var failed []string
		for _, w := range candidates {
			err := probe(ctx, w)
			if err == nil {
				return w, nil
			}
			failed = append(failed, fmt.Sprintf("%s: %v", w.Name(), err))
		}
		return nil, fmt.Errorf("no isolation works on this machine (%s); install bubblewrap, or set isolation to none to run unapproved code without a wall",
			strings.Join(failed, "; "))
	}
	for _, w := range candidates {
		if w.Name() == want {
			if err := probe(ctx, w); err != nil {
				return nil, fmt.Errorf("isolation %s does not work on this machine: %w", want, err)
			}
			return w, nil
		}
	}
	return nil, fmt.Errorf("isolation %q is unknown; use auto, bwrap, systemd, user or none", want)
}

// probe runs a command behind the wall that proves both that it runs and that
// a directory not in its view is closed.
func probe(ctx context.Context, w Wall) error {
	open, closed, cleanup, err := probeDirs()
	if err != nil {
		return err
	}
	defer cleanup()
	script := `test -r "$1/file" && echo out >"$1/new" && ! cat "$2/file" 2>/dev/null`
	cmd, err := w.Wrap(Cmd{
		Args: []string{"/bin/sh", "-c", script, "sh", open, closed},
		Dir:  open, Env: BaseEnv(open, open), MaxOutput: 64 << 10, Grace: time.Second,
	}, View{ReadWrite: []string{open}, Limits: DefaultLimits()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	res, err := Run(ctx, cmd)
	if err != nil {
		return err
	}
	return res.Err("probe")
}

// unmounted refuses a view that only a wall which mounts can give.
func (v View) unmounted(wall Wall) error {
	if v.Base != (Mount{}) {
		return fmt.Errorf("isolation %s can't show %s as %s", wall.Name(), v.Base.From, v.Base.At)
	}
	return nil
}

// noWall isolates nothing but still limits.
type noWall struct{}

func (noWall) Name() string { return WallNone }

func (noWall) Mounts() bool { return false }

func (w noWall) Wrap(cmd Cmd, view View) (Cmd, error) {
	if err := errors.Join(view.validate(), view.unmounted(w)); err != nil {
		return Cmd{}, err
	}
	cmd.Args = view.Limits.wrap(cmd.Args)
	return cmd, nil
}
