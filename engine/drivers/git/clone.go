package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// Clone is one local repository. All its methods may be called concurrently.
type Clone struct {
	program string                 // git, found once: what a child's PATH finds may be another
	dir     string                 // where commands run
	objects string                 // directory of loose objects
	remote  string                 // "" without a remote
	url     atomic.Pointer[string] // of the remote; only known for a clone of ours
	auth    Auth
	env     []string
	process map[string]string // variables of this process that name the committer
	owned   bool              // made by Open: nothing of the user's configuration applies
	hash    hashFormat

	cat     *catFile
	trees   *treeCache
	fetches *fetchQueue
	listed  *remoteRefs
	ident   func() (Person, error)
}

// originRefspec keeps the remote's branches apart from ours: a mirror fetch
// would destroy a ledger commit that is not pushed yet.
const originRefspec = "+refs/heads/*:refs/remotes/origin/*"

// ciTagRefspec makes a remotely deleted ci tag disappear here too (pr-loop
// §4.3).
const ciTagRefspec = "+refs/tags/ci/*:refs/tags/ci/*"

// Open opens the bare clone in dir, making it when it is not there. It does not
// talk to the remote: Fetch brings what is missing. One process at a time owns
// dir. The URL must hold no credentials; they come from auth, as one header
// that reaches git by its environment only.
func Open(ctx context.Context, dir, remoteURL string, auth Auth) (*Clone, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the clone %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("opening the clone: %w", err)
	}
	program, err := find()
	if err != nil {
		return nil, fmt.Errorf("opening the clone %s: %w", dir, err)
	}
	c := &Clone{program: program, dir: abs, remote: "origin", auth: auth, env: ownedEnv(abs), owned: true, process: committerVars(environ())}
	if _, err := os.Stat(filepath.Join(abs, "HEAD")); err != nil {
		if _, err := c.git(ctx, "init", "--bare", "--quiet", "--template=", abs); err != nil {
			return nil, fmt.Errorf("making the clone %s: %w", dir, err)
		}
	}
	return c, c.adopt(ctx, remoteURL)
}

// adopt makes a clone of ours what Open promises.
func (c *Clone) adopt(ctx context.Context, remoteURL string) error {
	configured, err := c.config(ctx)
	if err != nil {
		return fmt.Errorf("opening the clone %s: %w", c.dir, err)
	}
	for key, value := range map[string]string{"remote.origin.url": remoteURL, "remote.origin.fetch": originRefspec} {
		if configured[key] != value {
			if err := c.setConfig(ctx, key, value); err != nil {
				return err
			}
		}
	}
	c.url.Store(&remoteURL)
	if err := c.prepare(ctx); err != nil {
		return err
	}
	by := c.identity(configured)
	c.ident = func() (Person, error) { return by, nil }
	return nil
}

// MoveRemote points a clone made by Open at another address of the same
// repository, as after a rename. Commands that run meanwhile use one of the two.
func (c *Clone) MoveRemote(ctx context.Context, remoteURL string) error {
	if err := c.setConfig(ctx, "remote.origin.url", remoteURL); err != nil {
		return err
	}
	c.url.Store(&remoteURL)
	if c.listed != nil {
		c.listed.forget()
	}
	return nil
}

// remoteURL is the address of the remote, "" where it is not known.
func (c *Clone) remoteURL() string {
	if url := c.url.Load(); url != nil {
		return *url
	}
	return ""
}

// Existing opens the repository that holds dir, a checkout or a bare one, with
// the user's own configuration and credentials. Its remote is the first line of
// `git remote` (pr-loop §1.4). Hooks do not run: what chant writes are facts of
// its own, not the user's work.
func Existing(ctx context.Context, dir string) (*Clone, error) {
	program, err := find()
	if err != nil {
		return nil, fmt.Errorf("opening the repository in %s: %w", dir, err)
	}
	vars := environ()
	c := &Clone{program: program, dir: dir, env: userEnv(vars), process: committerVars(vars)}
	out, err := c.git(ctx, "remote")
	if err != nil {
		return nil, fmt.Errorf("opening the repository in %s: %w", dir, err)
	}
	c.remote, _, _ = strings.Cut(string(out), "\n")
	return c, c.prepare(ctx)
}

// prepare reads what every later call needs to know of the repository.
func (c *Clone) prepare(ctx context.Context) error {
	out, err := c.git(ctx, "rev-parse", "--path-format=absolute", "--show-object-format", "--git-path", "objects")
	if err != nil {
		return fmt.Errorf("opening the repository in %s: %w", c.dir, err)
	}
	format, objects, _ := strings.Cut(strings.TrimRight(string(out), "\n"), "\n")
	if c.hash, err = hashNamed(format); err != nil {
		return fmt.Errorf("opening the repository in %s: %w", c.dir, err)
	}
	c.objects = objects
	c.cat = newCatFile(c)
	c.trees = newTreeCache(treeCacheSize)
	c.fetches = newFetchQueue()
	c.listed = newRemoteRefs()
	detached := context.WithoutCancel(ctx)
	c.ident = sync.OnceValues(func() (Person, error) { return c.readIdentity(detached) })
	return nil
}

func (c *Clone) setConfig(ctx context.Context, key, value string) error {
	if _, err := c.git(ctx, "config", "--replace-all", key, value); err != nil {
		return fmt.Errorf("configuring the clone %s: %w", c.dir, err)
	}
	return nil
}

// Remote is the remote's name, "" when the repository has none.
func (c *Clone) Remote() string { return c.remote }

// Owned tells whether the clone was made by Open. In a checkout of the user's a
// write that could not be pushed stays as a local fact; in a clone of ours it
// does not (pr-loop §1.5).
func (c *Clone) Owned() bool { return c.owned }

// Dir is where git runs: the bare clone, or the user's checkout.
func (c *Clone) Dir() string { return c.dir }

// Close ends the process that reads objects. The clone stays usable: the next
// read starts another one.
func (c *Clone) Close() { c.cat.end() }

// Maintain packs what has piled up, when git thinks it is time. Fetch never
// does, so that no fetch waits for it; call it now and then.
func (c *Clone) Maintain(ctx context.Context) error {
	if _, err := c.git(ctx, "gc", "--auto", "--quiet"); err != nil {
		return fmt.Errorf("packing the repository in %s: %w", c.dir, err)
	}
	return nil
}
