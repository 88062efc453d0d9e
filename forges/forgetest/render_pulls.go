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
func (f *GitHub) renderPullItem(p *Pull) object {
	api := p.Repo.apiURL(fmt.Sprintf("/pulls/%d", p.Number))
	issue := p.Repo.apiURL(fmt.Sprintf("/issues/%d", p.Number))
	o := object{
		"id": p.id, "node_id": nodeID("PR", p.id), "number": p.Number, "state": p.state, "locked": false,
		"title": p.title, "user": f.renderUser(p.author), "body": textOrNull(p.body), "draft": p.draft,
		"url": api, "html_url": p.htmlURL(), "diff_url": p.htmlURL() + ".diff", "patch_url": p.htmlURL() + ".patch",
		"issue_url": issue, "comments_url": issue + "/comments", "commits_url": api + "/commits",
		"review_comments_url": api + "/comments", "review_comment_url": p.Repo.apiURL("/pulls/comments{/number}"),
		"statuses_url": p.Repo.apiURL("/statuses/" + p.head.sha),
		"created_at":   stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closedAt), "merged_at": stamp(p.mergedAt),
		"merge_commit_sha": p.mergeSHA(), "assignee": nil, "assignees": []object{}, "requested_reviewers": []object{},
		"requested_teams": []object{}, "labels": []object{}, "milestone": nil, "auto_merge": nil, "active_lock_reason": nil,
		"author_association": p.association(), "head": f.renderBranch(p.head, p.author), "base": f.renderBranch(p.base, nil),
	}
	o["_links"] = object{
		"self": href(api), "html": href(p.htmlURL()), "issue": href(issue), "comments": href(issue + "/comments"),
		"review_comments": href(api + "/comments"), "review_comment": href(p.Repo.apiURL("/pulls/comments{/number}")),
		"commits": href(api + "/commits"), "statuses": href(p.Repo.apiURL("/statuses/" + p.head.sha)),
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

func (f *GitHub) renderBranch(b branchRef, author *User) object {
	o := object{"ref": b.branch, "sha": b.sha, "label": b.branch, "user": nil, "repo": nil}
	if author != nil {
		o["label"] = author.Login + ":" + b.branch
	}
	if b.repo != nil {
		o["label"] = b.repo.owner.Login + ":" + b.branch
		o["user"], o["repo"] = f.renderUser(b.repo.owner), f.renderRepo(b.repo)
	}
	return o
}

// renderPull is a pull request as GET and webhooks show it.
func (f *GitHub) renderPull(p *Pull) object {
	o := f.renderPullItem(p)
	commits, err := p.commitsOf(f.life)
	if err != nil {
		commits = nil // the shape matters more than the count
	}
	o["merged"], o["merged_by"] = !p.mergedAt.IsZero(), f.renderUser(p.mergedBy)
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
func (f *GitHub) renderIssue(p *Pull) object {
	api := p.Repo.apiURL(fmt.Sprintf("/issues/%d", p.Number))
	return object{
		"reactions": renderReactions(api, nil), "timeline_url": api + "/timeline", "state_reason": nil,
		"id": p.id + 1_000_000, "node_id": nodeID("I", p.id), "number": p.Number, "title": p.title, "state": p.state,
		"user": f.renderUser(p.author), "body": textOrNull(p.body), "url": api, "html_url": p.htmlURL(),
		"repository_url": p.Repo.apiURL(""), "labels_url": api + "/labels{/name}", "comments_url": api + "/comments",
		"events_url": api + "/events", "labels": []object{}, "assignee": nil, "assignees": []object{}, "milestone": nil,
		"locked": false, "active_lock_reason": nil, "author_association": p.association(), "draft": p.draft,
		"comments":   len(p.Repo.commentsOf(IssueComment, func(c *comment) bool { return c.pull == p })),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closedAt),
		"pull_request": object{
			"url": p.Repo.apiURL(fmt.Sprintf("/pulls/%d", p.Number)), "html_url": p.htmlURL(),
			"diff_url": p.htmlURL() + ".diff", "patch_url": p.htmlURL() + ".patch", "merged_at": stamp(p.mergedAt),
		},
	}
}

func (f *GitHub) renderReview(v *review) object {
	api := v.pull.Repo.apiURL(fmt.Sprintf("/pulls/%d", v.pull.Number))
	o := object{
		"id": v.id, "node_id": nodeID("PRR", v.id), "user": f.renderUser(v.author), "body": v.body, "state": v.state,
		"html_url": v.htmlURL(), "pull_request_url": api, "commit_id": v.sha, "author_association": "NONE",
		"_links": object{"html": href(v.htmlURL()), "pull_request": href(api)},
	}
	if !v.submitted.IsZero() {
		o["submitted_at"] = stamp(v.submitted)
	}
	return o
}

func (f *GitHub) renderComment(c *comment) object {
	o := object{
		"id": c.id, "node_id": nodeID(string(c.kind), c.id), "body": c.body, "user": f.renderUser(c.author),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "html_url": c.htmlURL(),
		"author_association": "NONE", "reactions": renderReactions(c.repo.apiURL(fmt.Sprintf("/comments/%d", c.id)), c.reactions),
	}
	switch c.kind {
	case IssueComment:
		o["url"] = c.repo.apiURL(fmt.Sprintf("/issues/comments/%d", c.id))
		o["issue_url"] = c.repo.apiURL(fmt.Sprintf("/issues/%d", c.pull.Number))
		o["performed_via_github_app"] = nil
		if c.via != nil {
			o["performed_via_github_app"] = f.renderApp(c.via)
		}
	case ReviewComment:
		maps.Copy(o, f.renderInline(c))
	case CommitComment:
		o["url"] = c.repo.apiURL(fmt.Sprintf("/comments/%d", c.id))
		o["commit_id"], o["path"], o["position"], o["line"] = c.sha, nil, nil, nil
	}
	return o
}

func (f *GitHub) renderInline(c *comment) object {
	api := c.repo.apiURL(fmt.Sprintf("/pulls/%d", c.pull.Number))
	self := c.repo.apiURL(fmt.Sprintf("/pulls/comments/%d", c.id))
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
func renderReactions(api string, given []reaction) object {
	o := object{"url": api + "/reactions", "total_count": len(given)}
	for _, content := range reactionContents() {
		o[content] = 0
	}
	for _, r := range given {
		n, _ := o[r.content].(int)
		o[r.content] = n + 1
	}
	return o
}

func (f *GitHub) renderReaction(r reaction) object {
	return object{
		"id": r.id, "node_id": nodeID("REA", r.id), "user": f.renderUser(r.by),
		"content": r.content, "created_at": stamp(r.at),
	}
}

func (f *GitHub) renderStatus(r *Repo, s *status) object {
	return object{
		"id": s.ID, "node_id": nodeID("SC", s.ID), "url": r.apiURL("/statuses/" + s.sha), "avatar_url": nil,
		"state": s.State, "description": textOrNull(s.Description), "target_url": textOrNull(s.TargetURL),
		"context": s.Context, "created_at": stamp(s.at), "updated_at": stamp(s.at), "creator": f.renderUser(s.Creator),
	}
}

// pullsWithHead are the open pull requests of this repository's own branches
// at a commit; those from forks never show here.
func (r *Repo) pullsWithHead(sha string) []object {
	list := []object{}
	for n := 1; n <= r.lastNumber; n++ {
		p := r.pulls[n]
		if p == nil || p.state != "open" || p.head.repo != r || p.head.sha != sha {
			continue
		}
		short := func(b branchRef) object {
			return object{"ref": b.branch, "sha": b.sha, "repo": object{"id": r.ID, "name": r.name, "url": r.apiURL("")}}
		}
		list = append(list, object{
			"id": p.id, "number": p.Number, "url": r.apiURL(fmt.Sprintf("/pulls/%d", p.Number)),
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

func (f *GitHub) renderCheck(r *Repo, run *checkRun, hook bool) object {
	o := object{
		"id": run.ID, "node_id": nodeID("CR", run.ID), "name": run.Name, "head_sha": run.sha, "external_id": "",
		"status": run.Status, "conclusion": textOrNull(run.Conclusion), "url": r.apiURL(fmt.Sprintf("/check-runs/%d", run.ID)),
		"html_url": run.htmlURL(r), "details_url": run.htmlURL(r), "started_at": stamp(run.started), "completed_at": stamp(run.completed),
		"check_suite": object{"id": run.suite}, "app": f.actionsApp(), "pull_requests": r.pullsWithHead(run.sha),
		"output": object{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": r.apiURL(fmt.Sprintf("/check-runs/%d/annotations", run.ID))},
	}
	if hook {
		o["check_suite"] = f.renderSuite(r, run)
	}
	return o
}

func (f *GitHub) actionsApp() object {
	return object{
		"id": 15368, "slug": "github-actions", "node_id": nodeID("A", 15368), "name": "GitHub Actions", "description": "",
		"owner": f.renderUser(f.account("github", typeOrg)), "external_url": f.URL(), "html_url": f.URL() + "/apps/github-actions",
		"created_at": "2018-07-30T09:30:17Z", "updated_at": "2024-04-10T20:33:16Z", "permissions": object{}, "events": []string{},
	}
}

// renderSuite sums up the suite a run belongs to.
func (f *GitHub) renderSuite(r *Repo, run *checkRun) object {
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
		"status": state, "conclusion": nil, "url": r.apiURL(fmt.Sprintf("/check-suites/%d", run.suite)), "before": zeroSHA,
		"after": run.sha, "pull_requests": r.pullsWithHead(run.sha), "app": f.actionsApp(),
		"created_at": stamp(run.started), "updated_at": stamp(f.now()), "latest_check_runs_count": len(latest),
		"check_runs_url": r.apiURL(fmt.Sprintf("/check-suites/%d/check-runs", run.suite)),
		"head_commit":    object{"id": run.sha, "tree_id": zeroSHA, "message": "", "timestamp": run.started.Format(time.RFC3339), "author": nobody, "committer": nobody},
	}
	if state == "completed" {
		o["conclusion"] = conclusion
	}
	return o
}
