package forgetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// eventPermissions says which permission lets an app receive an event (forge
// facts 1.2). Events not listed need none.
func eventPermission(event string) string {
	switch event {
	case "pull_request", "pull_request_review", "pull_request_review_comment":
		return "pull_requests"
	case "issue_comment":
		return "issues"
	case "commit_comment", "push", "create", "delete":
		return "contents"
	case "check_run", "check_suite":
		return "checks"
	case "status":
		return "statuses"
	case "workflow_run":
		return "actions"
	case "merge_group":
		return "merge_queues"
	case "repository":
		return "metadata"
	}
	return ""
}

// appsHearing are the installations on a repository whose app gets an event.
func (f *Forge) appsHearing(r *Repo, event string) []*Installation {
	var hearing []*Installation
	for _, id := range slices.Sorted(maps.Keys(f.apps)) {
		app := f.apps[id]
		if app.hook == nil || !slices.Contains(app.events, event) {
			continue
		}
		in := app.installationOf(r)
		if in == nil {
			continue
		}
		if need := eventPermission(event); need != "" && in.permissions[need] == "" {
			continue
		}
		hearing = append(hearing, in)
	}
	return hearing
}

// about completes the payload of an event of a repository.
func (d github) about(event string, r *Repo, by *User, payload object) message {
	payload["repository"] = d.renderRepo(r)
	payload["sender"] = d.renderUser(by)
	if r.owner.Type == typeOrg {
		payload["organization"] = d.renderOrg(r.owner)
	}
	return message{event: event, payload: payload}
}

func (d github) messages(ctx context.Context, e event) ([]message, error) {
	payload := object{"action": e.action}
	switch e.kind {
	case pullEvent:
		payload["number"], payload["pull_request"] = e.pull.Number, d.renderPull(e.pull)
		if e.action == "synchronize" {
			payload["before"], payload["after"] = e.from["head"], e.pull.head.sha
		}
		return d.one("pull_request", e, payload)
	case reviewEvent:
		shown := d.renderReview(e.review)
		shown["state"] = strings.ToLower(e.review.state) // upper case only in REST
		payload["review"], payload["pull_request"] = shown, d.renderPullItem(e.pull)
		return d.one("pull_request_review", e, payload)
	case commentEvent:
		return d.commentMessages(e, payload)
	case statusEvent:
		return d.one("status", e, d.statusPayload(ctx, e.repo, e.status))
	case checkEvent:
		return d.checkMessages(e), nil
	case pushEvent:
		return d.pushMessages(ctx, e)
	case repoEvent:
		payload["changes"] = object{"repository": object{"name": object{"from": e.from["name"]}}}
		if e.action == "transferred" {
			payload["changes"] = object{"owner": object{"from": object{"user": d.renderUser(d.accounts[lower(e.from["owner"])])}}}
		}
		return d.one("repository", e, payload)
	case hookEvent: // names no installation and no repository
		d.send(e.hook, message{event: "ping", payload: d.pingPayload(e.hook)}, nil, nil)
	}
	return nil, nil
}

// one is a single message, with what an edit changed.
func (d github) one(name string, e event, payload object) ([]message, error) {
	if e.action == "edited" {
		payload["changes"] = changesFrom(e.from)
	}
	return []message{d.about(name, e.repo, e.by, payload)}, nil
}

func changesFrom(from map[string]string) object {
	changes := object{}
	for _, field := range []string{"title", "body"} {
		if was, ok := from[field]; ok {
			changes[field] = object{"from": was}
		}
	}
	if was, ok := from["base"]; ok {
		changes["base"] = object{"ref": object{"from": was}, "sha": object{"from": from["base_sha"]}}
	}
	return changes
}

func (d github) commentMessages(e event, payload object) ([]message, error) {
	payload["comment"] = d.renderComment(e.comment)
	name := ""
	switch e.comment.kind {
	case IssueComment:
		name = "issue_comment"
		payload["issue"] = d.renderIssue(e.pull)
	case ReviewComment:
		name = "pull_request_review_comment"
		payload["pull_request"] = d.renderPullItem(e.pull)
	case CommitComment:
		if e.action != "created" {
			return nil, nil // commit_comment knows no other action
		}
		name = "commit_comment"
	}
	return d.one(name, e, payload)
}

func (d github) statusPayload(ctx context.Context, r *Repo, s *status) object {
	branches := []object{}
	for _, name := range sortedKeys(r.refs) {
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && r.refs[name].commit == s.sha && len(branches) < 10 {
			branches = append(branches, object{"name": short, "protected": false, "commit": object{"sha": s.sha, "url": d.apiURL(r, "/commits/"+s.sha)}})
		}
	}
	payload := d.renderStatus(r, s)
	payload["sha"], payload["name"], payload["branches"] = s.sha, r.fullName(), branches
	if commits, err := r.readCommits(ctx, []string{s.sha}); err == nil && len(commits) == 1 {
		payload["commit"] = d.renderCommit(r, commits[0])
	}
	delete(payload, "creator")
	return payload
}

func (d github) checkMessages(e event) []message {
	r, run := e.repo, e.check
	var out []message
	if e.action == "created" {
		out = append(out, d.about("check_run", r, e.by, object{"action": "created", "check_run": d.renderCheck(r, run, true)}))
	}
	if run.Status != "completed" {
		return out
	}
	out = append(out, d.about("check_run", r, e.by, object{"action": "completed", "check_run": d.renderCheck(r, run, true)}))
	suite := d.renderSuite(r, run)
	if suite["status"] == "completed" {
		out = append(out, d.about("check_suite", r, e.by, object{"action": "completed", "check_suite": suite}))
	}
	return out
}

// pushMessages are the push, and create or delete next to it. There is no sha
// in either of those.
func (d github) pushMessages(ctx context.Context, e event) ([]message, error) {
	push, err := d.renderPush(ctx, e.repo, e.by, e.ref)
	if err != nil {
		return nil, err
	}
	out := []message{d.about("push", e.repo, e.by, push)}
	kind, short := "branch", strings.TrimPrefix(e.ref.name, "refs/heads/")
	if isTag(e.ref.name) {
		kind, short = "tag", strings.TrimPrefix(e.ref.name, "refs/tags/")
	}
	payload := object{"ref": short, "ref_type": kind, "pusher_type": "user"}
	switch {
	case e.ref.old.object == "":
		payload["master_branch"], payload["description"] = e.repo.defaultBranch, nil
		out = append(out, d.about("create", e.repo, e.by, payload))
	case e.ref.new.object == "":
		out = append(out, d.about("delete", e.repo, e.by, payload))
	}
	return out, nil
}

func (d github) pingPayload(h *hook) object {
	return object{"zen": "Keep it logically awesome.", "hook_id": h.id, "hook": object{
		"type": "App", "id": h.id, "name": "web", "active": true, "config": object{"content_type": "json", "url": h.url},
		"events": []string{"*"}, "created_at": stamp(d.now()), "updated_at": stamp(d.now()),
	}}
}

// emitInstallation goes to the app itself, whatever it subscribed to.
func (d github) emitInstallation(action string, in *Installation) {
	if in.app.hook == nil {
		return
	}
	payload := object{"action": action, "installation": d.renderInstallation(in), "sender": d.renderUser(in.account)}
	if action == "created" || action == "deleted" {
		payload["repositories"] = d.renderShortRepos(in)
	}
	d.send(in.app.hook, message{event: "installation", payload: payload}, nil, nil)
}

func (d github) emitInstallationRepos(in *Installation, r *Repo, added bool) {
	if in.app.hook == nil {
		return
	}
	one, none := []object{shortRepo(r)}, []object{}
	payload := object{
		"action": "added", "installation": d.renderInstallation(in), "sender": d.renderUser(in.account),
		"repository_selection": in.selection(), "repositories_added": one, "repositories_removed": none, "requester": nil,
	}
	if !added {
		payload["action"], payload["repositories_added"], payload["repositories_removed"] = "removed", none, one
	}
	d.send(in.app.hook, message{event: "installation_repositories", payload: payload}, nil, nil)
}

// QueueGroup puts pull requests into one merge queue group: their merge stands
// on a temporary branch, and the queue asks for the required statuses on it.
// The event lists no pull request.
func (r *Repo) QueueGroup(by *User, pulls ...*Pull) (string, error) {
	if len(pulls) == 0 {
		return "", errors.New("a group needs a pull request")
	}
	var head string
	err := r.changing(by, func(ctx context.Context) error {
		base := pulls[0].base.branch
		head = r.refs["refs/heads/"+base].commit
		for _, p := range pulls {
			tree, ok, err := r.mergeTree(ctx, head, p.head.sha)
			if err != nil || !ok {
				return errors.Join(err, notMergeable())
			}
			flow := r.f.presser(by)
			message := fmt.Sprintf("Merge pull request #%d\n", p.Number)
			if head, err = r.commitTree(ctx, tree, []string{head, p.head.sha}, flow, flow, r.f.now(), message); err != nil {
				return err
			}
		}
		branch := fmt.Sprintf("gh-readonly-queue/%s/pr-%d-%s", base, pulls[0].Number, r.refs["refs/heads/"+base].commit)
		if err := r.updateRef(ctx, "refs/heads/"+branch, head); err != nil {
			return err
		}
		commits, err := r.pushCommits(ctx, []string{head})
		if err != nil {
			return err
		}
		m := github{r.f}.about("merge_group", r, by, object{"action": "checks_requested", "merge_group": object{
			"head_sha": head, "head_ref": "refs/heads/" + branch, "head_commit": commits[0],
			"base_sha": r.refs["refs/heads/"+base].commit, "base_ref": "refs/heads/" + base,
		}})
		m.appsOnly = true
		r.f.publish(r, m)
		return nil
	})
	return head, err
}
