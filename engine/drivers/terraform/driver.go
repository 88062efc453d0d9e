// Package terraform plans, applies and reads Terraform roots with the
// terraform and tofu programs. Every run of them goes through a wall, a built
// environment and a pool; an apply runs under a supervisor. The package may
// start no process but through drivers/exec, and decides nothing about
// approvals.
package terraform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	plans "github.com/chant-bot/chant/engine/plans/terraform"
)

// Config is what a driver is made of. One driver serves one repository and
// environment (Scope); drivers may share StateDir, CacheDir and Pool.
type Config struct {
	// Binary is terraform or tofu: a name on PATH or a path. Its base name
	// tells which of the two it is.
	Binary string
	// StateDir is a directory of the server's own, for locks.
	StateDir string
	// Scope names the repository and environment, "github:github.com/42 prod".
	// Per scope and member one apply runs at a time on this machine, orphans
	// counted (soundness I4). Empty leaves that out.
	Scope string
	// CacheDir keeps providers that inits downloaded; empty for none. Walled
	// code only reads it. It is not to be shared between code of different
	// trust, such as pull requests and applies: what one init was given by its
	// checkout's lock file and sources, later ones use.
	CacheDir string
	// Mirror is a filesystem mirror, then the only source of providers.
	Mirror string
	// TempDir holds each run's scratch directory; empty is the system's. Keep
	// it short: providers make sockets in it, whose paths end at 108 bytes.
	TempDir string
	Wall    exec.Wall
	Pool    *exec.Pool // nil bounds nothing
	Limits  exec.Limits
	// Env are KEY=VALUE pairs for every run that are no secrets, such as
	// HTTPS_PROXY.
	Env []string
	// ReadOnly and Writable are directories outside the checkout that this
	// scope's roots may use; Writable is where local backends keep state.
	ReadOnly, Writable []string
	// LockTimeout is how long a run waits for the state's lock; 0 is a minute.
	LockTimeout time.Duration
	// ApplyGrace is the time an interrupted apply gets to save its state
	// before it is killed; 0 is 15 minutes.
	ApplyGrace time.Duration
}

// Driver implements engine.Planner, engine.Applier and engine.OutputReader. It
// is safe for concurrent use; its targets in one directory wait for each other.
// Two drivers need two worktrees.
type Driver struct {
	cfg     Config
	binary  string
	planner string
	dirs    keyedLock

	asked      sync.Once
	version    string
	versionErr error
}

var (
	_ engine.Planner      = (*Driver)(nil)
	_ engine.Applier      = (*Driver)(nil)
	_ engine.OutputReader = (*Driver)(nil)
)

// New checks the configuration and finds the binary. It runs nothing.
func New(cfg Config) (*Driver, error) {
	if cfg.Wall == nil {
		return nil, errors.New("making a terraform driver: no wall is configured")
	}
	if cfg.LockTimeout == 0 {
		cfg.LockTimeout = time.Minute
	}
	if cfg.ApplyGrace == 0 {
		cfg.ApplyGrace = 15 * time.Minute
	}
	binary, planner, err := Find(cfg.Binary)
	if err != nil {
		return nil, err
	}
	for dir, mode := range map[string]os.FileMode{cfg.StateDir: 0o700, cfg.CacheDir: 0o755} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, mode); err != nil {
			return nil, fmt.Errorf("making a terraform driver: %w", err)
		}
	}
	d := &Driver{cfg: cfg, binary: binary, planner: planner}
	return d, nil
}

// Find finds a program by its name on PATH or its path, and tells whether it is
// terraform or tofu. That there is none, or another, is an *engine.Told.
func Find(name string) (binary, planner string, err error) {
	found, err := osexec.LookPath(name)
	if err == nil {
		binary, err = filepath.Abs(found)
	}
	switch {
	case errors.Is(err, osexec.ErrNotFound):
		return "", "", engine.Tell(fmt.Errorf("%s is not on PATH", name))
	case errors.Is(err, fs.ErrNotExist):
		return "", "", engine.Tell(fmt.Errorf("%s does not exist", name))
	case err != nil:
		return "", "", engine.Tell(fmt.Errorf("%s cannot be run: %w", name, err))
	}
	planner = plans.PlannerOf(binary)
	if planner != "terraform" && planner != "tofu" {
		return "", "", engine.Tell(fmt.Errorf("%s is a %s, which this version does not run", name, planner))
	}
	// Behind the wall only the file itself is visible, not the links to it.
	if binary, err = filepath.EvalSymlinks(binary); err != nil {
		return "", "", fmt.Errorf("finding %s: %w", name, err)
	}
	return binary, planner, nil
}

const versionTimeout = 30 * time.Second

// Engine names the tool and its version, "terraform 1.11.4". The binary is
// asked once, and for all who ask: not under the first one's context.
func (d *Driver) Engine(ctx context.Context) (string, error) {
	d.asked.Do(func() { d.version, d.versionErr = d.detectVersion(context.WithoutCancel(ctx)) })
	if d.versionErr != nil {
		return "", d.versionErr
	}
	return d.planner + " " + d.version, nil
}

func (d *Driver) detectVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	tmp := os.TempDir()
	res, err := exec.Run(ctx, exec.Cmd{
		Args: []string{d.binary, "version", "-json"}, Dir: tmp, MaxOutput: 1 << 20,
		Env: exec.BaseEnv(tmp, tmp, "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull),
	})
	if err == nil {
		err = res.Err(d.planner + " version")
	}
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", d.binary, err)
	}
	v, err := digest.Decode(res.Stdout)
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", d.binary, err)
	}
	version, ok := v.Get("terraform_version").Text()
	if !ok {
		return "", fmt.Errorf("reading the version of %s: no terraform_version in %q", d.binary, res.Stdout)
	}
	return version, nil
}

// keyedLock is a mutex per key, waited for together with a context.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

func (l *keyedLock) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		busy, taken := l.held[key]
		if !taken {
			mine := make(chan struct{})
			if l.held == nil {
				l.held = make(map[string]chan struct{})
			}
			l.held[key] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, key)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// refusedKeys would change what the tool does behind our back; names ending in
// "*" are prefixes.
var refusedKeys = [...]string{
	"TF_CLI_ARGS*", "TF_REATTACH_PROVIDERS", "TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "TF_DATA_DIR", "TF_WORKSPACE",
	"TF_PLUGIN_CACHE*", "TF_INPUT", "TF_IN_AUTOMATION", "TF_LOG*", "TF_TEMP_LOG_PATH", "TF_FORK", "PATH", "HOME", "TMPDIR", "LD_*",
}

// checkPairs refuses environment pairs that are malformed or set by us alone.
// It names keys only: values may be secrets.
func checkPairs(pairs []string) error {
	for _, pair := range pairs {
		key, _, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return errors.New("an environment entry is not KEY=VALUE")
		}
		for _, refused := range refusedKeys {
			prefix, wild := strings.CutSuffix(refused, "*")
			if key == refused || wild && strings.HasPrefix(key, prefix) {
				return fmt.Errorf("%s can't be set for terraform runs; take it out of the configured credentials and environment", key)
			}
		}
	}
	return nil
}
