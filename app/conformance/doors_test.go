package conformance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/chant-bot/chant/engine"
)

// with gives a delivery with other header fields, where f says so.
func (p post) with(f func(name, value string) string) post {
	header := http.Header{}
	for name := range p.header {
		if value := f(name, p.header.Get(name)); value != "" {
			header.Set(name, value)
		}
	}
	p.header = header
	return p
}

// proves tells the fields that prove who sent a delivery.
func proves(name string) bool {
	return strings.Contains(name, "Signature") || name == "X-Gitlab-Token"
}

// renamed gives a delivery under another id.
func renamed(p post, id string) post {
	return p.with(func(name, value string) string {
		if strings.HasSuffix(name, "-Delivery") || name == "Idempotency-Key" {
			return id
		}
		return value
	})
}

// signed gives a body of ours as the forge would have sent it.
func (h *host) signed(p post, body string) post {
	mac := hmac.New(sha256.New, []byte(h.secret))
	mac.Write([]byte(body))
	sum := hex.EncodeToString(mac.Sum(nil))
	p.body = []byte(body)
	return p.with(func(name, value string) string {
		switch name {
		case "X-Hub-Signature-256":
			return "sha256=" + sum
		case "X-Forgejo-Signature", "X-Gitea-Signature":
			return sum
		}
		return value
	})
}

// sample is a delivery of the case's repository that was taken.
func (w *world) sample() post {
	w.t.Helper()
	must(w.repo.Commit("sample", map[string]string{"x": "1"}, w.bob))(w.t)
	w.quiet()
	for _, p := range w.relay.handed(w.repo.ID) {
		if is[engine.BranchPushed](p) {
			return p
		}
	}
	w.t.Fatal("no push was told of")
	return post{}
}

// refused posts a delivery and expects it to be turned away.
func (w *world) refused(url string, p post, status int, reason string) {
	w.t.Helper()
	if got, answer := deliver(w.ctx, url, p); got != status || !strings.Contains(answer, reason) {
		w.t.Errorf("answered %d %s, want %d %s", got, answer, status, reason)
	}
}

// doors are what a stranger or a slip brings to an endpoint.
func doors() []conform {
	return []conform{
		{name: "a wrong signature or token is refused", run: func(w *world) {
			w.refused(w.relay.target, w.sample().with(func(name, value string) string {
				if proves(name) {
					return strings.Repeat("0", len(value))
				}
				return value
			}), 401, "not authenticated")
		}},
		{name: "a changed body is refused", lacking: lacking{
			engine.GitLab: "GitLab's secret token does not cover the body; its signing token does, and is tested with its decoder",
		}, run: func(w *world) {
			p := w.sample()
			p.body = append(p.body, ' ')
			w.refused(w.relay.target, p, 401, "not authenticated")
		}},
		{name: "a delivery without proof is refused", run: func(w *world) {
			w.refused(w.relay.target, w.sample().with(func(name, value string) string {
				if proves(name) {
					return ""
				}
				return value
			}), 401, "not authenticated")
		}},
		{name: "mixed headers are refused", run: func(w *world) {
			p := w.sample()
			field := "X-Gitlab-Event"
			if w.kind == engine.GitLab {
				field = "X-Gitea-Event"
			}
			p.header = p.header.Clone()
			p.header.Set(field, "push")
			w.refused(w.relay.target, p, 400, "post it to the endpoint of its own forge")
		}},
		{name: "a delivery at the endpoint of another forge is refused by name", run: func(w *world) {
			p := w.sample()
			for _, d := range dialects() {
				if d.kind != w.kind {
					w.refused(w.endpoint(d.kind), p, 400, "a delivery of "+string(w.kind))
				}
			}
		}},
		{name: "a forge is reached under its own host too", run: func(w *world) {
			w.refused(w.endpoint(w.kind)+"/"+w.instance().Host, w.sample(), 202, "duplicate")
			w.refused(w.endpoint(w.kind)+"/elsewhere.test", w.sample(), 404, "")
		}},
		{name: "a body that is none is refused", run: func(w *world) {
			for _, body := range []string{"", "null", "[]", `{"repository":`} {
				w.refused(w.relay.target, w.signed(w.sample(), body), 400, "")
			}
		}},
		{name: "an event nobody knows is taken and left", run: func(w *world) {
			p := renamed(w.sample(), "an-event-nobody-knows").with(func(name, value string) string {
				if strings.HasSuffix(name, "-Event") {
					return "Novelty"
				}
				return value
			})
			w.refused(w.relay.target, p, 202, "event Novelty is not used")
		}},
		{name: "a repository that is not on the list is left alone", elsewhere: true, run: func(w *world) {
			pr := w.propose("second")
			w.quiet()
			for _, p := range w.relay.handed(w.repo.ID) {
				w.refused(w.relay.target, renamed(p, "again"), 202, "")
			}
			if said := w.repo.Statuses(pr.Head()); len(said) != 0 || len(w.repo.Comments(pr.Number)) != 0 {
				w.t.Errorf("something was said: %+v", said)
			}
			if log := w.log(); strings.Contains(log, "outcome=queued") {
				w.t.Errorf("a delivery was queued:\n%s", log)
			}
		}},
		{name: "a repository we lost is left alone, and holds up no other", run: func(w *world) {
			w.relay.route(w.repo.ID, always(late))
			must(w.repo.Commit("main", map[string]string{"x": "1"}, w.bob))(w.t)
			w.quiet()
			if w.app != nil {
				w.repo.Transfer("stranger") // where the app is not installed
			}
			w.repo.SetPermission(w.bot, "none")
			w.release()
			w.eventually("the delivery to be left", func() bool {
				return strings.Contains(w.log(), "not installed or not visible")
			})
		}},
	}
}
