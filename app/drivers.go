package app

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/terraform"
)

// drivers makes one terraform driver a repository and env, all within one pool.
type drivers struct {
	config *config.Config
	wall   exec.Wall
	pool   *exec.Pool

	mu   sync.Mutex
	made map[string]*terraform.Driver
}

func newDrivers(c *config.Config, wall exec.Wall) *drivers {
	return &drivers{config: c, wall: wall, pool: exec.NewPool(c.Workers), made: map[string]*terraform.Driver{}}
}

// For implements usecase.Drivers. A project that names tofu gets it from PATH;
// any other gets the binary the operator configured.
func (d *drivers) For(repo engine.Repo, env, binary string) (usecase.Driver, error) {
	path := d.config.Terraform
	if binary == "tofu" && !strings.HasPrefix(filepath.Base(path), "tofu") {
		path = "tofu"
	}
	key := strings.Join([]string{repo.Key(), env, path}, " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	if made := d.made[key]; made != nil {
		return made, nil
	}
	made, err := terraform.New(terraform.Config{
		Binary: path, StateDir: filepath.Join(d.config.StateDir, "locks"),
		Scope: repo.Key() + " " + env, Wall: d.wall, Pool: d.pool, Limits: exec.DefaultLimits(),
		Writable: d.config.WritablePaths,
	})
	if err != nil {
		return nil, err
	}
	d.made[key] = made
	return made, nil
}
