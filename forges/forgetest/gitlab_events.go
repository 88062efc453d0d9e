package forgetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// GitLab stops calling a receiver that fails: for a minute after the fourth time
// in a row, twice as long each time, at most a day, and for good after the
// fortieth (forge facts 2.1).
const (
	failuresTolerated = 4
	failuresAtMost    = 40
	longestPause      = 24 * time.Hour
)

// disabled says whether GitLab calls the webhook now.
func (d gitlab) disabled() bool {
	if d.global == nil {
		return false
	}
	failures, last := 0, time.Time{}
	for _, s := range slices.Backward(d.hooks.attempts()) {
		if s.hook != d.global || s.Dropped {
			continue
		}
		if s.OK() {
			break
		}
		failures++
		if last.IsZero() {
			last = s.At
		}
	}
	if failures < failuresTolerated {
		return false
	}
	pause := min(time.Minute<<min(failures-failuresTolerated, 20), longestPause)
	return failures >= failuresAtMost || d.now().Before(last.Add(pause))
}

func (d gitlab) messages(ctx context.Context, e event) ([]message, error) {
	if d.disabled() {
		return nil, nil
	}
	switch e.kind {
	case pullEvent:
		return d.pullMessages(e), nil
	case reviewEvent:
		return d.reviewMessages(e), nil
	case commentEvent:
		return d.noteMessages(ctx, e)
	case statusEvent:
		for _, j := range d.jobsOf(e.repo, e.status.sha) {
			if j.mirror == e.status {
				return []message{d.pipelineMessage(e, j.in)}, nil
			}
		}
	case checkEvent:
		for _, j := range d.jobsOf(e.repo, e.check.sha) {
			if j.run == e.check {
				return []message{d.jobMessage(e, j), d.pipelineMessage(e, j.in)}, nil
			}
		}
	case pushEvent:
		return d.pushMessages(ctx, e)
	case repoEvent, hookEvent: // a project's webhook hears of neither
	}
	return nil, nil
}

// about completes a payload.
func (d gitlab) about(header, kind string, r *Repo, by *User, payload object) message {
	payload["object_kind"], payload["project"], payload["user"] = kind, d.hookProject(r), d.hookUser(by)
	payload["repository"] = object{"name": r.name, "url": r.cloneURL(), "description": "", "homepage": d.web(r)}
	return message{event: header, payload: payload}
}

func (d gitlab) hookProject(r *Repo) object {
	level := 0
	if r.public {
		level = 20
	}
	full := r.fullName()
	return object{
		"id": r.ID, "name": r.name, "description": "", "web_url": d.web(r), "avatar_url": nil,
		"git_ssh_url": "git@127.0.0.1:" + full + ".git", "git_http_url": r.cloneURL(), "namespace": namespaceOf(full),
		"visibility_level": level, "path_with_namespace": full, "default_branch": r.defaultBranch, "homepage": d.web(r),
		"url": r.cloneURL(), "ssh_url": "git@127.0.0.1:" + full + ".git", "http_url": r.cloneURL(),
	}
}

func (d gitlab) hookUser(u *User) object {
	if u == nil || u.gone {
		u = d.ghost()
	}
	return object{"id": u.ID, "name": u.Login, "username": u.Login, "avatar_url": nil, "email": "[REDACTED]"}
}

// moment is a time as webhooks spell it.
func moment(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// hookPull is a merge request in a webhook. The squashed commit is not in it.
func (d gitlab) hookPull(p *Pull) object {
	shown := d.renderPull(p)
	o := object{
		"id": p.id, "iid": p.Number, "title": p.title, "description": p.body, "state": shown["state"], "draft": p.draft,
		"work_in_progress": p.draft, "source_branch": p.head.branch, "target_branch": p.base.branch, "author_id": p.author.ID,
		"source_project_id": shown["source_project_id"], "target_project_id": p.Repo.ID, "target": d.hookProject(p.Repo),
		"created_at": moment(p.created), "updated_at": moment(p.updated), "merge_commit_sha": shown["merge_commit_sha"],
		"merge_status": "checking", "detailed_merge_status": "checking", "url": p.htmlURL(), "head_pipeline_id": nil,
		"blocking_discussions_resolved": true, "last_commit": nil, "source": nil,
	}
	if head := d.headPipeline(p); head != nil {
		o["head_pipeline_id"] = head.id
	}
	if p.head.repo != nil {
		o["source"] = d.hookProject(p.head.repo)
	}
	if commits, err := p.Repo.pushCommits(d.life, []string{p.head.sha}); err == nil && len(commits) == 1 {
		o["last_commit"] = commits[0]
	}
	return o
}

func (d gitlab) pullMessage(e event, action string, changes object, oldrev string) message {
	attributes := d.hookPull(e.pull)
	attributes["action"] = action
	if oldrev != "" {
		attributes["oldrev"] = oldrev
	}
	return d.about("Merge Request Hook", "merge_request", e.repo, e.by, object{
		"event_type": "merge_request", "object_attributes": attributes, "changes": changes, "labels": []object{},
	})
}

// pullMessages: a push is told of twice within milliseconds, once for the code
// and once for what was found out of it since; only the first names what was
// before (cases, atlantis 3089).
func (d gitlab) pullMessages(e event) []message {
	changes := object{}
	switch e.action {
	case "opened":
		return []message{d.pullMessage(e, "open", changes, "")}
	case "reopened":
		return []message{d.pullMessage(e, "reopen", changes, "")}
	case "closed":
		if e.pull.mergedAt.IsZero() {
			return []message{d.pullMessage(e, "close", changes, "")}
		}
		return []message{d.pullMessage(e, "merge", changes, "")}
	case "synchronize":
		second := d.pullMessage(e, "update", changes, "")
		if attributes, ok := second.payload["object_attributes"].(object); ok {
			attributes["merge_status"], attributes["detailed_merge_status"] = "can_be_merged", "mergeable"
		}
		return append([]message{d.pullMessage(e, "update", changes, e.from["head"]), second}, d.resetApprovals(e)...)
	case "ready_for_review", "converted_to_draft":
		changes["draft"] = object{"previous": !e.pull.draft, "current": e.pull.draft}
	case "edited":
		for field, now := range map[string]string{"title": e.pull.title, "body": e.pull.body, "base": e.pull.base.branch} {
			if was, ok := e.from[field]; ok {
				name := map[string]string{"title": "title", "body": "description", "base": "target_branch"}[field]
				changes[name] = object{"previous": was, "current": now}
			}
		}
	}
	return []message{d.pullMessage(e, "update", changes, "")}
}

// resetApprovals takes approvals away when the project has it so, and says that
// the system did it.
func (d gitlab) resetApprovals(e event) []message {
	if !d.state.resets[e.repo] || len(e.pull.approvers()) == 0 {
		return nil
	}
	for _, v := range e.pull.approvers() {
		v.state = "DISMISSED"
	}
	m := d.pullMessage(e, "unapproved", object{}, "")
	if attributes, ok := m.payload["object_attributes"].(object); ok {
		attributes["system"], attributes["system_action"] = true, "approvals_reset_on_push"
	}
	return []message{m}
}

func (d gitlab) reviewMessages(e event) []message {
	switch {
	case e.action == "submitted" && e.review.state == "APPROVED":
		return []message{d.pullMessage(e, "approved", object{}, "")}
	case e.action == "dismissed":
		return []message{d.pullMessage(e, "unapproved", object{}, "")}
	case e.action == "submitted" && e.review.state == "CHANGES_REQUESTED":
		return []message{d.pullMessage(e, "update", object{}, "")}
	}
	return nil
}

// noteMessages tells of what was written and changed, never of what was deleted.
func (d gitlab) noteMessages(ctx context.Context, e event) ([]message, error) {
	n, action := e.comment, map[string]string{"created": "create", "edited": "update"}[e.action]
	if action == "" {
		return nil, nil
	}
	shown := d.renderNote(n)
	attributes := object{
		"id": n.id, "note": n.body, "description": n.body, "action": action, "author_id": n.author.ID, "project_id": n.repo.ID,
		"noteable_type": shown["noteable_type"], "noteable_id": shown["noteable_id"], //nolint:misspell // GitLab's spelling
		"type": shown["type"], "commit_id": shown["commit_id"],
		"created_at": moment(n.created), "updated_at": moment(n.updated), "system": false, "internal": false, "url": n.htmlURL(),
		"discussion_id": discussionID(cmp.Or(n.inReply, n.id)), "attachment": nil,
	}
	payload := object{"event_type": "note", "project_id": n.repo.ID, "object_attributes": attributes}
	if n.pull != nil {
		payload["merge_request"] = d.hookPull(n.pull)
	} else {
		commits, err := n.repo.pushCommits(ctx, []string{n.sha})
		if err != nil {
			return nil, err
		}
		payload["commit"] = commits[0]
	}
	return []message{d.about("Note Hook", "note", n.repo, e.by, payload)}, nil
}

func (d gitlab) jobMessage(e event, j *job) message {
	return d.about("Job Hook", "build", e.repo, j.by, object{
		"ref": j.in.ref, "tag": false, "before_sha": zeroSHA, "sha": j.in.sha, "build_id": j.id, "build_name": j.name, "build_stage": "test",
		"build_status": j.state, "build_created_at": moment(j.created), "build_started_at": nil, "build_finished_at": nil,
		"build_allow_failure": false, "retries_count": 0, "pipeline_id": j.in.id, "project_id": e.repo.ID, "project_name": e.repo.fullName(),
		"commit": object{"id": j.in.id, "sha": j.in.sha, "message": "", "author_name": j.by.Login, "status": j.in.status()},
	})
}

// pipelineMessage names its merge request only when it is one of a merge request.
func (d gitlab) pipelineMessage(e event, p *pipeline) message {
	builds := []object{}
	for _, j := range p.jobs {
		if !j.retried {
			builds = append(builds, object{"id": j.id, "name": j.name, "stage": "test", "status": j.state, "created_at": moment(j.created)})
		}
	}
	payload := object{
		"object_attributes": object{
			"id": p.id, "iid": p.iid, "ref": p.ref, "tag": false, "sha": p.sha, "before_sha": zeroSHA, "source": p.source,
			"status": p.status(), "detailed_status": p.status(), "stages": []string{"test"}, "created_at": moment(p.created),
			"finished_at": nil, "duration": nil, "url": fmt.Sprintf("%s/-/pipelines/%d", d.web(p.repo), p.id),
		},
		"merge_request": nil, "builds": builds, "commit": object{"id": p.sha, "message": "", "title": ""},
	}
	for _, mr := range sortedPulls(p.repo) {
		if p.ref == mr.headRef() {
			payload["merge_request"] = object{
				"id": mr.id, "iid": mr.Number, "title": mr.title, "source_branch": mr.head.branch, "target_branch": mr.base.branch,
				"source_project_id": p.repo.ID, "target_project_id": p.repo.ID, "state": d.pullState(mr), "url": mr.htmlURL(),
			}
		}
	}
	return d.about("Pipeline Hook", "pipeline", e.repo, e.by, payload)
}

// maxHookCommits is how many commits a push shows, the newest.
const maxHookCommits = 20

func (d gitlab) pushMessages(ctx context.Context, e event) ([]message, error) {
	c, kind, header := e.ref, "push", "Push Hook"
	if isTag(c.name) {
		kind, header = "tag_push", "Tag Push Hook"
	}
	payload := object{
		"event_name": kind, "ref": c.name, "ref_protected": c.name == "refs/heads/"+e.repo.defaultBranch,
		"before": orZero(c.old.object), "after": orZero(c.new.object), "checkout_sha": textOrNull(c.new.commit), "message": nil,
		"user_id": e.by.ID, "user_name": e.by.Login, "user_username": e.by.Login, "user_email": "", "user_avatar": nil,
		"project_id": e.repo.ID, "commits": []object{}, "total_commits_count": 0,
	}
	if c.new.commit != "" && !isTag(c.name) {
		shas, err := e.repo.revList(ctx, d.brought(e.repo, c)...)
		if err != nil {
			return nil, err
		}
		payload["total_commits_count"] = len(shas)
		if payload["commits"], err = e.repo.pushCommits(ctx, shas[max(0, len(shas)-maxHookCommits):]); err != nil {
			return nil, err
		}
	}
	m := d.about(header, kind, e.repo, e.by, payload)
	delete(m.payload, "user") // a push names its account in fields of its own
	return []message{m}, nil
}

// brought selects the commits a push brought to a branch.
func (d gitlab) brought(r *Repo, c refChange) []string {
	if c.old.commit == "" {
		return r.newOnBranch(c)
	}
	return []string{c.new.commit, "^" + c.old.commit}
}
