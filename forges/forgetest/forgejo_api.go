package forgetest

import (
	"net/http"
	"slices"
	"strconv"
)

func (d forgejo) repoRoutes() []route {
	return []route{
		{method: "GET", path: "/repositories/{id}", needs: "repository", handle: d.repoByID},
		{method: "GET", path: "/user/repos", needs: "user", handle: d.ownRepos},
		{method: "GET", path: "/", repo: true, needs: "repository", handle: func(c *call) (int, any, *APIError) {
			return 200, d.renderRepo(c.repo), nil
		}},
		{method: "GET", path: "/commits/{ref}/statuses", repo: true, needs: "repository", handle: d.listStatuses},
		{method: "POST", path: "/statuses/{sha}", repo: true, needs: "repository:write", handle: d.postStatus},
	}
}

func (d forgejo) repoByID(c *call) (int, any, *APIError) {
	r := d.repos[c.id("id")]
	if r == nil || !c.sees(r) {
		return 0, nil, notFound()
	}
	return 200, d.renderRepo(r), nil
}

func (d forgejo) ownRepos(c *call) (int, any, *APIError) {
	list := slices.DeleteFunc(d.sortedRepos(), func(r *Repo) bool {
		return r.access[c.grant.user.ID] == "" && r.owner != c.grant.user && c.repoRole(r) == "none"
	})
	return 200, eachOf(c, list, d.renderRepo), nil
}

// listStatuses has every one, newest first. A commit that is not there is 404.
func (d forgejo) listStatuses(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, notFound()
	}
	return 200, eachOf(c, c.repo.statusesOf(sha), func(s *status) object { return d.renderStatus(c.repo, s) }), nil
}

func (d forgejo) postStatus(c *call) (int, any, *APIError) {
	var ask struct {
		State       string `json:"state"`
		Context     string `json:"context"`
		Description string `json:"description"`
		TargetURL   string `json:"target_url"`
	}
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	s, err := d.addStatus(c.repo, c.params["sha"], Status{
		Context: ask.Context, State: ask.State, Description: ask.Description, TargetURL: ask.TargetURL, Creator: c.grant.user,
	})
	if err != nil {
		return 0, nil, err
	}
	return 201, d.renderStatus(c.repo, s), nil
}

func (d forgejo) peopleRoutes() []route {
	return []route{
		{method: "GET", path: "/user", needs: "user", handle: func(c *call) (int, any, *APIError) {
			return 200, d.renderUser(c.grant.user), nil
		}},
		{method: "GET", path: "/collaborators/{login}/permission", repo: true, needs: "repository", handle: d.permission},
		{method: "GET", path: "/orgs/{org}/teams", needs: "organization", handle: d.orgTeams},
		{method: "GET", path: "/teams/{team}/members/{login}", needs: "organization", handle: d.teamMember},
	}
}

// permission is told to administrators of the repository, and to everybody of
// themselves.
func (d forgejo) permission(c *call) (int, any, *APIError) {
	u := d.accounts[lower(c.params["login"])]
	if u != c.grant.user && c.repoRole(c.repo) != "admin" {
		return 0, nil, denied("Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own")
	}
	if u == nil {
		return 0, nil, notFound()
	}
	role := map[string]string{"triage": "read", "maintain": "write"}[c.repo.roleOf(u)]
	if role == "" {
		role = c.repo.roleOf(u)
	}
	if u == c.repo.owner {
		role = "owner"
	}
	return 200, object{"permission": role, "role_name": role, "user": d.renderUser(u)}, nil
}

// inOrg says whether the caller is in any team of an organisation.
func (d forgejo) inOrg(c *call, org string) bool {
	for _, t := range d.teams {
		if lower(t.Org) == lower(org) && t.members[c.grant.user.ID] == "active" {
			return true
		}
	}
	return false
}

func (d forgejo) orgTeams(c *call) (int, any, *APIError) {
	if d.accounts[lower(c.params["org"])] == nil {
		return 0, nil, notFound()
	}
	if !d.inOrg(c, c.params["org"]) {
		return 0, nil, denied("Must be an organization member")
	}
	var list []*Team
	for _, key := range sortedKeys(d.teams) {
		if t := d.teams[key]; lower(t.Org) == lower(c.params["org"]) {
			list = append(list, t)
		}
	}
	return 200, eachOf(c, list, func(t *Team) object {
		return object{
			"id": t.ID, "name": t.Slug, "description": "", "organization": nil, "includes_all_repositories": false, "permission": "write",
			"units": []string{}, "units_map": object{}, "can_create_org_repo": false,
		}
	}), nil
}

// teamMember is told to members of the team and to owners.
func (d forgejo) teamMember(c *call) (int, any, *APIError) {
	for _, t := range d.teams {
		if strconv.FormatInt(t.ID, 10) != c.params["team"] {
			continue
		}
		owners := d.teams[lower(t.Org, "Owners")]
		owner := owners != nil && owners.members[c.grant.user.ID] == "active"
		switch {
		case t.members[c.grant.user.ID] == "active" || owner:
		case d.inOrg(c, t.Org):
			return 0, nil, denied("Must be a team member")
		default:
			return 0, nil, notFound()
		}
		if u := d.accounts[lower(c.params["login"])]; u != nil && t.members[u.ID] == "active" {
			return http.StatusOK, d.renderUser(u), nil
		}
	}
	return 0, nil, notFound()
}
