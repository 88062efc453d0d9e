package git

import (
	"context"
	"errors"
	"time"
)

var errUnfinished = errors.New("git: not built yet")

// Clone is one local repository.
type Clone struct{}

// Open opens or makes a bare clone.
func Open(ctx context.Context, dir, remoteURL string, auth Auth) (*Clone, error) { return nil, errUnfinished }

// Existing opens the user's checkout.
func Existing(ctx context.Context, dir string) (*Clone, error) { return nil, errUnfinished }

// Remote is the remote's name, "" without one.
func (c *Clone) Remote() string { return "" }

// Fetch fetches.
func (c *Clone) Fetch(ctx context.Context, refspecs ...string) error { return errUnfinished }

// Resolve names the commit a revision stands for.
func (c *Clone) Resolve(ctx context.Context, rev string) (string, error) { return "", errUnfinished }

// MergeBase of two commits.
func (c *Clone) MergeBase(ctx context.Context, a, b string) (string, error) { return "", errUnfinished }

// Walk bounds a first-parent walk.
type Walk struct {
	Since time.Time
	Stop  string
	Max   int
}

// FirstParents walks, newest first.
func (c *Clone) FirstParents(ctx context.Context, tip string, w Walk) ([]Commit, error) {
	return nil, errUnfinished
}

// Commits of base..head.
func (c *Clone) Commits(ctx context.Context, base, head string) ([]Commit, error) {
	return nil, errUnfinished
}

// MergeResult merges head into base.
func (c *Clone) MergeResult(ctx context.Context, base, head string) (commit, tree string, conflicts []string, err error) {
	return "", "", nil, errUnfinished
}

// ChangedFiles between two commits.
func (c *Clone) ChangedFiles(ctx context.Context, base, head string) ([]string, error) {
	return nil, errUnfinished
}

// ReadFile at a commit.
func (c *Clone) ReadFile(ctx context.Context, commit, path string) ([]byte, bool, error) {
	return nil, false, errUnfinished
}

// ListTree of one directory.
func (c *Clone) ListTree(ctx context.Context, commit, path string) ([]TreeEntry, error) {
	return nil, errUnfinished
}

// ObjectIDs of many paths.
func (c *Clone) ObjectIDs(ctx context.Context, commit string, paths ...string) (map[string]string, error) {
	return nil, errUnfinished
}

// Worktree exports.
func (c *Clone) Worktree(ctx context.Context, commit, dir string) error { return errUnfinished }

// RemoveWorktree removes.
func (c *Clone) RemoveWorktree(dir string) error { return errUnfinished }

// CITags lists refs/tags/ci.
func (c *Clone) CITags(ctx context.Context) ([]TagRef, error) { return nil, errUnfinished }

// CreateTag makes an annotated tag.
func (c *Clone) CreateTag(ctx context.Context, name, commit, message string) error {
	return errUnfinished
}

// PushRef pushes sha to one ref, which must hold expected ("" = be absent).
func (c *Clone) PushRef(ctx context.Context, sha, ref, expected string) error { return errUnfinished }
