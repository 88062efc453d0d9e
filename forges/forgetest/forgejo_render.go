package forgetest

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// draftPrefix of a title makes a draft.
const draftPrefix = "WIP: "

// noTime is how the servers write a time that never was.
const noTime = "0001-01-01T00:00:00Z"

// renderUser is an account. A deleted one is the ghost, and never null.
func (d forgejo) renderUser(u *User) object {
	id, login, email := int64(-1), "Ghost", ""
	if u != nil && !u.gone {
		id, login, email = u.ID, u.Login, u.Person().Email
	}
	return object{
		"id": id, "login": login, "login_name": "", "source_id": 0, "full_name": "", "email": email,
		"avatar_url": d.URL() + "/avatars/" + login, "html_url": d.URL() + "/" + login, "language": "", "is_admin": false,
		"last_login": noTime, "created": stamp(d.now()), "restricted": false, "active": false, "prohibit_login": false,
		"location": "", "pronouns": "", "website": "", "description": "", "visibility": "public",
		"followers_count": 0, "following_count": 0, "starred_repos_count": 0, "username": login,
	}
}

func (d forgejo) renderRepo(r *Repo) object {
	web := d.URL() + "/" + r.fullName()
	api := d.APIURL() + "repos/" + r.fullName()
	return object{
		"id": r.ID, "owner": d.renderUser(r.owner), "name": r.name, "full_name": r.fullName(), "description": "",
		"empty": len(r.refs) == 0, "private": !r.public, "fork": r.parent != nil, "template": false, "parent": nil, "mirror": false,
		"size": 25, "language": "", "languages_url": api + "/languages", "html_url": web, "url": api, "link": "",
		"ssh_url": "ssh://git@localhost/" + r.fullName() + ".git", "clone_url": r.cloneURL(), "original_url": "", "website": "",
		"stars_count": 0, "forks_count": 0, "watchers_count": 1, "open_issues_count": 0, "open_pr_counter": 0, "release_counter": 0,
		"default_branch": r.defaultBranch, "archived": false, "created_at": stamp(r.created), "updated_at": stamp(r.created),
		"archived_at": "1970-01-01T00:00:00Z", "permissions": object{"admin": false, "push": false, "pull": false}, "has_issues": true,
		"internal_tracker": object{"enable_time_tracker": true, "allow_only_contributors_to_track_time": true, "enable_issue_dependencies": true},
		"has_wiki":         true, "wiki_branch": "main", "globally_editable_wiki": false, "has_pull_requests": true, "has_projects": true,
		"has_releases": true, "has_packages": true, "has_actions": true, "ignore_whitespace_conflicts": false,
		"allow_merge_commits": true, "allow_rebase": true, "allow_rebase_explicit": true, "allow_squash_merge": true,
		"allow_fast_forward_only_merge": true, "allow_rebase_update": true, "default_delete_branch_after_merge": false,
		"default_merge_style": "merge", "default_allow_maintainer_edit": false, "default_update_style": "merge",
		"avatar_url": "", "internal": false, "mirror_interval": "", "object_format_name": "sha1", "mirror_updated": noTime,
		"repo_transfer": nil, "topics": nil,
	}
}

func shownTitle(p *Pull) string {
	if p.draft {
		return draftPrefix + p.title
	}
	return p.title
}

// renderPull is a pull request, in a list and alone. Mergeability is found out
// in the background and is no fact. Once merged, the base is at the merge.
func (d forgejo) renderPull(p *Pull) object {
	reviewers := []object{}
	for _, r := range p.requested {
		reviewers = append(reviewers, d.renderUser(r.of))
	}
	o := object{
		"id": p.id, "url": p.htmlURL(), "number": p.Number, "user": d.renderUser(p.author), "title": shownTitle(p), "body": p.body,
		"labels": []object{}, "milestone": nil, "assignee": nil, "assignees": nil, "requested_reviewers": reviewers,
		"requested_reviewers_teams": []object{}, "state": p.state, "draft": p.draft, "is_locked": false,
		"comments":        len(p.Repo.commentsOf(IssueComment, func(c *comment) bool { return c.pull == p })),
		"review_comments": len(p.Repo.commentsOf(ReviewComment, func(c *comment) bool { return c.pull == p })),
		"additions":       1, "deletions": 0, "changed_files": 1, "html_url": p.htmlURL(), "diff_url": p.htmlURL() + ".diff",
		"patch_url": p.htmlURL() + ".patch", "mergeable": p.checked && p.mergeable != nil && *p.mergeable, "merged": !p.mergedAt.IsZero(),
		"merged_at": stamp(p.mergedAt), "merge_commit_sha": textOrNull(p.landed), "merged_by": nil, "allow_maintainer_edit": false,
		"base": d.renderBase(p), "head": d.renderHead(p), "merge_base": p.base.sha, "due_date": nil,
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closedAt), "pin_order": 0,
	}
	if p.mergedBy != nil {
		o["merged_by"] = d.renderUser(p.mergedBy)
	}
	if d.family.flow {
		o["flow"] = 0
		if p.head.branch == "" {
			o["flow"] = 1
		}
	}
	return o
}

func (d forgejo) renderBase(p *Pull) object {
	return object{
		"label": p.base.branch, "ref": p.base.branch, "sha": p.Repo.refs["refs/heads/"+p.base.branch].commit,
		"repo_id": p.Repo.ID, "repo": d.renderRepo(p.Repo),
	}
}

// renderHead: the label holds no owner, and nothing at all for what was pushed
// without a branch. A branch that is gone leaves the pull request's own
// reference.
func (d forgejo) renderHead(p *Pull) object {
	o := object{"label": p.head.branch, "ref": p.headRef(), "sha": p.head.sha, "repo_id": -1, "repo": nil}
	if p.head.repo == nil {
		return o
	}
	o["repo_id"], o["repo"] = p.head.repo.ID, d.renderRepo(p.head.repo)
	if _, ok := p.head.repo.refs["refs/heads/"+p.head.branch]; ok {
		o["ref"] = p.head.branch
	}
	return o
}

// renderIssue is the issue behind a pull request: it has no head.
func (d forgejo) renderIssue(p *Pull) object {
	return object{
		"id": p.id, "url": d.APIURL() + "repos/" + p.Repo.fullName() + fmt.Sprintf("/issues/%d", p.Number), "html_url": p.htmlURL(),
		"number": p.Number, "user": d.renderUser(p.author), "original_author": "", "original_author_id": 0, "title": shownTitle(p),
		"body": p.body, "ref": "", "assets": []object{}, "labels": []object{}, "milestone": nil, "assignee": nil, "assignees": nil,
		"state": p.state, "is_locked": false, "comments": len(p.Repo.commentsOf(IssueComment, func(c *comment) bool { return c.pull == p })),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closedAt), "due_date": nil,
		"pull_request": object{"merged": !p.mergedAt.IsZero(), "merged_at": stamp(p.mergedAt), "draft": p.draft, "html_url": p.htmlURL()},
		"repository":   object{"id": p.Repo.ID, "name": p.Repo.name, "owner": p.Repo.owner.Login, "full_name": p.Repo.fullName()},
		"pin_order":    0,
	}
}

func (d forgejo) renderComment(c *comment) object {
	return object{
		"id": c.id, "html_url": c.htmlURL(), "pull_request_url": c.pull.htmlURL(), "issue_url": "", "user": d.renderUser(c.author),
		"original_author": "", "original_author_id": 0, "body": c.body, "assets": []object{},
		"created_at": stamp(c.created), "updated_at": stamp(c.updated),
	}
}

// renderInline is a comment on code, as its review lists it.
func (d forgejo) renderInline(c *comment) object {
	return object{
		"id": c.id, "body": c.body, "user": d.renderUser(c.author), "resolver": nil, "pull_request_review_id": c.review,
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "path": c.path, "commit_id": c.sha, "original_commit_id": "",
		"diff_hunk": "@@ -1 +1 @@", "position": c.line, "original_position": 0, "html_url": c.htmlURL(), "pull_request_url": c.pull.htmlURL(),
	}
}

// renderReview: a dismissed one keeps its verdict and is marked beside it.
func (d forgejo) renderReview(v *review) object {
	state := v.state
	if state == "DISMISSED" {
		state = v.was
	}
	states := map[string]string{"CHANGES_REQUESTED": "REQUEST_CHANGES", "COMMENTED": "COMMENT"}
	if other, ok := states[state]; ok {
		state = other
	}
	return object{
		"id": v.id, "user": d.renderUser(v.author), "team": nil, "state": state, "body": v.body, "commit_id": v.sha,
		"stale": v.sha != v.pull.head.sha, "official": state == "APPROVED", "dismissed": v.state == "DISMISSED",
		"comments_count": len(v.pull.Repo.commentsOf(ReviewComment, func(c *comment) bool { return c.review == v.id })),
		"submitted_at":   v.submitted.Format(time.RFC3339), "updated_at": v.submitted.Format(time.RFC3339),
		"html_url": v.htmlURL(), "pull_request_url": v.pull.htmlURL(),
	}
}

// renderStatus: the id counts the statuses of one commit.
func (d forgejo) renderStatus(r *Repo, s *status) object {
	newestFirst := r.statusesOf(s.sha)
	return object{
		"id": len(newestFirst) - slices.Index(newestFirst, s), "status": s.State, "target_url": s.TargetURL, "description": s.Description,
		"url": d.APIURL() + "repos/" + r.fullName() + "/statuses/" + s.sha, "context": s.Context, "creator": d.renderUser(s.Creator),
		"created_at": stamp(s.at), "updated_at": stamp(s.at),
	}
}

// renderCommit is a commit of the API; author and committer are null when the
// address maps to no account.
func (d forgejo) renderCommit(r *Repo, c commitInfo) object {
	api := d.APIURL() + "repos/" + r.fullName() + "/git/commits/" + c.sha
	account := func(p Person) any {
		if u := d.emails[lower(p.Email)]; u != nil && !u.gone {
			return d.renderUser(u)
		}
		return nil
	}
	return object{
		"url": api, "sha": c.sha, "created": c.at, "html_url": d.URL() + "/" + r.fullName() + "/commit/" + c.sha,
		"author": account(c.author), "committer": account(c.committer), "parents": []object{}, "files": []object{}, "stats": nil,
		"commit": object{
			"url": api, "message": c.message + "\n", "tree": object{"url": api, "sha": c.tree, "created": c.at}, "verification": nil,
			"author":    object{"name": c.author.Name, "email": c.author.Email, "date": c.authored},
			"committer": object{"name": c.committer.Name, "email": c.committer.Email, "date": c.at},
		},
	}
}

func (d forgejo) renderPush(ctx context.Context, e event) (object, error) {
	web, c := d.URL()+"/"+e.repo.fullName(), e.ref
	payload := object{
		"ref": c.name, "before": orZero(c.old.object), "after": orZero(c.new.object),
		"compare_url": fmt.Sprintf("%s/compare/%s...%s", web, orZero(c.old.commit), orZero(c.new.commit)),
		"commits":     []object{}, "total_commits": 0, "head_commit": nil, "pusher": d.renderUser(e.by),
	}
	if c.new.commit == "" {
		return payload, nil
	}
	head, err := d.pushCommits(ctx, e.repo, []string{c.new.commit})
	if err != nil {
		return nil, err
	}
	payload["head_commit"] = head[0]
	if isTag(c.name) {
		return payload, nil
	}
	span := []string{c.new.commit, "^" + c.old.commit}
	if c.old.commit == "" {
		span = e.repo.newOnBranch(c)
	}
	shas, err := e.repo.revList(ctx, span...)
	if err != nil {
		return nil, err
	}
	slices.Reverse(shas)
	payload["total_commits"] = len(shas)
	payload["commits"], err = d.pushCommits(ctx, e.repo, shas[:min(len(shas), maxFeed)])
	return payload, err
}

// maxFeed is how many commits a push lists, newest first.
const maxFeed = 5

// pushCommits are commits as a push lists them, with their files.
func (d forgejo) pushCommits(ctx context.Context, r *Repo, shas []string) ([]object, error) {
	list, err := r.pushCommits(ctx, shas)
	for _, o := range list {
		o["verification"] = nil
		delete(o, "tree_id")
		delete(o, "distinct")
	}
	return list, err
}
