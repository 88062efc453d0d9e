package forgetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

type rawJSON = json.RawMessage

func (d github) peopleRoutes() []route {
	return []route{
		{method: "GET", path: "/user", handle: d.self},
		{method: "GET", path: "/user/repos", handle: d.ownRepos},
		{method: "GET", path: "/users/{login}", handle: d.user},
		{method: "GET", path: "/orgs/{org}/teams/{team}/memberships/{login}", needs: "members:read", handle: d.teamMembership},
		{method: "GET", path: "/collaborators/{login}/permission", repo: true, needs: "metadata:read", handle: d.permission},
		{method: "GET", path: "/rate_limit", handle: d.limits},
	}
}

func (d github) self(c *call) (int, any, *APIError) {
	if c.grant.installation != nil {
		return 0, nil, &APIError{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	}
	return 200, d.profile(c, c.grant.user), nil
}

func (d github) ownRepos(c *call) (int, any, *APIError) {
	if c.grant.installation != nil {
		return 0, nil, &APIError{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	}
	list := slices.DeleteFunc(c.f.sortedRepos(), func(r *Repo) bool { return c.repoRole(r) == "none" })
	return 200, eachOf(c, list, d.renderRepo), nil
}

func (d github) user(c *call) (int, any, *APIError) {
	u := c.f.accounts[lower(c.params["login"])]
	if u == nil {
		return 0, nil, notFound()
	}
	return 200, d.profile(c, u), nil
}

// profile is an account as its own endpoint shows it.
func (d github) profile(c *call, u *User) object {
	o, _ := d.renderUser(u).(object)
	for _, name := range []string{"name", "company", "location", "email", "hireable", "bio", "twitter_username"} {
		o[name] = nil
	}
	for _, name := range []string{"public_repos", "public_gists", "followers", "following"} {
		o[name] = 0
	}
	o["blog"], o["created_at"], o["updated_at"] = "", stamp(c.f.now()), stamp(c.f.now())
	return o
}

// teamMembership: a pending invitation is shown as such, and personal accounts
// have no teams.
func (d github) teamMembership(c *call) (int, any, *APIError) {
	team := c.f.teams[lower(c.params["org"], c.params["team"])]
	u := c.f.accounts[lower(c.params["login"])]
	if team == nil || u == nil || team.members[u.ID] == "" {
		return 0, nil, notFound()
	}
	if in := c.grant.installation; in != nil && !strings.EqualFold(in.account.Login, team.Org) {
		return 0, nil, notFound()
	}
	return 200, object{
		"url":  c.f.URL() + c.r.URL.Path,
		"role": "member", "state": team.members[u.ID],
	}, nil
}

// permission answers with the legacy permission and the role beside it.
func (d github) permission(c *call) (int, any, *APIError) {
	u := c.f.accounts[lower(c.params["login"])]
	if u == nil {
		return 0, nil, notFound()
	}
	role := c.repo.roleOf(u)
	shown, _ := d.renderUser(u).(object)
	shown["role_name"] = role
	shown["permissions"] = object{
		"pull": atLeast(role, "read"), "triage": atLeast(role, "triage"), "push": atLeast(role, "write"),
		"maintain": atLeast(role, "maintain"), "admin": atLeast(role, "admin"),
	}
	return 200, object{"permission": legacyPermission(role), "role_name": role, "user": shown}, nil
}

func (d github) limits(c *call) (int, any, *APIError) {
	core := object{"limit": rateLimit, "remaining": max(1, rateLimit-c.grant.spent), "used": c.grant.spent, "reset": c.f.now().Unix() + 3600}
	return 200, object{"resources": object{"core": core, "search": core}, "rate": core}, nil
}
