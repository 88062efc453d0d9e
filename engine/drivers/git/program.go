package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// The oldest git that merges without a worktree (git-merge-tree, --write-tree).
const oldestMajor, oldestMinor = 2, 38

// find finds the program.
func find() (string, error) {
	program, err := osexec.LookPath("git")
	if errors.Is(err, osexec.ErrNotFound) {
		return "", fmt.Errorf("git is not on PATH; install git %d.%d or newer", oldestMajor, oldestMinor)
	}
	return program, err
}

var versionLine = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

const versionTimeout = 10 * time.Second

// Check tells why the git of this machine cannot be worked with, nil when it can.
func Check(ctx context.Context) error {
	program, err := find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	tmp := os.TempDir()
	res, err := exec.Run(ctx, exec.Cmd{Args: []string{program, "version"}, Dir: tmp, Env: exec.BaseEnv(tmp, tmp), MaxOutput: 4 << 10})
	if err == nil {
		err = failure("git version", res)
	}
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w", program, err)
	}
	return recent(string(res.Stdout))
}

// recent judges what git says of its version.
func recent(said string) error {
	m := versionLine.FindStringSubmatch(said)
	if m == nil {
		return fmt.Errorf("git says %q where its version is asked; install git %d.%d or newer", said, oldestMajor, oldestMinor)
	}
	major, majorErr := strconv.Atoi(m[1])
	minor, minorErr := strconv.Atoi(m[2])
	if err := errors.Join(majorErr, minorErr); err != nil {
		return fmt.Errorf("reading the version of git: %w", err)
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fmt.Errorf("git %d.%d is too old; install git %d.%d or newer", major, minor, oldestMajor, oldestMinor)
	}
	return nil
}
