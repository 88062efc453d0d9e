package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/sealed"
	"github.com/chant-bot/chant/engine/drivers/terraform"
)

// drivers makes two terraform drivers a repository and env, one that plans and
// one that applies. All that plan share one pool, and all that apply another: an
// apply may take hours and a pull request many plans, and neither is to wait for
// the other.
type drivers struct {
	config *config.Config
	wall   exec.Wall
	pools  map[usecase.CredentialKind]*exec.Pool

	mu   sync.Mutex
	made map[string]usecase.Driver
}

func newDrivers(c *config.Config, wall exec.Wall) *drivers {
	return &drivers{
		config: c, wall: wall, made: map[string]usecase.Driver{},
		pools: map[usecase.CredentialKind]*exec.Pool{
			usecase.ForPlan: exec.NewPool(c.Workers), usecase.ForApply: exec.NewPool(c.Workers),
		},
	}
}

// running is how many planners' processes run, by what they do.
func (d *drivers) running() map[string]int {
	out := map[string]int{}
	for kind, pool := range d.pools {
		out[string(kind)] = pool.Running()
	}
	return out
}

// For implements usecase.Drivers. A project that names tofu gets it from PATH;
// any other gets the binary the operator configured.
func (d *drivers) For(repo engine.Repo, env, binary string, kind usecase.CredentialKind) (usecase.Driver, error) {
	path := d.config.Terraform
	if binary == "tofu" && !strings.HasPrefix(filepath.Base(path), "tofu") {
		path = "tofu"
	}
	key := strings.Join([]string{repo.Key(), env, string(kind), path}, " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	if made := d.made[key]; made != nil {
		return made, nil
	}
	made, err := terraform.New(d.settings(repo, env, path, kind))
	if told, ok := errors.AsType[*engine.Told](err); ok {
		return nil, engine.Tell(fmt.Errorf("%w on the machine that plans; install it there, or have the project name another", told))
	}
	if err != nil {
		return nil, err
	}
	seal, err := d.groupKey()
	if err != nil {
		return nil, err
	}
	composer, err := made.Composer(seal)
	if err != nil {
		return nil, err
	}
	d.made[key] = composer
	return composer, nil
}

// groupKey is the key that the server seals the journals of its groups with: the one
// that is configured, else one of its own.
func (d *drivers) groupKey() (sealed.Key, error) {
	if d.config.GroupKey.IsZero() {
		return sealed.OwnKey(filepath.Join(d.config.StateDir, "groups.key"))
	}
	key, err := sealed.ParseKey(d.config.GroupKey.Value())
	if err != nil {
		return key, fmt.Errorf("groupKey: %w", err)
	}
	return key, nil
}

// lookForGroups tells the log which applies of groups did not end. Where their runs are
// kept they are carried on; the others end by themselves (groupEnder), or in the next
// apply of their environment, which says why where they can't.
func (s *Server) lookForGroups(ctx context.Context, d *drivers) error {
	left, err := d.unendedGroups()
	for _, u := range left {
		s.log.WarnContext(ctx, "an apply of a group did not end", "journal", u.Journal)
	}
	return err
}

// unendedGroups are those of every repository and environment.
func (d *drivers) unendedGroups() ([]engine.UnendedGroup, error) {
	key, err := d.groupKey()
	if err != nil {
		return nil, err
	}
	return terraform.Unended(d.locksDir(), key)
}

func (d *drivers) locksDir() string { return filepath.Join(d.config.StateDir, "locks") }

func (d *drivers) settings(repo engine.Repo, env, binary string, kind usecase.CredentialKind) terraform.Config {
	return terraform.Config{
		Binary: binary, StateDir: d.locksDir(),
		Scope: repo.Key() + " " + env, Wall: d.wall, Pool: d.pools[kind], Limits: exec.DefaultLimits(),
		Writable: d.config.WritablePaths, CacheDir: d.cacheDir(repo, env, kind), Mirror: d.config.ProviderMirror,
	}
}

// cacheDir keeps the providers that inits downloaded, apart for every repository
// and env, and for what plans and what applies: what the code of a pull request
// made an init download is never what an apply runs. Behind isolation by user
// there is none, since its users can't be let into a directory of the server's.
func (d *drivers) cacheDir(repo engine.Repo, env string, kind usecase.CredentialKind) string {
	if d.wall.Name() == exec.WallUser {
		return ""
	}
	return filepath.Join(d.config.StateDir, "providers", dirName(repo.Key()), url.PathEscape(env)+"-"+string(kind))
}
