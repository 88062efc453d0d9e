// Package decode is what the decoders of all forges share: what a delivery's
// header says, its signature, the few members that are wanted of its body, and
// the events that every forge tells alike.
package decode

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

// Fields names the header fields of one forge, as its documents spell them.
type Fields struct {
	Event string
	// Delivery holds the id; "" when there is none and the caller makes one.
	Delivery string
	// Kept are canonical names of what decoding again needs and what tells an
	// operator which hook sent the delivery. No signature is among them.
	Kept []string
}

// Open begins a delivery with what its header says. The error names the field
// that is missing or wrong.
func Open(instance engine.Instance, h http.Header, f Fields) (webhooks.Delivery, error) {
	d := webhooks.Delivery{Instance: instance, Event: h.Get(f.Event), Header: make(map[string]string, len(f.Kept))}
	for _, name := range f.Kept {
		if v := h.Get(name); v != "" {
			d.Header[name] = v
		}
	}
	if err := checkName(f.Event, d.Event); err != nil {
		return d, err
	}
	if f.Delivery != "" {
		d.GUID = h.Get(f.Delivery)
		if err := checkName(f.Delivery, d.GUID); err != nil {
			return d, err
		}
	}
	contentType := h.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != "application/json" {
		return d, fmt.Errorf("content type %.64q: set the content type of the webhook to application/json", contentType)
	}
	return d, nil
}

func checkName(field, v string) error {
	if v == "" || len(v) > maxName {
		return fmt.Errorf("header %s: want 1 to %d characters, got %d", field, maxName, len(v))
	}
	return nil
}

// One is the value of a field that must be there exactly once; else the error
// is webhooks.ErrUnsigned.
func One(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", fmt.Errorf("%w: %d %s headers, want one", webhooks.ErrUnsigned, len(values), name)
	}
	return values[0], nil
}

// families are the beginnings of the header fields that tell one forge from
// another. Forgejo and Gitea send those of Gogs and of GitHub beside their own
// (forge-facts part 3), so theirs come first.
var families = [...]struct {
	prefix string
	kind   engine.ForgeKind
}{
	{"X-Forgejo-", engine.Forgejo},
	{"X-Gitea-", engine.Forgejo},
	{"X-Gogs-", engine.Forgejo},
	{"X-Gitlab-", engine.GitLab},
	{"X-Github-", engine.GitHub},
	{"X-Hub-", engine.GitHub},
}

// CheckRoute refuses a delivery whose header names another forge than the one
// this route is for, whoever signed it: the secrets of two forges may be one.
// The error is a *webhooks.MisroutedError. A header that names no forge passes;
// it fails for its signature.
func CheckRoute(h http.Header, route engine.ForgeKind) error {
	var sent [len(families)]bool
	for name := range h {
		for i, f := range families {
			sent[i] = sent[i] || strings.HasPrefix(name, f.prefix)
		}
	}
	imitates := sent[0] || sent[1] || sent[2]
	for i, f := range families {
		if !sent[i] || f.kind == route || imitates && route == engine.Forgejo && f.kind == engine.GitHub {
			continue
		}
		return &webhooks.MisroutedError{Route: route, Sender: f.kind, Fields: f.prefix + "*"}
	}
	return nil
}
