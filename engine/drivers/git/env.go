package git

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// setting is one configuration value given to a single command by the
// environment, so that it stands in no file and in no argument list.
type setting struct{ key, value string }

// guards hold in every repository: no hook of it runs, and nothing prompts.
func guards() []setting {
	return []setting{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"gc.autoDetach", "false"},
		// What a fetch brings appears all at once, as one pack. Unpacked, a commit
		// would be here before its tree is, and who finds the commit reads the tree.
		{"fetch.unpackLimit", "1"},
	}
}

// walls hold in clones of ours: only transports that run no program of the
// remote's choosing, no credential helper, and no transfer that stands still.
func walls() []setting {
	return []setting{
		{"protocol.allow", "never"},
		{"protocol.http.allow", "always"},
		{"protocol.https.allow", "always"},
		{"protocol.file.allow", "always"},
		{"protocol.ssh.allow", "always"},
		{"credential.helper", ""},
		{"core.attributesFile", "/dev/null"},
		{"http.lowSpeedLimit", "100"},
		{"http.lowSpeedTime", "60"},
		// Packing what fetches brought leaves alone what the first of them did.
		{"gc.bigPackThreshold", "64m"},
	}
}

// ownedEnv is built from nothing: no configuration but the clone's own.
func ownedEnv(home string) []string {
	env := exec.BaseEnv(home, os.TempDir(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	return withSettings(env, append(guards(), walls()...))
}

// droppedVars point git at another repository than the directory's, as they do
// inside hooks and aliases from where chant may be called, or choose another
// language for its messages.
func droppedVars() []string {
	return []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "LC_ALL", "LANGUAGE",
	}
}

// userEnv is the user's own environment, with messages in the one language this
// package reads and without prompts: a child in its own process group cannot
// read the terminal.
func userEnv(environ []string) []string {
	dropped := droppedVars()
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(dropped, name)
	})
	return withSettings(append(env, "LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0"), guards())
}

// withSettings adds to the settings that the environment holds already.
func withSettings(env []string, settings []setting) []string {
	const countVar = "GIT_CONFIG_COUNT="
	count := 0
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		text, found := strings.CutPrefix(kv, countVar)
		if found {
			count, _ = strconv.Atoi(text)
		}
		return found
	})
	for _, s := range settings {
		env = append(env,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, s.key),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, s.value))
		count++
	}
	return append(env, countVar+strconv.Itoa(count))
}

// environ is this process's environment: what a checkout's git runs in, and where
// a committer is named (pr-loop §1.3).
func environ() []string {
	return os.Environ() //nolint:forbidigo // git's own configuration is part of it
}

// remoteEnv is the environment of one command that talks to the remote, and the
// values its output must not show.
func (c *Clone) remoteEnv(ctx context.Context) (env, secrets []string, err error) {
	if c.auth.Header == nil {
		return c.env, nil, nil
	}
	header, err := c.auth.Header(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("getting credentials for %s: %w", c.remoteURL(), err)
	}
	if header == "" {
		return c.env, nil, nil
	}
	// Scoped to the URL: another remote or a submodule never sees it.
	env = withSettings(c.env, []setting{{"http." + c.remoteURL() + ".extraHeader", header}})
	_, value, _ := strings.Cut(header, ":")
	secrets = []string{strings.TrimSpace(value)}
	if fields := strings.Fields(value); len(fields) > 1 {
		secrets = append(secrets, fields[len(fields)-1])
	}
	return env, secrets, nil
}
