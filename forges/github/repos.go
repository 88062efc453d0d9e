package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Repository reads a repository as it is named now.
func (c *Conn) Repository(ctx context.Context, repo engine.Repo) (engine.Repo, forges.RepoInfo, error) {
	path, err := c.path(repo, "")
	if err != nil {
		return engine.Repo{}, forges.RepoInfo{}, err
	}
	var found gogithub.Repository
	if err := c.get(ctx, "reading "+repo.Key(), "metadata:read", path, &found); err != nil {
		return engine.Repo{}, forges.RepoInfo{}, err
	}
	clone, err := url.Parse(found.GetCloneURL())
	if err != nil || found.GetID() <= 0 || clone.User != nil {
		return engine.Repo{}, forges.RepoInfo{}, fmt.Errorf("reading %s: the answer names no repository", repo.Key())
	}
	return c.repo(&found), forges.RepoInfo{
		DefaultBranch: found.GetDefaultBranch(), CloneURL: found.GetCloneURL(), HTMLURL: found.GetHTMLURL(),
	}, nil
}

// Installed lists the repositories of the installation, or those the token's
// account has access to.
func (c *Conn) Installed(ctx context.Context) ([]engine.Repo, error) {
	const what = "listing repositories"
	var repos []engine.Repo
	if c.all.app == nil {
		found, err := list[*gogithub.Repository](ctx, c, what, "", "user/repos", nil)
		for _, r := range found {
			repos = append(repos, c.repo(r))
		}
		return repos, err
	}
	err := c.pages(ctx, what, "metadata:read", "installation/repositories", nil, maxPages, func(data json.RawMessage) error {
		var page gogithub.ListRepositories
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for _, r := range page.Repositories {
			repos = append(repos, c.repo(r))
		}
		return nil
	})
	return repos, err
}
