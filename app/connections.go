package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgejo"
	"github.com/chant-bot/chant/forges/github"
	"github.com/chant-bot/chant/forges/gitlab"
	"github.com/chant-bot/chant/sql/store"
	"github.com/chant-bot/chant/webhooks"
	hooksforgejo "github.com/chant-bot/chant/webhooks/forgejo"
	hooksgithub "github.com/chant-bot/chant/webhooks/github"
	hooksgitlab "github.com/chant-bot/chant/webhooks/gitlab"
)

// connection is one forge: how it is asked and told, and how its deliveries are
// read.
type connection struct {
	instance engine.Instance
	first    bool // of its kind
	shared   bool // we write as an account that a person may use too
	decoder  webhooks.Decoder
	// reach finds the connection that may serve a repository, forget drops what
	// is kept of an installation, and moved which one serves a repository.
	reach  func(ctx context.Context, repo engine.Repo) (forges.Forge, error)
	forget func(installation int64)
	moved  func(repo engine.Repo)
	me     int64 // our own account, 0 where the forge is to be asked
}

// connections are the configured forges.
type connections []*connection

// via gives what the API of a forge is reached through.
type via func(engine.Instance) http.RoundTripper

// direct counts nothing.
func direct(engine.Instance) http.RoundTripper { return http.DefaultTransport }

// connect makes the connections. It sends nothing. The error names every one
// that cannot be made.
func connect(c *config.Config, through via) (connections, error) {
	var out connections
	var errs []error
	for _, f := range c.Forges() {
		made, err := connectTo(f, through(f.Instance))
		errs = append(errs, under(f.Key, err))
		out = append(out, made)
	}
	if len(out) == 0 {
		errs = append(errs, errors.New("no forge is configured: set github.appId and github.privateKey, or the token of github, gitlab or forgejo"))
	}
	return out, errors.Join(errs...)
}

func connectTo(f config.Connection, network http.RoundTripper) (*connection, error) {
	c := &connection{instance: f.Instance, first: f.First, shared: f.Shared(), me: f.BotID, forget: func(int64) {}, moved: func(engine.Repo) {}}
	token, one := string(f.Token.Value()), forges.Forge(nil)
	var err error
	switch f.Instance.Kind {
	case engine.GitHub:
		var all *github.Connections
		if all, err = github.New(github.Config{
			Instance: f.Instance, APIURL: f.APIURL, AppID: f.AppID, PrivateKey: f.PrivateKey.Value(), Token: token,
			Transport: network,
		}); err != nil {
			return nil, err
		}
		c.decoder, c.reach, c.forget, c.moved = hooksgithub.New(f.Instance, f.Secrets()), all.For, all.Forget, all.Moved
		return c, nil
	case engine.GitLab:
		if c.decoder, err = hooksgitlab.New(f.Instance, f.Secrets(), time.Now); err == nil {
			one, err = gitlab.New(gitlab.Config{Instance: f.Instance, APIURL: orUsual(f, "/api/v4/"), Token: token, Transport: network})
		}
	case engine.Forgejo:
		c.decoder = hooksforgejo.New(f.Instance, f.Secrets())
		one, err = forgejo.New(forgejo.Config{Instance: f.Instance, APIURL: orUsual(f, "/api/v1/"), Token: token, Transport: network})
	}
	c.reach = func(context.Context, engine.Repo) (forges.Forge, error) { return one, nil }
	return c, err
}

// orUsual is the address of the API, which is usually below that of the pages.
func orUsual(f config.Connection, path string) string {
	if f.APIURL != "" {
		return f.APIURL
	}
	return strings.TrimRight(f.WebURL, "/") + path
}

// of is the connection of an instance. One that was taken out of the
// configuration is store.ErrNotFound: nothing of it is served any more.
func (f connections) of(instance engine.Instance) (*connection, error) {
	for _, c := range f {
		if c.instance == instance {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the configuration has no forge %s: %w", instance, store.ErrNotFound)
}

// For finds the connection that may serve a repository.
func (f connections) For(ctx context.Context, repo engine.Repo) (forges.Forge, error) {
	c, err := f.of(repo.Instance)
	if err != nil {
		return nil, err
	}
	return c.reach(ctx, repo)
}

// Forget drops what is kept of an installation whose grant changed.
func (f connections) Forget(installation int64) {
	for _, c := range f {
		c.forget(installation)
	}
}

// self is the id of the account we write as where a repository is.
func (f connections) self(ctx context.Context, repo engine.Repo) (int64, error) {
	c, err := f.of(repo.Instance)
	if err != nil {
		return 0, err
	}
	if c.me != 0 {
		return c.me, nil
	}
	forge, err := c.reach(ctx, repo)
	if err != nil {
		return 0, err
	}
	actor, err := forge.Self(ctx) // which asks once
	return actor.ID, err
}
