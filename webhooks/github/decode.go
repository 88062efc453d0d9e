package github

import (
	"fmt"
	"net/http"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

var fields = decode.Fields{
	Event:    "X-GitHub-Event",
	Delivery: "X-GitHub-Delivery",
	Kept: []string{
		"Content-Type",
		"X-Github-Delivery",
		"X-Github-Event",
		"X-Github-Hook-Id",
		"X-Github-Hook-Installation-Target-Id",
		"X-Github-Hook-Installation-Target-Type",
	},
}

// Decode turns one verified body into a delivery. It is pure. The error names
// what is missing or broken; an event or action we have no use for is
// engine.Ignored.
func Decode(instance engine.Instance, h http.Header, body []byte) (webhooks.Delivery, error) {
	d, err := decode.Open(instance, h, fields)
	if err != nil {
		return d, err
	}
	var p payload
	if err := decode.Body("GitHub", body, p.member); err != nil {
		return d, err
	}
	d.Action = p.Action
	d.Installation = p.Installation
	d.Repo = p.repo(instance)
	d.Sender = p.Sender.actor()
	d.ViaApp = p.viaApp()
	d.Decoded, err = event(d, &p)
	return d, err
}

// event maps a payload to what may have changed (forge-facts 1.2, 1.3).
func event(d webhooks.Delivery, p *payload) (engine.Event, error) {
	switch d.Event {
	case "ping":
		return engine.Ignored{Reason: fmt.Sprintf("ping of hook %d: the webhook works", p.HookID)}, nil
	case "installation", "installation_repositories":
		if d.Installation == 0 {
			return nil, decode.Missing(d, "installation.id")
		}
		return engine.InstallationChanged{Instance: d.Instance, Installation: d.Installation, Action: d.Action}, nil
	}
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
// for one we do not use.
func repositoryEvent(name string) decodeFunc {
	switch name {
	case "pull_request":
		return pullRequest
	case "pull_request_review":
		return pullRequestReview
	case "pull_request_review_comment", "issue_comment", "commit_comment":
		return commented
	case "push":
		return push
	case "create", "delete":
		return refChanged
	case "check_run", "check_suite", "workflow_run", "status":
		return checks
	case "merge_group":
		return mergeGroup
	case "repository":
		return repositoryChanged
	}
	return nil
}
