package forgejo

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Reviews lists every submitted review, oldest first. Commit and dismissal are
// read here each time: no event holds the one, and none tells of the other
// (test-peers, facts 2 and 3).
func (c *Conn) Reviews(ctx context.Context, repo engine.Repo, number int) ([]forges.ReviewVerdict, error) {
	raw, err := c.rawReviews(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	var reviews []forges.ReviewVerdict
	for _, r := range raw {
		state, ok := reviewState(r)
		if !ok {
			continue
		}
		reviews = append(reviews, forges.ReviewVerdict{
			Author: actor(r.Reviewer), State: state, Commit: r.CommitID,
		})
	}
	return reviews, nil
}

// rawReviews leaves out what was not submitted: only its author sees it, and
// here that would be us.
func (c *Conn) rawReviews(ctx context.Context, repo engine.Repo, number int) ([]*gitea.PullReview, error) {
	if err := checkNumber(number); err != nil {
		return nil, err
	}
	r := request{fmt.Sprintf("listing the reviews of %s#%d", repo.FullName(), number), needsRepository}
	raw, err := every(ctx, c, repo, r, func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]*gitea.PullReview, *gitea.Response, error) {
		return client.ListPullReviews(owner, name, int64(number), gitea.ListPullReviewsOptions{ListOptions: at})
	})
	return slices.DeleteFunc(raw, func(r *gitea.PullReview) bool {
		return r.State == gitea.ReviewStatePending || r.State == gitea.ReviewStateRequestReview
	}), err
}

// Authors are the accounts behind a pull request's commits.
func (c *Conn) Authors(ctx context.Context, repo engine.Repo, number int) (forges.Authors, error) {
	if err := checkNumber(number); err != nil {
		return forges.Authors{}, err
	}
	r := request{fmt.Sprintf("listing the commits of %s#%d", repo.FullName(), number), needsRepository}
	commits, err := every(ctx, c, repo, r, func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]*gitea.Commit, *gitea.Response, error) {
		return client.ListPullRequestCommits(owner, name, int64(number), gitea.ListPullRequestCommitsOptions{ListOptions: at})
	})
	if err != nil {
		return forges.Authors{}, err
	}
	logins, unresolved := map[string]bool{}, map[string]bool{}
	add := func(account *gitea.User, signature *gitea.CommitUser) {
		switch who := actor(account); {
		case who.ID > 0:
			logins[who.Login] = true
		case signature != nil:
			unresolved[signature.Email] = true
		default:
			unresolved[""] = true
		}
	}
	for _, commit := range commits {
		var author, committer *gitea.CommitUser
		if commit.RepoCommit != nil {
			author, committer = commit.RepoCommit.Author, commit.RepoCommit.Committer
		}
		add(commit.Author, author)
		add(commit.Committer, committer)
	}
	return forges.Authors{Logins: slices.Sorted(maps.Keys(logins)), Unresolved: slices.Sorted(maps.Keys(unresolved))}, nil
}
