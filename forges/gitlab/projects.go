package gitlab

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Repository reads a project as it is named now.
func (c *Conn) Repository(ctx context.Context, repo engine.Repo) (engine.Repo, forges.RepoInfo, error) {
	if repo.Instance != c.Instance() {
		return engine.Repo{}, forges.RepoInfo{}, fmt.Errorf("gitlab: %s is not on %s", repo.Key(), c.Instance())
	}
	found, err := c.readProject(ctx, repo)
	if err != nil {
		return engine.Repo{}, forges.RepoInfo{}, err
	}
	clone, err := url.Parse(found.HTTPURLToRepo)
	if err != nil || clone.Host == "" || clone.User != nil {
		return engine.Repo{}, forges.RepoInfo{}, fmt.Errorf("reading %s: the answer names no address to clone from", repo.Key())
	}
	return c.named(found.ID, found.PathWithNamespace), forges.RepoInfo{
		DefaultBranch: found.DefaultBranch, CloneURL: found.HTTPURLToRepo, HTMLURL: found.WebURL,
	}, nil
}

func (c *Conn) readProject(ctx context.Context, repo engine.Repo) (*gogitlab.Project, error) {
	var pid any = repo.ID
	what := "reading " + repo.Key()
	if repo.ID <= 0 {
		if err := checkPath(repo.FullName()); err != nil {
			return nil, err
		}
		pid, what = repo.FullName(), "reading "+repo.FullName()
	}
	found, err := answered[*gogitlab.Project](what, needsRead)(c.client.Projects.GetProject(pid, nil, with(ctx)))
	if err == nil && (found.ID <= 0 || found.PathWithNamespace == "") {
		err = fmt.Errorf("%s: the answer names no project", what)
	}
	return found, err
}

// named splits a full path; the namespace may hold more slashes.
func (c *Conn) named(id int64, fullPath string) engine.Repo {
	return engine.Repo{Instance: c.Instance(), ID: id, Owner: path.Dir(fullPath), Name: path.Base(fullPath)}
}

// Installed lists the projects the token's account is a member of, by itself or
// through a group, as a Developer at least: with less no status can be written.
func (c *Conn) Installed(ctx context.Context) ([]engine.Repo, error) {
	projects, err := list("listing projects", needsRead, func(o gogitlab.ListOptions) ([]*gogitlab.Project, *gogitlab.Response, error) {
		return c.client.Projects.ListProjects(&gogitlab.ListProjectsOptions{
			ListOptions: o, Membership: new(true), Archived: new(false), Simple: new(true),
			MinAccessLevel: new(gogitlab.DeveloperPermissions),
			// One that is made while the list is read then moves no other.
			OrderBy: new("id"), Sort: new("asc"),
		}, with(ctx))
	})
	var repos []engine.Repo
	for _, p := range projects {
		repos = append(repos, c.named(p.ID, p.PathWithNamespace))
	}
	return repos, err
}

// GitHeader is the header git sends. GitLab takes a token under any user name
// and cannot narrow it to one project.
func (c *Conn) GitHeader(_ context.Context, repo engine.Repo) (string, error) {
	if repo.Instance != c.Instance() {
		return "", fmt.Errorf("gitlab: %s is not on %s", repo.Key(), c.Instance())
	}
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("oauth2:"+c.config.Token)), nil
}

// page is the address of a page of a project, by its names: GitLab redirects
// former ones.
func (c *Conn) page(ctx context.Context, repo engine.Repo, format string, args ...any) (string, error) {
	if repo.Owner == "" || repo.Name == "" {
		found, err := c.readProject(ctx, repo)
		if err != nil {
			return "", err
		}
		repo = c.named(found.ID, found.PathWithNamespace)
	}
	return strings.TrimSuffix(c.root.String(), "/") + "/" + repo.FullName() + "/-/" + fmt.Sprintf(format, args...), nil
}
