package webhooks_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/forgejo"
	"github.com/chant-bot/chant/webhooks/github"
	"github.com/chant-bot/chant/webhooks/gitlab"
)

// decoders are one of each forge, all with one secret.
func decoders(t *testing.T) map[engine.ForgeKind]webhooks.Decoder {
	t.Helper()
	secrets := [][]byte{[]byte(secret)}
	ofGitLab, err := gitlab.New(engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}, secrets, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return map[engine.ForgeKind]webhooks.Decoder{
		engine.GitHub:  github.New(instance, secrets),
		engine.GitLab:  ofGitLab,
		engine.Forgejo: forgejo.New(engine.Instance{Kind: engine.Forgejo, Host: "codeberg.org"}, secrets),
	}
}

// sentBy is the header of a delivery of one forge, good for its own endpoint.
func sentBy(forge engine.ForgeKind, body string) http.Header {
	signed := request("push", "d1", body).Header // as GitHub's
	h := http.Header{"Content-Type": {"application/json"}}
	switch forge {
	case engine.GitHub:
		return signed
	case engine.GitLab:
		h.Set("X-Gitlab-Event", "Push Hook")
		h.Set("X-Gitlab-Token", secret)
	case engine.Forgejo:
		// Forgejo sends GitHub's header with a signature that GitHub would make.
		h = signed
		h.Set("X-Forgejo-Event", "push")
		h.Set("X-Forgejo-Delivery", "d1")
		h.Set("X-Forgejo-Signature", strings.TrimPrefix(signed.Get("X-Hub-Signature-256"), "sha256="))
	}
	return h
}

// The secret is the same everywhere: the header alone keeps forges apart.
func TestADeliveryOfAnotherForgeIsRefusedByName(t *testing.T) {
	t.Parallel()
	const body = `{"object_kind":"push","ref":"refs/heads/main"}`
	for route, dec := range decoders(t) {
		for _, sender := range []engine.ForgeKind{engine.GitHub, engine.GitLab, engine.Forgejo} {
			err := dec.Verify(sentBy(sender, body), []byte(body))
			misrouted, ok := errors.AsType[*webhooks.MisroutedError](err)
			switch {
			case sender == route && err != nil:
				t.Errorf("%s at its own endpoint: %v", sender, err)
			case sender != route && (!ok || misrouted.Sender != sender || misrouted.Route != route):
				t.Errorf("%s at the endpoint of %s: %v", sender, route, err)
			}
		}
	}
}

func TestADeliveryOfEachForgeIsStoredWithoutWhatProvedIt(t *testing.T) {
	t.Parallel()
	const body = `{"object_kind":"push","ref":"refs/heads/main","before":"b","after":"a",
		"project":{"id":42,"path_with_namespace":"acme/infra"},
		"repository":{"id":42,"name":"infra","owner":{"login":"acme"}}}`
	for route, dec := range decoders(t) {
		b := &inbox{}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header = sentBy(route, body)
		h := webhooks.Receiver(dec, b, func(r engine.Repo) bool { return r.FullName() == "acme/infra" }, time.Now, slog.New(slog.DiscardHandler))
		if code, a := send(t, h, r); code != 202 || a.Outcome != "queued" {
			t.Errorf("%s: answered %d %+v", route, code, a)
			continue
		}
		d := b.got[0]
		want := engine.Event(engine.BranchPushed{Repo: d.Repo, Branch: "main", Before: "b", After: "a"})
		if diff := cmp.Diff(want, d.Decoded); diff != "" || d.Repo.Key() != string(route)+":"+d.Instance.Host+"/42" {
			t.Errorf("%s: %s%s", route, d.Repo.Key(), diff)
		}
		for name := range d.Header {
			if strings.Contains(name, "Signature") || strings.Contains(name, "Token") {
				t.Errorf("%s: %s is kept", route, name)
			}
		}
	}
}

func TestMixedHeadersAreRefusedByName(t *testing.T) {
	t.Parallel()
	const body = `{}`
	tests := map[string]struct {
		route, sender engine.ForgeKind
		field, want   string
	}{
		"a token of GitLab beside GitHub's signature":   {engine.GitHub, engine.GitHub, "X-Gitlab-Token", "a delivery of gitlab (header X-Gitlab-*) at the endpoint of github"},
		"Gitea's event beside GitHub's signature":       {engine.GitHub, engine.GitHub, "X-Gitea-Event", "a delivery of forgejo (header X-Gitea-*) at the endpoint of github"},
		"Gogs' event beside GitHub's signature":         {engine.GitHub, engine.GitHub, "X-Gogs-Event", "a delivery of forgejo (header X-Gogs-*) at the endpoint of github"},
		"GitHub's event beside a token of GitLab":       {engine.GitLab, engine.GitLab, "X-GitHub-Event", "a delivery of github (header X-Github-*) at the endpoint of gitlab"},
		"GitHub's signature beside a token of GitLab":   {engine.GitLab, engine.GitLab, "X-Hub-Signature-256", "a delivery of github (header X-Hub-*) at the endpoint of gitlab"},
		"a token of GitLab beside Forgejo's signature":  {engine.Forgejo, engine.Forgejo, "X-Gitlab-Token", "a delivery of gitlab (header X-Gitlab-*) at the endpoint of forgejo"},
		"an event of GitLab beside Forgejo's signature": {engine.Forgejo, engine.Forgejo, "X-Gitlab-Event", "a delivery of gitlab (header X-Gitlab-*) at the endpoint of forgejo"},
	}
	all := decoders(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &inbox{}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header = sentBy(tt.sender, body)
			r.Header.Set(tt.field, "x")
			h := webhooks.Receiver(all[tt.route], b, func(engine.Repo) bool { return true }, time.Now, slog.New(slog.DiscardHandler))
			code, a := send(t, h, r)
			want := webhooks.Answer{Outcome: "refused", Reason: tt.want + ": post it to the endpoint of its own forge"}
			if diff := cmp.Diff(want, a); diff != "" || code != 400 || len(b.got) != 0 {
				t.Errorf("answered %d, stored %d: %s", code, len(b.got), diff)
			}
		})
	}
}

// An endpoint that is asked without any forge's header has nothing to name.
func TestADeliveryOfNobodyIsUnsignedEverywhere(t *testing.T) {
	t.Parallel()
	for route, dec := range decoders(t) {
		if err := dec.Verify(http.Header{"Content-Type": {"application/json"}}, []byte(`{}`)); !errors.Is(err, webhooks.ErrUnsigned) {
			t.Errorf("%s: %v", route, err)
		}
	}
}
