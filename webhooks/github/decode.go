package github

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

// maxName bounds the header values that become keys.
const maxName = 128

// keptHeaders are what Decode reads and what tells an operator which hook sent
// the delivery.
var keptHeaders = [...]string{
	"Content-Type",
	"X-Github-Delivery",
	"X-Github-Event",
	"X-Github-Hook-Id",
	"X-Github-Hook-Installation-Target-Id",
	"X-Github-Hook-Installation-Target-Type",
}

// Decode turns one verified body into a delivery. It is pure. The error names
// what is missing or broken; an event or action we have no use for is
// engine.Ignored.
func Decode(instance engine.Instance, h http.Header, body []byte) (webhooks.Delivery, error) {
	d := webhooks.Delivery{
		Instance: instance,
		GUID:     h.Get("X-Github-Delivery"),
		Event:    h.Get("X-Github-Event"),
		Header:   make(map[string]string, len(keptHeaders)),
	}
	for _, name := range keptHeaders {
		if v := h.Get(name); v != "" {
			d.Header[name] = v
		}
	}
	if err := checkHeaders(d, h.Get("Content-Type")); err != nil {
		return d, err
	}
	p, err := parse(body)
	if err != nil {
		return d, err
	}
	d.Action = p.Action
	d.Installation = p.Installation
	d.Repo = p.repo(instance)
	d.Sender = p.Sender.actor()
	d.ViaApp = p.viaApp()
	d.Decoded, err = event(d, p)
	return d, err
}

func checkHeaders(d webhooks.Delivery, contentType string) error {
	for name, v := range map[string]string{"X-GitHub-Delivery": d.GUID, "X-GitHub-Event": d.Event} {
		if v == "" || len(v) > maxName {
			return fmt.Errorf("header %s: want 1 to %d characters, got %d", name, maxName, len(v))
		}
	}
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != "application/json" {
		return fmt.Errorf("content type %.64q: set the content type of the webhook to application/json", contentType)
	}
	return nil
}

// event maps a payload to what may have changed (forge-facts 1.2, 1.3).
func event(d webhooks.Delivery, p *payload) (engine.Event, error) {
	switch d.Event {
	case "ping":
		return engine.Ignored{Reason: fmt.Sprintf("ping of hook %d: the webhook works", p.HookID)}, nil
	case "installation", "installation_repositories":
		if d.Installation == 0 {
			return nil, missing(d, "installation.id")
		}
		return engine.InstallationChanged{Instance: d.Instance, Installation: d.Installation, Action: d.Action}, nil
	}
	decode := repositoryEvent(d.Event)
	if decode == nil {
		return engine.Ignored{Reason: fmt.Sprintf("event %s is not used", d.Event)}, nil
	}
	if d.Repo.ID == 0 || d.Repo.Owner == "" || d.Repo.Name == "" {
		return nil, missing(d, "repository.id, repository.name or repository.owner.login")
	}
	return decode(d, p)
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

func missing(d webhooks.Delivery, field string) error {
	return fmt.Errorf("a %s delivery without %s", d.Event, field)
}

// unused is the answer to an action nothing follows from, known or new.
func unused(d webhooks.Delivery, why string) (engine.Event, error) {
	return engine.Ignored{Reason: strings.TrimSpace(d.Event+" "+d.Action) + ": " + why}, nil
}
