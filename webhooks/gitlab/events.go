package gitlab

import (
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

func mergeRequest(d webhooks.Delivery, p *payload) (engine.Event, error) {
	number := p.Attributes.IID
	if number <= 0 {
		return nil, decode.Missing(d, "object_attributes.iid")
	}
	switch d.Action {
	case "open", "reopen":
		return decode.Moved(d, number, p.Attributes.LastCommit, p.Attributes.SourceProject)
	case "update":
		if p.moved() {
			return decode.Moved(d, number, p.Attributes.LastCommit, p.Attributes.SourceProject)
		}
	case "close", "merge":
		return engine.ChangeClosed{Repo: d.Repo, Number: number}, nil
	case "approval", "approved", "unapproval", "unapproved":
		// Which of them comes depends on rules and tier; approvals are read from
		// the forge.
		return engine.ReviewChanged{Repo: d.Repo, Number: number}, nil
	}
	return decode.Unused(d, "moves neither head, target branch nor draft state")
}

// note: only a note that was just created can hold commands, never an edited one
// (pr-loop decision 7). GitLab before 16.11 names no action and sends no edits.
// Notes on lines and in threads have the ids of all notes of a merge request, so
// they are of one kind.
func note(d webhooks.Delivery, p *payload) (engine.Event, error) {
	a := &p.Attributes
	if a.ID == 0 {
		return nil, decode.Missing(d, "object_attributes.id")
	}
	ref := engine.CommentRef{ID: a.ID}
	switch a.Target {
	case "MergeRequest":
		if p.Change <= 0 {
			return nil, decode.Missing(d, "merge_request.iid")
		}
		ref.Kind, ref.Number = engine.IssueComment, p.Change
	case "Commit":
		if a.CommitID == "" {
			return nil, decode.Missing(d, "object_attributes.commit_id")
		}
		ref.Kind, ref.Commit = engine.CommitComment, a.CommitID
	default:
		return decode.Unused(d, "neither on a merge request nor on a commit")
	}
	switch {
	case a.System:
		return decode.Unused(d, "written by GitLab itself")
	case a.Internal || d.Event == "Confidential Note Hook":
		return decode.Unused(d, "an internal note, which not everybody sees who sees what it would do")
	case d.Action != "create" && d.Action != "":
		return decode.Unused(d, "commands are read from a note when it is created, never later")
	}
	author := engine.Actor{ID: a.AuthorID}
	if d.Sender.ID == a.AuthorID {
		author = d.Sender
	}
	return engine.CommandPosted{Repo: d.Repo, Comment: ref, Author: author}, nil
}

func push(d webhooks.Delivery, p *payload) (engine.Event, error) {
	return decode.Pushed(d, p.Ref, p.Before, p.After)
}

func pipeline(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Attributes.SHA == "" {
		return nil, decode.Missing(d, "object_attributes.sha")
	}
	return checks(d, p.Attributes.Ref, p.Attributes.SHA, p.Attributes.Status)
}

func job(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.JobSHA == "" {
		return nil, decode.Missing(d, "sha")
	}
	return checks(d, p.Ref, p.JobSHA, p.JobStatus)
}

// checks: a merge train has no hook of its own. The ref of a job says that it
// runs for one, and while it runs the train waits for every status it requires;
// a pipeline hook names the source branch instead.
func checks(d webhooks.Delivery, ref, sha, status string) (engine.Event, error) {
	ofTrain := strings.HasPrefix(ref, "refs/merge-requests/") && strings.HasSuffix(ref, "/train")
	ended := slices.Contains([]string{"success", "failed", "canceled", "skipped"}, status)
	if ofTrain && !ended {
		return engine.QueueRequested{Repo: d.Repo, Head: sha}, nil
	}
	return engine.ChecksChanged{Repo: d.Repo, Commit: sha}, nil
}
