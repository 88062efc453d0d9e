package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
)

// Forge is one connection: an app, where the forge is GitHub, or a token.
type Forge struct {
	AppID          int64    `yaml:"appId" help:"Number of the app, on GitHub."`
	PrivateKey     Secret   `yaml:"privateKey" help:"Private key of the app, PEM; best as a file: reference."`
	Token          Secret   `yaml:"token" help:"Access token, on GitHub instead of an app. What its account does by hand still counts as a person's; only notes and statuses are told apart as ours."`
	BotID          int64    `yaml:"botId" help:"Number of the account we write as, so that we know our own events. 0: the forge is asked."`
	WebhookSecrets []Secret `yaml:"webhookSecrets" help:"Secrets deliveries may be signed with. More than one lets a secret be replaced without losing a delivery."`
	APIURL         string   `yaml:"apiUrl" help:"Address of the REST API. Empty: the usual one at webUrl."`
	WebURL         string   `yaml:"webUrl" help:"Address of the web pages and of git over HTTPS."`
}

// OtherForges are further servers of each kind. They are for the file alone.
type OtherForges struct {
	GitHub  []Forge `yaml:"github"`
	GitLab  []Forge `yaml:"gitlab"`
	Forgejo []Forge `yaml:"forgejo"`
}

// Connection is a forge the configuration says how to talk to.
type Connection struct {
	*Forge

	Key      string // of the settings, "github" or "otherForges.gitlab[0]"
	Instance engine.Instance
	// First is the one of its kind whose endpoint needs no host.
	First bool
}

// Shared tells whether we write as an account that a person may use too.
func (f *Forge) Shared() bool { return !f.Token.IsZero() }

// Configured tells whether the forge can be talked to.
func (f *Forge) Configured() bool { return f.AppID != 0 || !f.Token.IsZero() }

// Secrets are the webhook secrets as bytes.
func (f *Forge) Secrets() [][]byte {
	out := make([][]byte, len(f.WebhookSecrets))
	for i, s := range f.WebhookSecrets {
		out[i] = s.Value()
	}
	return out
}

// all are the connections, whether or not anything is said of them.
func (c *Config) all() []Connection {
	out := []Connection{
		connection("github", engine.GitHub, &c.GitHub),
		connection("gitlab", engine.GitLab, &c.GitLab),
		connection("forgejo", engine.Forgejo, &c.Forgejo),
	}
	for i := range out {
		out[i].First = true
	}
	for _, more := range []struct {
		kind   engine.ForgeKind
		forges []Forge
	}{{engine.GitHub, c.OtherForges.GitHub}, {engine.GitLab, c.OtherForges.GitLab}, {engine.Forgejo, c.OtherForges.Forgejo}} {
		for i := range more.forges {
			out = append(out, connection(fmt.Sprintf("otherForges.%s[%d]", more.kind, i), more.kind, &more.forges[i]))
		}
	}
	return out
}

func connection(key string, kind engine.ForgeKind, f *Forge) Connection {
	return Connection{Forge: f, Key: key, Instance: engine.Instance{Kind: kind, Host: hostOf(f.WebURL)}}
}

// Forges are the configured connections, the first of each kind before others.
func (c *Config) Forges() []Connection {
	return slices.DeleteFunc(c.all(), func(f Connection) bool { return !f.Configured() })
}

// Named is the repository a name of the configuration stands for: host/path, or
// the path alone where one forge is configured. Its id is not known.
func (c *Config) Named(name string) (engine.Repo, error) {
	forges := c.Forges()
	if len(forges) == 0 {
		forges = c.all()[:1]
	}
	host, path, _ := strings.Cut(name, "/")
	at := slices.IndexFunc(forges, func(f Connection) bool { return f.Instance.Host == strings.ToLower(host) })
	switch {
	case at < 0 && len(forges) > 1:
		return engine.Repo{}, fmt.Errorf("%q does not start with the host of a configured forge: %s", name, strings.Join(hosts(forges), ", "))
	case at < 0:
		at, path = 0, name
	}
	instance := forges[at].Instance
	slash := strings.LastIndexByte(path, '/')
	switch {
	case slash <= 0:
		return engine.Repo{}, fmt.Errorf("want owner/name or host/owner/name, not %q", name)
	case instance.Kind != engine.GitLab && strings.Count(path, "/") > 1: // only GitLab has groups within groups
		return engine.Repo{}, fmt.Errorf("%q is not on %s", name, strings.Join(hosts(forges), " or "))
	}
	return engine.Repo{Instance: instance, Owner: path[:slash], Name: path[slash+1:]}, nil
}

func hosts(forges []Connection) []string {
	out := make([]string, len(forges))
	for i, f := range forges {
		out[i] = f.Instance.Host
	}
	return out
}

func (c *Config) forges(v *validator) {
	seen := map[string]string{}
	for _, f := range c.all() {
		f.validate(v)
		if !f.Configured() {
			v.check(f.First, f.Key, "set token, or on GitHub appId and privateKey")
			continue
		}
		v.check(seen[f.Instance.Host] == "", f.Key+".webUrl", "%s is the host of %s already", f.Instance.Host, seen[f.Instance.Host])
		seen[f.Instance.Host] = f.Key
	}
}

func (f Connection) validate(v *validator) {
	v.check(isWebURL(f.WebURL) || !f.Configured() && f.WebURL == "", f.Key+".webUrl", "want an http or https address")
	v.check(f.APIURL == "" || isWebURL(f.APIURL), f.Key+".apiUrl", "want an http or https address")
	v.check(f.AppID >= 0, f.Key+".appId", "want the number of the app")
	v.check(f.BotID >= 0, f.Key+".botId", "want the number of the account")
	v.check(f.Instance.Kind == engine.GitHub || f.AppID == 0 && f.PrivateKey.IsZero(), f.Key, "appId and privateKey are for GitHub; set token")
	v.check(f.AppID == 0 || f.Token.IsZero(), f.Key, "set appId or token, not both")
	v.check((f.AppID != 0) == !f.PrivateKey.IsZero(), f.Key, "appId and privateKey go together")
	v.check(f.PrivateKey.IsZero() || strings.HasPrefix(string(f.PrivateKey.Value()), "-----BEGIN "), f.Key+".privateKey", "want a PEM file; did you mean file:/path?")
	v.check(!f.Configured() || len(f.WebhookSecrets) > 0, f.Key+".webhookSecrets", "set at least one: without a secret no delivery can be trusted")
	for i, s := range f.WebhookSecrets {
		v.check(len(s.Value()) > 0, fmt.Sprintf("%s.webhookSecrets[%d]", f.Key, i), "it is empty")
	}
}
