// Package engine is the vocabulary every other package speaks: repositories,
// pull requests, events, and the contracts of planners and appliers. Its
// subpackages decide; nothing here or below (outside drivers) does I/O, reads a
// clock or draws a random number.
package engine

import (
	"fmt"
	"strings"
)

// ForgeKind names a family of forges that share one API.
type ForgeKind string

// The forge families. Forgejo covers Gitea too.
const (
	GitHub  ForgeKind = "github"
	GitLab  ForgeKind = "gitlab"
	Forgejo ForgeKind = "forgejo"
)

// Instance is one forge server. Two instances of one kind never share a key.
type Instance struct {
	Kind ForgeKind
	Host string // lower-case host as people write it, "github.com"
}

func (i Instance) String() string { return string(i.Kind) + ":" + i.Host }

// HeadRef is where git finds the head of a pull request, whatever became of its
// branch or its fork.
func (i Instance) HeadRef(number int) string {
	if i.Kind == GitLab {
		return fmt.Sprintf("refs/merge-requests/%d/head", number)
	}
	return fmt.Sprintf("refs/pull/%d/head", number)
}

// PullPath is where people find a pull request, below the page of its repository.
func (i Instance) PullPath(number int) string {
	switch i.Kind {
	case GitLab:
		return fmt.Sprintf("/-/merge_requests/%d", number)
	case Forgejo:
		return fmt.Sprintf("/pulls/%d", number)
	}
	return fmt.Sprintf("/pull/%d", number)
}

// QueueRefs is where git finds the commits that the forge's merge queue, or the
// merge trains of these open pull requests, try now (forge-facts 1.15, 2.2); none
// where there are no queues. A * stands for any rest.
func (i Instance) QueueRefs(open []int) []string {
	switch i.Kind {
	case GitHub:
		return []string{"refs/heads/gh-readonly-queue/*"}
	case GitLab:
		refs := make([]string, len(open))
		for n, number := range open {
			refs[n] = fmt.Sprintf("refs/merge-requests/%d/train", number)
		}
		return refs
	case Forgejo:
	}
	return nil
}

// Principal names a person of this instance the way ledger lines, signers and
// approver lists do (pr-loop §5.10): the host is left out on github.com and
// gitlab.com.
func (i Instance) Principal(login string) string {
	if i.Host == "github.com" && i.Kind == GitHub || i.Host == "gitlab.com" && i.Kind == GitLab {
		return strings.ToLower(string(i.Kind) + ":" + login)
	}
	return strings.ToLower(fmt.Sprintf("%s@%s:%s", i.Kind, i.Host, login))
}

// Repo is a repository. Its identity is Instance and ID; owner and name may
// change under a rename or transfer.
type Repo struct {
	Instance    Instance
	ID          int64
	Owner, Name string
}

// Key identifies the repository in stores and paths, stable under renames:
// "github:github.com/42".
func (r Repo) Key() string { return fmt.Sprintf("%s/%d", r.Instance, r.ID) }

// FullName is "owner/name", for people and API paths.
func (r Repo) FullName() string { return r.Owner + "/" + r.Name }

// Actor is an account of a forge. The ID is the identity; a login may be
// renamed.
type Actor struct {
	ID    int64
	Login string
	Bot   bool
}

// ChangeState is where a pull request stands.
type ChangeState string

// The states of a pull request.
const (
	Open   ChangeState = "open"
	Closed ChangeState = "closed"
	Merged ChangeState = "merged"
)

// Change is a pull request as the forge shows it now.
type Change struct {
	Repo        Repo
	Number      int
	Head        string // sha of the head commit
	BaseBranch  string
	Author      Actor
	FirstTimer  bool // the author has no merged pull request here yet, where the forge says so unasked
	Fork        bool
	Draft       bool
	State       ChangeState
	MergeCommit string // the merge, squash or last rebased commit; empty unless merged
	MergedBy    Actor
}
