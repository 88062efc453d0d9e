package github

import (
	"context"
	"fmt"
	"net/url"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
)

const pullsRead = "pull_requests:read"

// Change reads one pull request.
func (c *Conn) Change(ctx context.Context, repo engine.Repo, number int) (engine.Change, error) {
	pull, err := c.pull(ctx, repo, number)
	if err != nil {
		return engine.Change{}, err
	}
	return c.change(pull), nil
}

func (c *Conn) pull(ctx context.Context, repo engine.Repo, number int) (*gogithub.PullRequest, error) {
	if err := checkNumber(number); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/pulls/%d", number)
	if err != nil {
		return nil, err
	}
	var pull gogithub.PullRequest
	what := fmt.Sprintf("reading %s#%d", repo.FullName(), number)
	if err := c.get(ctx, what, pullsRead, path, &pull); err != nil {
		return nil, err
	}
	return &pull, nil
}

// FirstTimer is what GitHub said with the change.
func (c *Conn) FirstTimer(_ context.Context, change engine.Change) (bool, error) {
	return change.FirstTimer, nil
}

// OpenChanges lists the open pull requests, oldest first. Oldest first because
// one that closes while the list is read then moves no other page forward.
func (c *Conn) OpenChanges(ctx context.Context, repo engine.Repo) ([]engine.Change, error) {
	path, err := c.path(repo, "/pulls")
	if err != nil {
		return nil, err
	}
	query := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}}
	return c.changes(ctx, "listing the open pull requests of "+repo.FullName(), path, query)
}

// ChangesOfCommit lists the pull requests GitHub associates with a commit:
// of any state and base, and of forks of the network too.
func (c *Conn) ChangesOfCommit(ctx context.Context, repo engine.Repo, sha string) ([]engine.Change, error) {
	if err := checkSHA(sha); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/commits/%s/pulls", sha)
	if err != nil {
		return nil, err
	}
	return c.changes(ctx, "listing the pull requests of "+sha, path, nil)
}

func (c *Conn) changes(ctx context.Context, what, path string, query url.Values) ([]engine.Change, error) {
	pulls, err := list[*gogithub.PullRequest](ctx, c, what, pullsRead, path, query)
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{} // a list that moves while it is read repeats items
	var changes []engine.Change
	for _, p := range pulls {
		if !seen[p.GetID()] {
			seen[p.GetID()] = true
			changes = append(changes, c.change(p))
		}
	}
	return changes, nil
}

// change maps a pull request, from a list or alone: a list item has no merged
// flag, so merged_at decides. merge_commit_sha is the test merge until then.
func (c *Conn) change(p *gogithub.PullRequest) engine.Change {
	base, head := p.GetBase(), p.GetHead()
	change := engine.Change{
		Repo: c.repo(base.GetRepo()), Number: p.GetNumber(),
		Head: head.GetSHA(), BaseBranch: base.GetRef(),
		Author: actor(p.User), FirstTimer: firstTimer(p.GetAuthorAssociation()), Draft: p.GetDraft(), State: engine.Open,
		// The head repository is null once it was deleted; only a fork's can be.
		Fork: head.Repo == nil || head.GetRepo().GetID() != base.GetRepo().GetID(),
	}
	switch {
	case p.MergedAt != nil:
		change.State, change.MergeCommit, change.MergedBy = engine.Merged, p.GetMergeCommitSHA(), actor(p.MergedBy)
	case p.GetState() != "open":
		change.State = engine.Closed
	}
	return change
}

// firstTimer trusts no association it does not know. The association is no
// authority: it only decides whether a newcomer is greeted with less.
func firstTimer(association string) bool {
	switch association {
	case "OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR":
		return false
	}
	return true
}

func (c *Conn) repo(r *gogithub.Repository) engine.Repo {
	return engine.Repo{Instance: c.Instance(), ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName()}
}
