package forgetest

import (
	"fmt"
	"slices"
	"time"
)

func (d gitlab) peopleRoutes() []route {
	return []route{
		{method: "GET", path: "/user", handle: d.currentUser},
		{method: "GET", path: "/users", handle: d.listUsers},
		{method: "GET", path: "/users/{user}", handle: d.getUser},
		{method: "GET", path: "/projects", handle: d.listProjects},
		{method: "GET", path: "/", repo: true, handle: d.getProject},
		{method: "GET", path: "/members/all/{user}", repo: true, handle: d.getMember},
		{method: "GET", path: "/groups/{group}/members/{user}", handle: d.getGroupMember},
	}
}

func (d gitlab) currentUser(c *call) (int, any, *APIError) {
	return 200, d.renderFullUser(c.grant.user), nil
}

func (d gitlab) listUsers(c *call) (int, any, *APIError) {
	var found []*User
	if u := d.accounts[lower(c.r.URL.Query().Get("username"))]; u != nil && u.Type != typeOrg {
		found = append(found, u)
	}
	return 200, eachOf(c, found, d.renderUser), nil
}

func (d gitlab) getUser(c *call) (int, any, *APIError) {
	u := d.userByID(c.id("user"))
	if u == nil {
		return 0, nil, notFoundAs("User")
	}
	return 200, d.renderFullUser(u), nil
}

func (d gitlab) userByID(id int64) *User {
	for _, u := range d.accounts {
		if u.ID == id && u.Type != typeOrg {
			return u
		}
	}
	return nil
}

// ghost is who wrote what a deleted account wrote.
func (d gitlab) ghost() *User { return d.account("ghost", typeUser) }

func (d gitlab) renderUser(u *User) object {
	if u == nil || u.gone {
		u = d.ghost()
	}
	return object{
		"id": u.ID, "username": u.Login, "name": u.Login, "state": "active", "locked": false,
		"avatar_url": fmt.Sprintf("%s/uploads/-/user/%d.png", d.URL(), u.ID), "web_url": d.URL() + "/" + u.Login,
	}
}

// renderFullUser is an account read alone: only there stands whether it is a bot.
func (d gitlab) renderFullUser(u *User) object {
	o := d.renderUser(u)
	o["bot"], o["created_at"], o["public_email"] = u.Type == typeBot, stamp(d.now()), ""
	return o
}

// accessLevel is GitLab's number of a role; 0 for none. A custom role shows the
// number of what it is based on.
func accessLevel(role string) int {
	switch role {
	case "none":
		return 0
	case "triage":
		return 15
	case "write":
		return 30
	case "maintain":
		return 40
	case "admin":
		return 50
	}
	return 20
}

func (d gitlab) listProjects(c *call) (int, any, *APIError) {
	least := bounded(c.r.URL.Query().Get("min_access_level"), 0, 60)
	repos := slices.DeleteFunc(d.sortedRepos(), func(r *Repo) bool {
		level := d.memberLevel(r, c.grant.user)
		return level == 0 || level < least
	})
	return 200, eachOf(c, repos, d.renderProject), nil
}

func (d gitlab) getProject(c *call) (int, any, *APIError) { return 200, d.renderProject(c.repo), nil }

func (d gitlab) web(r *Repo) string { return d.URL() + "/" + r.fullName() }

func (d gitlab) renderProject(r *Repo) object {
	visibility := "private"
	if r.public {
		visibility = "public"
	}
	full := r.fullName()
	return object{
		"id": r.ID, "name": r.name, "path": nameOf(full), "path_with_namespace": full, "name_with_namespace": full,
		"default_branch": r.defaultBranch, "visibility": visibility, "archived": false, "empty_repo": len(r.refs) == 0,
		"http_url_to_repo": r.cloneURL(), "ssh_url_to_repo": "git@127.0.0.1:" + full + ".git", "web_url": d.web(r),
		"created_at": stamp(r.created),
		"namespace":  object{"id": r.owner.ID, "path": nameOf(namespaceOf(full)), "full_path": namespaceOf(full), "kind": "group"},
	}
}

// memberLevel is the level of a membership, direct or through a group; being
// able to see a public project is none.
func (d gitlab) memberLevel(r *Repo, u *User) int {
	was := r.public
	r.public = false
	defer func() { r.public = was }()
	return accessLevel(r.roleOf(u))
}

// getMember shows a membership, also one that has ended or whose account is
// blocked.
func (d gitlab) getMember(c *call) (int, any, *APIError) {
	u := d.userByID(c.id("user"))
	if u == nil || d.memberLevel(c.repo, u) == 0 {
		return 0, nil, notFoundAs("Member")
	}
	o := d.renderUser(u)
	o["access_level"], o["membership_state"], o["expires_at"] = d.memberLevel(c.repo, u), "active", nil
	if day, ends := d.state.ends[membership{c.repo, u}]; ends {
		o["expires_at"] = day.Format(time.DateOnly)
	}
	return 200, o, nil
}

// getGroupMember shows direct members. Who was only invited is none; who cannot
// see the group gets the same answer.
func (d gitlab) getGroupMember(c *call) (int, any, *APIError) {
	t, u := d.teams[lower(c.params["group"])], d.userByID(c.id("user"))
	if t == nil || u == nil || t.members[u.ID] != "active" {
		return 0, nil, notFoundAs("Member")
	}
	o := d.renderUser(u)
	o["access_level"], o["membership_state"], o["expires_at"] = 30, "active", nil
	return 200, o, nil
}
