package forgejo

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Repository reads a repository as it is named now.
func (c *Conn) Repository(ctx context.Context, repo engine.Repo) (engine.Repo, forges.RepoInfo, error) {
	found, err := c.now(ctx, repo)
	if err != nil {
		return engine.Repo{}, forges.RepoInfo{}, err
	}
	clone, err := url.Parse(found.CloneURL)
	if err != nil || clone.User != nil {
		return engine.Repo{}, forges.RepoInfo{}, fmt.Errorf("reading %s: %q is no clone address", repo.Key(), found.CloneURL)
	}
	return c.repo(found), forges.RepoInfo{
		DefaultBranch: found.DefaultBranch, CloneURL: found.CloneURL, HTMLURL: found.HTMLURL,
	}, nil
}

// Installed lists the repositories the token's account has access to.
func (c *Conn) Installed(ctx context.Context) ([]engine.Repo, error) {
	r := request{"listing repositories", "scopes read:repository and read:user"}
	found, err := list(ctx, c, r, func(client *gitea.Client, at gitea.ListOptions) ([]*gitea.Repository, *gitea.Response, error) {
		return client.ListMyRepos(gitea.ListReposOptions{ListOptions: at})
	})
	var repos []engine.Repo
	for _, f := range found {
		repos = append(repos, c.repo(f))
	}
	return repos, err
}

func (c *Conn) repo(r *gitea.Repository) engine.Repo {
	repo := engine.Repo{Instance: c.Instance(), ID: r.ID, Name: r.Name}
	if r.Owner != nil {
		repo.Owner = r.Owner.UserName
	}
	return repo
}

// GitHeader is the header git sends. The server takes a token in place of the
// password, whatever the user's name.
func (c *Conn) GitHeader(_ context.Context, repo engine.Repo) (string, error) {
	if err := c.mine(repo); err != nil {
		return "", err
	}
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+c.config.Token)), nil
}
