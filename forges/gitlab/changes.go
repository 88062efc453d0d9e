package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
)

// Change reads one merge request.
func (c *Conn) Change(ctx context.Context, repo engine.Repo, number int) (engine.Change, error) {
	mr, err := c.read(ctx, repo, number)
	if err != nil {
		return engine.Change{}, err
	}
	change := c.change(repo, &mr.BasicMergeRequest)
	change.FirstTimer = mr.FirstContribution
	change.Author.Bot, err = c.isBot(ctx, change.Author.ID)
	return change, err
}

// FirstTimer is what GitLab said with the change.
func (c *Conn) FirstTimer(_ context.Context, change engine.Change) (bool, error) {
	return change.FirstTimer, nil
}

func (c *Conn) read(ctx context.Context, repo engine.Repo, number int) (*gogitlab.MergeRequest, error) {
	pid, iid, err := c.mergeRequest(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("reading %s!%d", repo.FullName(), number)
	mr, err := answered[*gogitlab.MergeRequest](what, needsRead)(c.client.MergeRequests.GetMergeRequest(pid, iid, nil, with(ctx)))
	if err == nil && mr.SHA == "" { // GitLab still prepares it (forge-facts 2.3)
		err = fmt.Errorf("%s: GitLab does not know its head yet", what)
	}
	return mr, err
}

// OpenChanges lists the open merge requests, oldest first. Oldest first because
// one that closes while the list is read then moves no other page forward. What
// only a merge request read alone tells is left out: the base's sha, whether the
// author is a bot or new here.
func (c *Conn) OpenChanges(ctx context.Context, repo engine.Repo) ([]engine.Change, error) {
	pid, err := c.project(ctx, repo)
	if err != nil {
		return nil, err
	}
	found, err := list("listing the open merge requests of "+repo.FullName(), needsRead,
		func(o gogitlab.ListOptions) ([]*gogitlab.BasicMergeRequest, *gogitlab.Response, error) {
			return c.client.MergeRequests.ListProjectMergeRequests(pid, &gogitlab.ListProjectMergeRequestsOptions{
				ListOptions: o, State: new("opened"), OrderBy: new("created_at"), Sort: new("asc"), Scope: new("all"),
			}, with(ctx))
		})
	return c.changes(repo, found), err
}

// ChangesOfCommit lists the merge requests GitLab relates to a commit: those it
// is part of, and those whose merge or squash commit it is.
func (c *Conn) ChangesOfCommit(ctx context.Context, repo engine.Repo, sha string) ([]engine.Change, error) {
	pid, err := c.commit(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	found, err := c.mergeRequestsOf(ctx, pid, sha)
	return c.changes(repo, found), err
}

func (c *Conn) mergeRequestsOf(ctx context.Context, pid int64, sha string) ([]*gogitlab.BasicMergeRequest, error) {
	return list("listing the merge requests of "+sha, needsRead,
		func(o gogitlab.ListOptions) ([]*gogitlab.BasicMergeRequest, *gogitlab.Response, error) {
			return c.client.Commits.ListMergeRequestsByCommit(pid, sha, gogitlab.WithOffsetPaginationParameters(o.Page), with(ctx))
		})
}

func (c *Conn) changes(repo engine.Repo, found []*gogitlab.BasicMergeRequest) []engine.Change {
	seen := map[int64]bool{} // a list that moves while it is read repeats items
	var changes []engine.Change
	for _, mr := range found {
		if !seen[mr.ID] {
			seen[mr.ID] = true
			changes = append(changes, c.change(repo, mr))
		}
	}
	return changes
}

// change maps a merge request, from a list or alone.
func (c *Conn) change(repo engine.Repo, mr *gogitlab.BasicMergeRequest) engine.Change {
	change := engine.Change{
		Repo: c.target(repo, mr), Number: int(mr.IID),
		Head: mr.SHA, BaseBranch: mr.TargetBranch,
		Author: actor(mr.Author), Draft: mr.Draft, State: engine.Open,
		// A deleted fork leaves no source project.
		Fork: mr.SourceProjectID != mr.TargetProjectID,
	}
	switch mr.State {
	case "merged":
		change.State, change.MergeCommit = engine.Merged, landed(mr)
		change.MergedBy = actor(mr.MergeUser)
	case "closed":
		change.State = engine.Closed
	} // "locked" is an open one that is being merged
	return change
}

// landed is the commit a merge left on the target branch: a merge commit when
// the method makes one, else the squashed commit, else the head after its rebase
// (forge-facts 2.3).
func landed(mr *gogitlab.BasicMergeRequest) string {
	return cmp.Or(mr.MergeCommitSHA, mr.SquashCommitSHA, mr.SHA)
}

// target is the repository a merge request is for, under its present names,
// which stand in the full reference ("group/name!1").
func (c *Conn) target(repo engine.Repo, mr *gogitlab.BasicMergeRequest) engine.Repo {
	repo.ID = cmp.Or(mr.TargetProjectID, mr.ProjectID, repo.ID)
	if mr.References == nil {
		return repo
	}
	if full, _, ok := strings.Cut(mr.References.Full, "!"); ok && strings.Contains(full, "/") {
		return c.named(repo.ID, full)
	}
	return repo
}
