package github

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// pullCommitCap is where GitHub cuts a pull request's list of commits.
const pullCommitCap = 250

// Reviews lists every submitted review, oldest first.
func (c *Conn) Reviews(ctx context.Context, repo engine.Repo, number int) ([]forges.ReviewVerdict, error) {
	raw, err := c.rawReviews(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	var reviews []forges.ReviewVerdict
	for _, r := range raw {
		reviews = append(reviews, forges.ReviewVerdict{
			Author: actor(r.User), State: forges.ReviewState(strings.ToUpper(r.State)),
			Commit: r.CommitID,
		})
	}
	return reviews, nil
}

// rawReviews leaves out a pending review: only its author sees it, and here
// that would be us.
func (c *Conn) rawReviews(ctx context.Context, repo engine.Repo, number int) ([]rawComment, error) {
	if err := checkNumber(number); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/pulls/%d/reviews", number)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("listing the reviews of %s#%d", repo.FullName(), number)
	raw, err := list[rawComment](ctx, c, what, pullsRead, path, nil)
	return slices.DeleteFunc(raw, func(r rawComment) bool { return strings.EqualFold(r.State, string(forges.PendingReview)) }), err
}

// Authors are the accounts behind a pull request's commits.
func (c *Conn) Authors(ctx context.Context, repo engine.Repo, number int) (forges.Authors, error) {
	commits, err := c.pullCommits(ctx, repo, number)
	if err != nil {
		return forges.Authors{}, err
	}
	logins, unresolved := map[string]bool{}, map[string]bool{}
	add := func(account *gogithub.User, signature *gogithub.CommitAuthor) {
		switch {
		case account.GetLogin() != "":
			logins[account.GetLogin()] = true
		default:
			unresolved[signature.GetEmail()] = true
		}
	}
	for _, commit := range commits {
		add(commit.Author, commit.GetCommit().GetAuthor())
		add(commit.Committer, commit.GetCommit().GetCommitter())
	}
	return forges.Authors{Logins: slices.Sorted(maps.Keys(logins)), Unresolved: slices.Sorted(maps.Keys(unresolved))}, nil
}

// pullCommits lists all commits of a pull request. The list of a pull request
// stops at 250, so a longer one is read by comparing.
func (c *Conn) pullCommits(ctx context.Context, repo engine.Repo, number int) ([]*gogithub.RepositoryCommit, error) {
	if err := checkNumber(number); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/pulls/%d/commits", number)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("listing the commits of %s#%d", repo.FullName(), number)
	commits, err := list[*gogithub.RepositoryCommit](ctx, c, what, pullsRead, path, nil)
	if err != nil || len(commits) < pullCommitCap {
		return commits, err
	}
	pull, err := c.pull(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	return c.compare(ctx, repo, what, pull.GetBase().GetSHA(), pull.GetHead().GetSHA())
}
