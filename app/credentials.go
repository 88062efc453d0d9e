package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// credentials hands out the sets of the configuration, read anew each time so
// that a rotated file or a minted token is the one used.
type credentials struct {
	config *config.Config
	// listedAs gives a repository the name that the configuration has for it.
	listedAs func(engine.Repo) (engine.Repo, bool)
}

// mintTimeout bounds a command that makes credentials.
const mintTimeout = time.Minute

// For implements usecase.Credentials.
func (c credentials) For(ctx context.Context, repo engine.Repo, env string, kind usecase.CredentialKind) ([]string, error) {
	listed, _ := c.listedAs(repo)
	sets := c.config.CredentialsOf(listed, env)
	set := sets.Plan
	if kind == usecase.ForApply {
		set = sets.Apply
	}
	switch {
	case set.File != "":
		return readPairs(set.File)
	case len(set.Command) > 0:
		return mint(ctx, set.Command)
	}
	out := make([]string, 0, len(set.Env))
	for key, secret := range set.Env {
		out = append(out, key+"="+string(secret.Value()))
	}
	sort.Strings(out)
	return out, nil
}

// readPairs reads a file of KEY=VALUE lines.
func readPairs(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	return pairs(data, path)
}

// mint runs an operator's own command, which may use the server's environment.
func mint(ctx context.Context, command []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, mintTimeout)
	defer cancel()
	res, err := exec.Run(ctx, exec.Cmd{Args: command, Env: os.Environ(), MaxOutput: 1 << 20}) //nolint:forbidigo // as said above
	if err == nil {
		// Its output may hold what it minted, so it is not quoted.
		if res.ExitCode != 0 {
			err = fmt.Errorf("exit code %d", res.ExitCode)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("minting credentials with %s: %w", command[0], err)
	}
	return pairs(res.Stdout, "the output of "+command[0])
}

// pairs reads KEY=VALUE lines. An error names the line, never its text.
func pairs(data []byte, from string) ([]string, error) {
	var out []string
	for i, line := range bytes.Split(data, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		key, _, ok := strings.Cut(text, "=")
		if !ok || key == "" || config.Reserved(key) {
			return nil, fmt.Errorf("%s, line %d: want KEY=VALUE with a key that is not reserved", from, i+1)
		}
		out = append(out, text)
	}
	return out, nil
}
