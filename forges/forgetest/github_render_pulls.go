package forgetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// renderPullItem is a pull request as lists show it: without merged,
// mergeable and the counts.
func (d github) renderPullItem(p *Pull) object {
	api := d.apiURL(p.Repo, fmt.Sprintf("/pulls/%d", p.Number))
	issue := d.apiURL(p.Repo, fmt.Sprintf("/issues/%d", p.Number))
	o := object{
		"id": p.id, "node_id": nodeID("PR", p.id), "number": p.Number, "state": p.state, "locked": false,
		"title": p.title, "user": d.renderUser(p.author), "body": textOrNull(p.body), "draft": p.draft,
		"url": api, "html_url": p.htmlURL(), "diff_url": p.htmlURL() + ".diff", "patch_url": p.htmlURL() + ".patch",
		"issue_url": issue, "comments_url": issue + "/comments", "commits_url": api + "/commits",
		"review_comments_url": api + "/comments", "review_comment_url": d.apiURL(p.Repo, "/pulls/comments{/number}"),
		"statuses_url": d.apiURL(p.Repo, "/statuses/"+p.head.sha),
		"created_at":   stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closedAt), "merged_at": stamp(p.mergedAt),
		"merge_commit_sha": p.mergeSHA(), "assignee": nil, "assignees": []object{}, "requested_reviewers": []object{},
		"requested_teams": []object{}, "labels": []object{}, "milestone": nil, "auto_merge": nil, "active_lock_reason": nil,
		"author_association": p.association(), "head": d.renderBranch(p.head, p.author), "base": d.renderBranch(p.base, nil),
	}
	o["_links"] = object{
		"self": href(api), "html": href(p.htmlURL()), "issue": href(issue), "comments": href(issue + "/comments"),
		"review_comments": href(api + "/comments"), "review_comment": href(d.apiURL(p.Repo, "/pulls/comments{/number}")),
		"commits": href(api + "/commits"), "statuses": href(d.apiURL(p.Repo, "/statuses/"+p.head.sha)),
	}
	return o
}

func href(url string) object { return object{"href": url} }

// mergeSHA is the test merge before and the landed commit after merging.
func (p *Pull) mergeSHA() any {
	if p.landed != "" {
		return p.landed
	}
	return textOrNull(p.testMerge)
}

// association is what GitHub says of the author here. It is no authority.
func (p *Pull) association() string {
	if p.author == p.Repo.owner {
		return "OWNER"
	}
	if role := p.Repo.access[p.author.ID]; role != "" && role != "none" {
		return "COLLABORATOR"
	}
	first := "FIRST_TIMER"
	for _, r := range p.f.repos {
		for _, other := range r.pulls {
			if other.author != p.author || other.mergedAt.IsZero() {
				continue
			}
			if r == p.Repo {
				return "CONTRIBUTOR"
			}
			first = "FIRST_TIME_CONTRIBUTOR"
		}
	}
	return first
}

func (d github) renderBranch(b branchRef, author *User) object {
	o := object{"ref": b.branch, "sha": b.sha, "label": b.branch, "user": nil, "repo": nil}
	if author != nil {
		o["label"] = author.Login + ":" + b.branch
	}
	if b.repo != nil {
		o["label"] = b.repo.owner.Login + ":" + b.branch
		o["user"], o["repo"] = d.renderUser(b.repo.owner), d.renderRepo(b.repo)
	}
	return o
}

// renderPull is a pull request as GET and webhooks show it.
func (d github) renderPull(p *Pull) object {
	o := d.renderPullItem(p)
	commits, err := p.commitsOf(d.life)
	if err != nil {
		commits = nil // the shape matters more than the count
	}
	o["merged"], o["merged_by"] = !p.mergedAt.IsZero(), d.renderUser(p.mergedBy)
	o["mergeable"], o["rebaseable"], o["mergeable_state"] = nil, nil, "unknown"
	if p.checked && p.mergeable != nil {
		o["mergeable"], o["rebaseable"], o["mergeable_state"] = *p.mergeable, *p.mergeable, "clean"
	}
	o["comments"] = len(p.Repo.commentsOf(IssueComment, func(c *comment) bool { return c.pull == p }))
	o["review_comments"] = len(p.Repo.commentsOf(ReviewComment, func(c *comment) bool { return c.pull == p }))
	o["maintainer_can_modify"], o["commits"] = false, len(commits)
	o["additions"], o["deletions"], o["changed_files"] = 1, 0, 1
	return o
}

// renderIssue is the issue behind a pull request: it has no head, no base and
// no draft state worth reading.
func (d github) renderIssue(p *Pull) object {
	api := d.apiURL(p.Repo, fmt.Sprintf("/issues/%d", p.Number))
	return object{
		"reactions": d.renderReactions(api, nil), "timeline_url": api + "/timeline", "state_reason": nil,
		"id": p.id + 1_000_000, "node_id": nodeID("I", p.id), "number": p.Number, "title": p.title, "state": p.state,
		"user": d.renderUser(p.author), "body": textOrNull(p.body), "url": api, "html_url": p.htmlURL(),
		"repository_url": d.apiURL(p.Repo, ""), "labels_url": api + "/labels{/name}", "comments_url": api + "/comments",
		"events_url": api + "/events", "labels": []object{}, "assignee": nil, "assignees": []object{}, "milestone": nil,
		"locked": false, "active_lock_reason": nil, "author_association": p.association(), "draft": p.draft,
		"comments":   len(p.Repo.commentsOf(IssueComment, func(c *comment) bool { return c.pull == p })),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closedAt),
		"pull_request": object{
			"url": d.apiURL(p.Repo, fmt.Sprintf("/pulls/%d", p.Number)), "html_url": p.htmlURL(),
			"diff_url": p.htmlURL() + ".diff", "patch_url": p.htmlURL() + ".patch", "merged_at": stamp(p.mergedAt),
		},
	}
}

func (d github) renderReview(v *review) object {
	api := d.apiURL(v.pull.Repo, fmt.Sprintf("/pulls/%d", v.pull.Number))
	o := object{
		"id": v.id, "node_id": nodeID("PRR", v.id), "user": d.renderUser(v.author), "body": v.body, "state": v.state,
		"html_url": v.htmlURL(), "pull_request_url": api, "commit_id": v.sha, "author_association": "NONE",
		"_links": object{"html": href(v.htmlURL()), "pull_request": href(api)},
	}
	if !v.submitted.IsZero() {
		o["submitted_at"] = stamp(v.submitted)
	}
	return o
}

func (d github) renderComment(c *comment) object {
	o := object{
		"id": c.id, "node_id": nodeID(string(c.kind), c.id), "body": c.body, "user": d.renderUser(c.author),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "html_url": c.htmlURL(),
		"author_association": "NONE", "reactions": d.renderReactions(d.apiURL(c.repo, fmt.Sprintf("/comments/%d", c.id)), c.reactions),
	}
	switch c.kind {
	case IssueComment:
		o["url"] = d.apiURL(c.repo, fmt.Sprintf("/issues/comments/%d", c.id))
		o["issue_url"] = d.apiURL(c.repo, fmt.Sprintf("/issues/%d", c.pull.Number))
		o["performed_via_github_app"] = nil
		if c.via != nil {
			o["performed_via_github_app"] = d.renderApp(c.via)
		}
	case ReviewComment:
		maps.Copy(o, d.renderInline(c))
	case CommitComment:
		o["url"] = d.apiURL(c.repo, fmt.Sprintf("/comments/%d", c.id))
		o["commit_id"], o["path"], o["position"], o["line"] = c.sha, nil, nil, nil
	}
	return o
}

func (d github) renderInline(c *comment) object {
	api := d.apiURL(c.repo, fmt.Sprintf("/pulls/%d", c.pull.Number))
	self := d.apiURL(c.repo, fmt.Sprintf("/pulls/comments/%d", c.id))
	o := object{
		"url": self, "pull_request_url": api, "pull_request_review_id": c.review, "diff_hunk": "@@ -1 +1 @@",
		"path": c.path, "commit_id": c.pull.head.sha, "original_commit_id": c.sha, "line": c.line, "original_line": c.line,
		"position": 1, "original_position": 1, "side": "RIGHT", "start_line": nil, "original_start_line": nil,
		"start_side": nil, "subject_type": "line",
		"_links": object{"self": href(self), "html": href(c.htmlURL()), "pull_request": href(api)},
	}
	if c.inReply != 0 {
		o["in_reply_to_id"] = c.inReply
	}
	return o
}

// renderReactions counts reactions by content.
func (d github) renderReactions(api string, given []reaction) object {
	o := object{"url": api + "/reactions", "total_count": len(given)}
	for _, content := range d.habits().reactions {
		o[content] = 0
	}
	for _, r := range given {
		n, _ := o[r.content].(int)
		o[r.content] = n + 1
	}
	return o
}

func (d github) renderReaction(r reaction) object {
	return object{
		"id": r.id, "node_id": nodeID("REA", r.id), "user": d.renderUser(r.by),
		"content": r.content, "created_at": stamp(r.at),
	}
}

func (d github) renderStatus(r *Repo, s *status) object {
	return object{
		"id": s.ID, "node_id": nodeID("SC", s.ID), "url": d.apiURL(r, "/statuses/"+s.sha), "avatar_url": nil,
		"state": s.State, "description": textOrNull(s.Description), "target_url": textOrNull(s.TargetURL),
		"context": s.Context, "created_at": stamp(s.at), "updated_at": stamp(s.at), "creator": d.renderUser(s.Creator),
	}
}

// pullsWithHead are the open pull requests of this repository's own branches
// at a commit; those from forks never show here.
func (d github) pullsWithHead(r *Repo, sha string) []object {
	list := []object{}
	for n := 1; n <= r.lastNumber; n++ {
		p := r.pulls[n]
		if p == nil || p.state != "open" || p.head.repo != r || p.head.sha != sha {
			continue
		}
		short := func(b branchRef) object {
			return object{"ref": b.branch, "sha": b.sha, "repo": object{"id": r.ID, "name": r.name, "url": d.apiURL(r, "")}}
		}
		list = append(list, object{
			"id": p.id, "number": p.Number, "url": d.apiURL(r, fmt.Sprintf("/pulls/%d", p.Number)),
			"head": short(p.head), "base": short(p.base),
		})
	}
	return list
}

func (r *Repo) headBranch(sha string) any {
	for _, name := range sortedKeys(r.refs) {
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && r.refs[name].commit == sha {
			return short
		}
	}
	return nil // also for the head of a fork
}

func (d github) renderCheck(r *Repo, run *checkRun, hook bool) object {
	o := object{
		"id": run.ID, "node_id": nodeID("CR", run.ID), "name": run.Name, "head_sha": run.sha, "external_id": "",
		"status": run.Status, "conclusion": textOrNull(run.Conclusion), "url": d.apiURL(r, fmt.Sprintf("/check-runs/%d", run.ID)),
		"html_url": run.htmlURL(r), "details_url": run.htmlURL(r), "started_at": stamp(run.started), "completed_at": stamp(run.completed),
		"check_suite": object{"id": run.suite}, "app": d.actionsApp(), "pull_requests": d.pullsWithHead(r, run.sha),
		"output": object{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": d.apiURL(r, fmt.Sprintf("/check-runs/%d/annotations", run.ID))},
	}
	if hook {
		o["check_suite"] = d.renderSuite(r, run)
	}
	return o
}

func (d github) actionsApp() object {
	return object{
		"id": 15368, "slug": "github-actions", "node_id": nodeID("A", 15368), "name": "GitHub Actions", "description": "",
		"owner": d.renderUser(d.account("github", typeOrg)), "external_url": d.URL(), "html_url": d.URL() + "/apps/github-actions",
		"created_at": "2018-07-30T09:30:17Z", "updated_at": "2024-04-10T20:33:16Z", "permissions": object{}, "events": []string{},
	}
}

// renderSuite sums up the suite a run belongs to.
func (d github) renderSuite(r *Repo, run *checkRun) object {
	state, conclusion := "completed", "success"
	nobody := object{"name": "", "email": ""}
	latest := r.checksOf(run.sha, true)
	for _, c := range latest {
		switch {
		case c.Status != "completed":
			state = "in_progress"
		case !slices.Contains([]string{"success", "neutral", "skipped"}, c.Conclusion):
			conclusion = c.Conclusion
		}
	}
	o := object{
		"id": run.suite, "node_id": nodeID("CS", run.suite), "head_branch": r.headBranch(run.sha), "head_sha": run.sha,
		"status": state, "conclusion": nil, "url": d.apiURL(r, fmt.Sprintf("/check-suites/%d", run.suite)), "before": zeroSHA,
		"after": run.sha, "pull_requests": d.pullsWithHead(r, run.sha), "app": d.actionsApp(),
		"created_at": stamp(run.started), "updated_at": stamp(d.now()), "latest_check_runs_count": len(latest),
		"check_runs_url": d.apiURL(r, fmt.Sprintf("/check-suites/%d/check-runs", run.suite)),
		"head_commit":    object{"id": run.sha, "tree_id": zeroSHA, "message": "", "timestamp": run.started.Format(time.RFC3339), "author": nobody, "committer": nobody},
	}
	if state == "completed" {
		o["conclusion"] = conclusion
	}
	return o
}
