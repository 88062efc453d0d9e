package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/terraform"
)

// preflight finds what the server cannot work without: programs, a wall, the
// files its configuration names, and a connection it can be made of. A server
// that started without one would say so on pull requests only, one by one. The
// error names everything that is missing.
func preflight(ctx context.Context, c *config.Config, through via) (exec.Wall, connections, error) {
	wall, wallErr := exec.DetectWall(ctx, c.Isolation)
	forges, forgeErr := connect(c, through)
	errs := []error{under("git", git.Check(ctx)), under("isolation", wallErr), forgeErr, prerequisites(c)}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, &config.Invalid{What: "this machine cannot serve the configuration", Err: err}
	}
	return wall, forges, nil
}

// prerequisites are those that can go away while the server runs. Nothing is run
// to find out.
func prerequisites(c *config.Config) error {
	var errs []error
	if _, _, err := terraform.Find(c.Terraform); err != nil {
		errs = append(errs, fmt.Errorf("terraform: %w; install it, or set this to the name or path of a terraform or tofu", err))
	}
	for i, path := range c.WritablePaths {
		errs = append(errs, under(fmt.Sprintf("writablePaths[%d]", i), isDirectory(path)))
	}
	if c.ProviderMirror != "" {
		errs = append(errs, under("providerMirror", isDirectory(c.ProviderMirror)))
	}
	for i, set := range c.Credentials {
		errs = append(errs,
			under(fmt.Sprintf("credentials[%d].plan", i), available(set.Plan)),
			under(fmt.Sprintf("credentials[%d].apply", i), available(set.Apply)))
	}
	return errors.Join(errs...)
}

func isDirectory(path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no directory; make it, or take it out", path)
	}
	return nil
}

// available tells why a set cannot be handed out. A command is found, not run: it
// may mint something.
func available(set config.CredentialsSet) error {
	switch {
	case set.File != "":
		_, err := readPairs(set.File)
		return err
	case len(set.Command) > 0:
		if _, err := osexec.LookPath(set.Command[0]); err != nil {
			return fmt.Errorf("the command %s cannot be found; install it, or give its path", set.Command[0])
		}
	}
	return nil
}

// under puts the key of a setting before what is wrong there.
func under(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", key, err)
}
