package record

import (
	"errors"
	"fmt"
	"slices"
)

// Reasons an apply stops at the fence (decision 18).
var (
	// ErrOlder: a newer commit was applied, or its apply started.
	ErrOlder = errors.New("a newer commit was already applied or is being applied")
	// ErrOffLine: the commit, or the one applied before, is not on the branch's
	// first-parent line, so which is newer cannot be told.
	ErrOffLine = errors.New("the commits are not on one first-parent line")
	// ErrTaken: another run wrote the attempt after this one did.
	ErrTaken = errors.New("another run took over this environment")
)

// Fence reports why an apply of commit must not start its next step, nil when it
// may. firstParent is the branch's line, newest first, reaching back at least to
// the commits the records name. Before its own attempt is written an apply calls
// it with an empty token: it holds the environment's lease, so another run's
// attempt is dead and only its commit counts. Afterwards token is the run's own,
// and an attempt that is missing or another's stops it.
func Fence(commit string, firstParent []string, attempt *Attempt, applied *Apply, token string) error {
	here := slices.Index(firstParent, commit)
	if here < 0 {
		return fmt.Errorf("%w: %s is not on the branch", ErrOffLine, commit)
	}
	if attempt != nil {
		if err := notNewer(here, firstParent, attempt.Commit, "the last apply started"); err != nil {
			return err
		}
	}
	if applied != nil {
		if err := notNewer(here, firstParent, applied.Commit, "the last apply finished"); err != nil {
			return err
		}
	}
	switch {
	case token == "":
		return nil
	case attempt == nil:
		return fmt.Errorf("%w: the attempt of this run is gone from the ledger", ErrTaken)
	case attempt.Token != token || attempt.Commit != commit:
		return fmt.Errorf("%w: its attempt, at %s, started %s", ErrTaken, attempt.Commit, attempt.StartedAt)
	}
	return nil
}

// notNewer refuses when other stands before index here, that is newer.
func notNewer(here int, firstParent []string, other, what string) error {
	switch there := slices.Index(firstParent, other); {
	case there < 0:
		return fmt.Errorf("%w: %s at %s, which is not on the branch", ErrOffLine, what, other)
	case there < here:
		return fmt.Errorf("%w: %s at %s", ErrOlder, what, other)
	}
	return nil
}

// Unfinished are the commits at which an apply started since the one that finished last,
// oldest first, without commit itself: what they changed may stand, whole or in part,
// also where a later commit took it back (soundness I8). firstParent is as for Fence.
func Unfinished(commit string, firstParent []string, attempt *Attempt, applied *Apply) []string {
	if attempt == nil {
		return nil
	}
	finished := len(firstParent)
	if applied != nil {
		finished = slices.Index(firstParent, applied.Commit)
	}
	var out []string
	for _, started := range append(slices.Clone(attempt.Started), attempt.Commit) {
		at := slices.Index(firstParent, started)
		if started != commit && at >= 0 && at < finished && !slices.Contains(out, started) {
			out = append(out, started)
		}
	}
	return out
}
