// Package github is the adapter to GitHub and GitHub Enterprise Server over
// go-github. It asks and tells what forges.Forge says, maps every answer to
// chant's vocabulary and every refusal to the typed errors of forges, and
// decides nothing. It never retries a write.
//
// Requests go to /repositories/{id} whenever the ID is known, the address
// GitHub itself redirects and pages to: a renamed repository is still found,
// and one that took an old name is never written to.
package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v4"
	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/transport"
)

const (
	// maxBody bounds one answer; a page of a hundred pull requests is about
	// 2 MiB.
	maxBody = 32 << 20
	// cacheSize bounds what is kept for conditional reads, over all
	// installations.
	cacheSize      = 32 << 20
	defaultTimeout = 30 * time.Second
)

// Config says where GitHub is and who we are there: an app, or one token.
type Config struct {
	Instance engine.Instance
	// APIURL is the base of the REST API. Empty means the instance's usual
	// one: https://api.github.com/ or https://HOST/api/v3/.
	APIURL string

	AppID      int64
	PrivateKey []byte // PEM, as GitHub gives it

	// Token is used instead of an app: a personal token, or the one of a CI
	// job. Login names the account behind it where GET /user is refused, as it
	// is to a job's token ("github-actions[bot]").
	Token string
	Login string

	// Timeout of one request; 0 means 30 seconds.
	Timeout time.Duration
	// Transport reaches the network; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock; nil means time.Now. Tokens are renewed by time.Now.
	Now func() time.Time
}

// Connections holds one connection for each installation of the app, or the
// one of a token. Safe for concurrent use.
type Connections struct {
	config Config
	api    *url.URL
	key    *rsa.PrivateKey
	base   http.RoundTripper
	signed http.RoundTripper // below what the app's key signs; one limit for all of it
	cache  *transport.Cache
	app    *Conn // speaks as the app itself; nil with a token

	mu       sync.Mutex
	byID     map[int64]*Conn   // by installation; 0 is the token's
	installs map[string]served // by repository key
}

// served is which installation serves a repository, until it is asked again:
// a transfer moves a repository to another one without a word to the app.
type served struct {
	id    int64
	until time.Time
}

const servedFor = 10 * time.Minute

// New checks the configuration. It sends nothing.
func New(c Config) (*Connections, error) {
	if c.Instance.Kind != engine.GitHub || c.Instance.Host == "" {
		return nil, fmt.Errorf("github: instance %q is no GitHub", c.Instance)
	}
	if (c.Token == "") == (c.AppID == 0) {
		return nil, errors.New("github: give either an app (id and private key) or a token")
	}
	api, err := apiURL(c)
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	all := &Connections{
		config: c, api: api, base: transport.Bound(c.Transport, maxBody), cache: transport.NewCache(cacheSize),
		byID: map[int64]*Conn{}, installs: map[string]served{},
	}
	all.signed = transport.RateLimits(all.base, c.Now)
	if c.Token != "" {
		all.byID[0] = all.connect(0, staticToken(c.Token))
		return all, nil
	}
	if all.key, err = jwt.ParseRSAPrivateKeyFromPEM(c.PrivateKey); err != nil {
		return nil, fmt.Errorf("github: reading the app's private key: %w", err)
	}
	all.app = all.connectApp()
	return all, nil
}

// apiURL is the base address with the trailing slash go-github needs.
func apiURL(c Config) (*url.URL, error) {
	text := c.APIURL
	switch {
	case text != "":
	case c.Instance.Host == "github.com":
		text = "https://api.github.com/"
	default:
		text = "https://" + c.Instance.Host + "/api/v3/"
	}
	u, err := transport.Address(text)
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return u, nil
}

// For returns the connection that serves a repository: the app's installation
// there, or the token's. ErrNotFound when the app is not installed on it.
func (all *Connections) For(ctx context.Context, repo engine.Repo) (forges.Forge, error) {
	if repo.Instance != all.config.Instance {
		return nil, fmt.Errorf("github: %s is not on %s", repo.Key(), all.config.Instance)
	}
	if all.app == nil {
		return all.byID[0], nil
	}
	if repo.ID > 0 {
		if id := all.known(repo.Key()); id != 0 {
			return all.Installation(id), nil
		}
	}
	path, err := repoPath(repo)
	if err != nil {
		return nil, err
	}
	var found gogithub.Installation
	if err := all.app.get(ctx, "finding the installation for "+repo.FullName(), "", path+"/installation", &found); err != nil {
		return nil, err
	}
	if found.GetID() <= 0 {
		return nil, fmt.Errorf("finding the installation for %s: %w", repo.FullName(), forges.ErrNotFound)
	}
	if repo.ID > 0 {
		all.remember(repo.Key(), found.GetID())
	}
	return all.Installation(found.GetID()), nil
}

func (all *Connections) known(key string) int64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	if in := all.installs[key]; all.config.Now().Before(in.until) {
		return in.id
	}
	return 0
}

func (all *Connections) remember(key string, id int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.installs[key] = served{id, all.config.Now().Add(servedFor)}
}

// Installation returns the connection of one installation without asking
// GitHub whether it exists. With a token there is one connection only.
func (all *Connections) Installation(id int64) forges.Forge {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.app == nil {
		return all.byID[0]
	}
	conn, ok := all.byID[id]
	if !ok {
		conn = all.connect(id, all.installationToken(id, nil))
		all.byID[id] = conn
	}
	return conn
}

// Moved drops which installation serves a repository: it may be another one since
// a transfer. To be called when it is not found any more.
func (all *Connections) Moved(repo engine.Repo) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.installs, repo.Key())
}

// Forget drops what is known of an installation: its tokens, its answers and
// the repositories it serves. To be called when GitHub says it changed.
func (all *Connections) Forget(id int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.app == nil {
		return
	}
	delete(all.byID, id)
	for key, in := range all.installs {
		if in.id == id {
			delete(all.installs, key)
		}
	}
	all.cache.Forget(scope(id))
}

func scope(id int64) string { return fmt.Sprintf("installation %d", id) }

// connect stacks the layers between one credential and the network.
func (all *Connections) connect(id int64, source tokenSource) *Conn {
	header := func(ctx context.Context) (string, error) {
		token, err := source.token(ctx)
		return "Bearer " + token, err
	}
	tr := dropOn401(transport.Authenticate(all.base, all.api, header), source)
	tr = transport.RateLimits(tr, all.config.Now)
	tr = all.cache.Conditional(tr, scope(id))
	return all.newConn(id, tr, source)
}

func (all *Connections) newConn(id int64, tr http.RoundTripper, source tokenSource) *Conn {
	client := gogithub.NewClient(&http.Client{
		Transport: tr, CheckRedirect: transport.CheckRedirect, Timeout: all.config.Timeout,
	})
	client.BaseURL = all.api
	client.UserAgent = "chant"
	return &Conn{
		all: all, id: id, client: client, source: source, pace: newPacer(gapFor(all.api.Host)), git: map[int64]tokenSource{},
	}
}
