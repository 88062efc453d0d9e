package github

import (
	"context"
	"encoding/json"
	"errors"
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

// Installation is one place the app is installed.
type Installation struct {
	ID        int64
	Account   string
	Suspended bool
	// Granted are the permissions by API name and level.
	Granted map[string]string
	Events  []string
}

// Installations lists where the app is installed; none with a token.
func (all *Connections) Installations(ctx context.Context) ([]Installation, error) {
	if all.app == nil {
		return nil, nil
	}
	found, err := list[rawInstallation](ctx, all.app, "listing installations", "", "app/installations", nil)
	var out []Installation
	for _, in := range found {
		out = append(out, in.installation())
	}
	return out, err
}

// rawInstallation is decoded by hand: go-github drops permissions it does not
// know.
type rawInstallation struct {
	ID          int64             `json:"id"`
	Account     *gogithub.User    `json:"account"`
	SuspendedAt *string           `json:"suspended_at"`
	Permissions map[string]string `json:"permissions"`
	Events      []string          `json:"events"`
	AppSlug     string            `json:"app_slug"`
	Slug        string            `json:"slug"`
}

func (in rawInstallation) installation() Installation {
	return Installation{
		ID: in.ID, Account: in.Account.GetLogin(), Suspended: in.SuspendedAt != nil,
		Granted: in.Permissions, Events: in.Events,
	}
}

// AppInfo is what GitHub knows of the app.
type AppInfo struct {
	Slug        string
	Permissions map[string]string // asked for; an installation may have granted less
	Events      []string
}

// App reads the app itself. It is an error with a token.
func (all *Connections) App(ctx context.Context) (AppInfo, error) {
	if all.app == nil {
		return AppInfo{}, errors.New("github: a token is no app")
	}
	var app rawInstallation
	if err := all.app.get(ctx, "reading the app", "", "app", &app); err != nil {
		return AppInfo{}, err
	}
	return AppInfo{Slug: app.Slug, Permissions: app.Permissions, Events: app.Events}, nil
}
