package forgetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// object is one JSON object of the API.
type object map[string]any

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

// emit sends an event of a repository to every webhook that gets it. The
// caller holds mu.
func (f *GitHub) emit(event string, r *Repo, by *User, payload object) {
	payload["repository"] = f.renderRepo(r)
	payload["sender"] = f.renderUser(by)
	if r.owner.Type == typeOrg {
		payload["organization"] = f.renderOrg(r.owner)
	}
	if f.global != nil && event != "merge_group" { // an event for apps only
		f.send(f.global, event, payload, nil, r)
	}
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
		f.send(app.hook, event, payload, in, r)
	}
}

func (f *GitHub) emitPull(action string, p *Pull, by *User, more object) {
	payload := object{"action": action, "number": p.Number, "pull_request": f.renderPull(p)}
	maps.Copy(payload, more)
	f.emit("pull_request", p.Repo, by, payload)
}

func (f *GitHub) emitReview(action string, v *review, by *User, more object) {
	shown := f.renderReview(v)
	shown["state"] = strings.ToLower(v.state) // upper case only in REST
	payload := object{"action": action, "review": shown, "pull_request": f.renderPullItem(v.pull)}
	maps.Copy(payload, more)
	f.emit("pull_request_review", v.pull.Repo, by, payload)
}

func (f *GitHub) emitComment(action string, c *comment, by *User, more object) {
	payload := object{"action": action, "comment": f.renderComment(c)}
	event := ""
	switch c.kind {
	case IssueComment:
		event = "issue_comment"
		payload["issue"] = f.renderIssue(c.pull)
	case ReviewComment:
		event = "pull_request_review_comment"
		payload["pull_request"] = f.renderPullItem(c.pull)
	case CommitComment:
		if action != "created" {
			return // commit_comment knows no other action
		}
		event = "commit_comment"
	}
	maps.Copy(payload, more)
	f.emit(event, c.repo, by, payload)
}

func (f *GitHub) emitStatus(ctx context.Context, r *Repo, s *status) {
	branches := []object{}
	for _, name := range sortedKeys(r.refs) {
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && r.refs[name].commit == s.sha && len(branches) < 10 {
			branches = append(branches, object{"name": short, "protected": false, "commit": object{"sha": s.sha, "url": r.apiURL("/commits/" + s.sha)}})
		}
	}
	payload := f.renderStatus(r, s)
	payload["sha"], payload["name"], payload["branches"] = s.sha, r.fullName(), branches
	if commits, err := r.readCommits(ctx, []string{s.sha}); err == nil && len(commits) == 1 {
		payload["commit"] = f.renderCommit(r, commits[0])
	}
	delete(payload, "creator")
	f.emit("status", r, s.Creator, payload)
}

func (f *GitHub) emitCheck(run *checkRun, r *Repo, fresh bool) {
	by := f.account("github-actions[bot]", typeBot)
	if fresh {
		f.emit("check_run", r, by, object{"action": "created", "check_run": f.renderCheck(r, run, true)})
	}
	if run.Status != "completed" {
		return
	}
	f.emit("check_run", r, by, object{"action": "completed", "check_run": f.renderCheck(r, run, true)})
	suite := f.renderSuite(r, run)
	if suite["status"] == "completed" {
		f.emit("check_suite", r, by, object{"action": "completed", "check_suite": suite})
	}
}

func (f *GitHub) emitPush(ctx context.Context, r *Repo, by *User, c refChange) error {
	payload, err := f.renderPush(ctx, r, by, c)
	if err != nil {
		return err
	}
	f.emit("push", r, by, payload)
	return nil
}

// emitRef sends create or delete next to the push. There is no sha in either.
func (f *GitHub) emitRef(r *Repo, by *User, c refChange) {
	kind, short := "branch", strings.TrimPrefix(c.name, "refs/heads/")
	if isTag(c.name) {
		kind, short = "tag", strings.TrimPrefix(c.name, "refs/tags/")
	}
	payload := object{"ref": short, "ref_type": kind, "pusher_type": "user"}
	switch {
	case c.old.object == "":
		payload["master_branch"], payload["description"] = r.defaultBranch, nil
		f.emit("create", r, by, payload)
	case c.new.object == "":
		f.emit("delete", r, by, payload)
	}
}

func (f *GitHub) emitRepository(action string, r *Repo, changes object) {
	f.emit("repository", r, r.owner, object{"action": action, "changes": changes})
}

// emitInstallation goes to the app itself, whatever it subscribed to.
func (f *GitHub) emitInstallation(action string, in *Installation) {
	if in.app.hook == nil {
		return
	}
	payload := object{"action": action, "installation": f.renderInstallation(in), "sender": f.renderUser(in.account)}
	if action == "created" || action == "deleted" {
		payload["repositories"] = f.renderShortRepos(in)
	}
	f.send(in.app.hook, "installation", payload, nil, nil)
}

func (f *GitHub) emitInstallationRepos(in *Installation, r *Repo, added bool) {
	if in.app.hook == nil {
		return
	}
	one, none := []object{shortRepo(r)}, []object{}
	payload := object{
		"action": "added", "installation": f.renderInstallation(in), "sender": f.renderUser(in.account),
		"repository_selection": in.selection(), "repositories_added": one, "repositories_removed": none, "requester": nil,
	}
	if !added {
		payload["action"], payload["repositories_added"], payload["repositories_removed"] = "removed", none, one
	}
	f.send(in.app.hook, "installation_repositories", payload, nil, nil)
}

// ping is what a new webhook gets first; it names no installation.
func (f *GitHub) ping(h *hook) {
	payload := object{"zen": "Keep it logically awesome.", "hook_id": h.id, "hook": object{
		"type": "App", "id": h.id, "name": "web", "active": true, "config": object{"content_type": "json", "url": h.url},
		"events": []string{"*"}, "created_at": stamp(f.now()), "updated_at": stamp(f.now()),
	}}
	f.send(h, "ping", payload, nil, nil)
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
			flow := r.f.webFlow()
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
		r.f.emit("merge_group", r, by, object{"action": "checks_requested", "merge_group": object{
			"head_sha": head, "head_ref": "refs/heads/" + branch, "head_commit": commits[0],
			"base_sha": r.refs["refs/heads/"+base].commit, "base_ref": "refs/heads/" + base,
		}})
		return nil
	})
	return head, err
}

func newGUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func headerID(h http.Header) int64 {
	id, err := strconv.ParseInt(h.Get("X-Github-Hook-Id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
