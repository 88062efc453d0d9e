package forgetest

import (
	"context"
	"strings"
)

func (d forgejo) messages(ctx context.Context, e event) ([]message, error) {
	switch e.kind {
	case pullEvent:
		return d.pullMessages(e), nil
	case reviewEvent:
		return d.reviewMessages(e), nil
	case commentEvent:
		return d.commentMessages(e), nil
	case statusEvent:
		return d.statusMessages(ctx, e)
	case pushEvent:
		return d.pushMessages(ctx, e)
	case checkEvent, repoEvent, hookEvent: // there are no checks; a rename and a new webhook are not told of
	}
	return nil, nil
}

// about completes the payload of an event of a repository.
func (d forgejo) about(event, precise string, e event, payload object) message {
	payload["repository"], payload["sender"] = d.renderRepo(e.repo), d.renderUser(e.by)
	return message{event: event, precise: precise, payload: payload}
}

// pullPayload is what every event of a pull request has.
func (d forgejo) pullPayload(action string, e event) object {
	return object{
		"action": action, "number": e.pull.Number, "pull_request": d.renderPull(e.pull),
		"requested_reviewer": nil, "commit_id": "", "review": nil,
	}
}

// pullMessages: a push is "synchronized" under a type of its own and does not
// say from where (fact 2); leaving the draft state is an edit of the title
// (fact 5).
func (d forgejo) pullMessages(e event) []message {
	action, precise := e.action, "pull_request"
	from := e.from
	switch action {
	case "synchronize":
		action, precise = "synchronized", "pull_request_sync"
	case "ready_for_review":
		action, from = "edited", map[string]string{"title": draftPrefix + e.pull.title}
	case "converted_to_draft":
		action, from = "edited", map[string]string{"title": e.pull.title}
	case "review_requested":
		precise = "pull_request_review_request"
	case "labeled":
		action, precise = "label_updated", "pull_request_label"
	case "assigned":
		precise = "pull_request_assign"
	case "milestoned":
		precise = "pull_request_milestone"
	}
	payload := d.pullPayload(action, e)
	if len(e.pull.requested) > 0 && action == "review_requested" {
		payload["requested_reviewer"] = d.renderUser(e.pull.requested[len(e.pull.requested)-1].of)
	}
	if changes := titleChanges(from); action == "edited" {
		payload["changes"] = changes
	}
	return []message{d.about("pull_request", precise, e, payload)}
}

func titleChanges(from map[string]string) object {
	changes := object{}
	for field, name := range map[string]string{"title": "title", "body": "body", "base": "ref"} {
		if was, ok := from[field]; ok {
			changes[name] = object{"from": was}
		}
	}
	return changes
}

// reviewMessages name neither the review nor its commit. A dismissal and an
// edit are not told of (fact 3).
func (d forgejo) reviewMessages(e event) []message {
	if e.action != "submitted" {
		return nil
	}
	name := map[string]string{"APPROVED": "approved", "CHANGES_REQUESTED": "rejected", "COMMENTED": "comment"}[e.review.state]
	payload := d.pullPayload("reviewed", e)
	payload["requested_reviewer"] = d.renderUser(e.by)
	payload["review"] = object{"type": "pull_request_review_" + name, "content": e.review.body}
	return []message{d.about("pull_request_"+name, "pull_request_review_"+name, e, payload)}
}

// commentMessages: a comment on code is part of its review.
func (d forgejo) commentMessages(e event) []message {
	if e.comment.kind != IssueComment {
		return nil
	}
	payload := object{
		"action": e.action, "issue": d.renderIssue(e.pull), "pull_request": d.renderPull(e.pull),
		"comment": d.renderComment(e.comment), "is_pull": true,
	}
	if e.action == "edited" {
		payload["changes"] = titleChanges(e.from)
	}
	return []message{d.about("issue_comment", "pull_request_comment", e, payload)}
}

func (d forgejo) statusMessages(ctx context.Context, e event) ([]message, error) {
	if !d.family.statusEvent {
		return nil, nil
	}
	commits, err := d.pushCommits(ctx, e.repo, []string{e.status.sha})
	if err != nil {
		return nil, err
	}
	link := e.status.TargetURL
	if strings.HasPrefix(link, "/") {
		link = d.URL() + link
	}
	return []message{d.about("status", "status", e, object{
		"commit": commits[0], "context": e.status.Context, "created_at": stamp(e.status.at), "updated_at": stamp(e.status.at),
		"description": e.status.Description, "id": e.status.ID, "sha": e.status.sha, "state": e.status.State, "target_url": link,
	})}, nil
}

// pushMessages: a new branch is created and then pushed, a new tag pushed and
// then created; a tag that goes is pushed to zeros and deleted, a branch only
// deleted (fact 4).
func (d forgejo) pushMessages(ctx context.Context, e event) ([]message, error) {
	kind, short := "branch", strings.TrimPrefix(e.ref.name, "refs/heads/")
	if isTag(e.ref.name) {
		kind, short = "tag", strings.TrimPrefix(e.ref.name, "refs/tags/")
	}
	name := short
	if d.family.fullTags {
		name = e.ref.name
	}
	var push []message
	if kind == "tag" || e.ref.new.object != "" {
		payload, err := d.renderPush(ctx, e)
		if err != nil {
			return nil, err
		}
		push = []message{d.about("push", "push", e, payload)}
	}
	switch {
	case e.ref.new.object == "":
		gone := d.about("delete", "delete", e, object{"ref": name, "ref_type": kind, "pusher_type": "user"})
		return append(push, gone), nil
	case e.ref.old.object != "":
		return push, nil
	}
	made := d.about("create", "create", e, object{"sha": e.ref.new.object, "ref": name, "ref_type": kind})
	if kind == "branch" {
		return append([]message{made}, push...), nil
	}
	return append(push, made), nil
}
