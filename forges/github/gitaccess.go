package github

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// GitHeader is the header git sends for one repository. An app's token is
// narrowed to that repository and to its contents, so that what runs beside
// git cannot use it for anything else.
func (c *Conn) GitHeader(ctx context.Context, repo engine.Repo) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.all.config.Timeout)
	defer cancel()
	source, err := c.gitSource(ctx, repo)
	if err != nil {
		return "", err
	}
	token, err := source.token(ctx)
	if err != nil {
		return "", fmt.Errorf("git access to %s: %w", repo.FullName(), err)
	}
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)), nil
}

func (c *Conn) gitSource(ctx context.Context, repo engine.Repo) (tokenSource, error) {
	if repo.Instance != c.Instance() {
		return nil, fmt.Errorf("github: %s is not on %s", repo.Key(), c.Instance())
	}
	if c.all.app == nil {
		return c.source, nil
	}
	if repo.ID <= 0 {
		return nil, errors.New("github: git access needs the repository's id")
	}
	level, err := c.contents(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	source, ok := c.git[repo.ID]
	if !ok {
		source = c.all.installationToken(c.id, &gogithub.InstallationTokenOptions{
			RepositoryIDs: []int64{repo.ID},
			Permissions:   &gogithub.InstallationPermissions{Contents: &level},
		})
		c.git[repo.ID] = source
	}
	return source, nil
}

// contents is the level the installation granted: a narrowed token cannot ask
// for more, and where another key pushes, read is enough.
func (c *Conn) contents(ctx context.Context) (string, error) {
	c.mu.Lock()
	known := c.access
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	var in gogithub.Installation
	path := fmt.Sprintf("app/installations/%d", c.id)
	if err := c.all.app.get(ctx, "reading what the installation was granted", "", path, &in); err != nil {
		return "", err
	}
	level := in.GetPermissions().GetContents()
	if level == "" {
		return "", &forges.Forbidden{Call: "git access", Permission: "contents:read"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.access = level
	return level, nil
}
