package forgejo

import (
	"context"
	"errors"
	"fmt"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Change reads one pull request.
func (c *Conn) Change(ctx context.Context, repo engine.Repo, number int) (engine.Change, error) {
	if err := checkNumber(number); err != nil {
		return engine.Change{}, err
	}
	r := request{fmt.Sprintf("reading %s#%d", repo.FullName(), number), needsRepository}
	pull, err := get(ctx, c, repo, r, func(client *gitea.Client, owner, name string) (*gitea.PullRequest, *gitea.Response, error) {
		pull, resp, err := client.GetPullRequest(owner, name, int64(number))
		return pull, resp, ofRepo(repo, err, pull)
	})
	if err != nil {
		return engine.Change{}, err
	}
	return c.change(pull), c.remember(repo, pull.Base.Repository)
}

// OpenChanges lists the open pull requests, oldest first: one that closes while
// the list is read then moves no later page forward.
func (c *Conn) OpenChanges(ctx context.Context, repo engine.Repo) ([]engine.Change, error) {
	r := request{"listing the open pull requests of " + repo.FullName(), needsRepository}
	pulls, err := every(ctx, c, repo, r, func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]*gitea.PullRequest, *gitea.Response, error) {
		pulls, resp, err := client.ListRepoPullRequests(owner, name, gitea.ListPullRequestsOptions{ListOptions: at, State: gitea.StateOpen, Sort: "oldest"})
		return pulls, resp, ofRepo(repo, err, pulls...)
	})
	if errors.Is(err, forges.ErrNotFound) {
		// So the servers answer of a repository without a commit.
		if found, lookErr := c.now(ctx, repo); lookErr == nil && found.Empty {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return c.changes(pulls), nil
}

// ChangesOfCommit lists the pull request that was merged as a commit: the
// servers know only that one, and of a rebase only the last commit (forge-facts
// part 3).
func (c *Conn) ChangesOfCommit(ctx context.Context, repo engine.Repo, sha string) ([]engine.Change, error) {
	if err := checkSHA(sha); err != nil {
		return nil, err
	}
	r := request{"finding the pull request of " + sha, needsRepository}
	pull, err := get(ctx, c, repo, r, func(client *gitea.Client, owner, name string) (*gitea.PullRequest, *gitea.Response, error) {
		pull, resp, err := client.GetCommitPullRequest(owner, name, sha)
		return pull, resp, ofRepo(repo, err, pull)
	})
	if errors.Is(err, forges.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.changes([]*gitea.PullRequest{pull}), nil
}

// ofRepo refuses pull requests that were read under a name another repository
// took, as if nothing had been found.
func ofRepo(repo engine.Repo, err error, pulls ...*gitea.PullRequest) error {
	if err != nil {
		return err
	}
	for _, p := range pulls {
		if p.Base == nil || p.Base.Repository == nil || repo.ID > 0 && p.Base.Repository.ID != repo.ID {
			return fmt.Errorf("#%d is of another repository: %w", p.Index, forges.ErrNotFound)
		}
	}
	return nil
}

func (c *Conn) changes(pulls []*gitea.PullRequest) []engine.Change {
	seen := map[int64]bool{} // a list that moves while it is read repeats items
	var changes []engine.Change
	for _, p := range pulls {
		if !seen[p.ID] {
			seen[p.ID] = true
			changes = append(changes, c.change(p))
		}
	}
	return changes
}

func (c *Conn) change(p *gitea.PullRequest) engine.Change {
	change := engine.Change{
		Repo: c.repo(p.Base.Repository), Number: int(p.Index),
		BaseBranch: p.Base.Ref, Author: actor(p.Poster), Draft: p.Draft, State: engine.Open,
		Fork: foreign(p.Base, p.Head),
	}
	if p.Head != nil {
		change.Head = p.Head.Sha
	}
	switch {
	case p.HasMerged:
		change.State, change.MergedBy = engine.Merged, actor(p.MergedBy)
		if p.MergedCommitID != nil {
			change.MergeCommit = *p.MergedCommitID
		}
	case p.State != gitea.StateOpen:
		change.State = engine.Closed
	}
	return change
}

// authored is an account in a repository.
type authored struct{ repo, account int64 }

// FirstTimer says whether the author may not write here and has no merged pull
// request yet: who may write is known, as on the other forges. Neither server
// gives an association, so it is asked; a merged pull request stays one.
func (c *Conn) FirstTimer(ctx context.Context, change engine.Change) (bool, error) {
	if change.Author.ID <= 0 {
		return true, nil
	}
	key := authored{change.Repo.ID, change.Author.ID}
	c.mu.Lock()
	known := c.known[key]
	c.mu.Unlock()
	if known {
		return false, nil
	}
	level, err := c.Permission(ctx, change.Repo, change.Author.Login)
	switch {
	case err != nil && !errors.Is(err, forges.ErrNotFound):
		return true, err
	case level == forges.Write || level == forges.Admin:
		return false, nil
	}
	what := fmt.Sprintf("reading what %s wrote before in %s", change.Author.Login, change.Repo.FullName())
	found, err := every(ctx, c, change.Repo, request{what, "scope read:issue"}, func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]*gitea.Issue, *gitea.Response, error) {
		return client.ListRepoIssues(owner, name, gitea.ListIssueOption{
			ListOptions: at, Type: gitea.IssueTypePull, State: gitea.StateClosed, CreatedBy: change.Author.Login,
		})
	})
	if err != nil {
		return true, err
	}
	for _, issue := range found {
		if issue.Poster != nil && issue.Poster.ID == change.Author.ID && issue.PullRequest != nil && issue.PullRequest.HasMerged {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.known[key] = true
			return false, nil
		}
	}
	return true, nil
}
