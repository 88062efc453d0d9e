// Package git drives the git command for everything the engine reads from and
// writes to a repository: commits, trees, ci tags, single refs. It never
// rewrites a ref of a remote without a lease, never runs a hook, a filter or a
// merge driver of the repository, and holds no rule about what a file means.
package git

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnknownRevision says that a revision, branch or object is not in the
// repository.
var ErrUnknownRevision = errors.New("unknown revision")

// ErrUnreachable says that the remote did not answer, or did not let us in;
// nothing is known about what it holds.
var ErrUnreachable = errors.New("remote is unreachable")

// ErrStaleLock says that a .lock file of git stands in the way. It is never
// contention between writers of ours: whoever held it may be gone (pr-loop
// §1.3).
var ErrStaleLock = errors.New("a git lock file is in the way")

// ErrRefMoved says that a ref no longer held the value it was to be moved
// from; nothing was changed.
var ErrRefMoved = errors.New("ref was moved by another writer")

// ErrTagExists says that a tag of that name is already there. Tags never move.
var ErrTagExists = errors.New("tag already exists")

// Rejected is a push the remote refused. The remote is unchanged.
//
//nolint:errname // an outcome that callers branch on, named as one
type Rejected struct {
	Ref    string
	Reason string // the remote's or git's own words
	// Stale says that the remote ref was not what the lease expected: fetch,
	// decide again, and try again. Otherwise the remote forbids the push.
	Stale bool
}

func (r *Rejected) Error() string {
	return fmt.Sprintf("push of %s was rejected: %s", r.Ref, r.Reason)
}

// Auth gives the credentials of a remote. The zero value has none.
type Auth struct {
	// Header returns one HTTP header, "Authorization: Basic ...". It is asked
	// before each command that talks to the remote and may return "".
	Header func(ctx context.Context) (string, error)
}

// Person is an author, committer, tagger or co-author as the commit spells it.
type Person struct{ Name, Email string }

// Commit is one commit. Times are the commit's own; nobody checked them.
type Commit struct {
	SHA           string
	Parent        string   // first parent, "" for a root
	Parents       []string // all of them
	Tree          string
	CommitterTime time.Time
	CoAuthors     []Person // every Co-authored-by line of the message
}

// TreeEntry is one entry of a tree.
type TreeEntry struct {
	Mode string // six octal digits as ls-tree prints them
	Type string // blob, tree or commit (a submodule)
	OID  string
	Path string // from the root of the tree
}

// TagRef is one ci tag.
type TagRef struct {
	Name      string // without refs/tags/
	Object    string // what the ref points at
	Commit    string // what it peels to; "" when that is no commit
	Annotated bool
	Message   string    // annotation, "" for a lightweight tag
	At        time.Time // the tagger's time, zero for a lightweight tag
}
