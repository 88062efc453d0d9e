package forgetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

func (d gitlab) mergeRequestRoutes() []route {
	return []route{
		{method: "GET", path: "/merge_requests", repo: true, handle: d.listMergeRequests},
		{method: "GET", path: "/merge_requests/{number}", repo: true, handle: d.getMergeRequest},
		{method: "GET", path: "/merge_requests/{number}/commits", repo: true, handle: d.mergeRequestCommits},
		{method: "GET", path: "/merge_requests/{number}/approvals", repo: true, handle: d.approvals},
		{method: "GET", path: "/repository/commits/{sha}/merge_requests", repo: true, handle: d.commitMergeRequests},
	}
}

// pulls lists the merge requests that are kept, oldest first.
func (d gitlab) pulls(r *Repo, keep func(*Pull) bool) []*Pull {
	var out []*Pull
	for _, p := range sortedPulls(r) {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

func sortedPulls(r *Repo) []*Pull {
	var out []*Pull
	for n := 1; n <= r.lastNumber; n++ {
		if p := r.pulls[n]; p != nil {
			out = append(out, p)
		}
	}
	return out
}

// listMergeRequests shows the newest first unless asked otherwise.
func (d gitlab) listMergeRequests(c *call) (int, any, *APIError) {
	query := c.r.URL.Query()
	list := d.pulls(c.repo, func(p *Pull) bool { return query.Get("state") == "" || query.Get("state") == d.pullState(p) })
	if query.Get("sort") != "asc" {
		slices.Reverse(list)
	}
	return 200, eachOf(c, list, d.renderPull), nil
}

func (d gitlab) getMergeRequest(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	o := d.renderPull(p)
	base, failed := c.repo.mergeBase(c.r.Context(), p.base.sha, p.head.sha)
	if failed != nil {
		return 0, nil, fault500(failed)
	}
	o["diff_refs"] = object{"base_sha": base, "head_sha": p.head.sha, "start_sha": p.base.sha}
	o["head_pipeline"], o["work_in_progress"], o["first_contribution"] = d.renderPipeline(d.headPipeline(p)), p.draft, d.firstContribution(p)
	return 200, o, nil
}

// mergeBase is the newest commit both sides have.
func (r *Repo) mergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.f.git(ctx, r.dir, nil, "merge-base", a, b)
	return strings.TrimSpace(out), err
}

// firstContribution of somebody who is no member and had nothing merged here.
func (d gitlab) firstContribution(p *Pull) bool {
	return d.memberLevel(p.Repo, p.author) == 0 &&
		len(d.pulls(p.Repo, func(o *Pull) bool { return o != p && o.author == p.author && !o.mergedAt.IsZero() })) == 0
}

func (d gitlab) pullState(p *Pull) string {
	switch {
	case !p.mergedAt.IsZero():
		return "merged"
	case p.state == "open":
		return "opened"
	}
	return "closed"
}

// renderPull is a merge request as a list shows it.
func (d gitlab) renderPull(p *Pull) object {
	o := object{
		"id": p.id, "iid": p.Number, "project_id": p.Repo.ID, "title": p.title, "description": p.body,
		"state": d.pullState(p), "draft": p.draft, "source_branch": p.head.branch, "target_branch": p.base.branch,
		"source_project_id": nil, "target_project_id": p.Repo.ID, "author": d.renderUser(p.author),
		"sha": p.head.sha, "merge_commit_sha": nil, "squash_commit_sha": nil, "merged_at": stamp(p.mergedAt),
		"merge_user": nil, "merged_by": nil, "closed_at": nil, "detailed_merge_status": "checking",
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "prepared_at": stamp(p.created), "web_url": p.htmlURL(),
		"references": object{
			"short": fmt.Sprintf("!%d", p.Number), "relative": fmt.Sprintf("!%d", p.Number),
			"full": fmt.Sprintf("%s!%d", p.Repo.fullName(), p.Number),
		},
	}
	if p.head.repo != nil {
		o["source_project_id"] = p.head.repo.ID
	}
	switch d.pullState(p) {
	case "closed":
		o["closed_at"] = stamp(p.closedAt)
	case "merged":
		o["merge_user"] = d.renderUser(p.mergedBy)
		d.renderLanded(p, o)
	}
	return o
}

// renderLanded writes what a merge left (forge facts 2.3): a merge commit; a
// squashed commit that was fast-forwarded to; or neither, the head having been
// rebased first.
func (d gitlab) renderLanded(p *Pull, o object) {
	switch p.method {
	case "squash":
		o["squash_commit_sha"], o["squash"] = p.landed, true
	case "rebase":
		o["sha"] = p.landed
	default:
		if p.landed != p.head.sha {
			o["merge_commit_sha"] = p.landed
		}
	}
}

// mergeRequestCommits shows the newest first, and nobody's account.
func (d gitlab) mergeRequestCommits(c *call) (int, any, *APIError) {
	p, refused := c.pull()
	if refused != nil {
		return 0, nil, refused
	}
	commits, err := d.pullCommits(c, p)
	if err != nil {
		return 0, nil, fault500(err)
	}
	return 200, eachOf(c, commits, func(i commitInfo) object {
		return object{
			"id": i.sha, "short_id": i.sha[:8], "parent_ids": i.parents, "message": i.message, "title": i.message,
			"author_name": i.author.Name, "author_email": i.author.Email, "authored_date": i.authored,
			"committer_name": i.committer.Name, "committer_email": i.committer.Email, "committed_date": i.at,
			"web_url": d.web(c.repo) + "/-/commit/" + i.sha,
		}
	}), nil
}

// pullCommits are the commits of a merge request, newest first.
func (d gitlab) pullCommits(c *call, p *Pull) ([]commitInfo, error) {
	shas, err := p.commitsOf(c.r.Context())
	if err != nil {
		return nil, err
	}
	slices.Reverse(shas)
	return p.Repo.readCommits(c.r.Context(), shas)
}

// approvals speak of none that is missing when none is required; approved_by
// alone tells who approved.
func (d gitlab) approvals(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	by := []object{}
	for _, v := range p.approvers() {
		by = append(by, object{"user": d.renderUser(v.author), "approved_at": stamp(v.submitted)})
	}
	return 200, object{
		"id": p.id, "iid": p.Number, "project_id": p.Repo.ID, "approved": true, "approvals_required": 0, "approvals_left": 0,
		"approved_by": by, "user_has_approved": false, "user_can_approve": true,
	}, nil
}

// commitMergeRequests relates a commit to every merge request it is part of or
// landed with, whatever its state and base.
func (d gitlab) commitMergeRequests(c *call) (int, any, *APIError) {
	sha := c.params["sha"]
	if !c.repo.hasCommit(c.r.Context(), sha) {
		return 0, nil, notFoundAs("Commit")
	}
	related := d.pulls(c.repo, func(p *Pull) bool { return p.carries(c.r.Context(), sha) })
	slices.Reverse(related)
	return 200, eachOf(c, related, d.renderPull), nil
}
