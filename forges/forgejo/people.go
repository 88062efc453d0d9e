package forgejo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Self is the account of the token.
func (c *Conn) Self(ctx context.Context) (engine.Actor, error) {
	c.mu.Lock()
	known := c.self
	c.mu.Unlock()
	if known.ID != 0 {
		return known, nil
	}
	const what = "reading our own account"
	user, err := call(ctx, c, request{what, "scope read:user"}, func(client *gitea.Client) (*gitea.User, *gitea.Response, error) {
		return client.GetMyUserInfo()
	})
	if err != nil {
		return engine.Actor{}, err
	}
	if user.ID <= 0 {
		return engine.Actor{}, errors.New(what + ": the answer names none")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = actor(user)
	return c.self, nil
}

// Permission is the highest grant of an account, teams and ownership counted.
// What is none of the levels known is read as no access.
func (c *Conn) Permission(ctx context.Context, repo engine.Repo, login string) (forges.Permission, error) {
	if err := checkName("login", login); err != nil {
		return forges.NoAccess, err
	}
	r := request{
		fmt.Sprintf("reading what %s may do in %s", login, repo.FullName()),
		"administrator of the repository, with the scope read:repository",
	}
	level, err := get(ctx, c, repo, r, func(client *gitea.Client, owner, name string) (*gitea.CollaboratorPermissionResult, *gitea.Response, error) {
		return client.CollaboratorPermission(owner, name, login)
	})
	if err != nil {
		return forges.NoAccess, err
	}
	switch level.Permission {
	case gitea.AccessModeOwner, gitea.AccessModeAdmin:
		return forges.Admin, nil
	case gitea.AccessModeWrite:
		return forges.Write, nil
	case gitea.AccessModeRead:
		return forges.Read, nil
	case gitea.AccessModeNone:
	}
	return forges.NoAccess, nil
}

// TeamMember tells members. Only who is in a team, or owns its organisation, may
// ask; of others the server refuses to tell, which is an error and no answer.
func (c *Conn) TeamMember(ctx context.Context, org, team, login string) (bool, error) {
	if err := errors.Join(checkName("organisation", org), checkName("team", team), checkName("login", login)); err != nil {
		return false, err
	}
	r := request{
		fmt.Sprintf("reading whether %s is in @%s/%s", login, org, team),
		"membership of the team or ownership of the organisation, with the scope read:organization",
	}
	teams, err := list(ctx, c, r, func(client *gitea.Client, at gitea.ListOptions) ([]*gitea.Team, *gitea.Response, error) {
		return client.ListOrgTeams(org, gitea.ListTeamsOptions{ListOptions: at})
	})
	at := slices.IndexFunc(teams, func(t *gitea.Team) bool { return strings.EqualFold(t.Name, team) })
	if err == nil && at >= 0 {
		_, err = call(ctx, c, r, func(client *gitea.Client) (*gitea.User, *gitea.Response, error) {
			return client.GetTeamMember(teams[at].ID, login)
		})
	}
	if errors.Is(err, forges.ErrNotFound) { // no such organisation, or not in the team
		return false, nil
	}
	return err == nil && at >= 0, err
}
