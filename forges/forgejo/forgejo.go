// Package forgejo is the adapter to Forgejo (11 and later) and Gitea (1.22 and
// later) over Gitea's client library. It asks and tells what forges.Forge says,
// maps every answer to chant's vocabulary and every refusal to the typed errors
// of forges, and decides nothing. It never retries a write.
//
// Both servers address a repository by its names. A write goes to the names that
// an answer with the repository's id gave within the last few seconds: the pull
// request that what is written is about, or a look-up by id. Where something is
// read, the names are believed for a minute.
//
// What the two call differently, or leave to be guessed, is in family.go.
package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/transport"
)

const (
	// maxBody bounds one answer; a page of fifty pull requests, which hold two
	// repositories each, is under 1 MiB.
	maxBody        = 32 << 20
	defaultTimeout = 30 * time.Second
	// apiPath is where the client library puts every request.
	apiPath = "/api/v1/"
)

// Config says where the server is and who we are there. The token is an
// account's own; it needs the scopes write:repository, write:issue, read:user
// and read:organization, and the account must be an administrator of each
// repository, for only those may ask what others may do.
type Config struct {
	Instance engine.Instance
	// APIURL is the base of the REST API and ends in /api/v1/. Empty means
	// https://HOST/api/v1/.
	APIURL string
	Token  string

	// Timeout of one request; 0 means 30 seconds.
	Timeout time.Duration
	// Transport reaches the network; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Conn is the connection of one token. Safe for concurrent use.
type Conn struct {
	config Config
	root   *url.URL // of the instance's pages, without a trailing slash
	http   *http.Client

	mu    sync.Mutex
	self  engine.Actor
	names map[int64]named   // by repository id
	known map[authored]bool // authors with a merged pull request; that stays so
}

var _ forges.Forge = (*Conn)(nil)

// New checks the configuration. It sends nothing.
func New(c Config) (*Conn, error) {
	if c.Instance.Kind != engine.Forgejo || c.Instance.Host == "" {
		return nil, fmt.Errorf("forgejo: instance %q is no Forgejo", c.Instance)
	}
	if c.Token == "" {
		return nil, errors.New("forgejo: give a token with the scopes write:repository, write:issue, read:user and read:organization")
	}
	root, err := rootURL(c)
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
	// No conditional reads: neither server gives its answers an ETag.
	tr := transport.Authenticate(transport.Bound(c.Transport, maxBody), root, func(context.Context) (string, error) {
		return "token " + c.Token, nil
	})
	return &Conn{
		config: c, root: root, names: map[int64]named{}, known: map[authored]bool{},
		http: &http.Client{
			Transport: transport.RateLimits(tr, c.Now), CheckRedirect: transport.CheckRedirect, Timeout: c.Timeout,
		},
	}, nil
}

// rootURL is the address the client library adds /api/v1 to.
func rootURL(c Config) (*url.URL, error) {
	text := c.APIURL
	if text == "" {
		text = "https://" + c.Instance.Host + apiPath
	}
	u, err := transport.Root(text, apiPath)
	if err != nil {
		return nil, fmt.Errorf("forgejo: %w", err)
	}
	return u, nil
}

// Instance is the server this connection reaches.
func (c *Conn) Instance() engine.Instance { return c.config.Instance }

// For returns the connection itself, for one token serves every repository it
// sees.
func (c *Conn) For(_ context.Context, repo engine.Repo) (forges.Forge, error) {
	return c, c.mine(repo)
}

func (c *Conn) mine(repo engine.Repo) error {
	if repo.Instance != c.config.Instance {
		return fmt.Errorf("forgejo: %s is not on %s", repo.Key(), c.config.Instance)
	}
	return nil
}

// sdk is a client for one call: the library keeps the context in the client.
// No server version is named, so it asks for none and sends every call.
func (c *Conn) sdk(ctx context.Context) (*gitea.Client, error) {
	client, err := gitea.NewClient(c.root.String(),
		gitea.SetHTTPClient(c.http), gitea.SetContext(ctx), gitea.SetGiteaVersion(""), gitea.SetUserAgent("chant"))
	if err != nil {
		return nil, fmt.Errorf("forgejo: %w", err)
	}
	return client, nil
}
