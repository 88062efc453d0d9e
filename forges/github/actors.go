package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Self is the account this connection writes as.
func (c *Conn) Self(ctx context.Context) (engine.Actor, error) {
	c.mu.Lock()
	known := c.self
	c.mu.Unlock()
	if known.ID != 0 {
		return known, nil
	}
	path, err := c.selfPath(ctx)
	if err != nil {
		return engine.Actor{}, err
	}
	var user gogithub.User
	if err := c.get(ctx, "reading our own account", "", path, &user); err != nil {
		return engine.Actor{}, err
	}
	if user.GetID() <= 0 {
		return engine.Actor{}, errors.New("reading our own account: the answer names none")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = actor(&user)
	return c.self, nil
}

func (c *Conn) selfPath(ctx context.Context) (string, error) {
	login := c.all.config.Login
	if c.all.app != nil {
		var app gogithub.App
		if err := c.all.app.get(ctx, "reading the app", "", "app", &app); err != nil {
			return "", err
		}
		login = app.GetSlug() + "[bot]"
	}
	if login == "" {
		return "user", nil
	}
	if !loginPattern.MatchString(login) {
		return "", fmt.Errorf("github: %q is no login", login)
	}
	return "users/" + url.PathEscape(login), nil
}

// Permission is the highest grant of an account. GitHub gives maintain as
// write and triage as read; what it does not know as one of the four is read
// as no access.
func (c *Conn) Permission(ctx context.Context, repo engine.Repo, login string) (forges.Permission, error) {
	if !loginPattern.MatchString(login) {
		return forges.NoAccess, fmt.Errorf("github: %q is no login", login)
	}
	path, err := c.path(repo, "/collaborators/%s/permission", url.PathEscape(login))
	if err != nil {
		return forges.NoAccess, err
	}
	var level struct {
		Permission string `json:"permission"`
	}
	what := fmt.Sprintf("reading what %s may do in %s", login, repo.FullName())
	if err := c.get(ctx, what, "metadata:read", path, &level); err != nil {
		return forges.NoAccess, err
	}
	switch level.Permission {
	case "admin":
		return forges.Admin, nil
	case "write", "maintain":
		return forges.Write, nil
	case "read", "triage":
		return forges.Read, nil
	}
	return forges.NoAccess, nil
}

// TeamMember tells members: somebody who has not accepted the invitation is
// none, and neither is anybody in a team we cannot see.
func (c *Conn) TeamMember(ctx context.Context, org, team, login string) (bool, error) {
	if !ownerPattern.MatchString(org) || !teamPattern.MatchString(team) || !loginPattern.MatchString(login) {
		return false, fmt.Errorf("github: %q is no member of a team @%s/%s", login, org, team)
	}
	var membership gogithub.Membership
	path := fmt.Sprintf("orgs/%s/teams/%s/memberships/%s", org, url.PathEscape(team), url.PathEscape(login))
	err := c.get(ctx, fmt.Sprintf("reading whether %s is in @%s/%s", login, org, team), "members:read", path, &membership)
	if errors.Is(err, forges.ErrNotFound) {
		return false, nil
	}
	return err == nil && membership.GetState() == "active", err
}
