package forgetest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"
)

// nodeID is the GraphQL id of an object, opaque to clients.
func nodeID(kind string, id int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d", kind, id))
}

// stamp is a time, or null.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(time.RFC3339)
}

// textOrNull is a text, or null when empty.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// renderUser is a simple user; null for a deleted account.
func (d github) renderUser(u *User) any {
	if u == nil || u.gone {
		return nil
	}
	api := d.APIURL() + "users/" + url.PathEscape(u.Login)
	o := object{
		"login": u.Login, "id": u.ID, "node_id": nodeID("U", u.ID), "type": u.Type, "site_admin": false,
		"avatar_url": d.URL() + "/avatars/" + fmt.Sprint(u.ID), "gravatar_id": "", "url": api,
		"html_url": d.URL() + "/" + strings.TrimSuffix(u.Login, "[bot]"), "user_view_type": "public",
		"following_url": api + "/following{/other_user}", "gists_url": api + "/gists{/gist_id}",
		"starred_url": api + "/starred{/owner}{/repo}", "events_url": api + "/events{/privacy}",
	}
	for _, name := range []string{"followers", "subscriptions", "repos", "received_events"} {
		o[name+"_url"] = api + "/" + name
	}
	o["organizations_url"] = api + "/orgs"
	return o
}

func (d github) renderOrg(u *User) object {
	api := d.APIURL() + "orgs/" + u.Login
	o := object{
		"login": u.Login, "id": u.ID, "node_id": nodeID("O", u.ID), "url": api, "description": "",
		"avatar_url": d.URL() + "/avatars/" + fmt.Sprint(u.ID), "members_url": api + "/members{/member}",
		"public_members_url": api + "/public_members{/member}",
	}
	for _, name := range []string{"repos", "events", "hooks", "issues"} {
		o[name+"_url"] = api + "/" + name
	}
	return o
}

// apiURL is a repository's address in the API.
func (d github) apiURL(r *Repo, rest string) string {
	return d.APIURL() + "repos/" + r.fullName() + rest
}

func (d github) renderRepo(r *Repo) object {
	web := d.URL() + "/" + r.fullName()
	o := object{
		"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": !r.public,
		"owner": d.renderUser(r.owner), "html_url": web, "description": nil, "fork": r.parent != nil,
		"url": d.apiURL(r, ""), "default_branch": r.defaultBranch, "clone_url": r.cloneURL(), "git_url": r.cloneURL(),
		"ssh_url": "git@127.0.0.1:" + r.fullName() + ".git", "svn_url": web, "homepage": nil, "language": nil,
		"forks_count": 0, "stargazers_count": 0, "watchers_count": 0, "size": 0, "open_issues_count": 0,
		"forks": 0, "open_issues": 0, "watchers": 0, "has_issues": true, "has_projects": true, "has_wiki": false,
		"has_pages": false, "has_downloads": true, "has_discussions": false, "archived": false, "disabled": false,
		"visibility": "private", "is_template": false, "license": nil, "mirror_url": nil, "topics": []string{},
		"allow_forking": true, "web_commit_signoff_required": false, "subscribers_count": 0, "network_count": 0,
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "pushed_at": stamp(r.created),
	}
	if r.public {
		o["visibility"] = "public"
	}
	maps.Copy(o, d.repoLinks(r))
	return o
}

func (d github) repoLinks(r *Repo) object {
	o := object{}
	for name, path := range map[string]string{
		"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}",
		"branches": "/branches{/branch}", "collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}",
		"commits": "/commits{/sha}", "compare": "/compare/{base}...{head}", "contents": "/contents/{+path}",
		"contributors": "/contributors", "deployments": "/deployments", "downloads": "/downloads", "events": "/events",
		"forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}", "git_tags": "/git/tags{/sha}",
		"hooks": "/hooks", "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
		"issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages",
		"merges": "/merges", "milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}",
		"pulls": "/pulls{/number}", "releases": "/releases{/id}", "stargazers": "/stargazers", "statuses": "/statuses/{sha}",
		"subscribers": "/subscribers", "subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}",
	} {
		o[name+"_url"] = d.apiURL(r, path)
	}
	return o
}

// shortRepo is how installation events list repositories.
func shortRepo(r *Repo) object {
	return object{"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": !r.public}
}

func (d github) renderShortRepos(in *Installation) []object {
	list := []object{}
	for _, r := range d.sortedRepos() {
		if in.serves(r) {
			list = append(list, shortRepo(r))
		}
	}
	return list
}

func (in *Installation) selection() string {
	if in.all {
		return "all"
	}
	return "selected"
}

func (d github) renderInstallation(in *Installation) object {
	api := d.APIURL() + "app/installations/" + fmt.Sprint(in.ID)
	o := object{
		"id": in.ID, "account": d.renderUser(in.account), "app_id": in.app.ID, "app_slug": in.app.Slug,
		"target_id": in.account.ID, "target_type": in.account.Type, "permissions": in.permissions,
		"events": in.app.events, "repository_selection": in.selection(), "access_tokens_url": api + "/access_tokens",
		"repositories_url": d.APIURL() + "installation/repositories", "html_url": d.URL() + "/settings/installations/" + fmt.Sprint(in.ID),
		"created_at": stamp(d.now()), "updated_at": stamp(d.now()), "single_file_name": nil, "has_multiple_single_files": false,
		"single_file_paths": []string{}, "suspended_at": nil, "suspended_by": nil, "contact_email": nil,
	}
	if in.suspended {
		o["suspended_at"], o["suspended_by"] = stamp(d.now()), d.renderUser(in.account)
	}
	return o
}

func (d github) renderApp(a *App) object {
	return object{
		"id": a.ID, "slug": a.Slug, "node_id": nodeID("A", a.ID), "client_id": fmt.Sprintf("Iv23li%d", a.ID),
		"owner": d.renderUser(a.owner), "name": a.Slug, "description": nil, "external_url": d.URL(),
		"html_url": d.URL() + "/apps/" + a.Slug, "created_at": stamp(d.now()), "updated_at": stamp(d.now()),
		"permissions": a.permissions, "events": a.events,
	}
}
