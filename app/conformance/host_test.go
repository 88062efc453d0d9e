package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/forgejo"
	"github.com/chant-bot/chant/webhooks/github"
	"github.com/chant-bot/chant/webhooks/gitlab"
)

// dialect is one way a forge speaks.
type dialect struct {
	kind  engine.ForgeKind
	start func(forgetest.Options) (*forgetest.Forge, error)
}

func dialects() []dialect {
	return []dialect{
		{engine.GitHub, forgetest.NewGitHub},
		{engine.GitLab, forgetest.NewGitLab},
		{engine.Forgejo, forgetest.NewForgejo},
	}
}

// host is one forge, and the account chant has there: an app on GitHub, a bot
// with a token elsewhere.
type host struct {
	dialect

	forge  *forgetest.Forge
	app    *forgetest.App // nil where there are no apps
	bot    *forgetest.User
	token  string // "" where the app is who we are
	secret string // of the webhook
}

func newHost(t testing.TB, d dialect) *host {
	t.Helper()
	h := &host{dialect: d, secret: "webhook secret of " + string(d.kind) + " in " + t.Name()}
	h.forge = must(d.start(forgetest.Options{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { _ = h.forge.Close() })
	for _, org := range []string{"acme", "other"} {
		h.forge.Org(org)
	}
	if d.kind == engine.GitHub {
		h.app = must(h.forge.CreateApp(forgetest.AppOptions{Slug: "chant", Owner: "acme"}))(t)
		h.bot = h.app.BotUser()
		for _, org := range []string{"acme", "other"} {
			must(h.app.Install(org))(t)
		}
		return h
	}
	h.bot = h.forge.User("chant")
	h.token = h.forge.Token(h.bot)
	return h
}

func (h *host) instance() engine.Instance {
	return engine.Instance{Kind: h.kind, Host: strings.TrimPrefix(h.forge.URL(), "http://")}
}

// connection is the forge's part of the server's configuration.
func (h *host) connection(t testing.TB, dir string) map[string]any {
	t.Helper()
	c := map[string]any{
		"apiUrl": strings.TrimSuffix(h.forge.APIURL(), "/"), "webUrl": h.forge.URL(), "webhookSecrets": []string{h.secret},
	}
	if h.app == nil {
		c["token"] = h.token
		return c
	}
	key := filepath.Join(dir, h.app.Slug+"-"+filepath.Base(h.forge.URL())+".pem")
	if err := os.WriteFile(key, h.app.PrivateKeyPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	c["appId"], c["privateKey"] = h.app.ID, "file:"+key
	return c
}

// deliver sets the webhook: the app's own on GitHub, one of every repository
// elsewhere.
func (h *host) deliver(url string) {
	if h.app != nil {
		h.app.Deliver(url, h.secret)
		return
	}
	h.forge.Deliver(url, h.secret)
}

// decoder reads deliveries as the server does.
func (h *host) decoder(t testing.TB) webhooks.Decoder {
	t.Helper()
	secrets := [][]byte{[]byte(h.secret)}
	switch h.kind {
	case engine.GitHub:
		return github.New(h.instance(), secrets)
	case engine.GitLab:
		return must(gitlab.New(h.instance(), secrets, time.Now))(t)
	case engine.Forgejo:
	}
	return forgejo.New(h.instance(), secrets)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// await looks at what a person would until done says so, less often the longer
// it takes.
func await(ctx context.Context, done func() bool) error {
	for pause := 10 * time.Millisecond; !done(); pause = min(pause*5/4, 200*time.Millisecond) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}
