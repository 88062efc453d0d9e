package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MergeResult merges head into base without a checkout and stores the commit,
// which no ref names and which is never pushed (pr-loop decision 1). The same
// two commits always give the same commit. On a conflict, commit and tree are
// empty and conflicts names the files, sorted.
func (c *Clone) MergeResult(ctx context.Context, base, head string) (commit, tree string, conflicts []string, err error) {
	if base, head, err = c.resolveTwo(ctx, base, head); err != nil {
		return "", "", nil, err
	}
	// A commit can be here before its tree while a fetch of it runs, and git before
	// 2.45 takes a root tree that is missing for an empty one.
	for _, commit := range []string{base, head} {
		if _, err := c.TreeOf(ctx, commit); err != nil {
			return "", "", nil, fmt.Errorf("merging %s into %s: %w", head, base, err)
		}
	}
	if tree, conflicts, err = c.mergeTree(ctx, base, head); err != nil {
		return "", "", nil, fmt.Errorf("merging %s into %s: %w", head, base, err)
	}
	if len(conflicts) > 0 {
		return "", "", conflicts, nil
	}
	commit, err = c.mergeCommit(ctx, base, head, tree)
	return commit, tree, nil, err
}

// mergeTree is the tree of a merge. A head that stands on top of base has nothing
// to merge with: its tree it is, without a process.
func (c *Clone) mergeTree(ctx context.Context, base, head string) (tree string, conflicts []string, err error) {
	if c.justBelow(ctx, base, head) {
		tree, err = c.TreeOf(ctx, head)
		return tree, nil, err
	}
	out, err := c.git(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, head)
	fields := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if isExit(err, 1) && len(fields) > 1 {
		return "", slices.Compact(slices.Sorted(slices.Values(fields[1:]))), nil
	}
	return fields[0], nil, err
}

// mergeCommit dates the commit by its parents, so that it depends on nothing
// else.
func (c *Clone) mergeCommit(ctx context.Context, base, head, tree string) (string, error) {
	at, err := c.committedAt(ctx, base)
	if err != nil {
		return "", err
	}
	h, err := c.committedAt(ctx, head)
	if err != nil {
		return "", err
	}
	if h.After(at) {
		at = h
	}
	by := Signature{Person: Person{Name: "chant", Email: "chant@localhost"}, At: at}
	return c.WriteCommit(CommitSpec{
		Tree: tree, Parents: []string{base, head}, Author: by, Committer: by,
		Message: fmt.Sprintf("Merge %s into %s", head, base),
	})
}

// committedAt reads the committer's time out of a commit's own text: log would
// be a process for it.
func (c *Clone) committedAt(ctx context.Context, commit string) (time.Time, error) {
	o, err := c.cat.contents(ctx, commit)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading commit %s: %w", commit, err)
	}
	header, _, _ := strings.Cut(string(o.data), "\n\n")
	for line := range strings.Lines(header) {
		if who, found := strings.CutPrefix(line, "committer "); found {
			if at := signatureTime(who); !at.IsZero() {
				return at, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("reading commit %s: it has no committer's time", commit)
}
