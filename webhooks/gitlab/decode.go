package gitlab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// Decode turns one verified body into a delivery. It is pure. The error names
// what is missing or broken; an event or action we have no use for is
// engine.Ignored.
//
// Of the two update hooks that one push to a merge request can send, with two
// ids, only that with the oldrev says that the head moved; the other is ignored.
// Should both say it, they settle one merge request, which is planned once for
// its head and its base.
func Decode(instance engine.Instance, h http.Header, body []byte) (webhooks.Delivery, error) {
	d, err := decode.Open(instance, h, decode.Fields{
		Event:    "X-Gitlab-Event",
		Delivery: idField(h),
		Kept: []string{
			"Content-Type",
			"Idempotency-Key",
			"Webhook-Id",
			"X-Gitlab-Event",
			"X-Gitlab-Event-Uuid",
			"X-Gitlab-Instance",
			"X-Gitlab-Webhook-Uuid",
		},
	})
	if err != nil {
		return d, err
	}
	if key := h.Get("Idempotency-Key"); key != "" && key != d.GUID {
		return d, errors.New("headers webhook-id and Idempotency-Key name two deliveries; GitLab sends one id in both")
	}
	var p payload
	used := hookOf(d.Event)
	member := p.member
	if used.toEvent == nil {
		member = p.place
	}
	if err := decode.Body("GitLab", body, member); err != nil {
		return d, err
	}
	d.Repo = p.repo(instance)
	if d.GUID == "" {
		d.GUID = idOf(d.Event, d.Repo.ID, body)
	}
	d.Action = p.Attributes.Action
	d.Sender = p.sender(d.Event)
	d.Decoded, err = used.event(d, &p)
	return d, err
}

// idField is the header field with the delivery's id, which a resent delivery
// carries again: the signed one first. "" before GitLab 17.4. X-Gitlab-Event-UUID
// is no id, all hooks of one push share it (forge-facts 2.1).
func idField(h http.Header) string {
	for _, field := range []string{"webhook-id", "Idempotency-Key"} {
		if h.Get(field) != "" {
			return field
		}
	}
	return ""
}

// idOf makes the id of a delivery that has none: the same for the same event,
// project and body (forge-facts 2.1).
func idOf(event string, project int64, body []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%d\n", event, project)
	sum.Write(body)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// hook is what we know of one event: the kind its body names, and its decoder,
// nil for one we do not use.
type hook struct {
	kind    string
	toEvent func(webhooks.Delivery, *payload) (engine.Event, error)
}

func hookOf(event string) hook {
	switch event {
	case "Merge Request Hook":
		return hook{"merge_request", mergeRequest}
	case "Note Hook", "Confidential Note Hook":
		return hook{"note", note}
	case "Push Hook":
		return hook{"push", push}
	case "Tag Push Hook":
		return hook{"tag_push", push}
	case "Pipeline Hook":
		return hook{"pipeline", pipeline}
	case "Job Hook", "Build Hook":
		return hook{"build", job}
	}
	return hook{}
}

// event maps a payload to what may have changed (forge-facts 2.2).
func (k hook) event(d webhooks.Delivery, p *payload) (engine.Event, error) {
	switch {
	case d.Event == "System Hook":
		return decode.Unused(d, "the webhook of a project or of its group tells what is needed")
	case d.Event == "Emoji Hook":
		return decode.Unused(d, "an award emoji decides nothing")
	case k.toEvent == nil:
		return decode.UnusedEvent(d)
	case p.Kind != k.kind:
		return nil, fmt.Errorf("a %s delivery of kind %.32q, want %q: remove the custom template of the webhook", d.Event, p.Kind, k.kind)
	case d.Repo.ID == 0:
		// The hooks of groups once left out the id. What is asked of us and what we
		// say is by id, so nothing could follow; refusing would disable the hook.
		return decode.Unused(d, "names no project by id and path")
	}
	return k.toEvent(d, p)
}

// sender is who caused the event. That of a pipeline or job is who started it,
// maybe we; how it went is nobody's own act.
func (p *payload) sender(event string) engine.Actor {
	switch hookOf(event).kind {
	case "pipeline", "build":
		return engine.Actor{}
	}
	return engine.Actor{ID: p.UserID, Login: p.UserName}
}
