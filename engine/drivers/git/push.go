package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// PushRef makes the remote's ref hold sha (an object id, or a ref here), or
// deletes it when sha is empty, on the condition that it holds expected now (empty: that it does not exist). No
// other ref is touched. The error is a *Rejected when the remote refused, and
// ErrUnreachable when there was no answer: then the push may have landed.
// Pushing what the remote holds already is no error.
func (c *Clone) PushRef(ctx context.Context, sha, ref, expected string) error {
	if c.remote == "" {
		return fmt.Errorf("pushing %s: the repository has no remote", ref)
	}
	c.listed.forget()
	defer c.listed.forget()
	res, err := c.run(ctx, call{remote: true, args: []string{
		"push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
		"--force-with-lease=" + ref + ":" + expected, "--", c.remote, sha + ":" + ref,
	}})
	if err != nil {
		return fmt.Errorf("pushing %s: %w", ref, err)
	}
	err = failure("git push", res)
	if err == nil {
		return nil
	}
	if reason, refused := rejection(string(res.Stdout)); refused {
		return &Rejected{Ref: ref, Reason: reason, Stale: isStale(reason)}
	}
	if sha == "" && strings.Contains(string(res.Stderr), "remote ref does not exist") {
		return nil
	}
	if errors.Is(err, ErrStaleLock) || errors.Is(err, ErrUnreachable) {
		return fmt.Errorf("pushing %s: %w", ref, err)
	}
	// Whatever it was, it happened while talking to the remote.
	return fmt.Errorf("pushing %s: %w: %w", ref, ErrUnreachable, err)
}

// rejection finds the refused ref's line, "!\t<from>:<to>\t[rejected] (<why>)".
func rejection(stdout string) (reason string, refused bool) {
	for line := range strings.Lines(stdout) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) == 3 && fields[0] == "!" {
			return fields[2], true
		}
	}
	return "", false
}

// isStale tells a ref that moved under us from a remote that forbids the push
// (pr-loop §1.5).
func isStale(reason string) bool {
	return hasAny(reason, "stale info", "non-fast-forward", "fetch first", "failed to update ref",
		"cannot lock ref", "failed to lock", "incorrect old value", "reference already exists", "remote ref updated since checkout")
}
