package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// remoteTimeout bounds one command that talks to the remote; a first fetch of a
// large repository is the longest.
const remoteTimeout = 15 * time.Minute

// call is one git command.
type call struct {
	args   []string
	stdin  io.Reader
	env    []string // added to the clone's own
	remote bool     // talks to the remote: credentials and a time limit
}

// run runs a command. A non-zero exit is no error.
func (c *Clone) run(ctx context.Context, k call) (exec.Result, error) {
	cmd := exec.Cmd{Args: append([]string{c.program}, k.args...), Dir: c.dir, Env: c.env, Stdin: k.stdin, Grace: time.Second}
	if k.remote {
		bounded, cancel := context.WithTimeoutCause(ctx, remoteTimeout,
			fmt.Errorf("%w: no end after %s", ErrUnreachable, remoteTimeout))
		defer cancel()
		ctx = bounded
		env, secrets, err := c.remoteEnv(ctx)
		if err != nil {
			return exec.Result{}, err
		}
		cmd.Env, cmd.Scrub = env, secrets
	}
	if len(k.env) > 0 {
		cmd.Env = slices.Concat(cmd.Env, k.env)
	}
	return exec.Run(ctx, cmd)
}

// git runs a local command and returns its output; a non-zero exit is an error
// that quotes what git said.
func (c *Clone) git(ctx context.Context, args ...string) ([]byte, error) {
	res, err := c.run(ctx, call{args: args})
	if err != nil {
		return nil, err
	}
	return res.Stdout, failure("git "+args[0], res)
}

// failure is the error of a command that ended, nil for exit code 0.
func failure(command string, res exec.Result) error {
	err := res.Err(command)
	if err == nil {
		return nil
	}
	text := string(res.Stderr)
	switch {
	case isStaleLock(text):
		return fmt.Errorf("%w: %w", ErrStaleLock, err)
	case hasAny(text, "couldn't find remote ref", "not our ref", "unadvertised object"):
		return fmt.Errorf("%w: %w", ErrUnknownRevision, err)
	case hasAny(text, unreachableTexts()...):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// unreachableTexts are git's and curl's words for a remote that did not answer
// or did not let us in.
func unreachableTexts() []string {
	return []string{
		"unable to access", "Could not resolve", "Could not read from remote repository",
		"does not appear to be a git repository", "Authentication failed", "could not read Username",
		"could not read Password", "RPC failed", "early EOF", "hung up", "unexpected disconnect", "Connection",
		"timed out", "HTTP request failed", "remote error", "protocol error", "expected flush",
	}
}

// isStaleLock reads the only sign there is of a lock file in the way.
func isStaleLock(stderr string) bool {
	return strings.Contains(stderr, "Unable to create '") && strings.Contains(stderr, ".lock': File exists")
}

func hasAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// isExit tells whether err is a command's exit with that code.
func isExit(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode == code
}
