package forgejo

import (
	"net/http"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// Decode turns one verified body into a delivery. It is pure. The error names
// what is missing or broken; an event or action we have no use for is
// engine.Ignored.
func Decode(instance engine.Instance, h http.Header, body []byte) (webhooks.Delivery, error) {
	prefix := familyOf(h)
	d, err := decode.Open(instance, h, decode.Fields{
		Event:    prefix + "Event",
		Delivery: prefix + "Delivery",
		Kept:     []string{"Content-Type", prefix + "Event", prefix + "Event-Type", prefix + "Delivery"},
	})
	if err != nil {
		return d, err
	}
	var p payload
	if err := decode.Body("Forgejo", body, p.member); err != nil {
		return d, err
	}
	d.Action = p.Action
	d.Repo = p.repo(instance)
	d.Sender = p.sender(d.Event)
	d.Decoded, err = event(d, &p)
	return d, err
}

func event(d webhooks.Delivery, p *payload) (engine.Event, error) {
	toEvent := repositoryEvent(d.Event)
	if toEvent == nil {
		return decode.UnusedEvent(d)
	}
	if d.Repo.ID == 0 || d.Repo.Owner == "" || d.Repo.Name == "" {
		return nil, decode.Missing(d, "repository.id, repository.name or repository.owner.login")
	}
	return toEvent(d, p)
}

type decodeFunc func(webhooks.Delivery, *payload) (engine.Event, error)

// repositoryEvent is the decoder of an event that belongs to a repository, nil
// for one we do not use. The field that names it is coarse, and the one beside it
// that names the type is not needed: action and members tell the rest. Types are
// understood too, for the forges have moved names from one to the other.
func repositoryEvent(name string) decodeFunc {
	switch name {
	case "pull_request", "pull_request_sync":
		return pullRequest
	case "pull_request_approved", "pull_request_rejected", "pull_request_comment", "pull_request_review",
		"pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment":
		return reviewed
	case "issue_comment":
		return commented
	case "push":
		return push
	case "create", "delete":
		return refChanged
	case "status", "workflow_run", "workflow_job", "action_run_success", "action_run_failure", "action_run_recover":
		return checks
	}
	return nil
}

func pullRequest(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.PullRequest <= 0 {
		return nil, decode.Missing(d, "pull_request.number")
	}
	switch d.Action {
	case "opened", "synchronized", "synchronize", "reopened":
		return decode.Moved(d, p.PullRequest, p.Head, p.HeadRepo)
	case "edited":
		if p.TitleChanged || p.BaseChanged {
			// A draft is one by its title, and which prefixes make one the
			// instance decides.
			return decode.Moved(d, p.PullRequest, p.Head, p.HeadRepo)
		}
		return decode.Unused(d, "text only, title and target branch stayed")
	case "closed", "deleted":
		return engine.ChangeClosed{Repo: d.Repo, Number: p.PullRequest}, nil
	}
	return decode.Unused(d, "moves neither head, target branch nor draft state")
}

// reviewed: who reviewed what, and which text may hold commands, is read from
// the forge; the delivery has neither id nor commit of the review.
func reviewed(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.PullRequest <= 0 {
		return nil, decode.Missing(d, "pull_request.number")
	}
	return engine.ReviewChanged{Repo: d.Repo, Number: p.PullRequest, Unnamed: true}, nil
}

// commented: only a comment that was just created can hold commands, never an
// edited one (pr-loop decision 7).
func commented(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Comment == 0 {
		return nil, decode.Missing(d, "comment.id")
	}
	if p.Issue <= 0 {
		return nil, decode.Missing(d, "issue.number")
	}
	if !p.IssueIsChange {
		return decode.Unused(d, "on an issue, not on a pull request")
	}
	if d.Action != "created" {
		return decode.Unused(d, "commands are read from a comment when it is created, never later")
	}
	ref := engine.CommentRef{Kind: engine.IssueComment, ID: p.Comment, Number: p.Issue}
	return engine.CommandPosted{Repo: d.Repo, Comment: ref, Author: p.CommentAuthor.actor()}, nil
}

func push(d webhooks.Delivery, p *payload) (engine.Event, error) {
	return decode.Pushed(d, p.Ref, p.Before, p.After)
}

// refChanged: of a branch that appears a push comes too, and says more; of one
// that vanishes none does.
func refChanged(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Ref == "" {
		return nil, decode.Missing(d, "ref")
	}
	name := shortRef(p.Ref)
	switch {
	case p.RefType == "tag":
		return engine.TagChanged{Repo: d.Repo, Name: name}, nil
	case p.RefType == "branch" && d.Event == "delete":
		return engine.BranchPushed{Repo: d.Repo, Branch: name}, nil
	}
	return decode.Unused(d, "of a "+p.RefType+", which push reports")
}
