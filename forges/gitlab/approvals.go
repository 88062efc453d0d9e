package gitlab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Reviews are the approvals that stand now, one a person: approved_by alone says
// who approved. approvals_left and approved also speak for a merge request that
// nobody looked at, when none is required (forge-facts 2.4). GitLab does not say
// which commit was approved; an approval it took back is not in the list.
//
// ErrNotSupported where the instance has no approvals.
func (c *Conn) Reviews(ctx context.Context, repo engine.Repo, number int) ([]forges.ReviewVerdict, error) {
	pid, iid, err := c.mergeRequest(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("reading the approvals of %s!%d", repo.FullName(), number)
	got, err := answered[*gogitlab.MergeRequestApprovals](what, needsRead)(
		c.client.MergeRequestApprovals.GetConfiguration(pid, iid, with(ctx)))
	if errors.Is(err, forges.ErrNotFound) {
		// The merge request is hidden from us, or it has no such thing.
		if _, hidden := c.read(ctx, repo, number); hidden != nil {
			return nil, err
		}
		return nil, noApprovals(what)
	}
	if err != nil {
		return nil, err
	}
	if got.ApprovedBy == nil { // an empty list is not nil
		return nil, noApprovals(what)
	}
	var reviews []forges.ReviewVerdict
	for _, by := range got.ApprovedBy {
		if by != nil && by.User != nil && by.User.ID > 0 {
			c.saw(by.User)
			reviews = append(reviews, forges.ReviewVerdict{Author: actor(by.User), State: forges.Approved})
		}
	}
	return reviews, nil
}

func noApprovals(what string) error {
	return fmt.Errorf("%s: this GitLab has no approvals, so no review rule can be met here: %w", what, forges.ErrNotSupported)
}

// Authors are the accounts behind a merge request's commits. GitLab joins a
// commit's author with an account, never its committer: who committed has the
// account of a commit they are the author of, by the address, else none.
func (c *Conn) Authors(ctx context.Context, repo engine.Repo, number int) (forges.Authors, error) {
	mr, err := c.read(ctx, repo, number)
	if err != nil {
		return forges.Authors{}, err
	}
	what := fmt.Sprintf("listing the commits of %s!%d", repo.FullName(), number)
	commits, err := list(what, needsRead, func(o gogitlab.ListOptions) ([]*gogitlab.Commit, *gogitlab.Response, error) {
		return c.client.MergeRequests.GetMergeRequestCommits(mr.TargetProjectID, mr.IID,
			&gogitlab.GetMergeRequestCommitsOptions{ListOptions: o}, with(ctx))
	})
	if err != nil {
		return forges.Authors{}, err
	}
	accounts, err := c.commitAuthors(ctx, what, mr.ID)
	if err != nil {
		return forges.Authors{}, err
	}
	logins, byEmail, emails := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, commit := range commits {
		emails[strings.ToLower(commit.AuthorEmail)] = true
		emails[strings.ToLower(commit.CommitterEmail)] = true
		if login := accounts[commit.ID]; login != "" {
			logins[login], byEmail[strings.ToLower(commit.AuthorEmail)] = true, true
		}
	}
	maps.DeleteFunc(emails, func(email string, _ bool) bool { return byEmail[email] })
	return forges.Authors{Logins: slices.Sorted(maps.Keys(logins)), Unresolved: slices.Sorted(maps.Keys(emails))}, nil
}
