package forgetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

type rawJSON = json.RawMessage

func peopleRoutes() []route {
	return []route{
		{method: "GET", path: "/user", handle: (*call).self},
		{method: "GET", path: "/user/repos", handle: (*call).ownRepos},
		{method: "GET", path: "/users/{login}", handle: (*call).user},
		{method: "GET", path: "/orgs/{org}/teams/{team}/memberships/{login}", needs: "members:read", handle: (*call).teamMembership},
		{method: "GET", path: "/collaborators/{login}/permission", repo: true, needs: "metadata:read", handle: (*call).permission},
		{method: "GET", path: "/rate_limit", handle: (*call).limits},
	}
}

func (c *call) self() (int, any, *APIError) {
	if c.grant.installation != nil {
		return 0, nil, &APIError{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	}
	return 200, c.profile(c.grant.user), nil
}

func (c *call) ownRepos() (int, any, *APIError) {
	if c.grant.installation != nil {
		return 0, nil, &APIError{Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	}
	list := slices.DeleteFunc(c.f.sortedRepos(), func(r *Repo) bool { return c.repoRole(r) == "none" })
	return 200, eachOf(c, list, c.f.renderRepo), nil
}

func (c *call) user() (int, any, *APIError) {
	u := c.f.accounts[lower(c.params["login"])]
	if u == nil {
		return 0, nil, notFound()
	}
	return 200, c.profile(u), nil
}

// profile is an account as its own endpoint shows it.
func (c *call) profile(u *User) object {
	o, _ := c.f.renderUser(u).(object)
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
func (c *call) teamMembership() (int, any, *APIError) {
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
func (c *call) permission() (int, any, *APIError) {
	u := c.f.accounts[lower(c.params["login"])]
	if u == nil {
		return 0, nil, notFound()
	}
	role := c.repo.roleOf(u)
	shown, _ := c.f.renderUser(u).(object)
	shown["role_name"] = role
	shown["permissions"] = object{
		"pull": atLeast(role, "read"), "triage": atLeast(role, "triage"), "push": atLeast(role, "write"),
		"maintain": atLeast(role, "maintain"), "admin": atLeast(role, "admin"),
	}
	return 200, object{"permission": legacyPermission(role), "role_name": role, "user": shown}, nil
}

func (c *call) limits() (int, any, *APIError) {
	core := object{"limit": rateLimit, "remaining": max(1, rateLimit-c.grant.spent), "used": c.grant.spent, "reset": c.f.now().Unix() + 3600}
	return 200, object{"resources": object{"core": core, "search": core}, "rate": core}, nil
}
